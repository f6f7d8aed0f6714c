"""Reader of tables of numbers against time from text files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from pdem.foundation.errors import CaseError
from pdem.foundation.headings import comment_names, require_order, require_si
from pdem.foundation.number_rows import finite_numbers, is_heading, names_of, rows_of
from pdem.foundation.texts import TextError, read_text, shown_text

if TYPE_CHECKING:
    from pathlib import Path

    from pdem.foundation.array_types import Floats
    from pdem.foundation.number_rows import NumberRow


class ValueTable(Protocol):
    """Section of a table with one value for each time, in the case or in a file."""

    times: tuple[float, ...] | None
    values: tuple[float, ...] | None
    file: str | None


def read_table(path: Path, names: tuple[str, ...]) -> tuple[tuple[float, ...], tuple[tuple[float, ...], ...]]:
    """Read a table against time from text.

    Parameters
    ----------
    path : Path
        Text with columns divided by commas, semicolons or blanks; ``#`` begins a comment. A first line without any
        number contains the names of the columns.
    names : tuple of str
        Names of the columns after the time, for messages.

    Returns
    -------
    tuple of float, tuple of tuple of float
        Increasing times [s], and a tuple of values for each.

    Raises
    ------
    CaseError
        With file and line: the file cannot be read, has fewer than two rows or a wrong number of columns, a word is
        not a finite number, times do not increase, or names of columns are wrong or have wrong units.
    """
    try:
        rows = _rows(read_text(path), ("time", *names))
    except TextError as error:
        raise CaseError(f"{path}: {error}") from None
    except OSError as error:
        raise CaseError(
            f"{path}: cannot be read ({error.strerror}); tables are looked for in the folder of the case"
        ) from None
    return tuple(row[0] for row in rows), tuple(row[1:] for row in rows)


def table_of_values(folder: Path, table: ValueTable, name: str) -> tuple[Floats, Floats]:
    """Return times (n,) [s] and values (n,) of a table with one value for each time, from the case or its file.

    Files are relative to `folder`, and `name` is the name of the values in messages.

    Raises
    ------
    CaseError
        If its file cannot be used, see `read_table`.
    """
    if table.file is None:
        return np.array(table.times, np.float64), np.array(table.values, np.float64)
    times, rows = read_table(folder / table.file, (name,))
    return np.array(times), np.array(rows)[:, 0]


def _rows(text: str, columns: tuple[str, ...]) -> list[tuple[float, ...]]:
    lines = text.split("\n")
    found: list[tuple[float, ...]] = []
    for place, row in enumerate(rows_of(text, (len(columns),))):
        if place == 0:
            _check_names(lines[: row.number - 1], row, columns)
        if place == 0 and is_heading(row):
            continue
        found.append(_numbers(row, columns))
        if len(found) > 1 and found[-1][0] <= found[-2][0]:
            raise TextError(f"line {row.number}: time {found[-1][0]:g} s follows {found[-2][0]:g} s; times must rise")
    if len(found) < 2:
        raise TextError(f"has {len(found)} rows of numbers; a table needs two or more")
    return found


def _check_names(comments: list[str], row: NumberRow, columns: tuple[str, ...]) -> None:
    """Reject wrong names of columns, or names with wrong units, in the first row or in comments before it."""
    named = [(number, names) for number, line in enumerate(comments, 1) if (names := comment_names(line))]
    if is_heading(row):
        named.append((row.number, names_of(row.line)))
    for number, names in named:
        try:
            require_order(names, columns)
            require_si(names)
        except TextError as error:
            raise TextError(f"line {number}: {error}") from None


def _numbers(row: NumberRow, columns: tuple[str, ...]) -> tuple[float, ...]:
    if is_heading(row):
        raise TextError(
            f"line {row.number}: {shown_text(row.line)} are no numbers; the first line alone may name the columns, "
            "begin others with #"
        )
    if len(row.fields) != len(columns):
        text = f"line {row.number} has {len(row.fields)} columns; needed: {', '.join(columns)}"
        commas = row.line.count(",") >= 2 * len(columns) - 1
        raise TextError(f"{text}; if commas are decimal signs, write points" if commas else text)
    return tuple(finite_numbers(row))
