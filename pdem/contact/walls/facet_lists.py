"""Lists of the facets near particles, and of contacts with walls that continue or end."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pdem.contact.walls.arguments import NearFacets, WallWork
from pdem.contact.walls.search import ENDED
from pdem.foundation.array_types import Booleans, Floats, Int32s, Integers
from pdem.numerics.kernels import kernel
from pdem.numerics.simd.threshold_filter import ALWAYS, NEVER
from pdem.numerics.sums import add_exactly
from pdem.numerics.workers import share_of

if TYPE_CHECKING:
    from pdem.contact.walls.arguments import WallRecord
    from pdem.containers.records import WallRecords


class Carried(NamedTuple):
    """Contacts with walls on the way from the old lists to new ones.

    Attributes
    ----------
    owner : (n,) int32 array
        New row of the particle of each contact, -1 if it is not owned.
    records : WallRecords
        The contacts.
    """

    owner: Int32s
    records: WallRecords

    def renumbered(self, row_now: Int32s) -> Carried:
        """Return the contacts with renumbered particles: `row_now` is the present row by the row before."""
        return Carried(np.where(self.owner >= 0, row_now[self.owner], np.int32(-1)), self.records)

    def joined(self, owner: Int32s, records: WallRecords) -> Carried:
        """Return the contacts together with further records of particles in the rows `owner`."""
        return Carried(np.concatenate((self.owner, owner)), self.records.joined(records))


class FacetLists(NamedTuple):
    """Facets to test: ``candidates[start[q]:end[q]]`` for the particle ``near[q]``."""

    near: Int32s
    start: Integers
    end: Integers
    candidates: Integers


def without_rows(found: tuple[Integers, Integers], gone: Booleans) -> tuple[Integers, Integers]:
    """Return facets near particles, as begins of rows (n + 1,) and facets; `gone` particles (n,) get none."""
    start, facets = found
    counts = np.diff(start)
    kept = np.where(gone, 0, counts)
    begins = np.concatenate((np.zeros(1, np.int64), np.cumsum(kept)))
    return begins, facets[: start[-1]][np.repeat(~gone, counts)]


@kernel
def lay_out(
    owned: int,
    found_start: Integers,
    found: Integers,
    owner: Int32s,
    near: Int32s,
    start: Integers,
    end: Integers,
    candidates: Integers,
    due: NDArray[np.float32],
    number_of: Int32s,
) -> int:
    """Give each owned particle rows for the facets near it, or for its contacts if these are more.

    Parameters
    ----------
    owned : int
        Number of particles.
    found_start, found
        Facets near each particle, in one array.
    owner
        Particle of each contact, or -1.
    near, start, end, candidates, due
        Written: the particles that have rows; the first row of each and the end of all rows; the end of the rows with a
        facet to test; their facets; due values of the facets.
    number_of
        Written: the number of each owned particle among the particles with rows, from 1 on, or 0.

    Returns
    -------
    int
        Number of particles with rows.
    """
    for p in range(owned):
        number_of[p] = 0
    for contact in range(len(owner)):
        if owner[contact] >= 0:
            number_of[owner[contact]] += 1
    number = 0
    start[0] = 0
    for p in range(owned):
        tested = found_start[p + 1] - found_start[p]
        rows = max(tested, number_of[p])
        number_of[p] = 0
        if rows > 0:
            first = start[number]
            for row in range(rows):
                candidates[first + row] = found[found_start[p] + row] if row < tested else 0
                due[first + row] = ALWAYS if row < tested else NEVER
            near[number], end[number] = p, first + tested
            number += 1
            start[number] = first + rows
            number_of[p] = number
    return number


@kernel
def scatter_records(
    owner: Int32s,
    number_of: Int32s,
    start: Integers,
    kind: NDArray[np.int8],
    feature: Integers,
    facet: Integers,
    history: Floats,
    now: WallRecord,
    lost: Int32s,
) -> int:
    """Put records into the rows of their particles; list the records without room, and return their number."""
    missing = 0
    for record in range(len(owner)):
        q = number_of[owner[record]] - 1 if owner[record] >= 0 else -1
        if q < 0 or now.counts[q] >= start[q + 1] - start[q]:
            lost[missing] = record
            missing += 1
            continue
        row = start[q] + now.counts[q]
        now.counts[q] += 1
        now.kind[row] = kind[record]
        now.feature[row] = feature[record]
        now.facet[row] = facet[record]
        for column in range(now.width):
            now.history[now.width * (row + 1) + column] = history[column, record]
    return missing


@kernel
def add_ended(
    limbs: Integers, terms: Integers, columns: Integers, near: NearFacets, work: WallWork, before: WallRecord
) -> None:
    """Add the accounts [J] of ended contacts to exact sums.

    Parameters
    ----------
    limbs : (sums, LIMBS) array
        The sums.
    terms, columns : int64 arrays
        Index of the sum, and column of a history that is added to it.
    near, work, before : tuple
        Fields of `NearFacets`, `WallWork` and `WallRecord`: contacts before the last evaluation, which has listed the
        ended ones.
    """
    facets, done = NearFacets(*near), WallWork(*work)
    _, _, _, history, _, width, _ = before
    for worker in range(done.seen.shape[1]):
        first = facets.start[share_of(worker, done.seen.shape[1], len(facets.near))[0]]
        for place in range(first, first + done.seen[ENDED, worker]):
            at = width * (done.ended[place] + 1)
            for account in range(len(terms)):
                add_exactly(limbs[terms[account]], history[at + columns[account]])
