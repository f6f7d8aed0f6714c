"""Kernels that sort the spheres near the walls into cells: levels of reach, grids, counting sort.

A level contains the spheres with reaches between the same powers of two, so that a few large spheres do not widen the
cells of many small ones. Its cells are cubes twice as wide as its largest reach, or wider if that would make more cells
than its spheres need (*dense*: buckets are cells). Where such wide cells are crowded, because the spheres are in heaps
far apart, the level keeps narrow cells, and each row of cells begins at a bucket given by a hash of the row (*hashed*).
Either way a row of cells is a contiguous range of sorted spheres, and memory is O(N).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.detection.grid_kernels import hash_of_row
from pdem.numerics.geometry_kernels import geometry_kernel, inlined_geometry
from pdem.numerics.kernels import kernel, prange, threaded_kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.foundation.array_types import Floats, Int32s, Integers

LEVELS = 16
"""Levels of reach; exponents that differ by a multiple of this number share a level, which only costs time."""

CHUNKS = 64
"""Chunks into which spheres and facets are divided for threads; results do not depend on the threads."""

CELLS_PER_SPHERE = 2
"""Largest number of cells per sphere of a dense level, in addition to `SPARE_CELLS`."""

SPARE_CELLS = 64
"""Number of cells that a dense level may have in addition to `CELLS_PER_SPHERE` per sphere."""

CROWD = 16
"""Largest mean number of spheres, averaged over spheres, in a widened cell; beyond it rows are hashed."""

FINEST = 2.0**-20
"""Smallest cell width over the width of the region: keeps the numbers of cells far from the limits of integers."""

FAR = 1e300
"""Coordinates [m] and reaches [m] beyond this count as infinite."""


class WallSideCells(NamedTuple):
    """The grids of all levels in the form for kernels.

    Attributes
    ----------
    lowest, highest : (3,) float64
        Bounding box of the centres of the selected spheres [m]; all grids begin at its lower corner.
    joined : (LEVELS,) int64
        Level into which each level has been merged, or itself.
    population : (LEVELS,) int64
        Number of spheres.
    reach, width : (LEVELS,) float64
        Largest reach present [m], and the same enlarged by the largest rounding error.
    size, inverse : (LEVELS,) float64
        Width of the cells [m] and its inverse.
    counts : (LEVELS, 3) int64
        Number of cells along each axis.
    base : (LEVELS + 1,) int64
        First bucket.
    mask : (LEVELS,) int64
        Number of buckets less one if hashed, -1 if dense.
    """

    lowest: Floats
    highest: Floats
    joined: Integers
    population: Integers
    reach: Floats
    width: Floats
    size: Floats
    inverse: Floats
    counts: Integers
    base: Integers
    mask: Integers


def make_cells() -> WallSideCells:
    """Return grids without cells."""
    return WallSideCells(
        np.zeros(3), np.zeros(3), np.arange(LEVELS), np.zeros(LEVELS, np.int64), np.zeros(LEVELS),
        np.zeros(LEVELS), np.ones(LEVELS), np.ones(LEVELS), np.ones((LEVELS, 3), np.int64),
        np.zeros(LEVELS + 1, np.int64), np.full(LEVELS, -1, np.int64),
    )  # fmt: skip


@geometry_kernel
def first_of(chunk: int, count: int) -> int:
    """Return the first of `count` elements of a chunk (both signed: numba turns mixed signs into floats)."""
    return chunk * count // CHUNKS


@inlined_geometry
def _level(reach: float) -> np.uint64:
    """Return the level of a reach: the binary exponent of the number."""
    return np.uint64((np.float64(reach).view(np.int64) >> 52) & (LEVELS - 1))


@threaded_kernel
def select(
    centres: Floats,
    reaches: Floats,
    bounds: Floats,
    active: Int32s,
    level_of: NDArray[np.int8],
    taken: Integers,
    extents: Floats,
    populations: Integers,
    largest: Floats,
) -> None:
    """List the spheres with boxes that intersect the finite box `bounds` (6,), each chunk from its first index on.

    Also writes the level of each sphere, and for each chunk the number of spheres (CHUNKS,), the bounding box of the
    centres (CHUNKS, 6), and numbers and largest reaches by level (CHUNKS, LEVELS). Spheres with NaN or infinite
    positions are skipped.
    """
    for iteration in prange(CHUNKS):
        chunk = np.int64(iteration)
        begin, end = first_of(chunk, len(reaches)), first_of(chunk + 1, len(reaches))
        at = np.uint64(begin)
        x_low = y_low = z_low = math.inf
        x_high = y_high = z_high = -math.inf
        populations[chunk] = 0
        largest[chunk] = 0.0
        for sphere in range(np.uint64(begin), np.uint64(end)):
            x, y, z, reach = centres[sphere, 0], centres[sphere, 1], centres[sphere, 2], reaches[sphere]
            if (
                (x - reach <= bounds[3]) & (x + reach >= bounds[0])
                & (y - reach <= bounds[4]) & (y + reach >= bounds[1])
                & (z - reach <= bounds[5]) & (z + reach >= bounds[2])
                & (abs(x) < FAR) & (abs(y) < FAR) & (abs(z) < FAR)
            ):  # fmt: skip
                level = _level(reach)
                active[at] = sphere
                level_of[at] = level
                populations[chunk, level] += 1
                largest[chunk, level] = max(largest[chunk, level], reach)
                at += np.uint64(1)
                x_low, x_high = min(x_low, x), max(x_high, x)
                y_low, y_high = min(y_low, y), max(y_high, y)
                z_low, z_high = min(z_low, z), max(z_high, z)
        taken[chunk] = np.int64(at) - begin
        extents[chunk, 0], extents[chunk, 1], extents[chunk, 2] = x_low, y_low, z_low
        extents[chunk, 3], extents[chunk, 4], extents[chunk, 5] = x_high, y_high, z_high


@kernel
def lay_out(
    extents: Floats, populations: Integers, largest: Floats, bounds: Floats, join: bool, cells: WallSideCells
) -> int:
    """Combine the chunks of `select` and choose dense grids for all levels; return the number of buckets.

    `bounds` (6,) is the bounding box of the facets [m]. With `join`, a level is merged into the next larger level if
    that level has wider cells than its reaches need, which saves one visit per facet.
    """
    magnitude = 0.0
    for axis in range(3):
        cells.lowest[axis], cells.highest[axis] = math.inf, -math.inf
        for chunk in range(CHUNKS):
            cells.lowest[axis] = min(cells.lowest[axis], extents[chunk, axis])
            cells.highest[axis] = max(cells.highest[axis], extents[chunk, 3 + axis])
        magnitude += max(abs(bounds[axis]), abs(bounds[3 + axis]))
        magnitude += max(abs(cells.lowest[axis]), abs(cells.highest[axis]))
    for level in range(LEVELS):
        cells.population[level] = 0
        cells.reach[level] = 0.0
        for chunk in range(CHUNKS):
            cells.population[level] += populations[chunk, level]
            cells.reach[level] = max(cells.reach[level], largest[chunk, level])
        cells.mask[level] = -1
        cells.joined[level] = level
    if join:
        _join_levels(cells)
    for level in range(LEVELS):
        if cells.population[level] > 0:
            cells.width[level] = cells.reach[level] * (1.0 + 1e-9) + 4e-15 * magnitude
            size = _narrowest(level, cells)
            while _divide(level, size, cells) > _most_cells(cells.population[level]):
                size *= 1.25
    return _number_buckets(cells)


@geometry_kernel
def _most_cells(population: int) -> int:
    return CELLS_PER_SPHERE * population + SPARE_CELLS


@geometry_kernel
def _join_levels(cells: WallSideCells) -> None:
    """Merge levels into larger ones with cells that are wide enough for both."""
    larger = -1
    for _ in range(LEVELS):
        level = -1
        for other in range(LEVELS):  # the largest of the remaining levels
            left = cells.population[other] > 0 and (larger < 0 or cells.reach[other] < cells.reach[larger])
            if left and (level < 0 or cells.reach[other] > cells.reach[level]):
                level = other
        if level < 0:
            return
        if larger >= 0:
            together = cells.population[larger] + cells.population[level]
            if _divide(larger, _narrowest(larger, cells), cells) >= _most_cells(together):
                cells.joined[level] = larger
                cells.population[larger] = together
                cells.population[level] = 0
                continue
        larger = level


@geometry_kernel
def _narrowest(level: int, cells: WallSideCells) -> float:
    """Return the cell width for the reaches of a level."""
    size = 2.0 * cells.reach[level]
    for axis in range(3):
        size = max(size, FINEST * (cells.highest[axis] - cells.lowest[axis]))
    return max(size, 1.0 / FAR)


@geometry_kernel
def _divide(level: int, size: float, cells: WallSideCells) -> float:
    """Divide the region into cells of a size; return the number of cells."""
    cells.size[level] = size
    cells.inverse[level] = 1.0 / size
    product = 1.0
    for axis in range(3):
        along = (cells.highest[axis] - cells.lowest[axis]) * cells.inverse[level]
        cells.counts[level, axis] = 1 + int(along)
        product *= cells.counts[level, axis]
    return product


@geometry_kernel
def _number_buckets(cells: WallSideCells) -> int:
    cells.base[0] = 0
    for level in range(LEVELS):
        buckets = 0
        if cells.population[level] > 0:
            buckets = cells.mask[level] + 1
            if buckets == 0:
                buckets = cells.counts[level, 0] * cells.counts[level, 1] * cells.counts[level, 2]
        cells.base[level + 1] = cells.base[level] + buckets
    return cells.base[LEVELS]


@inlined_geometry
def cell_along(value: float, axis: int, level: int, cells: WallSideCells) -> int:
    """Return the cell of a coordinate along one axis: the first or last cell for coordinates outside or not finite."""
    # the same monotone operations for spheres and for facets: no pair at a border is lost
    position = (value - cells.lowest[axis]) * cells.inverse[level]
    if not position > 0.0:
        return 0
    if position >= cells.counts[level, axis]:
        return cells.counts[level, axis] - 1
    return int(position)


@inlined_geometry
def row_bucket(row_y: int, row_z: int, level: int, cells: WallSideCells) -> int:
    """Return the bucket, within its level, of the first cell of a row."""
    if cells.mask[level] < 0:
        return (row_z * cells.counts[level, 1] + row_y) * cells.counts[level, 0]
    return hash_of_row(row_y, row_z) & cells.mask[level]


@geometry_kernel
def _find_chunk(
    begin: int,
    end: int,
    centres: Floats,
    active: Int32s,
    level_of: NDArray[np.int8],
    cells: WallSideCells,
    bucket_of: Int32s,
) -> None:
    for place in range(np.uint64(begin), np.uint64(end)):
        sphere = np.uint32(active[place])
        level = np.uint64(cells.joined[np.uint64(level_of[place])])
        row_y = cell_along(centres[sphere, 1], 1, level, cells)
        row_z = cell_along(centres[sphere, 2], 2, level, cells)
        local = row_bucket(row_y, row_z, level, cells) + cell_along(centres[sphere, 0], 0, level, cells)
        if cells.mask[level] >= 0:
            local &= cells.mask[level]
        bucket_of[place] = cells.base[level] + local


@threaded_kernel
def find_buckets(
    centres: Floats,
    active: Int32s,
    taken: Integers,
    level_of: NDArray[np.int8],
    cells: WallSideCells,
    bucket_of: Int32s,
) -> None:
    """Write the bucket of each selected sphere."""
    for iteration in prange(CHUNKS):
        chunk = np.int64(iteration)
        begin = first_of(chunk, len(centres))
        _find_chunk(begin, begin + taken[chunk], centres, active, level_of, cells, bucket_of)


@kernel
def count_spheres(spheres: int, taken: Integers, bucket_of: Int32s, start: Int32s) -> None:
    """Count the selected spheres, out of `spheres`, in each bucket."""
    start[:] = 0
    for chunk in range(CHUNKS):
        begin = first_of(chunk, spheres)
        for place in range(np.uint64(begin), np.uint64(begin + taken[chunk])):
            start[np.uint32(bucket_of[place])] += 1


@kernel
def hash_dense_levels(counts: Int32s, cells: WallSideCells) -> int:
    """Replace crowded wide cells of dense levels by narrow, hashed ones, by the `counts` of the buckets.

    Returns the number of buckets if there are such levels, and all counts must be repeated; else 0.
    """
    changed = False
    for level in range(LEVELS):
        narrow = _narrowest(level, cells)
        if cells.population[level] > 0 and cells.size[level] > narrow and _crowded(level, counts, cells):
            _divide(level, narrow, cells)
            buckets = 16
            while buckets < CELLS_PER_SPHERE * cells.population[level]:
                buckets *= 2
            cells.mask[level] = buckets - 1
            changed = True
    return _number_buckets(cells) if changed else 0


@geometry_kernel
def _crowded(level: int, counts: Int32s, cells: WallSideCells) -> bool:
    """Return whether a level is crowded: its mean sphere shares a bucket with too many spheres."""
    seen = np.int64(0)
    for bucket in range(cells.base[level], cells.base[level + 1]):
        seen += np.int64(counts[bucket]) * np.int64(counts[bucket])
    return seen > CROWD * cells.population[level]


@kernel
def sort_spheres(
    centres: Floats,
    reaches: Floats,
    active: Int32s,
    taken: Integers,
    bucket_of: Int32s,
    start: Int32s,
    order: Int32s,
    spheres: Floats,
) -> None:
    """Sort by the counts in `start`: first slot of each bucket, sphere of each slot, centre and reach."""
    total = 0
    for end in range(np.uint64(len(start))):
        total += start[end]
        start[end] = total
    for chunk in range(CHUNKS - 1, -1, -1):  # backwards, so that the end indices become the start indices
        begin = first_of(chunk, len(reaches))
        for back in range(taken[chunk]):
            place = np.uint64(begin + taken[chunk] - 1 - back)
            bucket = np.uint32(bucket_of[place])
            slot = np.uint32(start[bucket] - 1)
            start[bucket] = slot
            sphere = np.uint32(active[place])
            order[slot] = sphere
            spheres[slot, 0] = centres[sphere, 0]
            spheres[slot, 1] = centres[sphere, 1]
            spheres[slot, 2] = centres[sphere, 2]
            spheres[slot, 3] = reaches[sphere]
