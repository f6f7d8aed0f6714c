"""A table that tells where the particle of an id lives, for contacts that come from another rank or a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.numerics.kernels import inlined, kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray


@inlined
def _place(identity: int, mask: int) -> int:
    """Return the first place to look for an id in a table of mask + 1 places."""
    mixed = identity * 0x2545F4914F6CDD1D
    return (mixed ^ (mixed >> 29)) & mask


@kernel
def index_ids(ids: NDArray[np.int64], count: int, table: NDArray[np.int32]) -> None:
    """Hash the rows of `count` ids into `table` (length a power of two, at least twice `count`)."""
    mask = len(table) - 1
    table[:] = -1
    for row in range(count):
        place = _place(ids[row], mask)
        while table[place] >= 0:
            place = (place + 1) & mask
        table[place] = row


@inlined
def find_id(identity: int, ids: NDArray[np.int64], table: NDArray[np.int32]) -> int:
    """Return the row of an id, or -1."""
    mask = len(table) - 1
    place = _place(identity, mask)
    while table[place] >= 0:
        if ids[table[place]] == identity:
            return table[place]
        place = (place + 1) & mask
    return -1


@kernel
def find_rows(
    wanted: NDArray[np.int64], ids: NDArray[np.int64], table: NDArray[np.int32], rows: NDArray[np.int32]
) -> None:
    """Write the row of each wanted id, or -1."""
    for place in range(len(wanted)):
        rows[place] = find_id(wanted[place], ids, table)


def indexed(ids: NDArray[np.int64], table: NDArray[np.int32] | None = None) -> NDArray[np.int32]:
    """Return a table that holds the rows of these ids: the one given, or a longer one."""
    if table is None or len(table) < max(16, 2 * len(ids)):
        table = np.empty(1 << max(4, (2 * len(ids)).bit_length()), dtype=np.int32)
    index_ids(ids, len(ids), table)
    return table


@kernel
def look_up_by_id(
    lower_id: NDArray[np.int64],
    higher_id: NDArray[np.int64],
    ids: NDArray[np.int64],
    radius: NDArray[np.float64],
    table: NDArray[np.int32],
    row: NDArray[np.int32],
    other: NDArray[np.int64],
) -> None:
    """Note where contacts known by ids are to be found in the next lists, as `neighbours.look_up_by_row`.

    The table knows the owned particles.
    """
    for contact in range(len(lower_id)):
        i, j = find_id(lower_id[contact], ids, table), find_id(higher_id[contact], ids, table)
        if i < 0 or (j >= 0 and radius[j] < radius[i]):
            # not found is -1: -2 - (-1) is NOT_OWNED
            row[contact], other[contact] = j if i >= 0 else -2 - j, lower_id[contact]
        else:
            row[contact], other[contact] = i, higher_id[contact]
