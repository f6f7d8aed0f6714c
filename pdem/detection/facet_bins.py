"""Kernels of the search for facets near spheres: boxes of facets in bins, sorted by size.

Facets of similar size form a level. Each level has its own grid over the region where the boxes of the
spheres and of the facets overlap, and holds each of its facets once, in the cell of its box's lower
corner; a query looks back by the largest extent of the level. Grids have no more than a fixed number of
cells per facet, so memory is O(F) however much sizes differ.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pdem.detection.slice_sort import sort_slice
from pdem.foundation.geometry_kernels import geometry_kernel
from pdem.foundation.kernels import prange, threaded_kernel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LEVELS = 32
"""Levels of facet size, each half the one before; what is smaller still joins the last."""

CELLS_PER_FACET = 8
"""Most grid cells per facet of a level."""

SPARE_CELLS = 64
"""... and this many on top for each level."""


@geometry_kernel
def box_facets(
    vertices: NDArray[np.float64],
    facet_start: NDArray[np.int64],
    facet_vertices: NDArray[np.int64],
    boxes: NDArray[np.float64],
) -> None:
    """Write the bounding boxes of all facets, shape (F, 6): lower corner, upper corner [m]."""
    for facet in range(len(facet_start) - 1):
        for axis in range(3):
            low = high = vertices[facet_vertices[facet_start[facet]], axis]
            for place in range(facet_start[facet] + 1, facet_start[facet + 1]):
                value = vertices[facet_vertices[place], axis]
                low = min(low, value)
                high = max(high, value)
            boxes[facet, axis] = low
            boxes[facet, 3 + axis] = high


@geometry_kernel
def overlap_region(
    boxes: NDArray[np.float64],
    facet_count: int,
    centres: NDArray[np.float64],
    reaches: NDArray[np.float64],
    region: NDArray[np.float64],
) -> bool:
    """Write the box (6,) in which spheres and facets can meet; return whether there is one."""
    for axis in range(3):
        low, high = math.inf, -math.inf
        for facet in range(facet_count):
            low = min(low, boxes[facet, axis])
            high = max(high, boxes[facet, 3 + axis])
        sphere_low, sphere_high = math.inf, -math.inf
        for sphere in range(len(reaches)):
            sphere_low = min(sphere_low, centres[sphere, axis] - reaches[sphere])
            sphere_high = max(sphere_high, centres[sphere, axis] + reaches[sphere])
        region[axis] = max(low, sphere_low)
        region[3 + axis] = min(high, sphere_high)
    return region[0] <= region[3] and region[1] <= region[4] and region[2] <= region[5]


@geometry_kernel
def sort_into_levels(
    boxes: NDArray[np.float64],
    facet_count: int,
    region: NDArray[np.float64],
    level_of: NDArray[np.int8],
    level_counts: NDArray[np.int64],
    level_extents: NDArray[np.float64],
) -> None:
    """Give each facet that reaches into the region its level (else -1); sum up counts and largest extents.

    `level_counts` is (LEVELS,), `level_extents` (LEVELS, 3) [m].
    """
    level_counts[:] = 0
    level_extents[:] = 0.0
    largest = 0.0
    for facet in range(facet_count):
        level_of[facet] = -1
        if meets(boxes, facet, region[0], region[1], region[2], region[3], region[4], region[5]):
            level_of[facet] = 0
            largest = max(largest, _extent(boxes, facet))
    top = math.frexp(largest)[1]
    for facet in range(facet_count):
        if level_of[facet] < 0:
            continue
        level = min(max(top - math.frexp(_extent(boxes, facet))[1], 0), LEVELS - 1)
        level_of[facet] = level
        level_counts[level] += 1
        for axis in range(3):
            extent = boxes[facet, 3 + axis] - boxes[facet, axis]
            level_extents[level, axis] = max(level_extents[level, axis], extent)


@geometry_kernel
def _extent(boxes: NDArray[np.float64], facet: int) -> float:
    return max(
        boxes[facet, 3] - boxes[facet, 0],
        boxes[facet, 4] - boxes[facet, 1],
        boxes[facet, 5] - boxes[facet, 2],
    )


@geometry_kernel
def meets(
    boxes: NDArray[np.float64],
    facet: int,
    x_low: float,
    y_low: float,
    z_low: float,
    x_high: float,
    y_high: float,
    z_high: float,
) -> bool:
    """Tell whether the box of a facet and another box overlap or touch."""
    return (
        boxes[facet, 0] <= x_high
        and boxes[facet, 3] >= x_low
        and boxes[facet, 1] <= y_high
        and boxes[facet, 4] >= y_low
        and boxes[facet, 2] <= z_high
        and boxes[facet, 5] >= z_low
    )


@geometry_kernel
def lay_out_grids(
    region: NDArray[np.float64],
    level_counts: NDArray[np.int64],
    level_extents: NDArray[np.float64],
    cell_sizes: NDArray[np.float64],
    cell_counts: NDArray[np.int64],
    cell_offsets: NDArray[np.int64],
) -> int:
    """Choose the cells of each level: `cell_sizes` (LEVELS,) [m], `cell_counts` (LEVELS, 3).

    `cell_offsets` (LEVELS + 1,) numbers the cells of all levels through; returns how many there are. Cells
    are cubes as large as the level's facets, or as large as the allowed number of cells demands.
    """
    cell_offsets[0] = 0
    widest = max(region[3] - region[0], region[4] - region[1], region[5] - region[2])
    for level in range(LEVELS):
        cells = 0.0
        if level_counts[level] > 0:
            allowed = CELLS_PER_FACET * level_counts[level] + SPARE_CELLS
            size = max(level_extents[level, 0], level_extents[level, 1], level_extents[level, 2])
            size = max(size, widest / allowed, 1e-300)
            cells = _count_cells(region, size, level, cell_counts)
            while cells > allowed:
                size *= 1.25
                cells = _count_cells(region, size, level, cell_counts)
            cell_sizes[level] = size
        cell_offsets[level + 1] = cell_offsets[level] + int(cells)
    return cell_offsets[LEVELS]


@geometry_kernel
def _count_cells(region: NDArray[np.float64], size: float, level: int, cell_counts: NDArray[np.int64]) -> int:
    cells = 1
    for axis in range(3):
        count = 1 + int((region[3 + axis] - region[axis]) / size)
        cell_counts[level, axis] = count
        cells *= count
    return cells


@geometry_kernel
def _cell(value: float, low: float, size: float, count: int) -> int:
    """Return the cell of a coordinate along one axis, the first or last one for what lies outside."""
    position = (value - low) / size
    if not position > 0.0:
        return 0
    if position >= count:
        return count - 1
    return int(position)


@geometry_kernel
def fill_bins(
    boxes: NDArray[np.float64],
    facet_count: int,
    region: NDArray[np.float64],
    level_of: NDArray[np.int8],
    cell_sizes: NDArray[np.float64],
    cell_counts: NDArray[np.int64],
    cell_offsets: NDArray[np.int64],
    cell_of: NDArray[np.int64],
    bin_start: NDArray[np.int64],
    bin_facets: NDArray[np.int64],
) -> None:
    """Sort the facets by cell, ascending within each: ``bin_facets[bin_start[c]:bin_start[c + 1]]``."""
    cells = cell_offsets[LEVELS]
    bin_start[: cells + 1] = 0
    for facet in range(facet_count):
        level = level_of[facet]
        if level < 0:
            continue
        size = cell_sizes[level]
        ix = _cell(boxes[facet, 0], region[0], size, cell_counts[level, 0])
        iy = _cell(boxes[facet, 1], region[1], size, cell_counts[level, 1])
        iz = _cell(boxes[facet, 2], region[2], size, cell_counts[level, 2])
        cell = cell_offsets[level] + (iz * cell_counts[level, 1] + iy) * cell_counts[level, 0] + ix
        cell_of[facet] = cell
        bin_start[cell + 1] += 1
    for cell in range(cells):
        bin_start[cell + 1] += bin_start[cell]
    for backwards in range(facet_count):  # from the end, so that the starts end up in place
        facet = facet_count - 1 - backwards
        if level_of[facet] >= 0:
            bin_start[cell_of[facet] + 1] -= 1
            bin_facets[bin_start[cell_of[facet] + 1]] = facet
    for cell in range(cells):
        bin_start[cell] = bin_start[cell + 1]
    bin_start[cells] = _active(level_of, facet_count)


@geometry_kernel
def _active(level_of: NDArray[np.int8], facet_count: int) -> int:
    count = 0
    for facet in range(facet_count):
        if level_of[facet] >= 0:
            count += 1
    return count


@geometry_kernel
def in_reach(
    x: float,
    y: float,
    z: float,
    reach: float,
    facet: int,
    vertices: NDArray[np.float64],
    normals: NDArray[np.float64],
    facet_start: NDArray[np.int64],
    facet_vertices: NDArray[np.int64],
) -> bool:
    """Tell whether a facet may come within `reach` of a point: never no if it does.

    No, if the plane is farther off, or if the point's projection lies beyond the line of an edge by more than
    what the plane leaves of the reach.
    """
    begin, end = facet_start[facet], facet_start[facet + 1]
    base = facet_vertices[begin]
    height = (
        (x - vertices[base, 0]) * normals[facet, 0]
        + (y - vertices[base, 1]) * normals[facet, 1]
        + (z - vertices[base, 2]) * normals[facet, 2]
    )
    left = reach * reach * (1.0 + 1e-9) - height * height
    if left < 0.0:
        return False
    here = facet_vertices[end - 1]
    for place in range(begin, end):
        there = facet_vertices[place]
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


@geometry_kernel
def _visit(
    x: float,
    y: float,
    z: float,
    reach: float,
    write: bool,
    at: int,
    found: NDArray[np.int64],
    vertices: NDArray[np.float64],
    normals: NDArray[np.float64],
    facet_start: NDArray[np.int64],
    facet_vertices: NDArray[np.int64],
    boxes: NDArray[np.float64],
    region: NDArray[np.float64],
    level_extents: NDArray[np.float64],
    cell_sizes: NDArray[np.float64],
    cell_counts: NDArray[np.int64],
    cell_offsets: NDArray[np.int64],
    bin_start: NDArray[np.int64],
    bin_facets: NDArray[np.int64],
) -> int:
    """Count the facets near one sphere and, if asked to, write them from ``found[at]`` on."""
    xl, yl, zl, xh, yh, zh = x - reach, y - reach, z - reach, x + reach, y + reach, z + reach
    count = 0
    if not (
        xl <= region[3] and xh >= region[0] and yl <= region[4]
        and yh >= region[1] and zl <= region[5] and zh >= region[2]
    ):  # fmt: skip
        return 0
    for level in range(LEVELS):
        if cell_offsets[level] == cell_offsets[level + 1]:
            continue
        size = cell_sizes[level]
        nx, ny, nz = cell_counts[level, 0], cell_counts[level, 1], cell_counts[level, 2]
        wide = 1.0 + 1e-9
        ix_low = _cell(xl - wide * level_extents[level, 0], region[0], size, nx)
        iy_low = _cell(yl - wide * level_extents[level, 1], region[1], size, ny)
        iz_low = _cell(zl - wide * level_extents[level, 2], region[2], size, nz)
        ix_high = _cell(xh, region[0], size, nx)
        for iz in range(iz_low, _cell(zh, region[2], size, nz) + 1):
            for iy in range(iy_low, _cell(yh, region[1], size, ny) + 1):
                row = cell_offsets[level] + (iz * ny + iy) * nx
                for place in range(bin_start[row + ix_low], bin_start[row + ix_high + 1]):
                    facet = bin_facets[place]
                    if meets(boxes, facet, xl, yl, zl, xh, yh, zh) and in_reach(
                        x, y, z, reach, facet, vertices, normals, facet_start, facet_vertices
                    ):
                        if write:
                            found[at + count] = facet
                        count += 1
    return count


@threaded_kernel
def visit_spheres(
    centres: NDArray[np.float64],
    reaches: NDArray[np.float64],
    vertices: NDArray[np.float64],
    normals: NDArray[np.float64],
    facet_start: NDArray[np.int64],
    facet_vertices: NDArray[np.int64],
    boxes: NDArray[np.float64],
    region: NDArray[np.float64],
    level_extents: NDArray[np.float64],
    cell_sizes: NDArray[np.float64],
    cell_counts: NDArray[np.int64],
    cell_offsets: NDArray[np.int64],
    bin_start: NDArray[np.int64],
    bin_facets: NDArray[np.int64],
    write: bool,
    counts: NDArray[np.int64],
    start: NDArray[np.int64],
    found: NDArray[np.int64],
) -> None:
    """Count the facets near each sphere, or write them where the counts have made room.

    Without `write`, ``counts[i]`` becomes the number of facets near sphere i. With it, they go, ascending,
    into ``found[start[i]:start[i + 1]]``.
    """
    for sphere in prange(len(reaches)):
        if write and counts[sphere] == 0:
            continue
        counts[sphere] = _visit(
            centres[sphere, 0], centres[sphere, 1], centres[sphere, 2], reaches[sphere], write, start[sphere],
            found, vertices, normals, facet_start, facet_vertices, boxes, region, level_extents, cell_sizes,
            cell_counts, cell_offsets, bin_start, bin_facets,
        )  # fmt: skip
        if write:
            sort_slice(found, start[sphere], start[sphere + 1])
