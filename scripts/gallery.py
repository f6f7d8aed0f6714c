"""Write docs/gallery: a page with picture, film, measured run and case file of every example of ``pdem new``.

``python scripts/gallery.py`` writes the pages. With names of examples it first runs these, one after the other, and
draws them; ``--all`` names every example. Measurements are stored in docs/gallery/runs.json, so that pages can be
written again without runs. A test compares the pages with the output of this script.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

import pdem
from pdem.case.explain.example_cases import example_files
from pdem.case.explain.example_table import EXAMPLE_TABLE
from pdem.case.explain.example_texts import description_of, example_groups, example_results, example_text, title_of
from pdem.foundation.version import VERSION
from pdem.sweeps.examples import study_changes, study_command, study_names, study_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "docs" / "gallery"
RUNS = PAGES / "runs.json"
PICTURE_SIZE, FILM_SIZE, SMALL_SIZE = (800, 600), (480, 360), (320, 240)
FRAMES = 24
"""Frames of a film: the run of an example with a film writes about this number of snapshots."""
NOISE = 2
"""Levels of a colour, of 256, by which a pixel may differ from its neighbourhood and counts as equal."""

_MADE = "<!-- Made by `python scripts/gallery.py`: edit the example and its row of example_table.py. -->"
_TIME = re.compile(r", (?:(\d+):)?(\d+):(\d\d) in all$", re.MULTILINE)
_HEADINGS = {
    "start": "First cases", "machines": "Machines", "laboratory": "Laboratory tests", "papers": "Cases of papers",
    "many runs": "Many runs",
}  # fmt: skip


def groups() -> dict[str, tuple[str, ...]]:
    """Return the names of all examples by group, including the examples with many runs."""
    return {**example_groups(), "many runs": tuple(study_names())}


def text_of(name: str) -> str:
    """Return the file of an example."""
    return study_text(name) if name in study_names() else example_text(name)


def heading_of(name: str) -> str:
    """Return the heading of the page of an example: the title in its file, or its name in words."""
    title = str(tomllib.loads(text_of(name)).get("title", ""))
    return title or name.replace("_", " ").capitalize()


def page(name: str, runs: Mapping[str, Any]) -> str:
    """Return the page of an example.

    Parameters
    ----------
    name : str
        An example of ``pdem new``.
    runs : mapping of str to dict
        Measurements by name of the example, as `measured` returns them.
    """
    parts = [f"# {heading_of(name)}", _MADE, _sentence(description_of(text_of(name)))]
    parts += _pictures(name)
    parts += [_run_text(name, runs[name])] if name in runs else []
    parts += ["## Run it", _commands(name)]
    parts += ["## What to change next", *_changes(name), "## The file", _file_text(name)]
    return "\n\n".join([*parts, f"```toml\n{text_of(name).rstrip()}\n```", "[All examples](index.md)"]) + "\n"


def _sentence(text: str) -> str:
    return _wrapped(text if text.endswith(".") else f"{text}.")


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False)


def _pictures(name: str) -> list[str]:
    """Return the lines for the picture and the film of an example, if they exist."""
    title = heading_of(name)
    kinds = {f"{name}.png": title, f"{name}.webp": f"{title}, film"}
    return [f"![{text}]({file})" for file, text in kinds.items() if (PAGES / file).exists()]


def _run_text(name: str, run: Mapping[str, Any]) -> str:
    """Return the sentences about the measured run of an example."""
    threads = f"{run['threads']} thread{'s' if run['threads'] > 1 else ''}"
    text = (
        f"This run has {run['particles']:,} particle{'s' if run['particles'] > 1 else ''} and {run['steps']:,} steps "
        f"to {run['end']:.4g} s. It took {_minutes(run['seconds'])} with {threads}, on two cores that other programs "
        f"used as well (pdem {run['version']}, kernels compiled before)."
    )
    shorter = EXAMPLE_TABLE[name].shorter if name in EXAMPLE_TABLE else ()
    if shorter:
        settings = ", ".join(f"`{setting}`" for setting in shorter)
        text += f" To save time it was made with {settings}; the file below has the whole case."
    return _wrapped(text)


def _minutes(seconds: int) -> str:
    if seconds < 90:
        return f"{max(seconds, 1)} s"
    return f"{seconds // 60} min {seconds % 60} s"


def _commands(name: str) -> str:
    """Return the commands that write, run and draw an example."""
    if name in study_names():
        return _console(f"pdem new {name}", f"pdem {study_command(name)} {name}.toml --jobs 2")
    example, results = EXAMPLE_TABLE[name], example_results(name)
    time = "" if example.time is None else f" --time {example.time:g}"
    draw = f"pdem render {results}{time} {example.look}".rstrip()
    film = [f"pdem render {results} {example.look} -o {name}.gif".replace("  ", " ")] if example.film else []
    return _console(f"pdem new {name}", f"pdem run {name}.toml", draw, *film)


def _console(*commands: str) -> str:
    return "\n".join(["```console", *(f"$ {command}" for command in commands), "```"])


def _changes(name: str) -> list[str]:
    """Return a table of keys to change next, and how to change them."""
    study = name in study_names()
    changes = study_changes(name) if study else EXAMPLE_TABLE[name].changes
    rows = [f"| `{setting}` | {effect} |" for setting, effect in changes.items()]
    table = "\n".join([f"| {'key' if study else 'setting'} | effect |", "|---|---|", *rows])
    if study:
        return [table, f"Edit these keys in `{name}.toml`. `pdem explain {study_command(name)}` lists all keys."]
    setting = shlex.quote(next(iter(changes)))
    command = _console(f"pdem run {name}.toml --set {setting} \\\n    --set output.folder={example_results(name)}_2")
    return [table, "Edit the file, or give a setting on the command line, with an output folder of its own:", command]


def _file_text(name: str) -> str:
    """Return the sentence before the text of the file: where to download it, and its further files."""
    folder = "pdem/sweeps/example_files" if name in study_names() else "pdem/case/examples"
    text = f"[Download {name}.toml](../../{folder}/{name}.toml), or write it with `pdem new {name}`"
    others = [] if name in study_names() else example_files(name)[1:]
    if name in study_names():
        return _wrapped(f"{text}, which also writes the other files that it names.")
    meshes = f", which also writes its meshes: {', '.join(others)}" if others else ""
    return _wrapped(f"{text}{meshes}.")


def index() -> str:
    """Return the page with the pictures of all examples."""
    lines = ["# Gallery", "", _MADE, ""]
    lines += ["All examples of `pdem new --list`. Each page has the case file with comments, how to run it, what to"]
    lines += ["change next and, for examples that the gallery has run, a picture and the measured run time.", ""]
    for group, names in groups().items():
        lines += [f"## {_HEADINGS[group]}", "", *(_tile(name) for name in names), ""]
    return "\n".join([*lines, "```{toctree}", ":hidden:", "", *(n for g in groups().values() for n in g), "```", ""])


def _tile(name: str) -> str:
    """Return the line of an example: its small picture and its name with a link, and its title."""
    picture = f"![]({_small(name)}) " if (PAGES / _small(name)).exists() else ""
    return f"* [{picture}**{name}**]({name}.md): {title_of(text_of(name))}"


def _small(name: str) -> str:
    return f"{name}-small.webp"


def contents() -> dict[str, str]:
    """Return the texts of all pages by file name."""
    runs = json.loads(RUNS.read_text(encoding="utf-8")) if RUNS.exists() else {}
    return {"index.md": index(), **{f"{name}.md": page(name, runs) for names in groups().values() for name in names}}


def measured(results: Path) -> dict[str, Any]:
    """Return the size and the duration of a finished run from its series and its log."""
    run = pdem.Results(results)
    series, log = run.series, run.log
    seconds, threads = seconds_of(log), re.search(r" x (\d+) thread", log)
    if seconds is None or threads is None:
        raise click.ClickException(f"{results}: run.log has no summary; the run has not ended")
    return {
        "particles": int(max(series["particles"])),
        "steps": int(series["step"][-1]),
        "end": float(series["time"][-1]),
        "seconds": seconds,
        "threads": int(threads[1]),
        "version": VERSION,
    }


def seconds_of(log: str) -> int | None:
    """Return the duration of a run [s], with all its continuations, from its log; None if it has no summary."""
    times = [3600 * int(h or 0) + 60 * int(m) + int(s) for h, m, s in _TIME.findall(log)]
    return sum(times) if times else None


def run_settings(name: str) -> list[str]:
    """Return the options ``--set KEY=VALUE`` of the gallery's run of an example."""
    example = EXAMPLE_TABLE[name]
    case = pdem.Case.from_text(example_text(name))
    for setting in example.shorter:
        case.override(setting)
    settings = [*example.shorter]
    if example.film:
        settings.append(f"output.snapshots_every={case.time.end / FRAMES:.3g}")
    return [word for setting in settings for word in ("--set", setting)]


def make(name: str, folder: Path) -> dict[str, Any]:
    """Run an example in a folder, or continue its run there, draw it, and return its measurements."""
    place = folder / name
    results = place / example_results(name)
    _pdem("new", name, "--folder", str(place))
    _pdem("run", f"{name}.toml", "--threads", "1", "--continue", *run_settings(name), place=place)
    draw(name, results)
    return measured(results)


def draw(name: str, results: Path) -> None:
    """Draw the picture and the film of an example into the gallery."""
    example = EXAMPLE_TABLE[name]
    look = shlex.split(example.look)
    time = [] if example.time is None else ["--time", str(example.time)]
    _pdem("render", str(results), *time, *look, *_size(PICTURE_SIZE), "-o", str(PAGES / f"{name}.png"))
    _shrink(name)
    if example.film:
        with tempfile.TemporaryDirectory() as other:
            _pdem("render", str(results), *look, *_size(FILM_SIZE), "-o", f"{other}/film.gif")
            write_film(Path(other) / "film.gif", PAGES / f"{name}.webp")


def _size(size: tuple[int, int]) -> list[str]:
    return ["--size", *map(str, size)]


def _shrink(name: str) -> None:
    """Compress the picture of an example, and write the small one of the list."""
    from PIL import Image

    path = PAGES / f"{name}.png"
    with Image.open(path) as picture:
        smooth = without_dither(picture.convert("RGB"))
    smooth.save(path, optimize=True)
    smooth.thumbnail(SMALL_SIZE)
    smooth.save(PAGES / _small(name), quality=80)


def without_dither(picture: Image.Image) -> Image.Image:
    """Return a picture in which pixels that differ from their neighbourhood by noise have its mean colour.

    Renderers add noise of one level to gradients, which nobody sees and which is most of the bytes of a PNG.
    """
    from PIL import Image, ImageFilter

    mean = np.asarray(picture.filter(ImageFilter.BoxBlur(6)))
    own = np.asarray(picture)
    noise = np.abs(own.astype(np.int16) - mean).max(axis=2, keepdims=True) <= NOISE
    return Image.fromarray(np.where(noise, mean, own))


def write_film(gif: Path, path: Path) -> None:
    """Write about `FRAMES` of the frames of a GIF as an animated picture that repeats, in a third of the size."""
    from PIL import Image, ImageSequence

    with Image.open(gif) as film:
        frames = [frame.convert("RGB") for frame in ImageSequence.Iterator(film)]
    first, *rest = frames[:: max(1, round(len(frames) / FRAMES))]
    first.save(path, save_all=True, append_images=rest, duration=125, loop=0, quality=55, method=4)


def _pdem(*words: str, place: Path | None = None) -> None:
    subprocess.run([sys.executable, "-m", "pdem", *words], cwd=place, check=True)


def store(name: str, run: Mapping[str, Any]) -> None:
    """Store the measurements of one run beside the measurements of the other runs."""
    runs = json.loads(RUNS.read_text(encoding="utf-8")) if RUNS.exists() else {}
    runs[name] = dict(run)
    RUNS.write_text(json.dumps(dict(sorted(runs.items())), indent=1) + "\n", encoding="utf-8")


def _chosen(names: Iterable[str], everything: bool) -> Iterator[str]:
    """Yield the names of the examples to run; examples with many runs have pages only."""
    for name in EXAMPLE_TABLE if everything else names:
        if name not in EXAMPLE_TABLE:
            raise click.ClickException(f"{name!r} is not an example with a run of its own; see pdem new --list")
        yield name


@click.command()
@click.argument("names", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Run all examples: an hour or more.")
@click.option("--folder", default="results/gallery", type=click.Path(path_type=Path), help="Folder of the runs.")
def main(names: tuple[str, ...], everything: bool, folder: Path) -> None:
    """Run and draw the examples NAMES, then write all pages of the gallery."""
    PAGES.mkdir(exist_ok=True)
    for name in list(_chosen(names, everything)):
        store(name, make(name, folder))
    for file, text in contents().items():
        (PAGES / file).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
