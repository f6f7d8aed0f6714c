"""Reader of tables of numbers against time from text files."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pdem.foundation.errors import CaseError


def read_table(path: Path, names: tuple[str, ...]) -> tuple[tuple[float, ...], tuple[tuple[float, ...], ...]]:
    """Read a table against time from text.

    Parameters
    ----------
    path : Path
        Columns separated by commas, semicolons or blanks; ``#`` begins a comment, and the first line may name the
        columns.
    names : tuple of str
        Names of the columns after the time, for messages.

    Returns
    -------
    tuple of float, tuple of tuple of float
        Rising times [s], and a tuple of values for each.

    Raises
    ------
    CaseError
        With file and line: it cannot be read, has fewer than two rows or another number of columns, a word is no
        finite number, or times do not rise.
    """
    try:
        lines = path.read_bytes().decode("utf-8").splitlines()
    except OSError as error:
        raise CaseError(
            f"{path}: cannot be read ({error.strerror}); tables are looked for in the folder of the case"
        ) from None
    except UnicodeDecodeError as error:
        raise CaseError(f"{path}: byte {error.start} is not UTF-8; a table is a text file") from None
    rows: list[tuple[float, ...]] = []
    for number, line in enumerate(lines, 1):
        words = line.partition("#")[0].replace(",", " ").replace(";", " ").split()
        if not words or (not rows and not is_number(words[0])):  # a heading
            continue
        rows.append(_row(path, number, words, names))
        if len(rows) > 1 and rows[-1][0] <= rows[-2][0]:
            raise CaseError(
                f"{path}: line {number}: time {rows[-1][0]:g} s follows {rows[-2][0]:g} s; times must rise"
            )
    if len(rows) < 2:
        raise CaseError(f"{path}: has {len(rows)} rows of numbers; a table needs two or more")
    return tuple(row[0] for row in rows), tuple(row[1:] for row in rows)


def _row(path: Path, number: int, words: list[str], names: tuple[str, ...]) -> tuple[float, ...]:
    if len(words) != 1 + len(names):
        wanted = ", ".join(("time", *names))
        raise CaseError(f"{path}: line {number} has {len(words)} columns; needed: {wanted}")
    for word in words:
        if not is_number(word) or not np.isfinite(float(word)):
            raise CaseError(f"{path}: line {number}: {word[:40]!r} is not a finite number")
    return tuple(float(word) for word in words)


def is_number(word: str) -> bool:
    """Return whether a word is a number."""
    try:
        float(word)
    except ValueError:
        return False
    return True
