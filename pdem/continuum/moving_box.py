"""Continuum fields in a periodic box that deforms: images that move, and the grid that follows the box.

Fields are those of all images without end. Images across a side that moves, or beside which the box leans, are at
other places than kernels put them, and have other velocities: those of them that reach the grid are particles and
actions of their own. Each has the share in the grid that what it is an image of has beyond it, so that nothing is lost.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from pdem.continuum.cells import fills_period
from pdem.continuum.items import Actions, Matter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from pdem.containers.box_shape import BoxShape
    from pdem.continuum.grid import Grid
    from pdem.foundation.array_types import Floats, Integers

    Items = TypeVar("Items", Matter, Actions)

_SAME = 1e-13  # relative difference of lengths that is no more than rounding


class MovingImages(NamedTuple):
    """A box at one time, and how its images move.

    Attributes
    ----------
    shape : BoxShape
        Where images are.
    speeds : (3, 3) array
        How fast they move relative to each other, by period vector in each row [m/s].
    """

    shape: BoxShape
    speeds: Floats

    def axes_of(self, grid: Grid) -> list[int]:
        """Return the axes along which images are made one by one: that across which the box leans is the first.

        A single cell that is as long as the box has all of everything, without images.
        """
        whole = (grid.cells == 1) & fills_period(grid, self.shape.period)
        moving = (self.shape.period > 0.0) & self.speeds.any(axis=1) & ~whole
        if self.shape.leans:
            moving[self.shape.gradient] = not (whole[self.shape.gradient] and whole[self.shape.velocity])
        axes = [int(axis) for axis in np.flatnonzero(moving) if axis != self.shape.gradient]
        return [self.shape.gradient, *axes] if self.shape.leans and moving[self.shape.gradient] else axes

    def repeated(self, grid: Grid, matter: Matter, actions: Sequence[Actions]) -> tuple[Floats, Matter, list[Actions]]:
        """Return the period (3,) that is left to kernels, and what there is with the images that they do not know."""
        axes, period = self.axes_of(grid), self.shape.period.copy()
        period[axes] = 0.0
        found = list(actions)
        for axis in axes:
            matter = self._along(axis, grid, matter)
            found = [self._along(axis, grid, one) for one in found]
        return period, matter, found

    def _along(self, axis: int, grid: Grid, items: Items) -> Items:
        """Return items with those of their images along an axis that reach the grid, without those that do not."""
        begin = items.position if isinstance(items, Matter) else items.begin
        end = begin if isinstance(items, Matter) else items.begin + items.way
        low, high = (pick(begin[:, axis], end[:, axis]) for pick in (np.minimum, np.maximum))
        reach = grid.reach * (1.0 + _SAME)
        first = grid.lower[axis] - reach - high
        last = grid.lower[axis] + grid.cells[axis] * grid.size[axis] + reach - low
        length = float(self.shape.period[axis])
        turns = range(math.ceil(first.min(initial=0.0) / length), math.floor(last.max(initial=0.0) / length) + 1)
        there = [np.flatnonzero((first <= turn * length) & (turn * length <= last)) for turn in turns]
        parts = [self._moved(items, rows, axis, turn) for turn, rows in zip(turns, there, strict=True)]
        made: Any = type(items)
        found: Items = made(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
        return found

    def _moved(self, items: Items, rows: Integers, axis: int, turn: int) -> Items:
        """Return some items as images, so many period vectors away."""
        made: Any = type(items)
        some, way = made(*(column[rows] for column in items)), turn * self.shape.vectors[axis]
        if isinstance(some, Matter):
            place, velocity = (self._beside(some.position + way, axis), some.velocity + turn * self.speeds[axis])
            some = some._replace(position=place, velocity=velocity)
        else:
            some = some._replace(begin=self._beside(some.begin + way, axis))
        moved: Items = some
        return moved

    def _beside(self, place: Floats, axis: int) -> Floats:
        """Return places after a way across the layers, along the velocity in the box again [m]."""
        along = self.shape.velocity
        if axis == self.shape.gradient and not self.speeds[along].any():
            period, lower = self.shape.period[along], self.shape.lower[along]
            place[:, along] -= period * np.floor((place[:, along] - lower) / period)
        return place


class FieldFrame(NamedTuple):
    """Corners of a box in which corners of a grid are given.

    Attributes
    ----------
    lower, upper : (3,) arrays
        [m].
    """

    lower: Floats
    upper: Floats

    @classmethod
    def of_lengths(cls, lower: Floats, lengths: ArrayLike) -> FieldFrame:
        """Return that of a box with a corner and lengths [m]."""
        return cls(lower, lower + np.asarray(lengths))

    def follow(self, grid: Grid, other: FieldFrame) -> Grid:
        """Return a grid at the same place in another frame; along axes of the same length it stays as it is."""
        ratio = (other.upper - other.lower) / (self.upper - self.lower)
        ratio[np.abs(ratio - 1.0) < _SAME] = 1.0
        corner = np.where(ratio == 1.0, grid.lower, other.lower + (grid.lower - self.lower) * ratio)
        return grid._replace(lower=corner, size=grid.size * ratio)
