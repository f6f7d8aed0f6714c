"""Random places of spheres in a region, keyed by their numbers and those of the attempts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.foundation.random import keyed_vectors
from pdem.particles import regions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Indices = NDArray[np.int64]

PLACE_STREAM = 64
"""First of the streams of places; each attempt has three."""


def random_places(
    region: regions.Region,
    domain: regions.Domain,
    seed: int,
    numbers: Indices,
    radii: Floats,
    attempt: Indices,
) -> Floats:
    """Return a random place (n, 3) [m] in the box around a region for each sphere; not wrapped into the domain."""
    lower, upper = regions.bounds(region)
    inset = np.where(regions.unbounded_axes(region, domain), 0.0, radii[:, None])
    low, high = lower + inset, np.maximum(lower + inset, upper - inset)
    uniform = keyed_vectors(seed, PLACE_STREAM + 3 * attempt, numbers)
    if domain.dimension == 2:
        uniform[:, 2] = 0.5
    return low + uniform * (high - low)
