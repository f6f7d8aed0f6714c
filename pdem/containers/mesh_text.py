"""STL and OBJ files, line by line and with the names of their parts, which meshio passes over."""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

_HEADER, _FACET = 84, 50
_VERTEX = re.compile(r"\bvertex[ \t]+(\S+[ \t]+\S+[ \t]+\S+)", re.IGNORECASE)
_SOLID = re.compile(r"^[ \t]*(end[ \t]*)?solid\b([^\n]*)", re.IGNORECASE | re.MULTILINE)
_COMMENT = re.compile(r"#[^\n]*")
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
    corners = [(match.start(), match[1]) for match in _VERTEX.finditer(text)]
    solids = list(_SOLID.finditer(text))
    begun = [match for match in solids if not match[1]]
    vertices = len(corners)
    if not solids[-1][1] or vertices % 3 or vertices != text.lower().count("vertex"):
        raise ValueError(
            f"it breaks off, or has torn lines, after {vertices} vertices in solid {begun[-1][2]!r}"
        )
    surface = _triangles(_table([place for _, place in corners], 3))
    facet_place = np.array([place for place, _ in corners[::3]], np.int64)
    part = np.searchsorted([match.start() for match in begun], facet_place, side="right") - 1
    names, group = _named([match[2].strip() for match in begun], part)
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
    text = path.read_bytes().decode("utf-8", errors="replace")
    text = _COMMENT.sub("", text.replace("\\\n", " ").replace("\\\r\n", " "))
    places: list[str] = []
    corners: list[str] = []
    sizes: list[int] = []
    known: list[int] = []  # vertices before each face, for indices that count backwards
    parts: dict[str, list[tuple[int, str]]] = {"g": [], "o": []}
    for line in text.splitlines():
        kind, _, rest = line.strip().partition(" ")
        if kind == "v":
            places.append(rest)
        elif kind == "f":
            loop = rest.split()
            corners += loop
            sizes.append(len(loop))
            known.append(len(places))
        elif kind in parts:
            parts[kind].append((len(sizes), rest.strip()))
    index = np.array([int(corner.partition("/")[0]) for corner in corners], np.int64)
    back = np.repeat(np.array(known, np.int64), sizes) + index
    start = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)))
    found = parts["g"] or parts["o"]
    first = np.array([begin for begin, _ in found], np.int64)
    group = np.searchsorted(first, np.arange(len(sizes)), side="right") - 1
    names, facet_group = _named([name for _, name in found], group)
    return RawSurface(_table(places, 3), start, np.where(index < 0, back, index - 1), names, facet_group)


def _table(lines: Sequence[str], least: int) -> NDArray[np.float64]:
    """Return the first `least` numbers of each line."""
    if not lines:
        return np.zeros((0, least))
    columns = len(lines[0].split())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        numbers = _numbers(" ".join(lines))
    if columns < least or numbers.size != columns * len(lines):
        short = next((line for line in lines if len(line.split()) < least), None)
        if short is not None:
            raise ValueError(f"{short.strip()!r} is no vertex: {least} coordinates are needed")
        return np.array([[float(word) for word in line.split()[:least]] for line in lines])
    return np.ascontiguousarray(numbers.reshape(-1, columns)[:, :least])


def _numbers(text: str) -> NDArray[np.float64]:
    try:
        return np.fromstring(text, dtype=np.float64, sep=" ")
    except DeprecationWarning:
        word = next(word for word in text.split() if not _is_number(word))
        raise ValueError(f"{word[:40]!r} is no coordinate") from None


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
