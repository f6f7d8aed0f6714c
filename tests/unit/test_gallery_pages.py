"""The gallery: a page of every example, with its text, its measurements and settings that a case accepts."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path

import pytest

import pdem
from pdem.case.explain.example_cases import example_files, example_names, example_text, write_example
from pdem.case.explain.example_table import EXAMPLE_TABLE
from pdem.case.model import Case
from pdem.sweeps.examples import study_changes, study_names, study_text

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "gallery"
MOST_BYTES, MOST_BYTES_OF_A_FILM = 8_000_000, 400_000


@pytest.fixture(scope="module")
def gallery():
    """Return the script that writes the gallery."""
    spec = importlib.util.spec_from_file_location("gallery_script", ROOT / "scripts" / "gallery.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_pages_are_current(gallery):
    contents = gallery.contents()
    present = {path.name: path.read_text(encoding="utf-8") for path in PAGES.glob("*.md")}
    assert sorted(present) == sorted(contents)
    stale = [name for name, text in contents.items() if present[name] != text]
    assert not stale, "run python scripts/gallery.py"


@pytest.mark.parametrize("name", [*example_names(), *study_names()])
def test_every_example_has_a_page_with_its_text(name):
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"^```toml\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert text.strip() == (study_text(name) if name in study_names() else example_text(name)).strip()


def test_the_first_page_counts_the_examples():
    text = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert f"{len(example_names()) + len(study_names())} examples" in text


def test_every_example_has_a_row_of_the_table():
    assert sorted(EXAMPLE_TABLE) == example_names()


@pytest.mark.parametrize("name", EXAMPLE_TABLE)
def test_changes_are_settings_that_the_case_accepts(name, tmp_path):
    example = EXAMPLE_TABLE[name]
    path = next(iter(write_example(name, tmp_path)))
    assert 2 <= len(example.changes) <= 3
    for settings in [*([setting] for setting in example.changes), list(example.shorter)]:
        case = Case.read(path)
        before = case.model_dump()
        for setting in settings:
            case.override(setting)
        assert not settings or case.model_dump() != before


@pytest.mark.parametrize("name", study_names())
def test_changes_of_studies_name_keys_of_the_file(name):
    for key in study_changes(name):
        parts = key.split(".")
        assert re.search(rf"^\[{re.escape('.'.join(parts[:-1]))}\]", study_text(name), re.MULTILINE) or len(parts) == 1
        assert re.search(rf"^{parts[-1]} = ", study_text(name), re.MULTILINE)


def test_files_of_an_example_are_the_files_that_are_written(tmp_path):
    for name in ("silo", "two_spheres"):
        assert [path.name for path in write_example(name, tmp_path / name)] == example_files(name)


def test_recorded_runs_end_where_the_example_ends(gallery):
    """Or before, if a stage ends the run; a shorter run is a run of the shorter settings."""
    for name, run in json.loads(gallery.RUNS.read_text(encoding="utf-8")).items():
        case = Case.from_text(example_text(name))
        for setting in EXAMPLE_TABLE[name].shorter:
            case.override(setting)
        assert 0.0 < run["end"] <= case.time.end * 1.001
        if not case.stages:
            assert run["end"] == pytest.approx(case.time.end, rel=1e-2)


def test_pictures_are_small_and_of_all_colours():
    image = pytest.importorskip("PIL.Image")
    files = [*PAGES.glob("*.png"), *PAGES.glob("*.webp")]
    assert sum(file.stat().st_size for file in files) < MOST_BYTES
    for file in files:
        with image.open(file) as picture:
            assert picture.mode in ("RGB", "RGBA")  # no palette; films are read with an alpha channel
            assert file.stat().st_size < MOST_BYTES_OF_A_FILM
            assert getattr(picture, "n_frames", 1) > 5 or file.suffix == ".png" or file.stem.endswith("-small")


def test_measurements_are_those_of_the_run(gallery, tmp_path):
    case = Case.read(next(iter(write_example("two_spheres", tmp_path))))
    case.override("time.end=0.01")
    case.override(f"output.folder={str(tmp_path / 'results')!r}")
    simulation = pdem.Simulation(case, threads=1)
    simulation.run()
    steps = simulation.step
    simulation.close()
    run = gallery.measured(tmp_path / "results")
    assert (run["particles"], run["steps"], run["threads"]) == (2, steps, 1)
    assert run["end"] == pytest.approx(0.01, rel=1e-2)
    log = tmp_path / "results" / "run.log"
    log.write_text(log.read_text(encoding="utf-8").replace(" in all", ""), encoding="utf-8")
    with pytest.raises(gallery.click.ClickException, match="no summary"):
        gallery.measured(tmp_path / "results")


def test_hours_minutes_and_seconds_of_a_log(gallery):
    log = "1 million particle-steps/s, 1 per thread on 1 thread, 00:31 in all\nx, 1:02:03 in all\n"
    assert gallery.seconds_of(log) == 31 + 3723
    assert [gallery._minutes(seconds) for seconds in (0, 89, 200)] == ["1 s", "89 s", "3 min 20 s"]


def test_a_film_repeats_about_as_many_frames_as_wanted(gallery, tmp_path):
    image = pytest.importorskip("PIL.Image")
    frames = [image.new("P", (16, 12), number) for number in range(100)]
    for number, frame in enumerate(frames):
        frame.putpalette([37 * number % 256, 101 * number % 256, 255 - 73 * number % 256] * 256)
    frames[0].save(tmp_path / "film.gif", save_all=True, append_images=frames[1:])
    gallery.write_film(tmp_path / "film.gif", tmp_path / "film.webp")
    with image.open(tmp_path / "film.webp") as film:
        assert abs(film.n_frames - gallery.FRAMES) <= 2
        assert film.info["loop"] == 0
