"""Kernels of the hierarchical grid: buckets, counting sort and the search along rows of cells.

The cells of a level are wound onto an array of buckets that is proportional to the number of its particles:
directly where the box of the level has few cells (*dense*), else each row of cells starts at a bucket chosen
by a hash of the row (*hashed*) and runs on from there. In both cases neighbouring cells of a row are
neighbouring buckets, so a row of a query is one contiguous slice of the sorted particles. What the hash brings
together by accident is told apart by its own cell.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from pdem.detection.grid_levels import Levels
from pdem.detection.neighbours import SEGMENTS
from pdem.foundation.geometry_kernels import inlined_geometry
from pdem.foundation.kernels import prange, threaded_kernel
from pdem.simd.places import ROW

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

INFLATION = 1.0 + 1e-12
"""Factor on the search range, so that rounding at a cell border loses nothing."""


class Centres(NamedTuple):
    """Particles that are to be sorted.

    Attributes
    ----------
    position, reach : (n, 3) and (n,) arrays
        Centres, and radius plus half of the gap up to which pairs count [m].
    bucket : int64 array
        Of each particle.
    axes : (3,) array
        Axes of the positions in the order of the cells' axes.
    """

    position: NDArray[np.float64]
    reach: NDArray[np.float64]
    bucket: NDArray[np.int64]
    axes: NDArray[np.int64]


class SortedSpheres(NamedTuple):
    """Particles sorted into buckets.

    Attributes
    ----------
    spheres : array
        Of each slot the centre, in the order of the cells' axes, and the reach, 4 numbers each [m].
    start : int32 array
        First slot of each bucket.
    order : int32 array
        Particle of each slot.
    """

    spheres: NDArray[np.float64]
    start: NDArray[np.int32]
    order: NDArray[np.int32]


class PairArrays(NamedTuple):
    """Where pairs are written: both particles of each."""

    first: NDArray[np.int32]
    second: NDArray[np.int32]


class Query(NamedTuple):
    """A sphere in search of partners: its slot, the level where, from which slot on, and by which image of it."""

    slot: int
    level: int
    after: int
    image: int


@inlined_geometry
def cell_along(levels: Levels, level: int, axis: int, coordinate: float) -> int:
    """Return the cell of a coordinate along one axis, inside the grid."""
    cell = math.floor((coordinate - levels.origin[level, axis]) * levels.inverse[level, axis])
    return min(max(cell, 0), levels.cells[level, axis] - 1)


@inlined_geometry
def hash_of_row(row_y: int, row_z: int) -> int:
    """Return a number that spreads rows of cells over buckets; its low bits are taken."""
    mixed = row_y * 73856093 + row_z * 19349663
    mixed = (mixed ^ (mixed >> 15)) * 83492791
    return mixed ^ (mixed >> 13)


@inlined_geometry
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
    x, y, z = levels.axes
    for i in prange(count):
        level = level_of[i]
        row = row_bucket(
            levels,
            level,
            cell_along(levels, level, 1, position[i, y]),
            cell_along(levels, level, 2, position[i, z]),
        )
        local = row + cell_along(levels, level, 0, position[i, x])
        if levels.dense[level] == 0:
            local &= levels.buckets[level] - 1
        bucket_of[i] = levels.base[level] + local


@threaded_kernel
def sort_into_buckets(
    parts: int,
    count: int,
    bucket_count: int,
    centres: Centres,
    before: NDArray[np.int64],
    start: NDArray[np.int32],
    order: NDArray[np.int32],
    spheres: NDArray[np.float64],
) -> None:
    """Sort the first `count` particles by counting, and write the fields of `SortedSpheres`.

    Each part, one per thread, goes through all particles and sorts those of its own range of buckets: reading a
    bucket costs little beside sorting into it, and nothing has to be merged. `before` (parts) is scratch.
    """
    position, reach, bucket_of, axes = centres
    x, y, z = axes
    for part in prange(parts):
        low, high = part * bucket_count // parts, (part + 1) * bucket_count // parts
        for bucket in range(low, high):
            start[bucket] = 0
        number = 0
        for i in range(count):
            bucket = bucket_of[i]
            if low <= bucket < high:
                start[bucket] += 1
                number += 1
        before[part] = number
    total = 0
    for part in range(parts):
        number = before[part]
        before[part] = total
        total += number
    start[bucket_count] = total
    for part in prange(parts):
        low, high = part * bucket_count // parts, (part + 1) * bucket_count // parts
        place = before[part]
        for bucket in range(low, high):
            number = start[bucket]
            start[bucket] = place
            place += number
        for i in range(count):
            bucket = bucket_of[i]
            if low <= bucket < high:
                slot = start[bucket]
                start[bucket] += 1
                order[slot] = i
                at = 4 * slot
                spheres[at], spheres[at + 1], spheres[at + 2] = position[i, x], position[i, y], position[i, z]
                spheres[at + 3] = reach[i]
        for bucket in range(high - 1, low, -1):  # the slots have moved each start to the next bucket's
            start[bucket] = start[bucket - 1]
        if low < high:
            start[low] = before[part]


@inlined_geometry
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


@inlined_geometry
def _wrapped(cell: int, cells: int) -> int:
    """Return a cell of a periodic axis inside the grid; division is slow, and seldom needed."""
    return cell if 0 <= cell < cells else cell % cells


@inlined_geometry
def _span(period: float) -> float:
    """Return the length after which an axis repeats: infinite on an open one, whose period is 0."""
    return period if period > 0.0 else math.inf


@inlined_geometry
def _is_in_row(
    levels: Levels, level: int, x: float, y: float, z: float, row: tuple[int, int], column: int, length: int
) -> bool:
    """Tell whether a point lies in `length` cells of a row from `column` on, not past the end of the row."""
    behind = cell_along(levels, level, 0, x) - column
    return (
        0 <= behind < length
        and cell_along(levels, level, 1, y) == row[0]
        and cell_along(levels, level, 2, z) == row[1]
    )


@inlined_geometry
def _search_level(
    slot: int,
    level: int,
    after: int,
    levels: Levels,
    particles: SortedSpheres,
    period: NDArray[np.float64],
    lean: Any,
    pairs: PairArrays,
    at: int,
    stop: int,
) -> tuple[int, int, int]:
    """Find the partners of one sphere in one level, in slots from `after` on.

    Pairs are written from `at` on; what comes to `stop` or behind is only counted. Returns the next place, the distance
    tests and the rows visited.
    """
    spheres = particles.spheres
    place = spheres[4 * slot], spheres[4 * slot + 1], spheres[4 * slot + 2]
    if lean is None:
        return _search_around(
            Query(slot, level, after, 0), place, levels, particles, period, lean, pairs, at, stop
        )
    checks = accesses = 0
    for image in range(
        -1, 2
    ):  # layers are not wrapped: each image of the sphere is somewhere else in its row
        from_corner = place[0] + image * lean.offset - levels.origin[level, 0]
        moved = (
            levels.origin[level, 0] + (from_corner - lean.width * math.floor(from_corner / lean.width)), place[1],
            place[2] + image * lean.height,
        )  # fmt: skip
        at, tested, visited = _search_around(
            Query(slot, level, after, image), moved, levels, particles, period, lean, pairs, at, stop
        )
        checks += tested
        accesses += visited
    return at, checks, accesses


@inlined_geometry
def _search_around(
    query: Query,
    centre: tuple[float, float, float],
    levels: Levels,
    particles: SortedSpheres,
    period: NDArray[np.float64],
    lean: Any,
    pairs: PairArrays,
    at: int,
    stop: int,
) -> tuple[int, int, int]:
    """Find the partners of one sphere, or of an image of it, with this centre; otherwise as `_search_level`."""
    spheres, start, order = particles
    slot, level, after, image = query
    (x, y, z), reach = centre, spheres[4 * slot + 3]
    width = (reach + levels.reach[level]) * INFLATION
    x0, nx = _range_along(levels, level, 0, x, width, period[0])
    y0, ny = _range_along(levels, level, 1, y, width, period[1])
    z0, nz = _range_along(levels, level, 2, z, width, period[2])
    checks = accesses = 0
    if nx <= 0 or ny <= 0 or nz <= 0:
        return at, checks, accesses
    base, buckets = levels.base[level], levels.buckets[level]
    columns, rows, layers = levels.cells[level, 0], levels.cells[level, 1], levels.cells[level, 2]
    dense = levels.dense[level] == 1
    whole = not dense and (nx > buckets or float(nx) * ny * nz > levels.population[level])
    if whole:  # all of a sparse level, as one row, is less work
        x0, nx, ny, nz, columns = 0, buckets, 1, 1, buckets
    mixed = not dense and not whole  # buckets may hold particles of other rows
    x0, row_z = _wrapped(x0, columns), _wrapped(z0, layers)
    own = order[slot]
    span_x, span_y, span_z = _span(period[0]), _span(period[1]), _span(period[2])
    for _ in range(nz):
        row_y = _wrapped(y0, rows)
        for _ in range(ny):
            row = 0 if whole else row_bucket(levels, level, row_y, row_z)
            column, left = x0, nx
            accesses += 1
            while left > 0:  # twice where the row is cut by the end of the cells or of the buckets
                bucket = row + column
                length = min(left, columns - column)
                if not dense:
                    bucket &= buckets - 1
                    length = min(length, buckets - bucket)
                begin, end = max(start[base + bucket], after), start[base + bucket + length]
                checks += 0 if mixed else max(end - begin, 0)
                for other in range(begin, end):
                    sphere = 4 * (other & ROW)
                    px, py, pz = spheres[sphere], spheres[sphere + 1], spheres[sphere + 2]
                    dx, dy, dz = abs(px - x), abs(py - y), abs(pz - z)
                    dx, dy, dz = min(dx, span_x - dx), min(dy, span_y - dy), min(dz, span_z - dz)
                    limit = (spheres[sphere + 3] + reach) * INFLATION
                    near = dx * dx + dy * dy + dz * dz <= limit * limit
                    if mixed:
                        here = _is_in_row(levels, level, px, py, pz, (row_y, row_z), column, length)
                        near = near and here
                        checks += here
                    if lean is not None:  # of a narrow box both an image and the next may be near: one counts
                        apart = (pz - spheres[4 * slot + 2]) / lean.height
                        near = near and math.floor(apart + 0.5) == image
                    # no branch: what is not near is overwritten by the next
                    place = min(at, stop) & ROW
                    pairs.first[place] = own
                    pairs.second[place] = order[other & ROW]
                    at += near
                left -= length
                column += length
                column = 0 if column == columns else column
            row_y = 0 if row_y + 1 == rows else row_y + 1
        row_z = 0 if row_z + 1 == layers else row_z + 1
    return at, checks, accesses


@threaded_kernel
def search(
    count: int,
    top_down: bool,
    levels: Levels,
    level_of: NDArray[np.int8],
    particles: SortedSpheres,
    period: NDArray[np.float64],
    lean: Any,
    room: NDArray[np.int64],
    written: tuple[PairArrays, NDArray[np.int64], NDArray[np.int64]],
) -> None:
    """Find every pair once; chunk c writes its ``found[c]`` ones from ``room[c]`` on.

    Those for which there is no place before the last one, ``room[c + 1] - 1``, are only counted.
    `period` is in the order of the cells' axes; if `lean` is a `Lean` and not None, 0 across the layers. `written` are
    the pairs, how many each chunk has found, and its distance tests and visited rows. `particles` and pairs are plain
    tuples of their fields.
    """
    # named outside of the loop: there it would be done, and arrays counted, for every sphere
    sorted_spheres, pairs = SortedSpheres(*particles), PairArrays(*written[0])
    found, counters = written[1], written[2]
    order = sorted_spheres.order
    depth = len(levels.limit)
    for iteration in prange(SEGMENTS):
        chunk = (
            iteration * 37
        ) % SEGMENTS  # neighbours in work go to different threads: large spheres come last
        at, stop = room[chunk], room[chunk + 1] - 1
        checks = accesses = 0
        for slot in range(chunk * count // SEGMENTS, (chunk + 1) * count // SEGMENTS):
            own = level_of[order[slot]]
            for level in range(depth):
                if levels.population[level] == 0 or (level > own if top_down else level < own):
                    continue
                at, tested, visited = _search_level(
                    slot,
                    level,
                    slot + 1 if level == own else 0,
                    levels,
                    sorted_spheres,
                    period,
                    lean,
                    pairs,
                    at,
                    stop,
                )
                checks += tested
                accesses += visited
        found[chunk] = at - room[chunk]
        counters[chunk, 0] = checks
        counters[chunk, 1] = accesses
