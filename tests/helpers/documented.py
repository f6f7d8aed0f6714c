"""The TOML blocks of the documentation, made cases that run.

A block with a ``[time]`` and a ``[domain]`` is a case, one with ``vary`` a file of many runs beside the case that it
names. Any other one is a fragment: a *frame*, a case in ``tests/cases``, has what it leaves out. This is ``usual``, or
what a comment in the line before the block says: ``<!-- frame: periodic -->``. A frame with a line ``# the line of the
block`` is for blocks of which each line is an alternative. What no test can run has ``<!-- not run: WHY -->``.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w

from pdem.sweeps.examples import study_names, study_text, write_study

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
MADE = ("_build", "generated", "jupyter_execute", "gallery")
FRAMES = Path(__file__).resolve().parents[1] / "cases"
HERE = "# the line of the block\n"
FENCE = re.compile(r"(?:<!-- (?P<key>[a-z ]+): (?P<value>.*?) -->\n)?^```(?P<kind>\S*)\n(?P<text>.*?)^```", re.M | re.S)
SCRIPT = re.compile(r"^```python\n# (\w+\.py)\n(.*?)^```", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A TOML block: its page, line, text, the frame that is named before it, and why it is not run, if so."""

    page: str
    line: int
    text: str
    frame: str
    not_run: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def pages() -> list[Path]:
    """Return all pages that are written, not made."""
    docs = (page for page in sorted(DOCS.rglob("*.md")) if page.relative_to(DOCS).parts[0] not in MADE)
    return [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *docs]


def fences(page: Path) -> list[tuple[str, int, str, dict[str, str]]]:
    """Return kind, line and text of all fenced blocks of a page, and what comments say of them."""
    text = page.read_text(encoding="utf-8")
    return [
        (
            found["kind"],
            text[: found.start("text")].count("\n") + 1,
            found["text"],
            {found["key"]: found["value"]} if found["key"] else {},
        )
        for found in FENCE.finditer(text)
    ]


def blocks() -> list[Block]:
    """Return all TOML blocks of the documentation."""
    return [
        Block(page.relative_to(ROOT).as_posix(), line, text, said.get("frame", "usual"), said.get("not run", ""))
        for page in pages()
        for kind, line, text, said in fences(page)
        if kind == "toml"
    ]


def is_study(document: dict[str, Any]) -> bool:
    """Return whether a document is a file of a sweep or a calibration."""
    return "vary" in document


def documents(block: Block) -> list[dict[str, Any]]:
    """Return the cases of a block, completed by its frame; the document itself if it is a file of many runs."""
    frame = (FRAMES / f"{block.frame}.toml").read_text(encoding="utf-8")
    if HERE in frame:
        return [tomllib.loads(frame.replace(HERE, line)) for line in block.text.splitlines()]
    document = tomllib.loads(block.text)
    if is_study(document) or {"time", "domain"} <= document.keys():
        return [document]
    return [completed(document, tomllib.loads(frame), block.text)]


def completed(document: dict[str, Any], frame: dict[str, Any], text: str) -> dict[str, Any]:
    """Return a fragment with what it leaves out.

    Of the frame stay the materials that the fragment names (else "grain"), particles of these, and walls that its
    stages change. Tables of a name are those of the fragment or of the frame, keys of other sections come from both,
    and lists follow each other.
    """
    words = set(re.findall(r"\w+", text))
    known = frame.get("materials", {})
    grains = [name for name in known if "density" in known[name]]
    present = [name for name in grains if name in words] or grains[:1]
    groups = [one for one in frame["particles"] if not grains or one["material"] in present]
    if not all(one.get("fixed") for one in document.get("particles", [])):
        groups = []
    staged = {name for stage in document.get("stages", []) for name in stage.get("walls", {})}
    walls = [one for one in frame.get("walls", []) if one.get("name") is None or one["name"] in staged]
    named = present + [one["material"] for one in walls] + [name for name in known if name in words]
    left = {
        **frame, "particles": groups, "walls": walls,
        "materials": {name: keys for name, keys in known.items() if name in named},
    }  # fmt: skip
    result = {**left}
    for section, value in document.items():
        before = left.get(section, type(value)())
        result[section] = [*before, *value] if isinstance(value, list) else {**before, **value}
    return result


def write_beside(block: Block, document: dict[str, Any], folder: Path) -> None:
    """Write the files that a document names into a folder: meshes, scripts of the page, cases of examples."""
    scripts: dict[str, str] = {}
    for name, text in SCRIPT.findall((ROOT / block.page).read_text(encoding="utf-8")):
        scripts[name] = scripts.get(name, "") + text
    for name, text in scripts.items():
        (folder / name).write_text(text, encoding="utf-8")
    for name in re.findall(r'"([\w-]+\.stl)"', tomli_w.dumps(document)):
        (folder / name).write_text(cube(0.02 / scale_of(document, name)), encoding="utf-8")
    for wall in document.get("walls", []):
        if wall.get("mesh", "").endswith(".obj"):
            (folder / wall["mesh"]).write_text(far_square(wall["offset"]), encoding="utf-8")
    if is_study(document):
        case = document["case"]
        study = next(name for name in study_names() if tomllib.loads(study_text(name))["case"] == case)
        write_study(study, folder)


def scale_of(document: dict[str, Any], mesh: str) -> float:
    """Return the unit of a mesh in a document [m]."""
    users = [*document.get("walls", []), *document.get("shapes", {}).values()]
    return next(float(one.get("scale", 1.0)) for one in users if mesh in (one.get("mesh"), one.get("file")))


def far_square(offset: list[float]) -> str:
    """Return an OBJ file with a square that an offset moves to the origin."""
    corners = ((-0.02, -0.02), (0.02, -0.02), (0.02, 0.02), (-0.02, 0.02))
    places = [f"v {x - offset[0]!r} {y - offset[1]!r} {-offset[2]!r}" for x, y in corners]
    return "\n".join([*places, "f 1 2 3 4", ""])


def cube(half: float) -> str:
    """Return an STL file with a cube, one solid of the name "lid"."""
    corner = [[half * (1 if k & bit else -1) for bit in (1, 2, 4)] for k in range(8)]
    sides = [(0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5)]
    lines = ["solid lid"]
    for a, b, c, d in sides:
        for triangle in ((a, b, c), (a, c, d)):
            lines += ["facet normal 0 0 0", "outer loop"]
            lines += [f"vertex {x!r} {y!r} {z!r}" for x, y, z in (corner[k] for k in triangle)]
            lines += ["endloop", "endfacet"]
    return "\n".join([*lines, "endsolid lid", ""])
