"""Which facets near particles have to be tested in a step, and the particles that have any of these, or a contact.

A facet that a particle does not touch gets a *due* value, as candidates of pairs do
(`pdem.contact.pairs.due_candidates`): how far particles and walls must have moved together, counted from when lists
were made, before it may be touched. Contacts do not depend on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.contact.pairs.due_candidates import MARGIN, ROUNDING, STEP
from pdem.motion.integration import prefetch_row
from pdem.numerics.kernels import inlined
from pdem.numerics.simd.due_lanes import ALWAYS, DUE_LANES, ROUNDED_DOWN, ROUNDED_UP, append_due
from pdem.numerics.simd.places import ROW, offset

if TYPE_CHECKING:
    from pdem.contact.geometry.surface_arrays import FacetRange
    from pdem.contact.walls.arguments import NearFacets, WallRecord, WallWork
    from pdem.foundation.array_types import Floats

WALL_PATHS = 2
BOTH, OF_WALLS = range(WALL_PATHS)
"""Fields of ``path``: how far particles and walls have moved together since lists were made, or more; how far any wall
has moved in the last step [m]."""

SLACK = 1e-6
"""By which share the distance of a facet may be less than it is found to be: edges may be short, and lose digits."""

TILE = 64
"""Particles whose contacts are listed together; several contacts fill a block."""


@inlined
def count_wall_step(path: Floats, of_particles: Floats) -> None:
    """Add the step that has brought particles and walls to where they are.

    `of_particles` is the path of particles, see `pdem.contact.pairs.due_candidates.PATHS`.
    """
    path[BOTH] += (1.0 + MARGIN) * (of_particles[STEP] + path[OF_WALLS]) + of_particles[ROUNDING]


@inlined
def list_due_facets(first: int, last: int, worker: int, near: NearFacets, work: WallWork) -> int:
    """List the facets to test of a tile of particles, one particle after the other; return where the list begins.

    Behind them stands a place that no particle has.
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
    """List the particles of a tile that have a facet to test or had a contact, return how many; others have none now.

    Writes where the facets of each end in the list that begins at `base`.
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
    """Write from when on the facets of a particle that have been tested are due.

    Those that the particle touches are always, and all of one that may cross a periodic side.
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
