"""Candidate pairs in the form for the step: oriented by id, listed per particle.

The module also finds the candidates of existing contacts in new lists, so that contacts keep their histories at each
list build and when particles change ranks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.numerics.kernels import inlined, kernel, prange, threaded_kernel
from pdem.numerics.simd.unsigned_index import ROW

if TYPE_CHECKING:
    from pdem.foundation.array_types import Booleans, Floats, Int32s, Integers

SEGMENTS = 64
"""Number of segments of the pairs, which threads share."""

NOT_OWNED = -1
"""Value of a row if this rank owns neither particle of the contact."""

ALL_STAY = np.empty(0, np.bool_)
"""Empty array of marks: no particle leaves this rank."""

_SHORT = 24


class NearPairs(NamedTuple):
    """Pairs of rows of particles, in segments.

    Attributes
    ----------
    first, second : int32 arrays
        Rows of both particles of each pair; elements between segments have no meaning.
    begin, found : (SEGMENTS,) int64 arrays
        First index of each segment, and its number of pairs.
    """

    first: Int32s
    second: Int32s
    begin: Integers
    found: Integers

    @classmethod
    def of(cls, first: Int32s, second: Int32s) -> NearPairs:
        """Return pairs of contiguous arrays, cut into segments."""
        ends = np.arange(SEGMENTS + 1) * len(first) // SEGMENTS
        return cls(first, second, ends[:-1], np.diff(ends))

    @property
    def total(self) -> int:
        """Number of pairs."""
        return int(self.found.sum())


@inlined
def in_same_cluster(i: int, j: int, cluster: Integers) -> bool:
    """Return whether two rows belong to one cluster; `cluster` is 0 for single spheres, and may be empty."""
    return len(cluster) > 0 and cluster[i] == cluster[j] and cluster[i] != 0


@inlined
def number_key(i: int, j: int, owned: int) -> int:
    """Return the sort key of the candidates of two rows: the lower row, with candidates with a ghost after all others.

    Rows of ghosts come after the rows of owned particles.
    """
    return min(i, j) + (owned if max(i, j) >= owned else 0)


@threaded_kernel
def count_entries(
    parts: int, pairs: NearPairs, owned: int, cluster: Integers,
    cursors: tuple[Int32s, Int32s],
) -> None:  # fmt: skip
    """Count the entries of each row: ``cursors[0][part * owned + p]`` entries of owned particle p from each part.

    A part is a range of segments, one part per thread. ``cursors[1][2 * part * owned + key]`` counts the candidates by
    `number_key`. `pairs` is a plain tuple of the fields. Members of the same cluster are not a pair.
    """
    (first, second, begin, found), (cursor, numbers) = pairs, cursors
    for part in prange(parts):
        counts = part * owned
        cursor[counts : counts + owned] = 0
        numbers[2 * counts : 2 * (counts + owned)] = 0
        for segment in range(part * SEGMENTS // parts, (part + 1) * SEGMENTS // parts):
            for place in range(begin[segment], begin[segment] + found[segment]):
                i, j = first[place], second[place]
                if (i >= owned and j >= owned) or in_same_cluster(i, j, cluster):
                    continue
                numbers[2 * counts + number_key(i, j, owned)] += 1
                if i < owned:
                    cursor[counts + i] += 1
                if j < owned:
                    cursor[counts + j] += 1


@threaded_kernel
def begin_rows(parts: int, rows: int, cursor: Int32s, start: Integers, total: Integers) -> None:
    """Turn counts into first indices: of each part in each row (`cursor`), and of each row (`start`).

    `start` is written up to its length, at most ``rows + 1`` numbers.
    """
    for block in prange(SEGMENTS):
        number = 0
        for p in range(block * rows // SEGMENTS, (block + 1) * rows // SEGMENTS):
            for part in range(parts):
                number += cursor[part * rows + p]
        total[block] = number
    before = 0
    for block in range(SEGMENTS):
        number = total[block]
        total[block] = before
        before += number
    if len(start) > rows:
        start[rows] = before
    for block in prange(SEGMENTS):
        place = total[block]
        for p in range(block * rows // SEGMENTS, (block + 1) * rows // SEGMENTS):
            if p < len(start):
                start[p] = place
            for part in range(parts):
                number = cursor[part * rows + p]
                cursor[part * rows + p] = place
                place += number


@threaded_kernel
def write_rows(
    parts: int,
    pairs: NearPairs,
    owned: int,
    ids: Integers,
    cluster: Integers,
    cursors: tuple[Int32s, Int32s],
    lower: Int32s,
    higher: Int32s,
    entries: tuple[Int32s, Int32s],
) -> None:
    """Write candidates as (particle of lower id, particle of higher id), candidates with a ghost last, and the rows.

    Candidates are sorted by the lower of their rows, whatever the grid level of the pair. Then all candidates of a
    particle are near each other in memory, and so are the data that a step reads and stores for them. The entry of a
    row is 2 k if the particle of the row is the lower particle of candidate k, and 2 k + 1 if it is the higher one. Its
    key is the lower half of the partner's id. `entries` holds the arrays of entries and keys. The index of a candidate
    does not depend on the parts. `pairs` is a plain tuple of the fields.
    """
    (entry, key), (cursor, numbers) = entries, cursors
    first, second, begin, found = pairs
    for part in prange(parts):
        counts = part * owned
        for segment in range(part * SEGMENTS // parts, (part + 1) * SEGMENTS // parts):
            for place in range(begin[segment], begin[segment] + found[segment]):
                i, j = first[place], second[place]
                if (i >= owned and j >= owned) or in_same_cluster(i, j, cluster):
                    continue
                number = 2 * counts + number_key(i, j, owned)
                at = numbers[number]
                numbers[number] = at + 1
                swap = ids[i] > ids[j]
                lower[at] = j if swap else i
                higher[at] = i if swap else j
                if i < owned:
                    slot = cursor[counts + i]
                    cursor[counts + i] = slot + 1
                    entry[slot], key[slot] = 2 * at + swap, np.int32(ids[j])
                if j < owned:
                    slot = cursor[counts + j]
                    cursor[counts + j] = slot + 1
                    entry[slot], key[slot] = 2 * at + 1 - swap, np.int32(ids[i])


@inlined
def partner_of(which: int, lower: Int32s, higher: Int32s, ids: Integers) -> int:
    """Return the id of the partner in an entry of a row."""
    k = (which >> 1) & ROW
    return ids[(lower[k] if which & 1 else higher[k]) & ROW]


@inlined
def _sink(
    first: int, root: int, size: int, lower: Int32s, higher: Int32s, ids: Integers,
    entry: Int32s,
) -> None:  # fmt: skip
    """Restore the heap below `root`."""
    key = partner_of(entry[first + root], lower, higher, ids)
    while 2 * root + 1 < size:
        child = 2 * root + 1
        largest = partner_of(entry[first + child], lower, higher, ids)
        if child + 1 < size:
            other = partner_of(entry[first + child + 1], lower, higher, ids)
            if largest < other:
                child, largest = child + 1, other
        if key >= largest:
            return
        entry[first + root], entry[first + child] = entry[first + child], entry[first + root]
        root = child


@inlined
def sort_row(
    first: int, last: int, lower: Int32s, higher: Int32s, ids: Integers,
    entry: Int32s,
) -> None:  # fmt: skip
    """Sort a part of a row by partner id: by insertion, and the long rows of large particles by a heap sort."""
    if last - first <= _SHORT:
        for place in range(first + 1, last):
            which = entry[place]
            key = partner_of(which, lower, higher, ids)
            at = place
            while at > first and partner_of(entry[at - 1], lower, higher, ids) > key:
                entry[at] = entry[at - 1]
                at -= 1
            entry[at] = which
    else:
        size = last - first
        for root in range(size // 2 - 1, -1, -1):
            _sink(first, root, size, lower, higher, ids, entry)
        for end in range(size - 1, 0, -1):
            entry[first], entry[first + end] = entry[first + end], entry[first]
            _sink(first, 0, end, lower, higher, ids, entry)


@threaded_kernel
def invert(order: Int32s, place: Int32s) -> None:
    """Write the inverse of a permutation: the position of each row in `order`."""
    for at in prange(len(order)):
        place[order[at]] = at


@inlined
def stays(p: int, owned: int, leaves: Booleans) -> bool:
    """Return whether a row belongs to an owned particle that stays; `leaves` is empty if no particle leaves."""
    if len(leaves) > 0 and p < owned:
        return not leaves[p]
    return p < owned


@threaded_kernel
def look_up_by_row(
    count: int,
    owned: int,
    candidate: Int32s,
    lower: Int32s,
    higher: Int32s,
    ids: Integers,
    radius: Floats,
    leaves: Booleans,
    row: Int32s,
    other: Integers,
) -> None:
    """Write where each contact is searched in the next lists: a row (by present numbering) and the partner's id.

    Parameters
    ----------
    count, candidate
        Number of contacts, and the candidate of each contact in the present lists, which end now.
    owned, lower, higher, ids, radius
        The present lists, and the ids and radii of their rows.
    leaves
        Which owned particles leave this rank; empty if none leaves.
    row, other
        Written to `row`: the row p of the lower particle if it is owned, or of the higher particle if that is owned and
        smaller, because its row of candidates is shorter; -2 - p if the lower particle is not owned; `NOT_OWNED` if
        neither particle remains owned. Written to `other`: the id of p's partner.
    """
    for contact in prange(count):
        k = max(candidate[contact], 0)
        i, j = lower[k], higher[k]
        lower_is_owned, higher_is_owned = stays(i, owned, leaves), stays(j, owned, leaves)
        if not lower_is_owned or (higher_is_owned and radius[j] < radius[i]):
            i, j = j, i
        found = i if lower_is_owned else -2 - i
        row[contact] = found if lower_is_owned | higher_is_owned else NOT_OWNED
        other[contact] = ids[j]


@threaded_kernel
def renumber(count: int, row_now: Int32s, row: Int32s) -> None:
    """Convert the rows that `look_up_by_row` wrote to the present rows, by the present row of each particle."""
    for contact in prange(count):
        if row[contact] >= 0:
            row[contact] = row_now[row[contact]]
        elif row[contact] != NOT_OWNED:
            row[contact] = -2 - row_now[-2 - row[contact]]


@threaded_kernel
def find_candidates(
    count: int,
    row: Int32s,
    other: Integers,
    start: Integers,
    lower: Int32s,
    higher: Int32s,
    ids: Integers,
    entries: tuple[Int32s, Int32s],
    number: Int32s,
    candidate: Int32s,
) -> None:
    """Write the candidate of each contact c, -1 if there is none, and write c + 1 as `number` of this candidate.

    Keys are compared first: they are contiguous in memory, while an id is read through the candidate and the row.
    """
    entry, key = entries
    for contact in prange(count):
        candidate[contact] = -1
        if row[contact] != NOT_OWNED:
            p = (row[contact] if row[contact] >= 0 else -2 - row[contact]) & ROW
            place, end, wanted = start[p], start[p + 1], np.int32(other[contact])
            while place < end and (
                key[place] != wanted or partner_of(entry[place], lower, higher, ids) != other[contact]
            ):
                place += 1
            if place < end:
                number[entry[place] >> 1] = contact + 1
                candidate[contact] = entry[place] >> 1


@kernel
def list_lost(count: int, row: Int32s, candidate: Int32s, lost: Int32s) -> int:
    """List the contacts without a candidate and with an owned lower particle; return their number."""
    missing = 0
    for contact in range(count):
        if candidate[contact] < 0 and row[contact] >= 0:
            if missing < len(lost):
                lost[missing] = contact
            missing += 1
    return missing
