"""Kernels of the search for facets near spheres: each facet visits the cells of spheres that it may touch.

The work of a facet is counted in rows of cells, level by level, and divided into equal numbers of rows, so that threads
share a facet that is larger than all others together. A row is clipped by the slab around the plane of the facet before
its spheres are tested.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.detection.walls.sphere_cell_kernels import (
    CHUNKS,
    FAR,
    LEVELS,
    WallSideCells,
    cell_along,
    first_of,
    row_bucket,
)
from pdem.numerics.geometry_kernels import geometry_kernel, inlined_geometry
from pdem.numerics.kernels import kernel, prange, threaded_kernel

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats, Int32s, Integers

SCANNED = 64
"""Spheres in a unit of work where a facet tests all spheres of a level, not rows."""


class VisitedFacets(NamedTuple):
    """Facets in the form for kernels: positions [m], normals, loops and bounding boxes (F, 6) [m]."""

    vertices: Floats
    normals: Floats
    start: Integers
    loops: Integers
    boxes: Floats


class Slots(NamedTuple):
    """Sorted spheres: first slot of each bucket, sphere of each slot, its centre and reach (n, 4) [m]."""

    start: Int32s
    order: Int32s
    spheres: Floats


class Hits(NamedTuple):
    """Output arrays for the sphere and the facet of each hit; from index `end` on hits are only counted."""

    sphere: Int32s
    facet: Int32s
    end: int


class VisitRows(NamedTuple):
    """The cells of a level around a facet, and the number of units of work.

    ``rows_y == 0`` means that the facet tests all spheres of the level.
    """

    first_x: int
    last_x: int
    first_y: int
    rows_y: int
    first_z: int
    units: int


@geometry_kernel
def _box_chunk(chunk: int, facets: VisitedFacets, extents: Floats) -> None:
    count = len(facets.boxes)
    lowest, highest = extents[chunk, :3], extents[chunk, 3:]
    lowest[:] = math.inf
    highest[:] = -math.inf
    for facet in range(np.uint64(first_of(chunk, count)), np.uint64(first_of(chunk + 1, count))):
        begin = np.uint64(facets.start[facet])
        end = np.uint64(facets.start[facet + np.uint64(1)])
        for axis in range(3):
            low = high = facets.vertices[np.uint64(facets.loops[begin]), axis]
            for place in range(begin + np.uint64(1), end):
                value = facets.vertices[np.uint64(facets.loops[place]), axis]
                low = min(low, value)
                high = max(high, value)
            facets.boxes[facet, axis] = low
            facets.boxes[facet, 3 + axis] = high
            if low > -FAR and high < FAR:  # positions at infinity, and NaN, do not widen the region
                lowest[axis] = min(lowest[axis], low)
                highest[axis] = max(highest[axis], high)


@threaded_kernel
def box_facets(facets: VisitedFacets, extents: Floats) -> None:
    """Write the bounding boxes of all facets (lower corner, upper corner), and of the chunks, (CHUNKS, 6)."""
    for iteration in prange(CHUNKS):
        # a separate function: numba loses what a parallel loop itself writes to a member of a tuple
        _box_chunk(np.int64(iteration), facets, extents)


@kernel
def bound_facets(extents: Floats, bounds: Floats) -> None:
    """Write the bounding box (6,) of the chunks, finite; inverted if no facet has a finite position."""
    for axis in range(3):
        low, high = FAR, -FAR
        for chunk in range(CHUNKS):
            low = min(low, extents[chunk, axis])
            high = max(high, extents[chunk, 3 + axis])
        bounds[axis] = low
        bounds[3 + axis] = high


@inlined_geometry
def _rows_around(facet: int, level: int, facets: VisitedFacets, cells: WallSideCells) -> VisitRows:
    """Return the cells of a level with spheres that may intersect the box of a facet."""
    boxes = facets.boxes
    width = cells.width[level]
    for axis in range(3):
        low, high = boxes[facet, axis] - width, boxes[facet, 3 + axis] + width
        if not (low <= cells.highest[axis] and high >= cells.lowest[axis]):
            return VisitRows(0, 0, 0, 0, 0, 0)
    first_x = cell_along(boxes[facet, 0] - width, 0, level, cells)
    first_y = cell_along(boxes[facet, 1] - width, 1, level, cells)
    first_z = cell_along(boxes[facet, 2] - width, 2, level, cells)
    last_x = cell_along(boxes[facet, 3] + width, 0, level, cells)
    rows_y = cell_along(boxes[facet, 4] + width, 1, level, cells) - first_y + 1
    rows_z = cell_along(boxes[facet, 5] + width, 2, level, cells) - first_z + 1
    if cells.mask[level] >= 0:
        slope = max(abs(facets.normals[facet, 0]), 1e-9)
        thickness = 2.0 * width * cells.inverse[level] + 2.0
        length = min(last_x - first_x + 1.0, thickness / slope + 2.0)
        # with more cells than spheres, rows would test most spheres several times: test each sphere once instead
        if float(rows_y) * rows_z * (4.0 + 0.5 * length) > cells.population[level]:
            return VisitRows(0, 0, 0, 0, 0, (cells.population[level] + SCANNED - 1) // SCANNED)
    return VisitRows(first_x, last_x, first_y, rows_y, first_z, rows_y * rows_z)


@geometry_kernel
def _count_chunk(chunk: int, facets: VisitedFacets, cells: WallSideCells, work: Integers) -> None:
    count = len(work) - 1
    for facet in range(np.uint64(first_of(chunk, count)), np.uint64(first_of(chunk + 1, count))):
        units = 0
        for level in range(np.uint64(0), np.uint64(LEVELS)):
            if cells.population[level] > 0:
                units += _rows_around(facet, level, facets, cells).units
        work[facet + np.uint64(1)] = units


@threaded_kernel
def count_work(facets: VisitedFacets, cells: WallSideCells, work: Integers) -> None:
    """Write the units of work of facet f to ``work[f + 1]``."""
    for iteration in prange(CHUNKS):
        _count_chunk(np.int64(iteration), facets, cells, work)


@kernel
def write_first_units(work: Integers) -> None:
    """Turn the units of each facet into the number of its first unit, shape (F + 1,)."""
    work[0] = 0
    for facet in range(np.uint64(1), np.uint64(len(work))):
        work[facet] += work[facet - np.uint64(1)]


@inlined_geometry
def in_reach(x: float, y: float, z: float, reach: float, facet: int, facets: VisitedFacets) -> bool:
    """Return whether a facet may come within `reach` of a point; True for every facet that does.

    The result is False if the plane of the facet is farther away, or if the projection of the point on the plane is
    outside the line of an edge by more than the radius of the section of the plane with the sphere of this reach.
    """
    vertices, normals = facets.vertices, facets.normals
    begin, end = facets.start[facet], facets.start[facet + np.uint64(1)]
    base = np.uint64(facets.loops[np.uint64(begin)])
    height = (
        (x - vertices[base, 0]) * normals[facet, 0]
        + (y - vertices[base, 1]) * normals[facet, 1]
        + (z - vertices[base, 2]) * normals[facet, 2]
    )
    left = reach * reach * (1.0 + 1e-9) - height * height
    if left < 0.0:
        return False
    here = np.uint64(facets.loops[np.uint64(end - 1)])
    for place in range(np.uint64(begin), np.uint64(end)):
        there = np.uint64(facets.loops[place])
        ex = vertices[there, 0] - vertices[here, 0]
        ey = vertices[there, 1] - vertices[here, 1]
        ez = vertices[there, 2] - vertices[here, 2]
        wx, wy, wz = x - vertices[here, 0], y - vertices[here, 1], z - vertices[here, 2]
        side = (
            (ey * wz - ez * wy) * normals[facet, 0]
            + (ez * wx - ex * wz) * normals[facet, 1]
            + (ex * wy - ey * wx) * normals[facet, 2]
        )
        if side < 0.0 and side * side > left * (ex * ex + ey * ey + ez * ez):
            return False
        here = there
    return True


@inlined_geometry
def _visit_rows(
    facet: int,
    level: int,
    rows: VisitRows,
    unit: int,
    stop: int,
    facets: VisitedFacets,
    cells: WallSideCells,
    slots: Slots,
    hits: Hits,
    at: int,
) -> int:
    """Test a facet against units of work of a level; hits are written from index `at` on.

    Returns the index after the last hit.
    """
    boxes, order, spheres = facets.boxes, slots.order, slots.spheres
    x_low, y_low, z_low = boxes[facet, 0], boxes[facet, 1], boxes[facet, 2]
    x_high, y_high, z_high = boxes[facet, 3], boxes[facet, 4], boxes[facet, 5]
    base, mask, width = cells.base[level], cells.mask[level], cells.width[level]
    size, columns, layers = cells.size[level], cells.counts[level, 0], cells.counts[level, 1]
    corner = np.uint64(facets.loops[np.uint64(facets.start[facet])])
    x0, y0, z0 = facets.vertices[corner, 0], facets.vertices[corner, 1], facets.vertices[corner, 2]
    nx, ny, nz = facets.normals[facet, 0], facets.normals[facet, 1], facets.normals[facet, 2]
    x_mid, y_mid, z_mid = 0.5 * (x_low + x_high), 0.5 * (y_low + y_high), 0.5 * (z_low + z_high)
    x_half, y_half, z_half = 0.5 * (x_high - x_low), 0.5 * (y_high - y_low), 0.5 * (z_high - z_low)
    slack = width - cells.reach[level]
    per_nx = 1.0 / nx
    # n.(c - corner) = nx (x - x0) + level_y + level_z, and a row is one cell wide in y and z
    thick_low = -width - size * (max(ny, 0.0) + max(nz, 0.0))
    thick_high = width - size * (min(ny, 0.0) + min(nz, 0.0))
    row_y, row_z = rows.first_y - 1, rows.first_z
    if unit > 0 and rows.rows_y > 0:
        row_y, row_z = row_y + unit % rows.rows_y, row_z + unit // rows.rows_y
    all_begin = np.int64(slots.start[np.uint64(base)])
    while unit < stop:
        bucket, left = 0, 1
        begin, after = all_begin + unit * SCANNED, all_begin + min(stop * SCANNED, cells.population[level])
        if rows.rows_y == 0:
            unit = stop
        else:
            unit += 1
            row_y += 1
            if row_y == rows.first_y + rows.rows_y:
                row_y = rows.first_y
                row_z += 1
            height = ny * (cells.lowest[1] + row_y * size - y0) + nz * (cells.lowest[2] + row_z * size - z0)
            low, high = thick_low - height, thick_high - height
            column, last = rows.first_x, rows.last_x
            if nx != 0.0:
                low, high = x0 + low * per_nx, x0 + high * per_nx
                if nx < 0.0:
                    low, high = high, low
                if low > x_high + width or high < x_low - width:
                    continue
                column = max(cell_along(low, 0, level, cells), column)
                last = min(cell_along(high, 0, level, cells), last)
            elif low > 0.0 or high < 0.0:
                continue
            left = last - column + 1
            if mask < 0:
                bucket = (row_z * layers + row_y) * columns + column
            else:
                bucket = row_bucket(row_y, row_z, level, cells) + column
                left = min(left, mask + 1)
        while left > 0:  # two runs if the end of the buckets cuts a hashed row
            length = left
            if rows.rows_y > 0:
                if mask >= 0:
                    bucket &= mask
                    length = min(left, mask + 1 - bucket)
                begin = np.int64(slots.start[np.uint64(base + bucket)])
                after = np.int64(slots.start[np.uint64(base + bucket + length)])
            left -= length
            bucket += length
            for slot in range(np.uint64(begin), np.uint64(after)):
                x, y, z, reach = spheres[slot, 0], spheres[slot, 1], spheres[slot, 2], spheres[slot, 3]
                # distances from the box and from the plane in one comparison, because its branch is unpredictable
                x_gap = max(abs(x - x_mid) - x_half, 0.0)
                y_gap = max(abs(y - y_mid) - y_half, 0.0)
                z_gap = max(abs(z - z_mid) - z_half, 0.0)
                off = nx * (x - x0) + ny * (y - y0) + nz * (z - z0)
                if max(x_gap * x_gap + y_gap * y_gap + z_gap * z_gap, off * off) > (reach + slack) ** 2:
                    continue
                if not in_reach(x, y, z, reach, facet, facets):
                    continue
                if (
                    mask >= 0
                    and rows.rows_y > 0  # in a hashed row, spheres of other rows are skipped
                    and (cell_along(y, 1, level, cells) != row_y or cell_along(z, 2, level, cells) != row_z)
                ):
                    continue
                if at < hits.end:
                    hits.sphere[np.uint64(at)] = order[slot]
                    hits.facet[np.uint64(at)] = facet
                at += 1
    return at


@geometry_kernel
def _facet_of(unit: int, work: Integers) -> int:
    """Return the last facet with a first unit at or before `unit`."""
    low, high = 0, len(work) - 1
    while high - low > 1:
        middle = (low + high) // 2
        if work[middle] <= unit:
            low = middle
        else:
            high = middle
    return low


@geometry_kernel
def _visit_chunk(
    chunk: int, facets: VisitedFacets, cells: WallSideCells, slots: Slots, work: Integers, hits: Hits, at: int
) -> int:
    """Do a chunk's share of the work; return the index after its last hit, like `_visit_rows`."""
    total = work[len(work) - 1]
    unit, stop = first_of(chunk, total), first_of(chunk + 1, total)
    facet = np.uint64(_facet_of(unit, work))
    while unit < stop:
        begin, end = unit - work[facet], min(stop, work[facet + np.uint64(1)]) - work[facet]
        for level in range(np.uint64(0), np.uint64(LEVELS)):
            if end <= max(begin, 0):
                break
            if cells.population[level] == 0:
                continue
            rows = _rows_around(facet, level, facets, cells)
            if max(begin, 0) < min(end, rows.units):
                at = _visit_rows(
                    facet, level, rows, max(begin, 0), min(end, rows.units), facets, cells, slots, hits, at
                )
            begin -= rows.units
            end -= rows.units
        unit = max(unit, min(stop, work[facet + np.uint64(1)]))
        facet += np.uint64(1)
    return at


@threaded_kernel
def visit(
    facets: VisitedFacets,
    cells: WallSideCells,
    slots: Slots,
    work: Integers,
    segments: Integers,
    first: Int32s,
    second: Int32s,
    found: Integers,
) -> None:
    """Write (sphere, facet) of all hits of chunk c into its segment, ``segments[c]`` to ``segments[c + 1] - 1``.

    ``found[c]`` becomes their number, even if there was not enough room. Facets ascend from chunk to chunk.
    """
    for iteration in prange(CHUNKS):
        chunk = np.int64(iteration) * 37 % CHUNKS  # adjacent chunks go to different threads
        at = segments[chunk]
        after = _visit_chunk(chunk, facets, cells, slots, work, Hits(first, second, segments[chunk + 1]), at)
        found[chunk] = after - at


@kernel
def sort_hits_by_sphere(
    segments: Integers, found: Integers, first: Int32s, second: Int32s, start: Integers, listed: Integers
) -> None:
    """Sort the hits of `visit` by sphere: its facets, ascending, are ``listed[start[i]:start[i + 1]]``."""
    start[:] = 0
    for chunk in range(CHUNKS):
        for place in range(np.uint64(segments[chunk]), np.uint64(segments[chunk] + found[chunk])):
            start[np.uint32(first[place])] += 1
    total = 0
    for row in range(np.uint64(len(start))):
        total += start[row]
        start[row] = total
    for chunk in range(CHUNKS - 1, -1, -1):  # backwards, so that the end indices become the start indices
        for back in range(found[chunk]):
            hit = np.uint64(segments[chunk] + found[chunk] - 1 - back)
            sphere = np.uint32(first[hit])
            start[sphere] -= 1
            listed[np.uint64(start[sphere])] = second[hit]
