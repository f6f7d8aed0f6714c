"""Kernels for the positions of both particles of a pair: nearest images and distances."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from pdem.foundation.packed_row import PLACE
from pdem.numerics.box_images import images_in, nearest_motion
from pdem.numerics.geometry_kernels import inlined_geometry
from pdem.numerics.kernels import kernel, prange, threaded_kernel
from pdem.numerics.vectors import row3

if TYPE_CHECKING:
    from pdem.engine.system import System
    from pdem.foundation.array_types import Booleans, Floats, Integers
    from pdem.numerics.vectors import Vector


class PairBox(NamedTuple):
    """The periodic box in which particles of pairs have their nearest images.

    Attributes
    ----------
    period, frequency : (3,) arrays
        Lengths of periodic axes [m], 0 on open ones, and their inverse or 0.
    images : (`pdem.numerics.box_images.ROWS`, 3) array or None
        Replaces both if the box deforms.
    """

    period: Floats
    frequency: Floats
    images: Floats | None = None


def pair_box(system: System) -> PairBox:
    """Return the box of a run at the step of the present positions."""
    box = system.box.moving
    return PairBox(*system.constants.periods, None if box is None else box.images(system.progress.step))


FAR_SHARE = 0.49
"""Share of a periodic side: at this distance the two nearest images are almost equally near."""


@inlined_geometry
def shift_along(difference: float, period: float, frequency: float) -> float:
    """Return the shift that turns a difference of coordinates into the difference to the nearest image [m]."""
    return -period * math.floor(difference * frequency + 0.5)


@inlined_geometry
def nearest_shift(way: Vector, period: Floats, frequency: Floats, images: Floats | None) -> tuple[Vector, Vector, bool]:
    """Return the shift from a point to its nearest image [m], the velocity of the image, and whether it is far.

    `way` leads to the point. The velocity is relative to that of the point itself [m/s]. An image is far if it is more
    than `FAR_SHARE` of a periodic side away along any axis.
    """
    if images is None:
        shift = (
            shift_along(way[0], period[0], frequency[0]), shift_along(way[1], period[1], frequency[1]),
            shift_along(way[2], period[2], frequency[2]),
        )  # fmt: skip
        inverse, motion = (frequency[0], frequency[1], frequency[2]), (0.0, 0.0, 0.0)
    else:
        box = images_in(images)
        near, motion = nearest_motion(way, (0.0, 0.0, 0.0), box)
        shift = near[0] - way[0], near[1] - way[1], near[2] - way[2]
        inverse = (
            box.along[0] + box.frequency[0], box.along[1] + box.frequency[1], box.along[2] + box.frequency[2],
        )  # fmt: skip
    far = False
    for axis in range(3):
        far |= abs(way[axis] + shift[axis]) * inverse[axis] > FAR_SHARE
    return shift, motion, far


@threaded_kernel
def write_shifts(
    rows: Integers, packed: Floats, period: Floats, frequency: Floats, images: Floats | None, shift: Floats,
    drift: Floats, far: Booleans,
) -> None:  # fmt: skip
    """Write for each pair the shift from its higher end to the image that is nearest to the lower end.

    Parameters
    ----------
    rows : (n, 2) array
        Rows of both particles of pairs.
    packed : (N, PACKED) array
        Packed rows of particles.
    period, frequency, images
        See `PairBox`.
    shift, drift : (n, 3) arrays
        Written: the shift of each pair [m], and the velocity of the image relative to its particle [m/s].
    far : (n,) bool array
        Written: whether the particles are more than `FAR_SHARE` of a periodic side apart along any axis.
    """
    for pair in prange(len(rows)):
        lower, higher = rows[pair, 0], rows[pair, 1]
        way = (
            packed[higher, PLACE] - packed[lower, PLACE], packed[higher, PLACE + 1] - packed[lower, PLACE + 1],
            packed[higher, PLACE + 2] - packed[lower, PLACE + 2],
        )  # fmt: skip
        to_image, motion, far[pair] = nearest_shift(way, period, frequency, images)
        for axis in range(3):
            shift[pair, axis], drift[pair, axis] = to_image[axis], motion[axis]


@kernel
def longest_branch(
    rows: Integers, position: Floats, period: Floats, frequency: Floats, images: Floats | None
) -> float:  # fmt: skip
    """Return the largest distance [m] between the particles of a pair; pairs with a missing particle are skipped."""
    longest = 0.0
    for pair in range(len(rows)):
        if rows[pair, 0] >= 0 and rows[pair, 1] >= 0:
            a, b = row3(position, rows[pair, 0]), row3(position, rows[pair, 1])
            way = b[0] - a[0], b[1] - a[1], b[2] - a[2]
            shift, _, _ = nearest_shift(way, period, frequency, images)
            x, y, z = way[0] + shift[0], way[1] + shift[1], way[2] + shift[2]
            longest = max(longest, x * x + y * y + z * z)
    return math.sqrt(longest)
