"""Random positions of particles in a region, keyed by the numbers of particles and attempts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.numerics.random import keyed_vectors
from pdem.particles import regions

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats, Integers

PLACE_STREAM = 64
"""First random stream of positions; each attempt uses three."""


def random_places(
    region: regions.Region,
    domain: regions.RegionDomain,
    seed: int,
    numbers: Integers,
    extents: tuple[Floats, Floats],
    attempt: Integers,
) -> Floats:
    """Return a random position (n, 3) [m] in the box around a region for each particle; not wrapped into the domain.

    `extents` (n, 3), or (n, 1), are the extents of each particle to the lower and to the upper side of each axis [m].
    """
    lower, upper = regions.bounds(region)
    unbounded = regions.unbounded_axes(region, domain)
    below = np.where(unbounded, 0.0, extents[0])
    above = below if extents[0] is extents[1] else np.where(unbounded, 0.0, extents[1])
    low = lower + below
    high = np.maximum(low, upper - above)
    uniform = keyed_vectors(seed, PLACE_STREAM + 3 * attempt, numbers)
    if domain.dimension == 2:
        uniform[:, 2] = 0.5
    return low + uniform * (high - low)
