"""Files of pairs to be bonded: each line has the ids of two particles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.case.messages import shown_key, shown_value
from pdem.case.missing_file import missing_file_error
from pdem.foundation.errors import CaseError
from pdem.foundation.number_rows import finite_numbers, is_heading, rows_of
from pdem.foundation.texts import TextError, read_text

if TYPE_CHECKING:
    from pdem.case.sections.schema import CaseData
    from pdem.foundation.array_types import Integers
    from pdem.foundation.number_rows import NumberRow

_COLUMNS = 2
_LARGEST = 2.0**53


def read_pairs(case: CaseData, name: str) -> tuple[Integers, Integers]:
    """Read the file of a kind of bonds.

    Parameters
    ----------
    case : CaseData
        The case.
    name : str
        Name of the kind of bonds, which has a file.

    Returns
    -------
    pairs : (n, 2) array
        Ids, the lower id first, in the order of the file.
    lines : (n,) array
        Line numbers of the pairs.

    Raises
    ------
    CaseError
        With the file and the line, if the file does not exist or is no text, a line does not have two columns, a number
        is no id, a particle is joined with itself, or the file has a pair twice.
    """
    given = case.bonds[name].file or ""
    path, where = case.file(given), f"{case.source}: {shown_key(['bonds', name, 'file'])} = {shown_value(given)}"
    if not path.is_file():
        raise missing_file_error(case, where, path)
    try:
        rows = list(rows_of(read_text(path), (_COLUMNS,)))
        ids = [_ids_of(row) for row in (rows[1:] if rows and is_heading(rows[0]) else rows)]
    except TextError as error:
        raise CaseError(f"{where}: {error}") from None
    except OSError as error:
        raise CaseError(f"{where}: cannot be read: {' '.join(str(error).splitlines())}") from None
    if not ids:
        raise CaseError(f"{where}: has no pairs; give the ids of two particles in each line")
    table = np.array(ids, dtype=np.int64)
    pairs, lines = np.sort(table[:, 1:], axis=1), table[:, 0]
    _require_once(pairs, lines, where)
    return pairs, lines


def _ids_of(row: NumberRow) -> tuple[int, int, int]:
    """Return the line number of a row and its two ids."""
    if len(row.fields) != _COLUMNS:
        raise TextError(f"line {row.number}: has {len(row.fields)} columns; give the ids of two particles")
    first, second = finite_numbers(row)
    for value, field in zip((first, second), row.fields, strict=True):
        if value < 0.0 or value != int(value) or value >= _LARGEST:
            raise TextError(f"line {row.number}: {field} is no id of a particle; ids are whole numbers from 0 on")
    if first == second:
        raise TextError(f"line {row.number}: joins particle {int(first)} with itself; give two particles")
    return row.number, int(first), int(second)


def _require_once(pairs: Integers, lines: Integers, where: str) -> None:
    """Raise an error if two lines have the same pair."""
    order = np.lexsort((lines, pairs[:, 1], pairs[:, 0]))
    ordered = pairs[order]
    same = np.flatnonzero((ordered[1:] == ordered[:-1]).all(axis=1))
    if len(same):
        at = same[np.argmin(lines[order[same + 1]])]
        lower, higher = ordered[at].tolist()
        raise CaseError(
            f"{where}: line {lines[order[at + 1]]}: particles {lower} and {higher} are joined by line "
            f"{lines[order[at]]} already; remove one of them"
        )
