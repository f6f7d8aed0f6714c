"""The shape of a box at one time, for searches and for the exchange between ranks."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.foundation import exact_math

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats

UPRIGHT = -1
"""Value of `BoxShape.gradient` and `velocity` for a box that does not lean."""


class BoxShape(NamedTuple):
    """Corner and period vectors of a box with rectangular faces.

    A leaning box repeats along its gradient axis with an offset along the velocity axis: Lees-Edwards images.

    Attributes
    ----------
    lower, period : (3,) arrays
        Corner, and length of periodic axes or 0 [m].
    gradient, velocity : int
        The axis across which the box leans, and the axis along which it leans; `UPRIGHT` for an upright box.
    across : (3,) array
        The offset of the period vector across the gradient axis [m]; zeros for an upright box.
    """

    lower: Floats
    period: Floats
    gradient: int
    velocity: int
    across: Floats

    @classmethod
    def upright(cls, lower: Floats, period: Floats) -> BoxShape:
        """Return a box that does not lean."""
        return cls(np.asarray(lower, np.float64), np.asarray(period, np.float64), UPRIGHT, UPRIGHT, np.zeros(3))

    @property
    def leans(self) -> bool:
        """Whether images across the gradient axis have an offset."""
        return self.gradient != UPRIGHT

    def extended(self, extent: Floats) -> Floats:
        """Return lowest and highest coordinates (6,); along periodic axes the limits of the box [m]."""
        box = np.concatenate((self.lower, self.lower + self.period))
        found: Floats = np.where(np.tile(self.period > 0.0, 2), box, extent)
        return found

    def nearest(self, way: Floats) -> Floats:
        """Return the shortest vector between all images of two points, from the vectors `way` (n, 3) [m]."""
        shortest = way
        if self.leans:
            turns = np.round(way[:, self.gradient] / self.period[self.gradient])
            shortest = way - turns[:, None] * self.across
        inverse = np.divide(1.0, self.period, out=np.zeros(3), where=self.period > 0.0)
        found: Floats = shortest - self.period * np.round(shortest * inverse)
        return found

    def wrapped(self, position: Floats) -> tuple[Floats, Floats]:
        """Return the images (n, 3) of positions inside the box [m], and the subtracted numbers of periods (n, 3)."""
        place, turns = position.copy(), np.zeros(position.shape)
        inverse = np.divide(1.0, self.period, out=np.zeros(3), where=self.period > 0.0)
        if self.leans:
            turns[:, self.gradient] = np.floor((place - self.lower)[:, self.gradient] * inverse[self.gradient])
            place = place - turns[:, self.gradient, None] * self.across
        others = np.floor((place - self.lower) * inverse)
        if self.leans:
            others[:, self.gradient] = 0.0
        return place - self.period * others, turns + others

    @property
    def level(self) -> BoxShape:
        """The same box without its gradient axis."""
        period = self.period.copy()
        if self.leans:
            period[self.gradient] = 0.0
        return BoxShape.upright(self.lower, period)

    @property
    def vectors(self) -> Floats:
        """Period vectors, one in each row (3, 3) [m]."""
        vectors = np.diag(self.period)
        if self.leans:
            vectors[self.gradient] = self.across
        return vectors

    def images(self) -> Floats:
        """Return the vectors (m, 3) from a point to its images in the box and the boxes beside it; 0 is first [m]."""
        sides = [(0, -1, 1) if length > 0.0 else (0,) for length in self.period]
        return exact_math.matmul(list(product(*sides)), self.vectors)
