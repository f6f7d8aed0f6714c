"""Particles in text, one per line. A rank reads the lines that begin in its part of the bytes."""

from __future__ import annotations

import io
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pdem.case.messages import shown_value
from pdem.foundation.headings import comment_names, meaning_of, require_si
from pdem.foundation.number_rows import (
    NumberRow,
    divider_of,
    fields_of,
    finite_numbers,
    is_heading,
    is_number,
    names_of,
    numbers_of,
    rows_of,
    without_comment,
)
from pdem.foundation.texts import NoTextError, TextError, is_wide, text_of
from pdem.output.summary import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pdem.foundation.array_types import Floats

    Columns = dict[str, Floats]

_PIECE = 1 << 24
_VECTORS = {"position": "", "velocity": "v", "angular_velocity": "w"}
_ORDER = ("x", "y", "z", "radius", "vx", "vy", "vz", "wx", "wy", "wz")
_WIDTHS: tuple[int, ...] = (4, 7)
_EXPORTED = b"position_x [m]"


class Unusable(Exception):
    """Problem of a file; the caller adds the file and the key of the case."""


class _Layout(NamedTuple):
    """Layout of a file.

    Attributes
    ----------
    begin : int
        Offset after the line of names; 0 without such a line.
    columns : tuple of str
        Quantities of the columns.
    sign : str
        Character that separates columns; empty for white space.
    """

    begin: int
    columns: tuple[str, ...]
    sign: str = ""


def text_columns(path: Path, part: int, parts: int) -> Columns:
    """Read the lines that begin in a part of the bytes of a text.

    Parameters
    ----------
    path : Path
        The file.
    part, parts : int
        Index of the part, from 0 on, and number of parts.

    Returns
    -------
    dict of ndarray
        ``position`` (n, 3) [m], ``radius`` (n,) [m], and, if the file has them, ``velocity`` (n, 3) [m/s] and
        ``angular_velocity`` (n, 3) [rad/s].

    Raises
    ------
    Unusable
        With the line and the problem.
    """
    with _opened(path) as file:
        try:
            return _columns(file, part, parts)
        except NoTextError as error:
            raise Unusable(f"is neither text in UTF-8 nor .npz nor HDF5 ({error})") from None
        except TextError as error:
            raise Unusable(str(error)) from None


def check_rows(position: Any, radius: Any, other: Any, name: Callable[[int], str]) -> None:
    """Require finite numbers and positive radii; `name` returns the name of a row.

    Raises
    ------
    Unusable
        With the first wrong row.
    """
    finite = np.isfinite(position).all(axis=1) & np.isfinite(radius) & np.isfinite(other).all(axis=1)
    if not finite.all():
        raise Unusable(f"{name(int(np.argmin(finite)))} holds a number that is not finite")
    if not np.all(radius > 0.0):
        row = int(np.argmin(radius > 0.0))
        raise Unusable(f"{name(row)}: radius {radius[row]:g} m; it must be greater than 0")


def _opened(path: Path) -> IO[bytes]:
    r"""Open a file of ASCII digits and lines that end in ``\n`` as bytes; any other file is read as a whole."""
    with path.open("rb") as file:
        head = file.read(_PIECE)
    if is_wide(head) or (b"\n" not in head and b"\r" in head):
        try:
            return io.BytesIO(text_of(path.read_bytes()).encode())
        except TextError as error:
            raise Unusable(str(error)) from None
    return path.open("rb")


def _columns(file: IO[bytes], part: int, parts: int) -> Columns:
    if _EXPORTED in file.readline(_PIECE):
        raise Unusable(
            "is a table of 'pdem export', for other programs; particles begin from a checkpoint of its run, or "
            "from a table with the columns x y z radius [vx vy vz] alone"
        )
    size = file.seek(0, io.SEEK_END)
    layout = _layout(file)
    begin, end = (max(_line_at(file, size * place // parts), layout.begin) for place in (part, part + 1))
    file.seek(begin)
    data = file.read(end - begin)
    try:
        table = _table(data, 1, layout)
    except (TextError, Unusable):
        if not begin:
            raise
        table = _table(data, 1 + _lines_before(file, begin), layout)  # raises the error again, with the right line
    columns = {"radius": table[:, layout.columns.index("radius")].copy()}
    for vector, letter in _VECTORS.items():
        if f"{letter}x" in layout.columns:
            columns[vector] = table[:, [layout.columns.index(letter + axis) for axis in "xyz"]]
    return columns


def _line_at(file: IO[bytes], offset: int) -> int:
    """Return the offset of the first line that begins at or after an offset."""
    if offset == 0:
        return 0
    file.seek(offset - 1)
    file.readline()
    return file.tell()


def _lines_before(file: IO[bytes], offset: int) -> int:
    """Return the number of lines before an offset."""
    count = 0
    file.seek(0)
    while file.tell() < offset:
        count += file.read(min(_PIECE, offset - file.tell())).count(b"\n")
    return count


def _layout(file: IO[bytes]) -> _Layout:
    """Return the layout of a file from its first line of names or numbers; without any, x, y, z and radius."""
    file.seek(0)
    number, commented = 0, NumberRow(0, "", [])
    while line := file.readline(_PIECE):
        number, text = number + 1, text_of(line)
        commented = NumberRow(number, text, names) if (names := comment_names(text)) else commented
        row = NumberRow(number, without_comment(text), [])
        if row.line:
            break
    else:
        return _Layout(0, _ORDER[:4])
    if is_heading(row):
        return _named(row._replace(fields=names_of(row.line)), file.tell())
    width = len(fields_of(row.line, _WIDTHS))
    if len(commented.fields) == width:
        _require_usual(commented)
    return _Layout(0, _ORDER[:width])


def _named(row: NumberRow, begin: int) -> _Layout:
    """Return the layout that a line of names specifies."""
    meanings = tuple(meaning_of(name) for name in row.fields)
    sign = divider_of(row.line)
    if not any(meanings) and len(meanings) in _WIDTHS:
        return _Layout(begin, _ORDER[: len(meanings)], sign)
    _require_radii(row, meanings)
    require_si(row.fields)
    vectors = [{letter + axis for axis in "xyz"} for letter in _VECTORS.values()]
    whole = all(len(vector & set(meanings)) in (0, 3) for vector in vectors)
    if not whole or not {"x", "radius"} <= set(meanings) <= set(_ORDER) or len(set(meanings)) < len(meanings):
        names = ", ".join(row.fields)
        raise Unusable(
            f"line {row.number} has {counted(len(row.fields), 'column')}, named {names}; allowed: x, y, z and radius, "
            "and vx, vy, vz, and wx, wy, wz, each once: take the others out"
        )
    return _Layout(begin, meanings, sign)


def _require_usual(row: NumberRow) -> None:
    """Reject a comment before the numbers that names the columns in a different order than they are read."""
    meanings = tuple(meaning_of(name) for name in row.fields)
    _require_radii(row, meanings)
    require_si(row.fields)
    if meanings != _ORDER[: len(meanings)]:
        raise Unusable(
            f"line {row.number} names the columns {', '.join(row.fields)} in a comment, where {', '.join(_ORDER[:7])} "
            "are read; take the # away, and they are read by their names"
        )


def _require_radii(row: NumberRow, meanings: Sequence[str]) -> None:
    if "diameter" in meanings:
        name = row.fields[meanings.index("diameter")]
        raise Unusable(
            f"line {row.number} names a column {shown_value(name)}, the diameter; pdem takes the radius, which is half "
            "of it: write radii, in a column radius"
        )


def _table(data: bytes, first_line: int, layout: _Layout) -> Floats:
    """Return the numbers of some lines, shape (n, width), after all checks."""
    width = len(layout.columns)
    widths = _WIDTHS if layout.begin == 0 else (width,)
    rows = list(rows_of(text_of(data), widths, first_line, layout.sign))
    for row in rows:
        if len(row.fields) != width or width not in widths:
            raise Unusable(f"line {row.number} has {_wrong_width(len(row.fields), layout)}")
    table = _numbers(rows).reshape(-1, width)
    columns = [[layout.columns.index(name) for name in names] for names in (_ORDER[:3], layout.columns)]
    radius = table[:, layout.columns.index("radius")]
    check_rows(table[:, columns[0]], radius, table[:, columns[1]], lambda row: f"line {rows[row].number}")
    return table


def _wrong_width(found: int, layout: _Layout) -> str:
    """Return a text that compares a line's number of columns with that of the lines before it."""
    width = len(layout.columns)
    if layout.begin:
        return f"{counted(found, 'column')}; allowed: {width}, as the line of names"
    same = f", like the lines before it ({width})" if found in _WIDTHS else ""
    return f"{counted(found, 'column')}; allowed: 4 (x y z radius) or 7 (x y z radius vx vy vz){same}"


def _numbers(rows: list[NumberRow]) -> Floats:
    try:
        return numbers_of([field for row in rows for field in row.fields])
    except TextError:
        for row in rows:
            if not all(map(is_number, row.fields)):
                finite_numbers(row)  # raises an error with the line and the word
        raise
