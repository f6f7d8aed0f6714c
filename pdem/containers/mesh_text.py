"""STL and OBJ files, line by line and with the names of their parts, which meshio passes over."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

_HEADER, _FACET = 84, 50
_RECORD = np.dtype([("normal", "<f4", (3,)), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])


class RawSurface(NamedTuple):
    """Facets as a file has them.

    Attributes
    ----------
    vertices : ndarray, shape (V, 3), float64
        Not welded, in the unit of the file.
    start, loops : ndarray of int64
        Facets in compressed rows, in the order of the file.
    groups : tuple of str
        Names of the parts that the file tells apart.
    facet_group : ndarray, shape (F,), int64
        Part of each facet, -1 for none.
    passed_over : tuple of (str, int)
        Kinds and numbers of cells that are no surface.
    """

    vertices: NDArray[np.float64]
    start: NDArray[np.int64]
    loops: NDArray[np.int64]
    groups: tuple[str, ...] = ()
    facet_group: NDArray[np.int64] = np.zeros(0, np.int64)
    passed_over: tuple[tuple[str, int], ...] = ()


def read_stl(path: Path) -> RawSurface:
    """Read an STL file, binary or text; several solids of a text file are its groups.

    Raises
    ------
    ValueError
        If it is torn or no STL file.
    """
    with path.open("rb") as file:
        head = file.read(_HEADER)
        size = path.stat().st_size
        number = int.from_bytes(head[80:84], "little")
        if len(head) == _HEADER and size == _HEADER + _FACET * number:
            return _triangles(np.fromfile(file, _RECORD)["corners"].astype(np.float64))
        if not head.lstrip().lower().startswith(b"solid"):
            raise ValueError(
                f"{size} bytes, where a binary STL of its {number} facets has {_HEADER + _FACET * number}"
            )
        file.seek(0)
        return _text_stl(file.read().decode("utf-8", errors="replace"))


def _text_stl(text: str) -> RawSurface:
    groups: list[str] = []
    corners: list[str] = []
    facets: list[int] = []  # before each solid
    open_solid = False
    for line in text.splitlines():
        match line.split(None, 1):
            case ["vertex" | "VERTEX", place]:
                corners.append(place)
            case [word, *name] if word.lower() == "solid":
                groups.append(name[0].strip() if name else "")
                facets.append(len(corners) // 3)
                open_solid = True
            case [word, *_] if word.lower() in ("endsolid", "end"):
                open_solid = False
    if open_solid or len(corners) % 3:
        raise ValueError(f"it breaks off after {len(corners)} vertices, in solid {groups[-1]!r}")
    surface = _triangles(_table(corners, 3))
    sizes = np.diff([*facets, len(corners) // 3])
    names, group = _named(groups, np.repeat(np.arange(len(groups)), sizes))
    return surface._replace(groups=names, facet_group=group)


def _triangles(corners: NDArray[np.float64]) -> RawSurface:
    count = corners.size // 3
    return RawSurface(
        corners.reshape(-1, 3), np.arange(0, count + 1, 3), np.arange(count), (), np.full(count // 3, -1)
    )


def _named(names: Sequence[str], group: NDArray[np.int64]) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Return distinct names and the number of each facet's, -1 for facets of nameless parts."""
    distinct = tuple(dict.fromkeys(name for name in names if name))
    number = {name: place for place, name in enumerate(distinct)}
    lookup = np.array([*(number.get(name, -1) for name in names), -1], np.int64)
    return distinct, lookup[group]


def read_obj(path: Path) -> RawSurface:
    """Read vertices and faces of an OBJ file; its groups, or without any its objects, are the groups.

    Raises
    ------
    ValueError
        If a line cannot be understood.
    """
    text = path.read_bytes().decode("utf-8", errors="replace").replace("\\\n", " ").replace("\\\r\n", " ")
    places: list[str] = []
    corners: list[str] = []
    sizes: list[int] = []
    known: list[int] = []  # vertices before each face, for indices that count backwards
    parts: dict[str, list[tuple[int, str]]] = {"g": [], "o": []}
    for line in text.splitlines():
        words = line.split("#", 1)[0].split()
        match words:
            case ["v", _, _, _, *_]:
                places.append(" ".join(words[1:4]))
            case ["f", *loop]:
                corners += loop
                sizes.append(len(loop))
                known.append(len(places))
            case ["v", *_]:
                raise ValueError(f"{line.strip()!r} is no vertex")
            case ["g" | "o" as kind, *said]:
                parts[kind].append((len(sizes), " ".join(said)))
    index = np.array([int(corner.partition("/")[0]) for corner in corners], np.int64)
    back = np.repeat(np.array(known, np.int64), sizes) + index
    start = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)))
    found = parts["g"] or parts["o"]
    first = np.array([begin for begin, _ in found], np.int64)
    group = np.searchsorted(first, np.arange(len(sizes)), side="right") - 1
    names, facet_group = _named([name for _, name in found], group)
    return RawSurface(_table(places, 3), start, np.where(index < 0, back, index - 1), names, facet_group)


def _table(lines: Sequence[str], columns: int) -> NDArray[np.float64]:
    """Return lines of numbers as a table."""
    if not lines:
        return np.zeros((0, columns))
    table = np.loadtxt(lines, dtype=np.float64, ndmin=2, comments=None)
    if table.shape[1] != columns:
        raise ValueError(f"{lines[0]!r} is not {columns} coordinates")
    return table
