"""Limits of the volume fraction of random fills, checked before placement."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pdem.containers.group import on_each_rank
from pdem.foundation.errors import CaseError
from pdem.particles import regions
from pdem.particles.clearance import octaves
from pdem.particles.filling import disc_radius

if TYPE_CHECKING:
    from pdem.containers.group import Group
    from pdem.foundation.array_types import Floats
    from pdem.particles.filling import FillRequest, Surroundings

LARGEST_FRACTION = {2: 0.7, 3: 0.45}
"""Largest volume fraction of spheres within a factor of two in size, relative to the volume free of larger spheres.

Measured with equal spheres in a periodic box (`pdem.particles.packings.monte_carlo`): 0.40 is reached in seconds, 0.42
is not; discs reach 0.63. Walls lower both. At 0.494 and 0.70 hard spheres and discs freeze (Alder, Hoover, Young, J.
Chem. Phys. 49 (1968) 3688; Bernard, Krauth, Phys. Rev. Lett. 107 (2011) 155704): above these fractions, Monte Carlo
moves open no gaps for further spheres.
"""

CLOSEST_FRACTION = {2: 0.91, 3: 0.74}
"""The volume fraction of close packings. In a tube as narrow as its spheres, random addition reaches 0.50."""

NARROW = 4.0
"""Width of a region over the largest diameter, below which only the fraction of close packing is the limit."""

USUAL_FRACTION = {2: 0.5, 3: 0.3}
"""Volume fraction that random placement reaches in most regions: lower near walls, higher for very different sizes."""

PACKED_FRACTION = {2: 0.9, 3: 0.75}
"""Volume fraction that dense packings of usual sizes cannot exceed."""

_UNITS, _LOW = 40, 20
"""Bits of the volume of the largest sphere of a class in integer units, and number of volumes per partial sum."""


def require_volume(request: FillRequest, radii: Floats, surroundings: Surroundings, over: Group) -> None:
    """Raise an error for a random fill with more particle volume than its region can hold. Collective.

    `radii` (n,) are the largest distances of surfaces from centres [m], of the particles of this rank's part of the
    fill.

    Raises
    ------
    CaseError
        On all ranks, with the volume fraction of the particles, and the number that would fit.
    """
    dimension = surroundings.domain.dimension
    reach = float(over.largest(np.array([radii.max(initial=0.0)]))[0])
    share = disc_radius(request) if dimension == 2 else 1.0
    counts, volumes = _class_volumes(radii * (share / request.reach), reach * (share / request.reach), dimension, over)
    lower, upper = regions.bounds(request.region)
    room = on_each_rank(over, lambda: surroundings.room(request))
    narrow = (upper - lower)[:dimension].min() < NARROW * 2.0 * reach
    if _fits(counts, volumes, room, (CLOSEST_FRACTION if narrow else LARGEST_FRACTION)[dimension]):
        return
    key = next(name for name in ("volume_fraction", "mass", "count") if getattr(request.fill, name) is not None)
    given = getattr(request.fill, key)
    usual, total, volume = USUAL_FRACTION[dimension], sum(counts), math.fsum(volumes)
    what = "area" if dimension == 2 else "volume"
    remedy = 'or use arrangement = "packed"' if volume < PACKED_FRACTION[dimension] * room else "or ask for fewer"
    raise CaseError(
        f"{request.where}.{key} = {given:g}: these {total} particles have {volume / room:.3g} of the "
        f"region's {what}; random places hold about {usual:g}, {int(total * usual * room / volume)} of them: "
        f"make the region larger, {remedy}"
    )


def _class_volumes(radii: Floats, largest: float, dimension: int, over: Group) -> tuple[list[int], list[float]]:
    """Return the number of spheres on all ranks in each class of sizes, the largest first, and their volume.

    Volumes are added up in integer units, so that the result does not depend on the distribution over ranks.
    """
    octave = octaves(radii, largest)
    highest = int(over.largest(np.array([octave.max(initial=-1)]))[0])
    sums = np.zeros((highest + 1, 3), np.int64)
    share = np.ldexp(radii / largest, octave)
    power = share * share if dimension == 2 else share * share * share
    units = np.rint(np.ldexp(power, _UNITS)).astype(np.int64)
    for column, values in enumerate((np.ones_like(units), units >> _LOW, units & ((1 << _LOW) - 1))):
        np.add.at(sums[:, column], octave, values)
    sums = over.add(sums)
    unit = math.pi * largest * largest * (1.0 if dimension == 2 else 4.0 / 3.0 * largest)
    volumes = [
        ((int(high) << _LOW) + int(low)) / 2**_UNITS * math.ldexp(unit, -dimension * number)
        for number, (_, high, low) in enumerate(sums)
    ]
    return sums[:, 0].tolist(), volumes


def _fits(counts: list[int], volumes: list[float], room: float, most: float) -> bool:
    """Return whether each class of sizes fills at most the fraction `most` of the volume free of larger spheres."""
    for count, volume in zip(counts, volumes, strict=True):
        if count > 1 and volume > most * room:  # a single sphere may fill its region
            return False
        room -= volume
    return room > 0.0
