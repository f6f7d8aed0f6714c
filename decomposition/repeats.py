"""Periodic images of a box, and distances between boxes by the nearest image."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.containers.box_shape import BoxShape
from pdem.numerics.kernels import inlined

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats


class Repeats(NamedTuple):
    """Periodic images of a box: straight along its axes, and shifted across the gradient axis of a tilted box.

    Attributes
    ----------
    period : (3,) array
        Lengths of the periodic axes [m]; 0 for open axes, and for the gradient axis of a tilted box.
    shifts : (k, 3) array
        Offsets of the images across the gradient axis of a tilted box, and zero; for other boxes only zero [m].
    ways : (m, 3) array
        Offsets of all images that touch the box, and zero [m].
    """

    period: Floats
    shifts: Floats
    ways: Floats

    @classmethod
    def of(cls, shape: BoxShape) -> Repeats:
        """Return the periodic images of a box of this shape."""
        ways = np.ascontiguousarray(shape.images())
        if not shape.leans:
            return cls(shape.period, np.zeros((1, 3)), ways)
        straight = np.where(np.arange(3) == shape.gradient, 0.0, shape.period)
        return cls(straight, np.stack((np.zeros(3), -shape.across, shape.across)), ways)

    @classmethod
    def upright(cls, period: Floats) -> Repeats:
        """Return the periodic images of an upright box with axes of these lengths (3,), 0 for open axes [m]."""
        return cls.of(BoxShape.upright(np.zeros(3), np.asarray(period, np.float64)))


@inlined
def gap_along(low: float, high: float, begin: float, end: float, period: float) -> float:
    """Return the distance between intervals `low` to `high` and `begin` to `end`, by the nearest image [m]."""
    if period > 0.0:
        ahead = (begin - low) - period * math.floor((begin - low) / period)
        behind = period - ahead - (end - begin)
        return max(min(ahead - (high - low), behind), 0.0)
    return max(begin - high, low - end, 0.0)


@inlined
def squared_gap(
    boxes: Floats, box: int, high: int, others: Floats, other: int, period: Floats, shifts: Floats
) -> float:
    """Return the square of the distance between a row of `boxes` and a row of `others`, by the nearest images [m^2].

    A row has the lowest coordinates of a box, and the highest ones from column 3 on. In `boxes` the highest ones begin
    at column `high`, which is 0 for points.
    """
    least = math.inf
    for k in range(len(shifts)):
        squared = 0.0
        for axis in range(3):
            shift = shifts[k, axis]
            apart = gap_along(
                boxes[box, axis] + shift, boxes[box, high + axis] + shift, others[other, axis],
                others[other, 3 + axis], period[axis],
            )  # fmt: skip
            squared += apart * apart
        least = min(least, squared)
    return least
