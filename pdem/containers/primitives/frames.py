"""Common parts of surfaces from dimensions: directions, rings of points, facets between them."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from pdem.foundation import exact_math

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pdem.foundation.array_types import Floats, Integers

    Parts = list[Floats]

SECTORS = 8
"""Number of sectors of a disc, so that its facets do not have too many sides."""

LEAST_SIDES = SECTORS


def direction(vector: Sequence[float] | Floats) -> Floats:
    """Return the unit vector of a direction."""
    numbers = np.asarray(vector, np.float64)
    return numbers / exact_math.hypot(*numbers.tolist()) + 0.0


def frame_of(axis: Sequence[float]) -> Floats:
    """Return three orthogonal unit vectors (3, 3), right-handed, the last along the axis; exact along x, y, z."""
    along = direction(axis)
    across = np.zeros(3)
    across[np.argmin(np.abs(along))] = 1.0
    first = direction(across - exact_math.inner(across, along) * along)
    return np.array([first, np.cross(along, first) + 0.0, along])


def placed(points: Floats, frame: Floats, centre: Sequence[float]) -> Floats:
    """Return the positions of points (..., 3) with coordinates along a frame about a centre.

    Equal points have equal positions, whatever their index.
    """
    x, y, z = points[..., 0:1], points[..., 1:2], points[..., 2:3]
    return x * frame[0] + y * frame[1] + z * frame[2] + np.asarray(centre)


def all_placed(parts: Parts, frame: Floats, centre: Sequence[float]) -> Parts:
    """Return the positions of the points of all parts, as `placed` does."""
    return [placed(part, frame, centre) for part in parts]


def reversed_orientation(parts: Parts) -> Parts:
    """Return facets with opposite normals."""
    return [part[:, ::-1] for part in parts]


def sides_of(radius: float, deviation: float) -> int:
    """Return the number of sides, a multiple of 8, of a polygon with corners on a circle.

    The distance of the middle of a side from the circle, radius (1 - cos(pi / sides)), is at most the deviation.
    """
    half = 2.0 * exact_math.asin(math.sqrt(min(0.5 * deviation / radius, 0.5)))
    return SECTORS * max(1, math.ceil(math.pi / (half * SECTORS)))


def circle(sides: int) -> Floats:
    """Return the corners (sides, 2) of a polygon on the circle of radius one, exact on the axes."""
    angle = 2.0 * np.pi * np.arange(sides) / sides
    return directions_at(angle)


def directions_at(angle: Floats) -> Floats:
    """Return points (n, 2) of the unit circle, with zeros in place of rounding errors below 1e-15."""
    points = np.stack([exact_math.cos(angle), exact_math.sin(angle)], axis=-1)
    return np.where(np.abs(points) < 1e-15, 0.0, points)


def ring(plane: Floats, radius: float, height: float) -> Floats:
    """Return points (n, 3): those of a unit circle, scaled to a radius, at a height."""
    return np.column_stack([radius * plane, np.full(len(plane), height)])


def between_rings(lower: Floats, upper: Floats) -> Floats:
    """Return the quads (n, 4, 3) between two rings (n, 3); normals point outwards if these are counter-clockwise."""
    return np.stack([lower, np.roll(lower, -1, axis=0), np.roll(upper, -1, axis=0), upper], axis=1)


def quads_of_grid(points: Floats) -> Floats:
    """Return the quads (m, 4, 3) of a grid of points (a, b, 3), normals along the product of both directions."""
    loops = [points[:-1, :-1], points[1:, :-1], points[1:, 1:], points[:-1, 1:]]
    return np.stack(loops, axis=2).reshape(-1, 4, 3)


def disc(rim: Floats) -> Parts:
    """Return a disc in sectors: polygons with some sides of its rim (n, 3), which is counter-clockwise."""
    if len(rim) <= SECTORS:
        return [rim[None]]
    middle = np.array([[0.0, 0.0, rim[0, 2]]])
    bounds = np.linspace(0, len(rim), SECTORS + 1).astype(int)
    closed = np.concatenate([rim, rim[:1]])
    return [np.concatenate([middle, closed[first : last + 1]])[None] for first, last in pairwise(bounds)]


def ends(lower: Floats, upper: Floats, caps: str) -> Parts:
    """Return the discs that close the rims (n, 3) of a round body: `caps` is "both", "lower", "upper" or "none"."""
    parts: Parts = []
    if caps in ("both", "lower"):
        parts += reversed_orientation(disc(lower))
    if caps in ("both", "upper"):
        parts += disc(upper)
    return parts


def loops_of(parts: Parts) -> tuple[Floats, Integers, Integers]:
    """Return corners (n, 3), the first index of each facet among them (F + 1,), and their indices (n,)."""
    sides = np.concatenate([np.full(len(part), part.shape[1]) for part in parts])
    start = np.concatenate([np.zeros(1, np.int64), np.cumsum(sides)])
    return np.concatenate([part.reshape(-1, 3) for part in parts]), start, np.arange(start[-1])
