"""Kernels of the hierarchical grid: buckets of cells, and particles sorted into buckets.

The cells of a level share an array of buckets, with a length proportional to the number of its particles. If the box of
the level has few cells, each cell is a bucket (*dense*). Otherwise each row of cells begins at a bucket given by a hash
of the row, and occupies the buckets after it (*hashed*). In both cases neighbouring cells of a row are neighbouring
buckets, so a row of a query is one contiguous slice of the sorted particles. Particles that share a bucket only because
of a hash collision are distinguished by their own cells.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from pdem.detection.grid_levels import Levels
from pdem.numerics.geometry_kernels import inlined_geometry
from pdem.numerics.kernels import prange, threaded_kernel
from pdem.numerics.simd.distance_filter import COORDINATES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pdem.foundation.array_types import Floats, Int32s, Integers
    from pdem.numerics.vectors import Vector


class Centres(NamedTuple):
    """Particles to be sorted.

    Attributes
    ----------
    position, reach : (n, 3) and (n,) arrays
        Centres, and radius plus half of the largest gap of a pair [m].
    bucket : int64 array
        Bucket of each particle.
    axes : (3,) array
        Axes of the positions in the order of the cells' axes.
    """

    position: Floats
    reach: Floats
    bucket: Integers
    axes: Integers


class SortedSpheres(NamedTuple):
    """Particles sorted into buckets.

    Attributes
    ----------
    spheres : array
        Flat: columns of the centres, in the order of the cells' axes, and of reaches [m], by slot. All columns have the
        same length, with `pdem.numerics.simd.transposition.LANES` spare elements after the last slot.
    start : int32 array
        First slot of each bucket.
    order : int32 array
        Particle of each slot, with the same number of spare elements.
    """

    spheres: Floats
    start: Int32s
    order: Int32s


@inlined_geometry
def cell_along(levels: Levels, level: int, axis: int, coordinate: float) -> int:
    """Return the cell of a coordinate along one axis, inside the grid."""
    cell = math.floor((coordinate - levels.origin[level, axis]) * levels.inverse[level, axis])
    return min(max(cell, 0), levels.cells[level, axis] - 1)


@inlined_geometry
def hash_of_row(row_y: int, row_z: int) -> int:
    """Return a hash that distributes rows of cells over buckets; callers use its low bits."""
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
def find_buckets(position: Floats, count: int, levels: Levels, level_of: NDArray[np.int8], bucket_of: Integers) -> None:
    """Write the bucket of each particle."""
    x, y, z = levels.axes
    for i in prange(count):
        level = level_of[i]
        row = row_bucket(
            levels, level, cell_along(levels, level, 1, position[i, y]), cell_along(levels, level, 2, position[i, z])
        )
        local = row + cell_along(levels, level, 0, position[i, x])
        if levels.dense[level] == 0:
            local &= levels.buckets[level] - 1
        bucket_of[i] = levels.base[level] + local


@inlined_geometry
def centre_of(slot: int, spheres: Floats) -> Vector:
    """Return the centre of the sphere in a slot."""
    room = len(spheres) // COORDINATES
    return spheres[slot], spheres[room + slot], spheres[2 * room + slot]


@inlined_geometry
def reach_of(slot: int, spheres: Floats) -> float:
    """Return the reach of the sphere in a slot."""
    return spheres[3 * (len(spheres) // COORDINATES) + slot]


@inlined_geometry
def put_sphere(slot: int, centre: Vector, reach: float, spheres: Floats) -> None:
    """Write the sphere of a slot."""
    room = len(spheres) // COORDINATES
    spheres[slot], spheres[room + slot], spheres[2 * room + slot] = centre
    spheres[3 * room + slot] = reach


@threaded_kernel
def sort_into_buckets(
    parts: int,
    count: int,
    bucket_count: int,
    centres: Centres,
    before: Integers,
    start: Int32s,
    order: Int32s,
    spheres: Floats,
) -> None:
    """Sort the first `count` particles by counting, and write the fields of `SortedSpheres`.

    Each part, one per thread, reads all particles and sorts those in its own range of buckets: reading a bucket is
    cheap compared with sorting, and no merge is needed. `before` (parts) is scratch.
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
                put_sphere(slot, (position[i, x], position[i, y], position[i, z]), reach[i], spheres)
        for bucket in range(high - 1, low, -1):  # sorting has advanced each start to the start of the next bucket
            start[bucket] = start[bucket - 1]
        if low < high:
            start[low] = before[part]
