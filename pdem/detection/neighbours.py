"""Candidate pairs as the step uses them: oriented by id, listed per particle in the order of partner ids.

Also finds the candidate of a contact that is known by the ids of its particles, so that contacts keep their
history whenever lists are made anew and wherever their particles live.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.foundation.kernels import inlined, kernel, prange, threaded_kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SHORT = 24


@kernel
def orient(
    first: NDArray[np.int32],
    second: NDArray[np.int32],
    ids: NDArray[np.int64],
    owned: int,
    lower: NDArray[np.int32],
    higher: NDArray[np.int32],
) -> int:
    """Write each pair as (particle of lower id, of higher id), without pairs of ghosts; return how many."""
    kept = 0
    for place in range(len(first)):
        i, j = first[place], second[place]
        if i >= owned and j >= owned:
            continue
        swap = ids[i] > ids[j]
        lower[kept] = j if swap else i
        higher[kept] = i if swap else j
        kept += 1
    return kept


@kernel
def count_rows(
    count: int, lower: NDArray[np.int32], higher: NDArray[np.int32], owned: int, start: NDArray[np.int64]
) -> None:
    """Write the first entry of each owned particle's row, shape (owned + 1,)."""
    for p in range(owned + 1):
        start[p] = 0
    for k in range(count):
        if lower[k] < owned:
            start[lower[k] + 1] += 1
        if higher[k] < owned:
            start[higher[k] + 1] += 1
    for p in range(owned):
        start[p + 1] += start[p]


@kernel
def fill_rows(
    count: int,
    lower: NDArray[np.int32],
    higher: NDArray[np.int32],
    ids: NDArray[np.int64],
    owned: int,
    start: NDArray[np.int64],
    entry: NDArray[np.int32],
    partner: NDArray[np.int64],
) -> None:
    """Write the entries (2 k or 2 k + 1 for candidate k) and partner ids of all rows, unsorted."""
    for k in range(count):
        i, j = lower[k], higher[k]
        if i < owned:
            entry[start[i]] = 2 * k
            partner[start[i]] = ids[j]
            start[i] += 1
        if j < owned:
            entry[start[j]] = 2 * k + 1
            partner[start[j]] = ids[i]
            start[j] += 1
    for p in range(owned, 0, -1):
        start[p] = start[p - 1]
    start[0] = 0


@inlined
def _sink(key: NDArray[np.int64], value: NDArray[np.int32], first: int, root: int, size: int) -> None:
    """Restore the heap below `root`."""
    while 2 * root + 1 < size:
        child = 2 * root + 1
        if child + 1 < size and key[first + child] < key[first + child + 1]:
            child += 1
        if key[first + root] >= key[first + child]:
            return
        a, b = first + root, first + child
        key[a], key[b] = key[b], key[a]
        value[a], value[b] = value[b], value[a]
        root = child


@threaded_kernel
def sort_rows(
    owned: int, start: NDArray[np.int64], partner: NDArray[np.int64], entry: NDArray[np.int32]
) -> None:
    """Sort every row by partner id: by insertion, and the long rows of large particles by a heap."""
    for p in prange(owned):
        first, last = start[p], start[p + 1]
        if last - first <= _SHORT:
            for place in range(first + 1, last):
                key, value = partner[place], entry[place]
                at = place
                while at > first and partner[at - 1] > key:
                    partner[at] = partner[at - 1]
                    entry[at] = entry[at - 1]
                    at -= 1
                partner[at] = key
                entry[at] = value
        else:
            size = last - first
            for root in range(size // 2 - 1, -1, -1):
                _sink(partner, entry, first, root, size)
            for end in range(size - 1, 0, -1):
                a, b = first, first + end
                partner[a], partner[b] = partner[b], partner[a]
                entry[a], entry[b] = entry[b], entry[a]
                _sink(partner, entry, first, 0, end)


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


@kernel
def find_candidates(
    lower_id: NDArray[np.int64],
    higher_id: NDArray[np.int64],
    ids: NDArray[np.int64],
    table: NDArray[np.int32],
    owned: int,
    start: NDArray[np.int64],
    partner: NDArray[np.int64],
    entry: NDArray[np.int32],
    slot: NDArray[np.int32],
    touching: NDArray[np.int32],
    lost: NDArray[np.int32],
) -> int:
    """Give record r (from 0) to its candidate as slot r + 1; return how many owned ones have none.

    Those, whose lower particle is owned, are listed in `lost` as slots. Records without an owned particle
    are passed over.
    """
    missing = 0
    for record in range(len(lower_id)):
        i = find_id(lower_id[record], ids, table)
        j = find_id(higher_id[record], ids, table)
        row, other = (i, higher_id[record]) if 0 <= i < owned else (j, lower_id[record])
        found = False
        if 0 <= row < owned:
            low, high = start[row], start[row + 1]
            end = high
            while low < high:
                middle = (low + high) // 2
                if partner[middle] < other:
                    low = middle + 1
                else:
                    high = middle
            found = low < end and partner[low] == other
            if found:
                slot[entry[low] >> 1] = record + 1
                touching[record + 1] = entry[low] >> 1
        if not found and 0 <= i < owned:
            lost[missing] = record + 1
            missing += 1
    return missing


def table_for(count: int) -> NDArray[np.int32]:
    """Return a table for `index_ids` that holds `count` ids."""
    return np.empty(1 << max(4, (2 * count).bit_length()), dtype=np.int32)


def indexed(ids: NDArray[np.int64], count: int, table: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return a table that holds the rows of `count` ids: `table`, or a longer one."""
    if len(table) < 2 * count:
        table = table_for(count)
    index_ids(ids, count, table)
    return table
