"""OBJ files: vertices and faces, with the names of their groups."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from pdem.containers.mesh_files.raw_surface import RawSurface, groups_of
from pdem.foundation.number_rows import is_number, number_of, numbers_in
from pdem.foundation.texts import TextError, read_text, shown_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pdem.foundation.array_types import Floats, Integers

_NAMES = {"g", "o", "mtllib", "usemtl", "usemap", "maplib", "shadow_obj", "trace_obj", "call"}
"""Statements with names, which may contain a backslash or a #."""

_WITHOUT_SHAPE = {
    "vn", "vt", "vp", "s", "mg", "bevel", "c_interp", "d_interp", "lod", "ctech", "stech", "csh", *_NAMES,
}  # fmt: skip
_CELLS = {"l": "line", "p": "vertex"}
_FREE_FORM = {
    "cstype", "deg", "bmat", "step", "curv", "curv2", "surf", "parm", "trim", "hole", "scrv", "sp", "end", "con",
}  # fmt: skip


class _Statements:
    """Statements of an OBJ file.

    Attributes
    ----------
    places, corners : list of str
        Coordinates of vertices, and corners of all faces.
    sizes : list of int
        Corners of each face.
    known : list of int
        Number of vertices before each face, for indices that count backwards.
    parts : dict of str to list of (int, str)
        Names of groups (``g``) and objects (``o``), each with the number of faces before it.
    others : Counter of str
        Numbers of ignored statements, by keyword.
    unknown : list of (int, str)
        Lines that are not statements, with their numbers.
    """

    def __init__(self, text: str) -> None:
        self.places: list[str] = []
        self.corners: list[str] = []
        self.sizes: list[int] = []
        self.known: list[int] = []
        self.parts: dict[str, list[tuple[int, str]]] = {"g": [], "o": []}
        self.others: Counter[str] = Counter()
        self.unknown: list[tuple[int, str]] = []
        for number, kind, rest in _statements(text):
            self._take(number, kind, rest)

    def _take(self, number: int, kind: str, rest: str) -> None:
        if kind == "v":
            self.places.append(rest)
        elif kind == "f":
            loop = rest.split()
            self.corners += loop
            self.sizes.append(len(loop))
            self.known.append(len(self.places))
        elif kind in self.parts:
            self.parts[kind].append((len(self.sizes), rest))
        elif kind in _CELLS or kind in _FREE_FORM:
            self.others[kind] += 1
        elif kind not in _WITHOUT_SHAPE:
            self.unknown.append((number, f"{kind} {rest}"))


def read_obj(path: Path) -> RawSurface:
    """Read vertices and faces of an OBJ file; its groups, or without groups its objects, become the groups.

    Raises
    ------
    ValueError
        If a vertex or a face is invalid; with the line.
    """
    text = read_text(path)
    found = _Statements(text)
    vertices = _vertices(text, found.places)
    index = _indices(text, found.corners)
    start = np.concatenate((np.zeros(1, np.int64), np.cumsum(found.sizes, dtype=np.int64)))
    back = np.repeat(np.array(found.known, np.int64), found.sizes) + index
    loops = np.where(index < 0, back, index - 1)
    wrong = np.flatnonzero((loops < 0) | (loops >= len(found.places)))
    if len(wrong):
        face = int(np.searchsorted(start, wrong[0], side="right")) - 1
        raise ValueError(_no_such_vertex(text, found, face, int(index[wrong[0]])))
    parts = found.parts["g"] or found.parts["o"]
    first = np.array([begin for begin, _ in parts], np.int64)
    part = np.searchsorted(first, np.arange(len(found.sizes)), side="right") - 1
    return RawSurface(
        vertices, start, loops, groups_of([name for _, name in parts], part),
        passed_over=tuple((_CELLS[kind], found.others[kind]) for kind in _CELLS if found.others[kind]),
        notes=_notes(found),
    )  # fmt: skip


def _statements(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield the number of the first line, the lower-case keyword, and the remaining text of every statement.

    A backslash at the end joins a line with the next, except in comments and after names, such as names of folders.
    """
    begun: tuple[int, str, str] | None = None
    for number, line in enumerate(text.split("\n"), 1):
        words = line.split(None, 1) if begun is None else [begun[1], f"{begun[2]} {line}"]
        if not words or words[0].startswith("#"):
            continue
        first, kind = number if begun is None else begun[0], words[0].lower()
        rest, begun = words[1].strip() if len(words) > 1 else "", None
        if kind not in _NAMES:
            rest = rest.partition("#")[0].rstrip() if "#" in rest else rest
            if rest.endswith("\\"):
                begun = first, kind, rest[:-1]
                continue
        yield first, kind, rest
    if begun is not None:
        yield begun


def _vertices(text: str, places: Sequence[str]) -> Floats:
    """Return the first three numbers of each vertex line; colours and weights may follow."""
    columns = len(places[0].split()) if places else 3
    try:
        numbers = numbers_in(" ".join(places))
        if columns >= 3 and _are_even(places, columns):
            return np.ascontiguousarray(numbers.reshape(-1, columns)[:, :3])
    except TextError:
        pass
    rows = [_vertex(number, rest) for number, kind, rest in _statements(text) if kind == "v"]
    return np.array(rows)


def _vertex(number: int, rest: str) -> list[float]:
    words = rest.split()[:3]
    try:
        if len(words) == 3:
            return [number_of(word) for word in words]
    except TextError as error:
        raise ValueError(f"line {number}: {error}") from None
    raise ValueError(f"line {number}: {shown_text('v ' + rest)} is no vertex: 3 coordinates are needed")


def _are_even(places: Sequence[str], columns: int) -> bool:
    """Return whether all lines have this number of words."""
    return all(len(place.split()) == columns for place in places)


def _indices(text: str, corners: Sequence[str]) -> Integers:
    """Return the vertex numbers of corners; numbers of textures and normals may follow after a slash."""
    try:
        index = np.array([int(corner.partition("/")[0]) for corner in corners], np.int64)
    except (ValueError, OverflowError):
        index = np.zeros(1, np.int64)
    if (index != 0).all():
        return index
    for number, kind, rest in _statements(text):
        for corner in rest.split() if kind == "f" else ():
            word = corner.partition("/")[0]
            if not word.removeprefix("-").isascii() or not word.removeprefix("-").isdecimal():
                hint = ": they are whole numbers" if is_number(word) else ""
                raise ValueError(f"line {number}: {shown_text(corner)} is no number of a vertex{hint}")
            if int(word) == 0:
                raise ValueError(f"line {number}: vertex 0 of {shown_text('f ' + rest)}; OBJ counts vertices from 1")
    raise ValueError("a face has numbers of vertices that are too large")


def _no_such_vertex(text: str, found: _Statements, face: int, index: int) -> str:
    """Return the error text for a face, counted from 0, with an index of a missing vertex."""
    number, rest = [(number, rest) for number, kind, rest in _statements(text) if kind == "f"][face]
    there = f"the file has {len(found.places):,} vertices"
    if index < 0:
        there += f", {found.known[face]:,} of them before this line, from which negative numbers count"
    return f"line {number}: vertex {index} of {shown_text('f ' + rest)}; {there}"


def _notes(found: _Statements) -> tuple[str, ...]:
    notes = []
    free = sum(count for kind, count in found.others.items() if kind in _FREE_FORM)
    if free:
        surfaces = found.others["surf"]
        lost = f", {surfaces:,} surfaces among them: export these as facets" if surfaces else ""
        notes.append(f"{free:,} lines of free-form curves and surfaces were left out{lost}")
    if found.unknown:
        number, line = found.unknown[0]
        notes.append(
            f"{len(found.unknown):,} lines were not understood and left out (first: line {number}, {shown_text(line)})"
        )
    return tuple(notes)
