"""Levels of the hierarchical grid: their particles, and the layout of their cells.

Rows of cells extend along the second longest axis of the particles, and layers are stacked along the longest axis. Then
few particles are stored between a particle and its neighbours in the next layer. The grid has its own order of axes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from pdem.detection.neighbours import SEGMENTS
from pdem.numerics.kernels import kernel, prange, threaded_kernel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pdem.foundation.array_types import Floats, Integers

CELLS_PER_PARTICLE = 16
"""Largest number of cells per particle of a dense level, in which cells are buckets; larger levels are hashed."""

EXTENTS = 8
"""Numbers measured of a level: population, largest reach, lowest and highest centre."""


class Levels(NamedTuple):
    """The grids of all levels in the form for kernels (arrays over levels, and axes).

    Attributes
    ----------
    limit : (L,) float64
        Largest reach diameter of each level [m].
    origin, inverse : (L, 3) float64
        Corner of the first cell [m], cells per metre.
    cells : (L, 3) int64
        Number of cells along each axis.
    base, buckets, dense : (L + 1,), (L,), (L,) int64
        First bucket, number of buckets, whether cells are buckets.
    reach : (L,) float64
        Largest reach present [m].
    lowest, highest : (L, 3) float64
        Bounding box of the centres [m].
    population : (L,) int64
        Number of particles.
    axes : (3,) int64
        Axes of space in the order of the cells' axes: along a row, from row to row, from layer to layer. `lowest` and
        `highest` use the axes of space, all other fields those of the cells.
    """

    limit: Floats
    origin: Floats
    inverse: Floats
    cells: Integers
    base: Integers
    buckets: Integers
    dense: Integers
    reach: Floats
    lowest: Floats
    highest: Floats
    population: Integers
    axes: Integers


class Lean(NamedTuple):
    """Lean of a sheared box; its layers are stacked along the gradient axis, its rows extend along the velocity axis.

    Attributes
    ----------
    offset : float
        Offset along the rows of the image above [m].
    height, width : float
        Lengths of the box across the layers and along the rows [m].
    """

    offset: float
    height: float
    width: float


@threaded_kernel
def assign_levels(
    position: Floats, reach: Floats, count: int, levels: Levels, extents: Floats, level_of: NDArray[np.int8]
) -> None:
    """Assign each particle to the lowest level with a sufficient limit, and measure each level by segments.

    `extents` (SEGMENTS * L * `EXTENTS`) is written.
    """
    limit = levels.limit
    depth = len(limit)
    for segment in prange(SEGMENTS):
        for level in range(depth):
            at = EXTENTS * (segment * depth + level)
            extents[at] = extents[at + 1] = 0.0
            for axis in range(3):
                extents[at + 2 + axis] = math.inf
                extents[at + 5 + axis] = -math.inf
        for i in range(segment * count // SEGMENTS, (segment + 1) * count // SEGMENTS):
            level = 0
            while level < depth - 1 and 2.0 * reach[i] > limit[level]:
                level += 1
            level_of[i] = level
            at = EXTENTS * (segment * depth + level)
            extents[at] += 1.0
            extents[at + 1] = max(extents[at + 1], reach[i])
            for axis in range(3):
                extents[at + 2 + axis] = min(extents[at + 2 + axis], position[i, axis])
                extents[at + 5 + axis] = max(extents[at + 5 + axis], position[i, axis])


@kernel
def measure_levels(levels: Levels, extents: Floats) -> None:
    """Combine the measurements of `assign_levels` over the segments."""
    depth = len(levels.limit)
    for level in range(depth):
        measured = extents.reshape((SEGMENTS, depth, EXTENTS))[:, level]
        levels.population[level] = int(measured[:, 0].sum())
        levels.reach[level] = measured[:, 1].max()
        for axis in range(3):
            levels.lowest[level, axis] = measured[:, 2 + axis].min()
            levels.highest[level, axis] = measured[:, 5 + axis].max()


@kernel
def lay_out(levels: Levels, lower: Floats, period: Floats) -> None:
    """Choose origin, number of cells and buckets of each level; `period` is 0 on open axes [m]."""
    levels.base[0] = 0
    for level in range(len(levels.limit)):
        count = levels.population[level]
        size = max(levels.limit[level], 2.0 * levels.reach[level])
        product = 1.0
        for axis in range(3):
            space_axis = levels.axes[axis]
            if count == 0:
                levels.cells[level, axis] = 1
            elif period[space_axis] > 0.0:
                cells = max(1, int(period[space_axis] / size))
                levels.cells[level, axis] = cells
                levels.inverse[level, axis] = cells / period[space_axis]
                levels.origin[level, axis] = lower[space_axis]
            else:
                levels.inverse[level, axis] = 1.0 / size
                levels.origin[level, axis] = levels.lowest[level, space_axis]
                extent = levels.highest[level, space_axis] - levels.lowest[level, space_axis]
                levels.cells[level, axis] = int(extent / size) + (2 if extent > 0.0 else 1)
            product *= levels.cells[level, axis]
        if product <= CELLS_PER_PARTICLE * count + 64:
            levels.dense[level] = 1
            levels.buckets[level] = int(product)
        else:
            levels.dense[level] = 0
            buckets = 16
            while buckets < 4 * count:
                buckets *= 2
            levels.buckets[level] = buckets
        levels.base[level + 1] = levels.base[level] + levels.buckets[level]
