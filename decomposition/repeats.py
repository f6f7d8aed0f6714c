"""How a box repeats, and how far things are from each other by the nearest image."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.containers.box_shape import BoxShape
from pdem.numerics.kernels import inlined

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats


class Repeats(NamedTuple):
    """How a box repeats: straight on along some axes, and beside itself where it leans.

    Attributes
    ----------
    period : (3,) array
        Lengths of the periodic axes [m]; 0 for open ones, and for the gradient axis of a box that leans.
    shifts : (k, 3) array
        Offsets of the images across the gradient axis of a box that leans, and zero; of other boxes zero alone [m].
    ways : (m, 3) array
        Offsets of all images that touch the box, and zero [m].
    """

    period: Floats
    shifts: Floats
    ways: Floats

    @classmethod
    def of(cls, shape: BoxShape) -> Repeats:
        """Return how a box of a shape repeats."""
        ways = np.ascontiguousarray(shape.images())
        if not shape.leans:
            return cls(shape.period, np.zeros((1, 3)), ways)
        straight = np.where(np.arange(3) == shape.gradient, 0.0, shape.period)
        return cls(straight, np.stack((np.zeros(3), -shape.across, shape.across)), ways)

    @classmethod
    def upright(cls, period: Floats) -> Repeats:
        """Return how a box repeats that does not lean, of axes of these lengths (3,), 0 for open ones [m]."""
        return cls.of(BoxShape.upright(np.zeros(3), np.asarray(period, np.float64)))


@inlined
def gap_along(low: float, high: float, begin: float, end: float, period: float) -> float:
    """Return how far the interval from `low` to `high` is from that from `begin` to `end`, by the nearest image [m]."""
    if period > 0.0:
        ahead = (begin - low) - period * math.floor((begin - low) / period)
        behind = period - ahead - (end - begin)
        return max(min(ahead - (high - low), behind), 0.0)
    return max(begin - high, low - end, 0.0)


@inlined
def squared_gap(
    boxes: Floats, box: int, high: int, others: Floats, other: int, period: Floats, shifts: Floats
) -> float:
    """Return the square of the distance between a row of one array and one of another, by the nearest images [m^2].

    Both are boxes: lowest coordinates first, highest ones from column 3 on; those of the first from `high` on, which is
    0 for points.
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
