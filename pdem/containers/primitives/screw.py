"""Screws: a helical blade on a shaft, or a ribbon without a shaft.

The middle of the blade is the helicoid z = pitch angle / (2 pi). Angles are divided so that the shaft and the rims stay
within the deviation. Two triangles of a cell from the radius r to r q, over the angle a, deviate from the helicoid
along the axis by about pitch a / (4 pi) (q - 1) / (q + 1). The deviation depends on the ratio q alone, so that all
strips have the same ratio.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.containers.primitives.frames import (
    all_placed,
    directions_at,
    disc,
    frame_of,
    quads_of_grid,
    reversed_orientation,
    ring,
    sides_of,
)
from pdem.foundation import exact_math

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pdem.foundation.array_types import Floats

    Parts = list[Floats]

ROUND_SHARE, FLAT_SHARE = 0.8, 0.6
"""Fractions of the deviation across the axis and along it; their squares add up to 1."""

WIDEST_STRIP = 4.0
"""Largest width of a strip over the length of a step along it: longer triangles would be slivers."""

_FULL = 1e-9
"""Fraction of a turn below which the end of the blade coincides with its start."""

_ROUNDING = 1e-12
"""Difference of heights over the length, below which they are equal."""


class Screw(NamedTuple):
    """Dimensions of a screw.

    Attributes
    ----------
    centre, axis : sequence of 3 float
        The middle of its axis [m], and the direction of the axis.
    radius, inner_radius : float
        Outer and inner radius of the blade; the inner one is that of the shaft [m].
    length, pitch, thickness : float
        Length of the screw, of one turn, and thickness of the blade, all along the axis [m]; thickness 0 is a sheet.
    shaft, left : bool
        Whether there is a shaft, and whether the screw is left-handed.
    """

    centre: Sequence[float]
    axis: Sequence[float]
    radius: float
    inner_radius: float
    length: float
    pitch: float
    thickness: float = 0.0
    shaft: bool = True
    left: bool = False

    @property
    def turns(self) -> float:
        """Number of turns of the blade."""
        return (self.length - self.thickness) / self.pitch


class ScrewCells(NamedTuple):
    """Division of a blade into cells.

    Attributes
    ----------
    angles : ndarray, shape (n,)
        Angles of the corners of the shaft, from 0 on within one turn [rad].
    last : int
        Index of the corner at which the blade ends, counted through all turns.
    radii : ndarray, shape (m + 1,)
        Radii of the strips of the blade [m].
    """

    angles: Floats
    last: int
    radii: Floats


def cells_of(screw: Screw, deviation: float) -> ScrewCells:
    """Return the division of the blade of a screw."""
    sides = sides_of(screw.radius, ROUND_SHARE * deviation)
    whole = math.floor(screw.turns + _FULL)
    part = screw.turns - whole
    if part <= _FULL:
        angles, last = np.arange(sides) / sides, whole * sides
    else:
        first, second = math.ceil(part * sides), math.ceil((1.0 - part) * sides)
        rest = part + (1.0 - part) * np.arange(second) / second
        angles = np.concatenate([part * np.arange(first) / first, rest])
        last = whole * (first + second) + first
    step = 2.0 * math.pi / sides
    strips = _strips(screw, step, FLAT_SHARE * deviation)
    ratio = screw.radius / screw.inner_radius
    radii = screw.inner_radius * exact_math.power(ratio, np.arange(strips + 1) / strips)
    radii[-1] = screw.radius
    return ScrewCells(2.0 * math.pi * angles, last, radii)


def _strips(screw: Screw, step: float, deviation: float) -> int:
    """Return the number of strips of a blade from shaft to rim."""
    ratio = exact_math.log(screw.radius / screw.inner_radius)
    strips = max(1, math.ceil(ratio / (WIDEST_STRIP * step)))
    height = screw.pitch * step / (4.0 * math.pi)
    if height > deviation:  # tanh(x / 2) = (q - 1) / (q + 1) with q = exp(x)
        strips = max(strips, math.ceil(ratio / exact_math.log((height + deviation) / (height - deviation))))
    while cell_deviation(screw.pitch, step, ratio / strips) > deviation:
        strips += 1
    return strips


def cell_deviation(pitch: float, step: float, ratio: float) -> float:
    """Return the distance between the two triangles of a cell and the helicoid along the axis [m].

    Parameters
    ----------
    pitch : float
        Pitch of the helicoid [m].
    step : float
        Angle of the cell [rad].
    ratio : float
        Logarithm of its outer radius over the inner one.
    """
    outer = exact_math.exp(ratio)
    height = pitch * step / (2.0 * math.pi)
    corners = np.array(
        [
            [1.0, 0.0, 0.0],
            [outer, 0.0, 0.0],
            [outer * exact_math.cos(step), outer * exact_math.sin(step), height],
            [exact_math.cos(step), exact_math.sin(step), height],
        ]
    )
    a, b = (one.ravel() for one in np.meshgrid(np.linspace(0.0, 1.0, 17), np.linspace(0.0, 1.0, 17)))
    shares = np.column_stack([1.0 - a, a * (1.0 - b), a * b])
    points = np.concatenate(
        [exact_math.matmul(shares, corners[[0, 1, 2]]), exact_math.matmul(shares, corners[[0, 2, 3]])]
    )
    beside = points[:, 2] - pitch / (2.0 * math.pi) * exact_math.atan2(points[:, 1], points[:, 0])
    return float(np.abs(beside).max())


def screw_facets(screw: Screw, deviation: float) -> float:
    """Return the approximate number of facets of a screw, without dividing anything."""
    sides = sides_of(screw.radius, ROUND_SHARE * deviation)
    step = 2.0 * math.pi / sides
    height = screw.pitch * step / (4.0 * math.pi)
    ratio = exact_math.log(screw.radius / screw.inner_radius)
    strips = max(1.0, ratio / (WIDEST_STRIP * step), ratio * height / (2.0 * FLAT_SHARE * deviation))
    return sides * screw.turns * (2.0 * strips * (2.0 if screw.thickness else 1.0) + 2.0)


def screw(measures: Screw, deviation: float) -> Parts:
    """Return a screw: closed if its blade has a thickness, else a sheet, with a closed shaft if there is one."""
    cells = cells_of(measures, deviation)
    parts = _blade(measures, cells)
    if measures.shaft:
        parts += _shaft(measures, cells)
    if measures.left:
        parts = reversed_orientation([part * np.array([1.0, -1.0, 1.0]) for part in parts])
    return all_placed(parts, frame_of(measures.axis), measures.centre)


def _heights(measures: Screw, cells: ScrewCells) -> Floats:
    """Return the heights (last + 1,) of the middle of the blade at its corners [m]."""
    number = np.arange(cells.last + 1)
    turn, corner = np.divmod(number, len(cells.angles))
    risen = measures.pitch * (turn + cells.angles[corner] / (2.0 * np.pi))
    risen[-1] = measures.length - measures.thickness
    return 0.5 * (measures.thickness - measures.length) + risen


def _blade(measures: Screw, cells: ScrewCells) -> Parts:
    heights = _heights(measures, cells)
    plane = directions_at(cells.angles)[np.arange(cells.last + 1) % len(cells.angles)]
    half = 0.5 * measures.thickness
    upper, lower = (_sheet(plane, cells.radii, heights + shift) for shift in (half, -half))
    if not measures.thickness:
        return [_triangles(upper)]
    parts = [_triangles(upper), *reversed_orientation([_triangles(lower)])]
    for end in (0, -1):
        strip = quads_of_grid(np.stack([lower[:, end], upper[:, end]]))
        parts += reversed_orientation([strip]) if end == 0 else [strip]
    parts += reversed_orientation([quads_of_grid(np.stack([lower[-1], upper[-1]]))])
    if not measures.shaft:
        parts += [quads_of_grid(np.stack([lower[0], upper[0]]))]
    return parts


def _sheet(plane: Floats, radii: Floats, heights: Floats) -> Floats:
    """Return the points (radii, angles, 3) of a helicoid."""
    across = radii[:, None, None] * plane
    return np.concatenate([across, np.broadcast_to(heights[None, :, None], (*across.shape[:2], 1))], axis=2)


def _triangles(points: Floats) -> Floats:
    """Return two triangles for each cell of a grid of points."""
    quads = quads_of_grid(points)
    return np.stack([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]], axis=1).reshape(-1, 3, 3)


def _shaft(measures: Screw, cells: ScrewCells) -> Parts:
    """Return the closed shaft, without the part that the blade covers; edges of its facets follow the blade."""
    radius, half, count = measures.inner_radius, 0.5 * measures.length, len(cells.angles)
    plane = radius * directions_at(cells.angles)
    heights = _heights(measures, cells)
    parts = disc(ring(plane / radius, radius, half))
    parts += reversed_orientation(disc(ring(plane / radius, radius, -half)))
    columns = [_column(measures, heights[corner::count]) for corner in range(count)]
    facets: dict[int, list[Floats]] = {}
    for corner in range(count):
        after = (corner + 1) % count
        for left, right in _uncovered(measures, heights, corner, count):
            polygon = _polygon(Side(plane[corner], columns[corner], left), Side(plane[after], columns[after], right))
            if len(polygon) > 2:
                facets.setdefault(len(polygon), []).append(polygon)
    return parts + [np.stack(some) for some in facets.values()]


class Side(NamedTuple):
    """A side of a facet of the shaft: position of its line (2,), heights of all corners on it, and two limits."""

    place: Floats
    corners: Floats
    part: tuple[float, float]


def _column(measures: Screw, heights: Floats) -> Floats:
    """Return the heights of all corners along a line of the shaft, rising: its ends, and the edges of the blade."""
    half, ends = 0.5 * measures.thickness, 0.5 * measures.length
    rising = np.unique(np.clip(np.concatenate([heights - half, heights + half, [-ends, ends]]), -ends, ends))
    return rising[np.concatenate([[True], np.diff(rising) > _ROUNDING * measures.length])]


def _uncovered(
    measures: Screw, heights: Floats, corner: int, count: int
) -> Iterator[tuple[tuple[float, float], tuple[float, float]]]:
    """Yield the intervals of the strip after a corner that the blade leaves free, on its left and its right side."""
    half, ends = 0.5 * measures.thickness, 0.5 * measures.length
    left, right = -ends, -ends
    for number in range(corner, len(heights) - 1, count):
        here, there = float(heights[number]), float(heights[number + 1])
        yield (left, max(here - half, -ends)), (right, there - half)
        left, right = here + half, min(there + half, ends)
    yield (left, ends), (right, ends)


def _polygon(left: Side, right: Side) -> Floats:
    """Return the polygon between two lines of the shaft."""
    chains = []
    for side in (left, right):
        low, high = side.part
        margin = 2.0 * _ROUNDING * float(side.corners[-1] - side.corners[0])
        chosen = side.corners[(side.corners >= low - margin) & (side.corners <= high + margin)]
        chains.append(np.column_stack([np.tile(side.place, (len(chosen), 1)), chosen]))
    return np.concatenate([chains[0][::-1], chains[1]])
