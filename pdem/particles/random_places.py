"""Random places of particles in a region, keyed by their numbers and those of the attempts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.numerics.random import keyed_vectors
from pdem.particles import regions

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats, Integers

PLACE_STREAM = 64
"""First of the streams of places; each attempt has three."""


def random_places(
    region: regions.Region,
    domain: regions.RegionDomain,
    seed: int,
    numbers: Integers,
    extents: tuple[Floats, Floats],
    attempt: Integers,
) -> Floats:
    """Return a random place (n, 3) [m] in the box around a region for each particle; not wrapped into the domain.

    `extents` (n, 3), or (n, 1), say how far each reaches to the lower and to the upper side of each axis [m].
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
