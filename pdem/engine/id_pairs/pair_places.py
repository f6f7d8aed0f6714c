"""Kernels for the positions of both particles of a pair: nearest images and distances."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pdem.foundation.packed_row import PLACE
from pdem.numerics.geometry_kernels import inlined_geometry, nearest_image
from pdem.numerics.kernels import kernel, prange, threaded_kernel

if TYPE_CHECKING:
    from pdem.foundation.array_types import Booleans, Floats, Integers


@inlined_geometry
def shift_along(difference: float, period: float, frequency: float) -> float:
    """Return the shift that turns a difference of coordinates into the difference to the nearest image [m]."""
    return -period * math.floor(difference * frequency + 0.5)


FAR_SHARE = 0.49
"""Share of a periodic side: at this distance the two nearest images are almost equally near."""


@threaded_kernel
def write_shifts(
    rows: Integers, packed: Floats, period: Floats, frequency: Floats, shift: Floats, far: Booleans
) -> None:  # fmt: skip
    """Write for each pair the shift from its higher end to the image that is nearest to the lower end.

    Parameters
    ----------
    rows : (n, 2) array
        Rows of both particles of pairs.
    packed : (N, PACKED) array
        Packed rows of particles.
    period, frequency : (3,) arrays
        Lengths of periodic axes [m], 0 on open ones, and their inverse or 0.
    shift : (n, 3) array
        Written: the shift of each pair [m].
    far : (n,) bool array
        Written: whether the particles are more than `FAR_SHARE` of a periodic side apart along any axis.
    """
    for pair in prange(len(rows)):
        lower, higher = rows[pair, 0], rows[pair, 1]
        far[pair] = False
        for axis in range(3):
            difference = packed[higher, PLACE + axis] - packed[lower, PLACE + axis]
            shift[pair, axis] = shift_along(difference, period[axis], frequency[axis])
            if abs(difference + shift[pair, axis]) * frequency[axis] > FAR_SHARE:
                far[pair] = True


@kernel
def longest_branch(rows: Integers, position: Floats, period: Floats, frequency: Floats) -> float:
    """Return the largest distance [m] between the particles of a pair; pairs with a missing particle are skipped."""
    longest = 0.0
    for pair in range(len(rows)):
        lower, higher = rows[pair, 0], rows[pair, 1]
        if lower >= 0 and higher >= 0:
            square = 0.0
            for axis in range(3):
                difference = position[higher, axis] - position[lower, axis]
                branch = nearest_image(difference, period[axis], frequency[axis])
                square += branch * branch
            longest = max(longest, square)
    return math.sqrt(longest)
