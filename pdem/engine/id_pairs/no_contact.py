"""Pairs without contact: they are left out of the lists of contact candidates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.detection.neighbours import SEGMENTS
from pdem.engine.id_pairs.pairs_by_id import NO_CONTACT
from pdem.foundation.id_sets import pairs_among
from pdem.numerics.kernels import inlined, prange, threaded_kernel

if TYPE_CHECKING:
    from pdem.containers.records import PairRecords
    from pdem.detection.neighbours import NearPairs
    from pdem.engine.system import System
    from pdem.foundation.array_types import Booleans, Int32s, Integers


def leave_out_pairs(system: System, near: NearPairs) -> None:
    """Remove the pairs without contact from the near pairs of rows, in place."""
    for table in system.features.pair_tables:
        marked = table.columns.get(NO_CONTACT)
        if marked is not None and np.any(marked):
            first, second, begin, found = near
            leave_out(first, second, begin, found, *table.of_particles, table.rows, marked)


def are_left_out(system: System, contacts: PairRecords) -> Booleans:
    """Return for each contact (n,) whether its particles are a pair without contact."""
    pairs = np.stack((contacts.lower, contacts.higher), axis=1)
    left_out = np.zeros(len(pairs), np.bool_)
    for table in system.features.pair_tables:
        marked = table.columns.get(NO_CONTACT)
        if marked is not None and np.any(marked):
            left_out |= pairs_among(pairs, np.stack((table.lower, table.higher), axis=1)[marked != 0])
    return left_out


@inlined
def is_left_out(i: int, j: int, starts: Integers, entries: Integers, rows: Integers, marked: Integers) -> bool:
    """Return whether row i, of an owned particle, and row j are a marked pair of the table."""
    for place in range(starts[i], starts[i + 1]):
        pair, side = entries[place] >> 1, entries[place] & 1
        if rows[pair, 1 - side] == j and marked[pair] != 0:
            return True
    return False


@threaded_kernel
def leave_out(
    first: Int32s, second: Int32s, begin: Integers, found: Integers, starts: Integers, entries: Integers,
    rows: Integers, marked: Integers,
) -> None:  # fmt: skip
    """Remove marked pairs from each segment of near pairs; the remaining pairs keep their order.

    Parameters
    ----------
    first, second, begin, found
        Near pairs, see `pdem.detection.neighbours.NearPairs`; all but `begin` are written.
    starts, entries
        Pairs of each owned particle, see `pdem.engine.id_pairs.by_particle.PairsOfParticles`.
    rows : (n, 2) array
        Rows of both particles of the pairs of a table.
    marked : (n,) array
        Nonzero for pairs without contact.
    """
    owned = len(starts) - 1
    for segment in prange(SEGMENTS):
        kept = begin[segment]
        for place in range(begin[segment], begin[segment] + found[segment]):
            i, j = first[place], second[place]
            if i >= owned:
                i, j = j, i
            if i < owned and is_left_out(i, j, starts, entries, rows, marked):
                continue
            first[kept], second[kept] = first[place], second[place]
            kept += 1
        found[segment] = kept - begin[segment]
