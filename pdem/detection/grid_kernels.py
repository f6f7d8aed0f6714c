"""Kernels of the hierarchical grid: levels, buckets, counting sort and the search along rows of cells.

The cells of a level are wound onto an array of buckets that is proportional to the number of its particles:
directly where the box of the level has few cells (*dense*), else each row of cells starts at a bucket chosen
by a hash of the row (*hashed*) and runs on from there. In both cases neighbouring cells of a row are
neighbouring buckets, so a row of a query is one contiguous slice of the sorted particles. What the hash brings
together by accident is told apart by its own cell, and only once it has passed the distance test.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from pdem.foundation.geometry_kernels import nearest_image
from pdem.foundation.kernels import inlined, kernel, prange, threaded_kernel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CHUNKS = 64
"""Parts into which the search is cut; each writes to its own segment of the pairs."""

CELLS_PER_PARTICLE = 4
"""Most buckets per particle of a level."""

INFLATION = 1.0 + 1e-12
"""Factor on the search range, so that rounding at a cell border loses nothing."""


class Levels(NamedTuple):
    """The grids of all levels, as kernels take them (arrays over levels, and axes).

    Attributes
    ----------
    limit : (L,) float64
        Largest reach diameter of each level [m].
    origin, inverse : (L, 3) float64
        Corner of the first cell [m], cells per metre.
    cells : (L, 3) int64
        Number of cells along each axis.
    base, buckets, dense : (L + 1,), (L,), (L,) int64
        First bucket, number of buckets, whether they are the cells themselves.
    reach : (L,) float64
        Largest reach present [m].
    lowest, highest : (L, 3) float64
        Bounding box of the centres [m].
    population : (L,) int64
        Number of particles.
    """

    limit: NDArray[np.float64]
    origin: NDArray[np.float64]
    inverse: NDArray[np.float64]
    cells: NDArray[np.int64]
    base: NDArray[np.int64]
    buckets: NDArray[np.int64]
    dense: NDArray[np.int64]
    reach: NDArray[np.float64]
    lowest: NDArray[np.float64]
    highest: NDArray[np.float64]
    population: NDArray[np.int64]


@kernel
def assign_levels(
    position: NDArray[np.float64],
    reach: NDArray[np.float64],
    count: int,
    levels: Levels,
    level_of: NDArray[np.int8],
) -> None:
    """Put each particle on the lowest level that holds its reach, and measure the levels."""
    last = len(levels.limit) - 1
    for level in range(last + 1):
        levels.population[level] = 0
        levels.reach[level] = 0.0
        levels.lowest[level] = math.inf
        levels.highest[level] = -math.inf
    for i in range(count):
        level = 0
        while level < last and 2.0 * reach[i] > levels.limit[level]:
            level += 1
        level_of[i] = level
        levels.population[level] += 1
        levels.reach[level] = max(levels.reach[level], reach[i])
        for axis in range(3):
            levels.lowest[level, axis] = min(levels.lowest[level, axis], position[i, axis])
            levels.highest[level, axis] = max(levels.highest[level, axis], position[i, axis])


@kernel
def lay_out(levels: Levels, lower: NDArray[np.float64], period: NDArray[np.float64]) -> None:
    """Choose origin, number of cells and buckets of each level; `period` is 0 on open axes [m]."""
    levels.base[0] = 0
    for level in range(len(levels.limit)):
        count = levels.population[level]
        size = max(levels.limit[level], 2.0 * levels.reach[level])
        product = 1.0
        for axis in range(3):
            if count == 0:
                levels.cells[level, axis] = 1
            elif period[axis] > 0.0:
                cells = max(1, int(period[axis] / size))
                levels.cells[level, axis] = cells
                levels.inverse[level, axis] = cells / period[axis]
                levels.origin[level, axis] = lower[axis]
            else:
                levels.inverse[level, axis] = 1.0 / size
                levels.origin[level, axis] = levels.lowest[level, axis]
                extent = levels.highest[level, axis] - levels.lowest[level, axis]
                levels.cells[level, axis] = int(extent / size) + (2 if extent > 0.0 else 1)
            product *= levels.cells[level, axis]
        if product <= CELLS_PER_PARTICLE * count + 64:
            levels.dense[level] = 1
            levels.buckets[level] = int(product)
        else:
            levels.dense[level] = 0
            buckets = 16
            while buckets < 2 * count:
                buckets *= 2
            levels.buckets[level] = buckets
        levels.base[level + 1] = levels.base[level] + levels.buckets[level]


@inlined
def cell_along(levels: Levels, level: int, axis: int, coordinate: float) -> int:
    """Return the cell of a coordinate along one axis, inside the grid."""
    cell = math.floor((coordinate - levels.origin[level, axis]) * levels.inverse[level, axis])
    return min(max(cell, 0), levels.cells[level, axis] - 1)


@inlined
def hash_of_row(row_y: int, row_z: int) -> int:
    """Return a number that spreads rows of cells over buckets; its low bits are taken."""
    mixed = row_y * 73856093 + row_z * 19349663
    mixed = (mixed ^ (mixed >> 15)) * 83492791
    return mixed ^ (mixed >> 13)


@inlined
def row_bucket(levels: Levels, level: int, row_y: int, row_z: int) -> int:
    """Return the bucket, within its level, of the first cell of a row."""
    if levels.dense[level] == 1:
        return (row_y + row_z * levels.cells[level, 1]) * levels.cells[level, 0]
    return hash_of_row(row_y, row_z) & (levels.buckets[level] - 1)


@threaded_kernel
def find_buckets(
    position: NDArray[np.float64],
    count: int,
    levels: Levels,
    level_of: NDArray[np.int8],
    bucket_of: NDArray[np.int64],
) -> None:
    """Write the bucket of each particle."""
    for i in prange(count):
        level = level_of[i]
        row = row_bucket(
            levels,
            level,
            cell_along(levels, level, 1, position[i, 1]),
            cell_along(levels, level, 2, position[i, 2]),
        )
        local = row + cell_along(levels, level, 0, position[i, 0])
        if levels.dense[level] == 0:
            local &= levels.buckets[level] - 1
        bucket_of[i] = levels.base[level] + local


@kernel
def sort_into_buckets(
    position: NDArray[np.float64],
    reach: NDArray[np.float64],
    count: int,
    bucket_count: int,
    bucket_of: NDArray[np.int64],
    start: NDArray[np.int64],
    order: NDArray[np.int32],
    spheres: NDArray[np.float64],
) -> None:
    """Sort by counting: first slot of each bucket, particle of each slot, its centre and reach (n, 4)."""
    for bucket in range(bucket_count + 1):
        start[bucket] = 0
    for i in range(count):
        start[bucket_of[i] + 1] += 1
    for bucket in range(bucket_count):
        start[bucket + 1] += start[bucket]
    for i in range(count):
        slot = start[bucket_of[i]]
        start[bucket_of[i]] += 1
        order[slot] = i
        spheres[slot, 0] = position[i, 0]
        spheres[slot, 1] = position[i, 1]
        spheres[slot, 2] = position[i, 2]
        spheres[slot, 3] = reach[i]
    for bucket in range(bucket_count, 0, -1):  # the slots have moved each start to the next bucket's
        start[bucket] = start[bucket - 1]
    start[0] = 0


@inlined
def _range_along(
    levels: Levels, level: int, axis: int, coordinate: float, width: float, period: float
) -> tuple[int, int]:
    """Return the first cell of a query along an axis (unwrapped) and how many follow with it."""
    # each end in one chain of monotone operations, the one of `cell_along`: no partner at a border is lost
    origin, inverse = levels.origin[level, axis], levels.inverse[level, axis]
    first = math.floor((coordinate - width - origin) * inverse)
    last = math.floor((coordinate + width - origin) * inverse)
    cells = levels.cells[level, axis]
    if period > 0.0:
        return first, min(last - first + 1, cells)
    first = max(first, 0)
    return first, min(last, cells - 1) - first + 1


@kernel
def _scan(
    slot: int,
    begin: int,
    end: int,
    levels: Levels,
    level: int,
    cell: tuple[int, int, int, int],
    spheres: NDArray[np.float64],
    period: NDArray[np.float64],
    frequency: NDArray[np.float64],
    first: NDArray[np.int32],
    second: NDArray[np.int32],
    order: NDArray[np.int32],
    at: int,
    stop: int,
) -> int:
    """Test one sphere against a slice; hits go to `first`, `second` from `at`; return the next place."""
    x, y, z, reach = spheres[slot, 0], spheres[slot, 1], spheres[slot, 2], spheres[slot, 3]
    for other in range(begin, end):
        dx = nearest_image(spheres[other, 0] - x, period[0], frequency[0])
        dy = nearest_image(spheres[other, 1] - y, period[1], frequency[1])
        dz = nearest_image(spheres[other, 2] - z, period[2], frequency[2])
        limit = (spheres[other, 3] + reach) * INFLATION
        if dx * dx + dy * dy + dz * dz <= limit * limit:
            if cell[3] > 0:  # hashed: is it in the queried cells of the queried row?
                along = cell_along(levels, level, 0, spheres[other, 0]) - cell[0]
                if along < 0:
                    along += levels.cells[level, 0]
                if (
                    along >= cell[3]
                    or cell_along(levels, level, 1, spheres[other, 1]) != cell[1]
                    or cell_along(levels, level, 2, spheres[other, 2]) != cell[2]
                ):
                    continue
            if at < stop:
                first[at] = order[slot]
                second[at] = order[other]
            at += 1
    return at


@kernel
def _search_level(
    slot: int,
    level: int,
    after: int,
    levels: Levels,
    spheres: NDArray[np.float64],
    start: NDArray[np.int64],
    period: NDArray[np.float64],
    frequency: NDArray[np.float64],
    first: NDArray[np.int32],
    second: NDArray[np.int32],
    order: NDArray[np.int32],
    at: int,
    stop: int,
    counters: NDArray[np.int64],
) -> int:
    """Find the partners of one sphere in one level, in slots from `after` on."""
    width = (spheres[slot, 3] + levels.reach[level]) * INFLATION
    x0, nx = _range_along(levels, level, 0, spheres[slot, 0], width, period[0])
    y0, ny = _range_along(levels, level, 1, spheres[slot, 1], width, period[1])
    z0, nz = _range_along(levels, level, 2, spheres[slot, 2], width, period[2])
    if nx <= 0 or ny <= 0 or nz <= 0:
        return at
    base, buckets = levels.base[level], levels.buckets[level]
    dense = levels.dense[level] == 1
    if not dense and (nx > buckets or float(nx) * ny * nz > levels.population[level]):
        begin, end = max(start[base], after), start[base + buckets]  # all of a sparse level is less work
        counters[0] += max(end - begin, 0)
        counters[1] += 1
        return _scan(
            slot, begin, end, levels, level, (0, 0, 0, 0), spheres, period, frequency, first, second, order,
            at, stop,
        )  # fmt: skip
    columns = levels.cells[level, 0]
    for step_z in range(nz):
        row_z = (z0 + step_z) % levels.cells[level, 2]
        for step_y in range(ny):
            row_y = (y0 + step_y) % levels.cells[level, 1]
            row = row_bucket(levels, level, row_y, row_z)
            column = x0 % columns
            left = nx
            while left > 0:  # twice where the row is cut by the end of the cells or of the buckets
                bucket = row + column
                if dense:
                    length = min(left, columns - column)
                else:
                    bucket &= buckets - 1
                    length = min(min(left, columns - column), buckets - bucket)
                begin = max(start[base + bucket], after)
                end = start[base + bucket + length]
                counters[0] += max(end - begin, 0)
                counters[1] += 1
                at = _scan(
                    slot, begin, end, levels, level, (column, row_y, row_z, 0 if dense else length), spheres,
                    period, frequency, first, second, order, at, stop,
                )  # fmt: skip
                left -= length
                column = (column + length) % columns
    return at


@threaded_kernel
def search(
    count: int,
    top_down: bool,
    levels: Levels,
    level_of: NDArray[np.int8],
    spheres: NDArray[np.float64],
    start: NDArray[np.int64],
    order: NDArray[np.int32],
    period: NDArray[np.float64],
    frequency: NDArray[np.float64],
    first: NDArray[np.int32],
    second: NDArray[np.int32],
    found: NDArray[np.int64],
    counters: NDArray[np.int64],
) -> None:
    """Find every pair once; chunk c writes ``found[c]`` of them to its segment (more are only counted)."""
    segment = len(first) // CHUNKS
    depth = len(levels.limit)
    for turn in prange(CHUNKS):
        chunk = (turn * 37) % CHUNKS  # neighbours in work go to different threads: large spheres come last
        at = chunk * segment
        counters[chunk, 0] = 0
        counters[chunk, 1] = 0
        for slot in range(chunk * count // CHUNKS, (chunk + 1) * count // CHUNKS):
            own = level_of[order[slot]]
            for level in range(depth):
                if levels.population[level] == 0 or (level > own if top_down else level < own):
                    continue
                at = _search_level(
                    slot, level, slot + 1 if level == own else 0, levels, spheres, start, period, frequency,
                    first, second, order, at, (chunk + 1) * segment, counters[chunk],
                )  # fmt: skip
        found[chunk] = at - chunk * segment


@kernel
def close_segments(first: NDArray[np.int32], second: NDArray[np.int32], found: NDArray[np.int64]) -> int:
    """Move the segments of `search` together; return the number of pairs."""
    segment = len(first) // CHUNKS
    total = found[0]
    for chunk in range(1, CHUNKS):
        for place in range(chunk * segment, chunk * segment + found[chunk]):
            first[total] = first[place]
            second[total] = second[place]
            total += 1
    return total
