"""Legacy VTK files of surfaces: PolyData from VTK, ParaView and PyVista, and unstructured grids of facets from pdem.

Meshio reads other data sets, and grids with other cells. It cannot read PolyData, and its import takes longer than
reading a mesh.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.containers.mesh_files.raw_surface import RawSurface, rows_of_tables
from pdem.foundation.number_rows import numbers_of
from pdem.foundation.texts import has_mark, text_of

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from pdem.foundation.array_types import Floats, Integers

_TYPES = {
    "bit": "u1", "unsigned_char": "u1", "char": "i1", "unsigned_short": "u2", "short": "i2", "unsigned_int": "u4",
    "int": "i4", "vtkidtype": "i4", "unsigned_long": "u8", "long": "i8", "vtktypeint64": "i8", "vtktypeuint64": "u8",
    "float": "f4", "double": "f8",
}  # fmt: skip
_CELLS = {"VERTICES": "vertex", "LINES": "line", "POLYGONS": "polygon", "TRIANGLE_STRIPS": "strip", "CELLS": "any"}
_KINDS = {
    1: ("vertex", 1), 2: ("vertex", 0), 3: ("line", 2), 4: ("line", 0), 5: ("polygon", 3), 6: ("strip", 0),
    7: ("polygon", 0), 8: ("pixel", 4), 9: ("polygon", 4), 10: ("tetra", 4), 11: ("hexahedron", 8),
    12: ("hexahedron", 8), 13: ("wedge", 6), 14: ("pyramid", 5), 21: ("line3", 3), 22: ("triangle6", 6),
    23: ("quad8", 8), 24: ("tetra10", 10),
    25: ("hexahedron20", 20), 26: ("wedge15", 15), 27: ("pyramid13", 13), 28: ("quad9", 9), 29: ("hexahedron27", 27),
}  # fmt: skip
"""Names of cell types by their VTK numbers, with their numbers of points, 0 for any number."""

_POLYGON = 7
_NAMES = {b"POLYDATA": "PolyData", b"UNSTRUCTURED_GRID": "a grid"}
_WORDS = {"METADATA": 1, "CELL_TYPES": 2}
_HEAD_LINES = re.compile(
    rb"\A#\s*vtk DataFile.*\n.*\n\s*(ASCII|BINARY)\s*\n\s*DATASET\s+(POLYDATA|UNSTRUCTURED_GRID)", re.IGNORECASE
)
_RADII = ("radius", "radii", "r")
_EMPTY_LINE = re.compile(rb"\n[ \t]*\r?\n")


def is_poly_data(path: Path) -> bool:
    """Return whether a file is a legacy VTK file with PolyData."""
    head = _HEAD_LINES.match(_content(path))
    return head is not None and head[2].upper() == b"POLYDATA"


def _content(path: Path) -> bytes:
    """Return the bytes of a file; text is converted to UTF-8 without a byte order mark."""
    content = path.read_bytes()
    return content if b"\0" in content and not has_mark(content) else text_of(content).encode()


def read_vtk(path: Path) -> RawSurface | None:
    """Read the facets of a file, text or binary, of versions up to 5.1; attributes are skipped.

    Returns
    -------
    RawSurface or None
        None if the file contains other data.

    Raises
    ------
    ValueError
        If the file is truncated or invalid.
    """
    content = _content(path)
    return _surface(_File(content)) if _HEAD_LINES.match(content) else None


def write_vtk(path: Path, vertices: Floats, start: Integers, loops: Integers) -> None:
    """Write facets in compressed rows as a binary grid."""
    sides = np.diff(start)
    types = np.where(sides == 3, 5, np.where(sides == 4, 9, _POLYGON))
    parts = (
        (f"POINTS {len(vertices)} double", vertices, ">f8"),
        (f"CELLS {len(start)} {len(loops)}\nOFFSETS vtktypeint64", start, ">i8"),
        ("CONNECTIVITY vtktypeint64", loops, ">i8"),
        (f"CELL_TYPES {len(sides)}", types, ">i4"),
    )
    with path.open("wb") as file:
        file.write(b"# vtk DataFile Version 5.1\nwritten by pdem\nBINARY\nDATASET UNSTRUCTURED_GRID\n")
        for words, numbers, kind in parts:
            file.write(words.encode() + b"\n" + numbers.astype(kind).tobytes() + b"\n")


def _surface(file: _File) -> RawSurface | None:
    """Return the facets of a file, None if the file has other cells as well."""
    points = np.zeros((0, 3))
    cells: dict[str, tuple[Integers, Integers]] = {}
    types = np.zeros(0, np.int64)
    while (words := file.line().split()) and words[0].upper() not in ("POINT_DATA", "CELL_DATA"):
        name = words[0].upper()
        if len(words) < _WORDS.get(name, 3):
            raise ValueError(f"{' '.join(words)[:40]!r} does not say how much follows")
        if name == "POINTS":
            points = file.numbers(3 * int(words[1]), words[2]).astype(np.float64).reshape(-1, 3)
        elif name in _CELLS:
            cells[_CELLS[name]] = _cells(file, int(words[1]), int(words[2]))
        elif name == "CELL_TYPES":
            types = file.numbers(int(words[1]), "int")
        elif name == "FIELD":
            file.skip_field(int(words[2]))
        elif name == "METADATA":
            file.skip_paragraph()
        else:
            raise ValueError(f"{words[0][:40]!r} is no part of {file.data_set}")
    if "any" in cells:
        if not np.isin(types, list(_KINDS)).all():
            return None
        cells = _by_kind(*cells["any"], types)
    start, loops = cells.pop("polygon", (np.zeros(1, np.int64), np.zeros(0, np.int64)))
    tables = []
    if "strip" in cells:
        tables.append(_triangles(*cells.pop("strip")))
    if "pixel" in cells:
        tables.append(cells.pop("pixel")[1].reshape(-1, 4)[:, [0, 1, 3, 2]])
    more, rest = rows_of_tables(tables)
    start, loops = np.concatenate((start, start[-1] + more[1:])), np.concatenate((loops, rest))
    passed = tuple((kind, len(of_kind[0]) - 1) for kind, of_kind in cells.items() if len(of_kind[0]) > 1)
    return RawSurface(points, start, loops, passed_over=passed)


def _by_kind(start: Integers, loops: Integers, types: Integers) -> dict[str, tuple[Integers, Integers]]:
    """Return the cells of a grid by type."""
    sides = np.diff(start)
    wanted = np.array([_KINDS.get(number, ("", 0))[1] for number in range(max(_KINDS) + 1)])[types]
    if len(types) != len(sides) or ((wanted > 0) & (sides != wanted)).any():
        raise ValueError("the CELL_TYPES of its cells do not fit these")
    found = {}
    for kind in dict.fromkeys(name for name, _ in _KINDS.values()):
        chosen = np.isin(types, [number for number, (name, _) in _KINDS.items() if name == kind])
        if chosen.any():
            begin = np.concatenate((np.zeros(1, np.int64), np.cumsum(sides[chosen])))
            found[kind] = begin, loops[np.repeat(chosen, sides)]
    return found


def read_radii(path: Path) -> tuple[Floats, Floats]:
    """Read points (n, 3) and their attribute ``radius`` (n,), the output of programs that fit spheres to shapes.

    Raises
    ------
    ValueError
        If the file is truncated, invalid, or has no radii.
    """
    file = _File(_content(path))
    points, radius, of_points = np.zeros((0, 3)), None, False
    while radius is None and (words := file.line().split()):
        name = words[0].upper()
        if name == "POINTS" and len(words) > 2:
            points = file.numbers(3 * int(words[1]), words[2]).astype(np.float64).reshape(-1, 3)
        elif name in _CELLS and len(words) > 2:
            _cells(file, int(words[1]), int(words[2]))
        elif name == "METADATA":
            file.skip_paragraph()
        elif name in ("POINT_DATA", "CELL_DATA"):
            of_points = name == "POINT_DATA"
        elif name == "SCALARS" and len(words) > 2:
            radius = file.scalars(words, len(points) if of_points else -1)
        elif name == "FIELD" and len(words) > 2:
            radius = file.skip_field(int(words[2]), _RADII if of_points else ())
        else:
            raise ValueError(f"{' '.join(words)[:40]!r} is no part of points with radii")
    if radius is None or len(radius) != len(points):
        raise ValueError("it has no radius for each of its points; write them as the scalars 'radius' of the points")
    return points, radius


class _File:
    """A legacy VTK file after its header: lines, and numbers as text or big-endian.

    Parameters
    ----------
    content : bytes
        Content of the whole file.
    """

    def __init__(self, content: bytes) -> None:
        head = _HEAD_LINES.match(content)
        assert head is not None, "other files are not read"
        self.data_set = _NAMES[head[2].upper()]
        self._content, self._binary = content, head[1].upper() == b"BINARY"
        self._place = head.end()

    def line(self) -> str:
        """Return the next line that is not empty, or an empty line at the end of the file."""
        while self._place < len(self._content):
            end = self._content.find(b"\n", self._place)
            if end < 0:
                raise ValueError("it breaks off: its last line has no end")
            text = self._content[self._place : end].decode("ascii", errors="replace").strip()
            self._place = end + 1
            if text:
                return text
        return ""

    def numbers(self, count: int, kind: str) -> NDArray[Any]:
        """Return the next numbers, of a VTK type."""
        if kind.lower() not in _TYPES:
            raise ValueError(f"{kind[:40]!r} is no type of numbers")
        if count < 0:
            raise ValueError(f"it says to hold {count} numbers")
        dtype = np.dtype(_TYPES[kind.lower()])
        if self._binary:
            return self._bytes(count, dtype)
        words: list[str] = []
        while len(words) < count:
            line = self.line()
            if not line:
                raise ValueError(f"it breaks off: {count - len(words)} of {count} numbers are missing")
            words += line.split()
        if len(words) > count:
            raise ValueError(f"it holds more than {count} numbers where it says so many")
        return numbers_of(words) if dtype.kind == "f" else np.array(words, np.int64)

    def _bytes(self, count: int, dtype: np.dtype[np.generic]) -> NDArray[Any]:
        end = self._place + count * dtype.itemsize
        if end > len(self._content):
            raise ValueError(f"it breaks off: {end - len(self._content)} bytes are missing")
        values = np.frombuffer(self._content, dtype.newbyteorder(">"), count, self._place)
        self._place = end
        return values.astype(np.float64 if dtype.kind == "f" else np.int64)

    def scalars(self, words: list[str], count: int) -> Floats | None:
        """Return scalars of `count` points if they are radii, None for other scalars.

        Raises
        ------
        ValueError
            If the scalars do not belong to points; `count` is -1 then.
        """
        if count < 0 or (len(words) > 3 and words[3] != "1"):
            raise ValueError(f"{' '.join(words)[:40]!r} is no number for each point")
        if self.comes(b"LOOKUP_TABLE"):
            self.line()
        values = self.numbers(count, words[2]).astype(np.float64)
        return values if words[1].lower() in _RADII else None

    def skip_field(self, arrays: int, wanted: tuple[str, ...] = ()) -> Floats | None:
        """Skip the arrays of a field; return the last array with one of the wanted names."""
        found = None
        for _ in range(arrays):
            words = self.line().split()
            while words and words[0].upper() == "METADATA":
                self.skip_paragraph()
                words = self.line().split()
            if len(words) != 4:
                raise ValueError(f"{' '.join(words)[:40]!r} is no array of a field")
            values = self.numbers(int(words[1]) * int(words[2]), words[3])
            found = values.astype(np.float64) if words[0].lower() in wanted else found
        return found

    def skip_paragraph(self) -> None:
        """Skip everything up to an empty line."""
        end = _EMPTY_LINE.search(self._content, self._place)
        self._place = len(self._content) if end is None else end.end()

    def comes(self, word: bytes) -> bool:
        """Return whether the next line begins with a word."""
        return self._content[self._place : self._place + len(word)].upper() == word


def _cells(file: _File, count: int, size: int) -> tuple[Integers, Integers]:
    """Return cells in compressed rows, the form of files since version 5; before, cells begin with their lengths."""
    if file.comes(b"OFFSETS"):
        start = file.numbers(count, file.line().split()[-1]).astype(np.int64)
        words = file.line().split()
        if len(words) != 2 or words[0].upper() != "CONNECTIVITY":
            raise ValueError(f"{' '.join(words)[:40]!r} is not the CONNECTIVITY of cells")
        loops = file.numbers(size, words[1]).astype(np.int64)
        if start[0] != 0 or start[-1] != size or (np.diff(start) < 0).any():
            raise ValueError("the OFFSETS of its cells do not fit their CONNECTIVITY")
        return start, loops
    return _rows(file.numbers(size, "int").astype(np.int64), count)


def _rows(flat: Integers, count: int) -> tuple[Integers, Integers]:
    """Return compressed rows of cells that each begin with their number of vertices."""
    sides = int(flat[0]) if len(flat) else 0
    if count and len(flat) == count * (sides + 1) and (flat[:: sides + 1] == sides).all():
        return sides * np.arange(count + 1), flat.reshape(count, -1)[:, 1:].reshape(-1)
    places = [0]
    for _ in range(count):
        if places[-1] >= len(flat) or flat[places[-1]] < 0:
            raise ValueError("the sizes of its cells do not fit their number")
        places.append(places[-1] + 1 + int(flat[places[-1]]))
    if places[-1] != len(flat):
        raise ValueError("the sizes of its cells do not fit their number")
    return np.array(places) - np.arange(count + 1), np.delete(flat, places[:-1])


def _triangles(start: Integers, loops: Integers) -> Integers:
    """Return the triangles (t, 3) of strips, all with the same orientation."""
    found = [np.zeros((0, 3), np.int64)]
    for first, last in zip(start[:-1].tolist(), start[1:].tolist(), strict=True):
        rows = np.arange(first, last - 2)[:, None] + np.arange(3)
        rows[1::2] = rows[1::2][:, [1, 0, 2]]
        found.append(loops[rows])
    return np.concatenate(found)
