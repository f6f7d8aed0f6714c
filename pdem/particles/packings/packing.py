"""Dense random packings of spheres in a periodic box, by relaxation of overlaps.

Random sequential addition ends far below the density of a loose bed. Here the positions of smaller spheres are the
start for the full size. Each sweep removes all overlaps along their normals simultaneously; the lighter sphere moves
farther. Radii are slightly enlarged during the relaxation, so that gaps remain in the end.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pdem.detection.find_pairs import find_pairs
from pdem.foundation import exact_math
from pdem.foundation.errors import InputError

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats, Integers

RADIUS_MARGIN = 0.02
"""Enlargement of radii during relaxation, over the radius."""
GAP = 1e-3
"""Smallest final gap over the sum of both radii."""
MAX_SWEEPS = 5000
_STRENGTH = 1.4
"""Displacement over overlap, above 1: it halves the number of sweeps."""


def relax_overlaps(positions: Floats, radii: Floats, lower: Floats, upper: Floats) -> Floats:
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
        Positions in the box; any two spheres are farther apart than `GAP` times the sum of their radii.

    Raises
    ------
    InputError
        If spheres still overlap after `MAX_SWEEPS` sweeps.
    """
    positions, width = positions - lower, upper - lower
    enlarged, volumes = (1.0 + RADIUS_MARGIN) * radii, radii * radii * radii
    sizes = _cell_sizes(enlarged)
    for _ in range(MAX_SWEEPS):
        positions %= width
        first, second, apart, distance = _near(positions, enlarged, sizes, width)
        sums = radii[first] + radii[second]
        if not np.any(distance < (1.0 + GAP) * sums):
            return positions + lower
        overlap = (1.0 + RADIUS_MARGIN) * sums - distance
        push = (_STRENGTH * overlap / distance)[:, None] * apart
        share = (volumes[second] / (volumes[first] + volumes[second]))[:, None]
        for axis in range(3):
            positions[:, axis] -= np.bincount(first, (push * share)[:, axis], len(positions))
            positions[:, axis] += np.bincount(second, (push * (1.0 - share))[:, axis], len(positions))
    raise InputError(
        f"spheres still overlap after pushing them apart {MAX_SWEEPS} times: they fill "
        f"{4.0 / 3.0 * np.pi * exact_math.total(volumes) / math.prod(width.tolist()):.3g} of the box; enlarge it"
    )


def _cell_sizes(radii: Floats) -> Floats:
    """Return levels a factor of two apart, up to the largest diameter."""
    octaves = np.arange(int(np.frexp(radii.max() / radii.min())[1]))
    return np.sort(np.ldexp(2.0 * radii.max(), -octaves))


def _near(positions: Floats, radii: Floats, sizes: Floats, width: Floats) -> tuple[Integers, Integers, Floats, Floats]:
    """Return both spheres of each overlapping pair, the vector from the first to the second, and its length [m]."""
    found = find_pairs(positions, radii, cell_sizes=sizes, lower=np.zeros(3), upper=width, periodic=(True, True, True))
    first, second = found.pairs.T
    apart = positions[second] - positions[first]
    apart -= width * np.rint(apart / width)
    return first, second, apart, np.maximum(exact_math.norm(apart), np.finfo(np.float64).tiny)
