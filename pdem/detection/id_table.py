"""A hash table from particle ids to rows, for contacts that come from other ranks or from a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.numerics.kernels import inlined, kernel

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats, Int32s, Integers


@inlined
def _place(identity: int, mask: int) -> int:
    """Return the first index to try for an id in a table of length mask + 1."""
    mixed = identity * 0x2545F4914F6CDD1D
    return (mixed ^ (mixed >> 29)) & mask


@kernel
def index_ids(ids: Integers, count: int, table: Int32s) -> None:
    """Hash the rows of `count` ids into `table` (length a power of two, at least twice `count`)."""
    mask = len(table) - 1
    table[:] = -1
    for row in range(count):
        place = _place(ids[row], mask)
        while table[place] >= 0:
            place = (place + 1) & mask
        table[place] = row


@inlined
def find_id(identity: int, ids: Integers, table: Int32s) -> int:
    """Return the row of an id, or -1."""
    mask = len(table) - 1
    place = _place(identity, mask)
    while table[place] >= 0:
        if ids[table[place]] == identity:
            return table[place]
        place = (place + 1) & mask
    return -1


@kernel
def find_rows(wanted: Integers, ids: Integers, table: Int32s, rows: Int32s) -> None:
    """Write the row of each wanted id, or -1."""
    for place in range(len(wanted)):
        rows[place] = find_id(wanted[place], ids, table)


def indexed(ids: Integers, table: Int32s | None = None) -> Int32s:
    """Return a table with the rows of these ids: the same array if it is long enough, else a longer one."""
    if table is None or len(table) < max(16, 2 * len(ids)):
        table = np.empty(1 << max(4, (2 * len(ids)).bit_length()), dtype=np.int32)
    index_ids(ids, len(ids), table)
    return table


@kernel
def look_up_by_id(
    lower_id: Integers, higher_id: Integers, ids: Integers, radius: Floats, table: Int32s, row: Int32s, other: Integers
) -> None:
    """Write where contacts, given by ids, are searched in the next lists; results as by `neighbours.look_up_by_row`.

    The table contains the owned particles.
    """
    for contact in range(len(lower_id)):
        i, j = find_id(lower_id[contact], ids, table), find_id(higher_id[contact], ids, table)
        if i < 0 or (j >= 0 and radius[j] < radius[i]):
            # a missing id has the row -1, and -2 - (-1) is NOT_OWNED
            row[contact], other[contact] = j if i >= 0 else -2 - j, lower_id[contact]
        else:
            row[contact], other[contact] = i, higher_id[contact]
