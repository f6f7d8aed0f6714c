"""Tables of numbers against time, in the case itself or in a text file."""

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
        What the columns after the time hold, for messages.

    Returns
    -------
    tuple of float, tuple of tuple of float
        Rising times [s], and a tuple of values for each.

    Raises
    ------
    CaseError
        Naming file and line: it cannot be read, has fewer than two rows or another number of columns, something is
        no finite number, or times do not rise.
    """
    try:
        lines = path.read_bytes().decode("utf-8").splitlines()
    except OSError as error:
        raise CaseError(
            f"{path}: cannot be read ({error.strerror}); tables are looked for in the folder of the case"
        ) from None
    except UnicodeDecodeError as error:
        raise CaseError(f"{path}: byte {error.start} is not UTF-8; a table is a text file") from None
    found: list[tuple[float, ...]] = []
    for number, line in enumerate(lines, 1):
        words = line.partition("#")[0].replace(",", " ").replace(";", " ").split()
        if not words or (not found and not _is_number(words[0])):  # a heading
            continue
        found.append(_row(path, number, words, names))
        if len(found) > 1 and found[-1][0] <= found[-2][0]:
            raise CaseError(
                f"{path}: line {number}: time {found[-1][0]:g} s follows {found[-2][0]:g} s; times must rise"
            )
    if len(found) < 2:
        raise CaseError(f"{path}: has {len(found)} rows of numbers; a table needs two or more")
    return tuple(row[0] for row in found), tuple(row[1:] for row in found)


def _row(path: Path, number: int, words: list[str], names: tuple[str, ...]) -> tuple[float, ...]:
    if len(words) != 1 + len(names):
        wanted = ", ".join(("time", *names))
        raise CaseError(f"{path}: line {number} has {len(words)} columns; needed: {wanted}")
    for word in words:
        if not _is_number(word) or not np.isfinite(float(word)):
            raise CaseError(f"{path}: line {number}: {word[:40]!r} is not a finite number")
    return tuple(float(word) for word in words)


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
