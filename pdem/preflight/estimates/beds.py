"""Estimate of the bed at rest formed by the particles at time 0, column by column along gravity."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.case.groups.group_sizes import insertion_sizes, mass_shares, mean_room
from pdem.containers.primitives.frames import frame_of
from pdem.features.insertions.preflight import expected_number

if TYPE_CHECKING:
    from pdem.case.model import Case
    from pdem.foundation.array_types import Floats, Integers
    from pdem.preflight.population import Population

SETTLED = {3: 0.6, 2: 0.8}
"""Solid fraction of a bed at rest, by dimension."""

_MOST_COLUMNS = 32
"""Largest number of columns along each side of a bed."""

_WIDTH = 4.0
"""Minimum width of a column, in largest radii."""

_UNITS = 2**24
"""Volumes are added as whole multiples of the largest volume divided by this number, exactly over ranks."""


class Bed(NamedTuple):
    """Columns of a bed.

    Attributes
    ----------
    highest : (k,) int64 array
        Index of the highest particle of this rank in each column.
    below : (k,) array
        Height at rest of all other particles in the column [m].
    depth : float
        Mean height of all columns with particles, weighted by their volume [m].
    """

    highest: Integers
    below: Floats
    depth: float


def bed_of(case: Case, particles: Population, frame: Floats) -> Bed:
    """Return the bed of the particles at time 0. Collective.

    Parameters
    ----------
    case : Case
        The case.
    particles : Population
        At least one particle.
    frame : (3, 3) array
        Unit vectors; the last vector points down.
    """
    dimension, largest = case.domain.dimension, float(particles.radii.max())
    places = particles["position"] @ frame.T
    low, high = _ends(particles, places)
    across = [axis for axis in (0, 1) if dimension == 3 or abs(frame[axis, 2]) < 0.5]
    width = np.array([max((high[axis] - low[axis]) / _MOST_COLUMNS, _WIDTH * largest) for axis in across])
    counts = [max(1, math.ceil((high[axis] - low[axis]) / one)) for axis, one in zip(across, width, strict=True)]
    cells = np.zeros(len(places), np.int64)
    for axis, one, count in zip(across, width, counts, strict=True):
        cells = cells * count + np.clip(((places[:, axis] - low[axis]) / one).astype(np.int64), 0, count - 1)
    volume = _volumes(case, particles)
    filled = _added(particles, cells, volume, math.prod(counts))
    room = float(width.prod()) * SETTLED[dimension]
    order = np.lexsort((places[:, 2], cells))
    highest = order[np.flatnonzero(np.diff(cells[order], prepend=-1))]
    below = (filled[cells[highest]] - volume[highest]) / room
    total = float(filled.sum())
    return Bed(highest, below, float((filled**2).sum()) / (total * room) if total else 0.0)


def bed_depth(case: Case, particles: Population, pull: Floats) -> float:
    """Return the depth of the bed of a case at rest [m], under a non-zero acceleration (3,). Collective.

    Inserted particles are estimated as a heap as high as wide, at most as high as the domain.
    """
    frame = frame_of(pull.tolist())
    depth = bed_of(case, particles, frame).depth if particles.count else 0.0
    solid = sum(
        expected_number(case, one) * mean_room(case, one, insertion_sizes(case, one)) for one in case.insertions
    )
    dimension = case.domain.dimension
    sides = np.subtract(case.domain.upper, case.domain.lower)
    heap = (solid / SETTLED[dimension]) ** (1.0 / dimension)
    return max(depth, min(heap, float(np.abs(frame[2]) @ sides)))


def _ends(particles: Population, places: Floats) -> tuple[Floats, Floats]:
    """Return the extremes of all spheres along the vectors of a frame [m]."""
    radius = particles["radius"][:, None]
    ends = np.concatenate((radius - places, places + radius), axis=1)
    most = particles.over.largest(ends.max(axis=0, initial=-np.inf))
    return -most[:3], most[3:]


def _volumes(case: Case, particles: Population) -> Floats:
    """Return the volumes of spheres [m^3], in clusters without overlaps; in 2D the areas of discs [m^2]."""
    radius = particles["radius"]
    if case.domain.dimension == 2:
        return np.asarray(math.pi * radius**2)
    shares = mass_shares(case)
    share = np.array([shares.get(name, 1.0) for name in case.materials])
    return np.asarray(4.0 / 3.0 * math.pi * radius**3 * share[particles["material"]])


def _added(particles: Population, cells: Integers, volume: Floats, count: int) -> Floats:
    """Return the volume in each column, summed over all ranks [m^3]."""
    unit = float(particles.over.largest(np.array([volume.max(initial=0.0)]))[0]) / _UNITS
    whole = np.zeros(count, np.int64)
    np.add.at(whole, cells, np.rint(volume / unit).astype(np.int64))
    return np.asarray(particles.over.add(whole) * unit)
