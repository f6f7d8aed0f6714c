"""Dense random packings of spheres in a periodic box: overlapping spheres push each other apart.

Random sequential addition ends far below the density of a loose bed. From places found for smaller spheres the
full-sized ones are relaxed here: each overlap is undone along its normal, the lighter sphere moving the more, all at
once, again and again. Spheres are taken a little larger while they push, so that in the end gaps are left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.detection.find_pairs import find_pairs
from pdem.foundation.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

SWELLING = 0.02
"""By how much of their radii spheres are larger while they push."""
GAP = 1e-3
"""Least gap in the end over the sum of both radii."""
MOST_SWEEPS = 5000
_STRENGTH = 1.4
"""A little more than what undoes an overlap of two spheres alone: converges in half the sweeps."""


def spread(positions: Floats, radii: Floats, lower: Floats, upper: Floats) -> Floats:
    """Move spheres in a periodic box apart until none touch. Deterministic, for any number of threads.

    Parameters
    ----------
    positions, radii : ndarray
        Shapes (n, 3) and (n,), in m.
    lower, upper : ndarray, shape (3,)
        The box, periodic along all axes, in m.

    Returns
    -------
    ndarray, shape (n, 3)
        Places in the box where any two spheres are farther apart than `GAP` times the sum of their radii.

    Raises
    ------
    InputError
        If spheres still overlap after `MOST_SWEEPS` sweeps.
    """
    places, width = positions - lower, upper - lower
    swollen, volumes = (1.0 + SWELLING) * radii, radii**3
    sizes = _cell_sizes(swollen)
    for _ in range(MOST_SWEEPS):
        places %= width
        first, second, apart, distance = _near(places, swollen, sizes, width)
        sums = radii[first] + radii[second]
        if not np.any(distance < (1.0 + GAP) * sums):
            return places + lower
        overlap = (1.0 + SWELLING) * sums - distance
        push = (_STRENGTH * overlap / distance)[:, None] * apart
        share = (volumes[second] / (volumes[first] + volumes[second]))[:, None]
        for axis in range(3):
            places[:, axis] -= np.bincount(first, (push * share)[:, axis], len(places))
            places[:, axis] += np.bincount(second, (push * (1.0 - share))[:, axis], len(places))
    raise InputError(
        f"spheres still overlap after pushing them apart {MOST_SWEEPS} times: they fill "
        f"{4.0 / 3.0 * np.pi * volumes.sum() / np.prod(width):.3g} of the box; enlarge it"
    )


def _cell_sizes(radii: Floats) -> Floats:
    """Return levels a factor of two apart, up to the largest diameter."""
    octaves = np.arange(int(np.log2(radii.max() / radii.min())) + 1)
    return np.sort(2.0 * radii.max() * 0.5**octaves)


def _near(
    places: Floats, radii: Floats, sizes: Floats, width: Floats
) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats, Floats]:
    """Return both spheres of each overlapping pair, the vector from the first to the second, its length."""
    found = find_pairs(
        places, radii, cell_sizes=sizes, lower=np.zeros(3), upper=width, periodic=(True, True, True)
    )
    first, second = found.pairs.T
    apart = places[second] - places[first]
    apart -= width * np.rint(apart / width)
    return first, second, apart, np.maximum(np.sqrt((apart**2).sum(axis=1)), np.finfo(np.float64).tiny)
