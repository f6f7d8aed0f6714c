"""Continuum fields in a deforming periodic box: moving images, and the grid that follows the box.

Fields include all images, infinitely many. Kernels cannot handle images across a side that moves, or that are shifted
because the box leans: their positions and velocities differ. Such images within reach of the grid become separate
particles and actions. An image has the share in the grid that its original has beyond the grid, so that shares add up.
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

_SAME = 1e-13  # relative difference of lengths due to rounding


class MovingImages(NamedTuple):
    """A box at one time, and the velocities of its images.

    Attributes
    ----------
    shape : BoxShape
        Shape of the box, which gives the positions of images.
    speeds : (3, 3) array
        Velocities of images relative to each other, one row per period vector [m/s].
    """

    shape: BoxShape
    speeds: Floats

    def axes_of(self, grid: Grid) -> list[int]:
        """Return the axes along which images become separate items; the gradient axis of a leaning box is the first.

        A single cell as long as the box has the whole share of every point, and needs no images.
        """
        whole = (grid.cells == 1) & fills_period(grid, self.shape.period)
        moving = (self.shape.period > 0.0) & self.speeds.any(axis=1) & ~whole
        if self.shape.leans:
            moving[self.shape.gradient] = not (whole[self.shape.gradient] and whole[self.shape.velocity])
        axes = [int(axis) for axis in np.flatnonzero(moving) if axis != self.shape.gradient]
        return [self.shape.gradient, *axes] if self.shape.leans and moving[self.shape.gradient] else axes

    def repeated(self, grid: Grid, matter: Matter, actions: Sequence[Actions]) -> tuple[Floats, Matter, list[Actions]]:
        """Return the period (3,) that remains for kernels, and the items with the images that kernels cannot handle."""
        axes, period = self.axes_of(grid), self.shape.period.copy()
        period[axes] = 0.0
        found = list(actions)
        for axis in axes:
            matter = self._along(axis, grid, matter)
            found = [self._along(axis, grid, one) for one in found]
        return period, matter, found

    def _along(self, axis: int, grid: Grid, items: Items) -> Items:
        """Return the items and images along an axis that are within reach of the grid; other items are removed."""
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
        """Return some items as images, shifted by `turn` period vectors."""
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
        """Return positions after a shift across the layers, wrapped along the velocity axis [m]."""
        along = self.shape.velocity
        if axis == self.shape.gradient and not self.speeds[along].any():
            period, lower = self.shape.period[along], self.shape.lower[along]
            place[:, along] -= period * np.floor((place[:, along] - lower) / period)
        return place


class FieldFrame(NamedTuple):
    """Corners of a box, as the reference for the corners of a grid.

    Attributes
    ----------
    lower, upper : (3,) arrays
        Corners [m].
    """

    lower: Floats
    upper: Floats

    @classmethod
    def of_lengths(cls, lower: Floats, lengths: ArrayLike) -> FieldFrame:
        """Return the frame of a box with a corner and lengths [m]."""
        return cls(lower, lower + np.asarray(lengths))

    def follow(self, grid: Grid, other: FieldFrame) -> Grid:
        """Return a grid at the same relative position in a different frame; unchanged along axes of the same length."""
        ratio = (other.upper - other.lower) / (self.upper - self.lower)
        ratio[np.abs(ratio - 1.0) < _SAME] = 1.0
        corner = np.where(ratio == 1.0, grid.lower, other.lower + (grid.lower - self.lower) * ratio)
        return grid._replace(lower=corner, size=grid.size * ratio)
