"""Facets near particles that have to be tested in a step, and the particles with such a facet or a contact.

A facet that a particle does not touch gets a *due* value, as candidates of pairs do
(`pdem.contact.pairs.due_candidates`): the sum of the paths of particles and walls since lists were made from which on
it may be touched. Contacts do not depend on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.contact.pairs.due_candidates import MARGIN, ROUNDING, STEP
from pdem.motion.integration import prefetch_row
from pdem.numerics.kernels import inlined
from pdem.numerics.simd.threshold_filter import ALWAYS, DUE_LANES, ROUNDED_DOWN, ROUNDED_UP, append_due
from pdem.numerics.simd.unsigned_index import ROW, offset

if TYPE_CHECKING:
    from pdem.contact.geometry.surface_arrays import FacetRange
    from pdem.contact.walls.arguments import NearFacets, WallRecord, WallWork
    from pdem.foundation.array_types import Floats

WALL_PATHS = 2
BOTH, OF_WALLS = range(WALL_PATHS)
"""Fields of ``path``: upper bound of the sum of displacements of particles and walls since lists were made; largest
displacement of a wall in the last step [m]."""

SLACK = 1e-6
"""Upper bound of the relative error of the distance of a facet: short edges lose digits."""

TILE = 64
"""Particles whose contacts are listed together; several contacts fill a block."""


@inlined
def count_wall_step(path: Floats, of_particles: Floats) -> None:
    """Add the displacements of particles and walls in the last step to their path.

    `of_particles` is the path of particles, see `pdem.contact.pairs.due_candidates.PATHS`.
    """
    path[BOTH] += (1.0 + MARGIN) * (of_particles[STEP] + path[OF_WALLS]) + of_particles[ROUNDING]


@inlined
def list_due_facets(first: int, last: int, worker: int, near: NearFacets, work: WallWork) -> int:
    """List the facets to test of a tile of particles, one particle after the other; return the begin of the list.

    The list ends with an index that no particle has.
    """
    base, begin, end = near.start[first] + DUE_LANES * worker, near.start[first], near.start[last]
    limit, count = np.float32(near.path[BOTH] * ROUNDED_UP), 0
    for place in range(begin, end, DUE_LANES):
        count += append_due(near.due, place, end - place, limit, work.listed, offset(base, count))
    work.listed[offset(base, count)] = end
    for c in range(count):
        at = offset(base, c)
        work.tested[at] = near.candidates[work.listed[at] & ROW]
    return base


@inlined
def list_active(
    first: int, last: int, base: int, worker: int, near: NearFacets, now: WallRecord, before: WallRecord,
    work: WallWork,
) -> int:  # fmt: skip
    """List the particles of a tile with a facet to test or a contact before; return their number.

    All other particles have no contact now. Writes the end of the facets of each particle in the list from `base` on.
    """
    active, until, at = 0, base, TILE * worker
    for q in range(first, last):
        begin = until
        while work.listed[np.uint64(until)] < near.end[q]:
            until += 1
        now.counts[q] = 0
        if until > begin or before.counts[q] > 0:
            prefetch_row(near.near[q], near.packed)
            work.active[offset(at, active)], work.until[offset(at, active)] = q, until
            active += 1
    return active


@inlined
def note_due(
    q: int, tested: FacetRange, first_row: int, radius: float, near: NearFacets, work: WallWork
) -> None:  # fmt: skip
    """Write the due values of the tested facets of a particle.

    Touched facets are always due, and so are all facets of a particle that may cross a periodic side.
    """
    if near.crosses[q]:
        return
    path = near.path[BOTH]
    for place in range(tested.first, tested.last):
        squared = work.bound[offset(first_row, place - tested.first)]
        due = ALWAYS
        if squared >= radius * radius:
            gap = max((1.0 - SLACK) * np.sqrt(squared) - radius, 0.0)
            due = np.float32((path + gap) * ROUNDED_DOWN)
        near.due[work.listed[np.uint64(place)] & ROW] = due
