"""Kernels that share what is at points, or along straight ways, among the cells of a grid by the Gaussian.

It is a product of three functions of one coordinate each: the shares of cells along each axis are evaluated from
tables, and a box of cells is given their products, four numbers at a time. Images in a box that repeats are found axis
by axis, too.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from pdem.continuum.spreading import (
    NODE,
    NODES,
    ROW,
    Items,
    image_at,
    parts_of,
    place_of,
    spreading_kernel,
    weight_of,
)
from pdem.foundation.kernel_factory import inlined_closure
from pdem.foundation.kernels import inlined
from pdem.simd.places import offset
from pdem.simd.shares import LANES, POWERS, box_adder, cubic_row

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pdem.foundation.vectors import Vector

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]
    Bounds = tuple[int, int, int]

BOUNDS = 3
"""Numbers kept of the cells along an axis: the first, the one behind the last, and where their shares begin."""

_evaluate, _add_one, _add_all = cubic_row(), box_adder(1, ROW), box_adder(NODES, ROW)


class Spreading(NamedTuple):
    """A grid as kernels take it. Places are in units of cells, and 0 where phi about them ends with the first cell.

    Attributes
    ----------
    lower, inverse : (3,) arrays
        Place 0 [m]; one over the lengths of a cell, 0 of axes that do not count [1/m].
    cells : (3,) int64 array
        Numbers of cells.
    period : (3,) array
        Of periodic axes, else 0; the number of cells itself where these fill the box.
    images : (3,) int64 array
        How many images there are along the axes, on each side.
    width : float
        Of phi [m].
    reach : (3,) array
        Way from a place to where phi ends.
    stride, span, steps, begin, table
        See `pdem.continuum.grid.Shares`.
    """

    lower: Floats
    inverse: Floats
    cells: Integers
    period: Floats
    images: Integers
    width: float
    reach: Floats
    stride: Integers
    span: Integers
    steps: Integers
    begin: Integers
    table: Floats


@inlined
def write_shares(
    place: float, axis: int, first: int, factor: float, grid: Spreading, room: Floats, to: int
) -> None:
    """Write the shares of cells along an axis, that of the cell `first` at `to`, times a factor."""
    cell = math.floor(place)
    steps, stride, span = grid.steps[axis], grid.stride[axis], grid.span[axis]
    interval = (place - cell) * steps
    number = min(int(interval), steps - 1)
    at = grid.begin[axis] + POWERS * (span + stride) * number + span + first - int(cell)
    for lane in range(0, stride, LANES):
        place_in_table, here = offset(at, lane), offset(to, lane)
        _evaluate(grid.table, place_in_table, span + stride, interval - number, factor, room, here)


@inlined
def write_nodes(
    nodes: int, axis: int, here: float, away: float, first: int, factor: float, grid: Spreading, stride: int,
    room: Floats, to: int,
) -> None:  # fmt: skip
    """Write the shares of cells along an axis for all nodes, those of the cell `first` at the begin of a stride."""
    for node in range(nodes):
        place = here + (node - nodes // 2) * away
        weight = factor * weight_of(node) if nodes > 1 and axis == 0 else factor
        write_shares(place, axis, first, weight, grid, room, to + node * stride)


@inlined
def write_axis(
    nodes: int, axis: int, middle: float, away: float, factor: float, grid: Spreading, stride: int, room: Floats,
    bounds: Integers, to: tuple[int, int],
) -> int:  # fmt: skip
    """Write the shares of cells along an axis, for each image that reaches some; return how many images do."""
    found, (shares, at), cells = 0, to, grid.cells[axis]
    for number in range(2 * grid.images[axis] + 1):
        here = middle + image_at(number) * grid.period[axis]
        low, high = here - abs(away), here + abs(away)
        first = math.floor(low)
        last = min(math.floor(high + grid.reach[axis]), first + grid.stride[axis] - 1)
        if grid.period[axis] == cells:
            write_nodes(nodes, axis, here, away, first, factor, grid, stride, room, shares)
            return wrapped_bounds(first, last, cells, bounds, (shares, at))
        if last >= 0 and first < cells:
            write_nodes(nodes, axis, here, away, first, factor, grid, stride, room, shares)
            begin = max(first, 0)
            bounds[at], bounds[at + 1] = begin, min(last + 1, cells)
            bounds[at + 2] = shares + begin - first
            shares, at, found = shares + nodes * stride, at + BOUNDS, found + 1
        if first >= 0 and last < cells:
            break
    return found


@inlined
def wrapped_bounds(first: int, last: int, cells: int, bounds: Integers, to: tuple[int, int]) -> int:
    """Write the bounds of cells from `first` to `last` of a grid that fills the box: of images in one piece each."""
    found, (shares, at), cell = 0, to, first
    while cell <= last:
        begin = cell % cells
        many = min(cells - begin, last + 1 - cell)
        bounds[at], bounds[at + 1], bounds[at + 2] = begin, begin + many, shares + cell - first
        cell, at, found = cell + many, at + BOUNDS, found + 1
    return found


@inlined
def add_box(
    nodes: int, x: Bounds, y: Bounds, z: Bounds, item: tuple[int, int], cells: Integers, stride: int, values: Floats,
    room: Floats, sums: Integers,
) -> None:  # fmt: skip
    """Add an item to a box of cells, whose shares along the axes are in the room."""
    place, target = item
    begins, many = (x[2], y[2], z[2]), (x[1] - x[0], y[1] - y[0], z[1] - z[0])
    line = ROW * cells[2]
    steps, at = (line * cells[1], line), target + ROW * ((x[0] * cells[1] + y[0]) * cells[2] + z[0])
    if nodes == 1:
        _add_one(room, begins, stride, many, values, place, sums, at, steps)
    else:
        _add_all(room, begins, stride, many, values, place, sums, at, steps)


@inlined
def bounds_at(bounds: Integers, at: int) -> Bounds:
    """Return what `write_axis` has written for one image."""
    return bounds[at], bounds[at + 1], bounds[at + 2]


@inlined
def spread_part(
    nodes: int, p: int, part: tuple[Vector, Vector, float], items: Items, grid: Spreading, stride: int, room: Floats,
    bounds: Integers, sums: Integers,
) -> None:  # fmt: skip
    """Share a part of a way: its middle and the way from there to the last node, in units of cells, and its share."""
    middle, away, factor = part
    # the room begins with the shares of a line of cells
    begin_y = stride + nodes * stride * (2 * grid.images[0] + 1)
    begin_z = begin_y + nodes * stride * (2 * grid.images[1] + 1)
    at_y = BOUNDS * (2 * grid.images[0] + 1)
    at_z = at_y + BOUNDS * (2 * grid.images[1] + 1)
    along_x = write_axis(nodes, 0, middle[0], away[0], factor, grid, stride, room, bounds, (stride, 0))
    along_y = write_axis(nodes, 1, middle[1], away[1], 1.0, grid, stride, room, bounds, (begin_y, at_y))
    along_z = write_axis(nodes, 2, middle[2], away[2], 1.0, grid, stride, room, bounds, (begin_z, at_z))
    for i in range(along_x):
        for j in range(along_y):
            for k in range(along_z):
                add_box(
                    nodes, bounds_at(bounds, BOUNDS * i), bounds_at(bounds, at_y + BOUNDS * j),
                    bounds_at(bounds, at_z + BOUNDS * k), (ROW * p, items.target[p]), grid.cells, stride,
                    items.values, room, sums,
                )  # fmt: skip


def gaussian_kernel(nodes: int) -> Any:
    """Make the kernel for the Gaussian: of points with one node, of ways with `NODES`.

    The stride in its rooms is that between the shares of two nodes.
    """

    @inlined_closure
    def spread_item(
        p: int, items: Items, grid: Spreading, stride: int, room: Floats, bounds: Integers, sums: Integers
    ) -> None:
        """Share an item with all of its images, part after part."""
        (x, y, z), inverse = place_of(p, items, grid), grid.inverse
        if nodes == 1:
            spread_part(nodes, p, ((x, y, z), (0.0, 0.0, 0.0), 1.0), items, grid, stride, room, bounds, sums)
            return
        way = items.way[p, 0], items.way[p, 1], items.way[p, 2]
        parts = parts_of(way, grid.width)
        share = 1.0 / parts
        a, b, c = share * way[0] * inverse[0], share * way[1] * inverse[1], share * way[2] * inverse[2]
        for part in range(parts):
            half = part + 0.5
            middle, away = (x + half * a, y + half * b, z + half * c), (NODE * a, NODE * b, NODE * c)
            spread_part(nodes, p, (middle, away, share), items, grid, stride, room, bounds, sums)

    return spreading_kernel(f"gaussian, {nodes}", Spreading, spread_item)


spread_points, spread_ways = gaussian_kernel(1), gaussian_kernel(NODES)
"""Their rooms begin with the shares of a line of cells, a stride; behind are those along the axes, axis after axis, for
each image and node a stride; their bounds are `BOUNDS` for each image of each axis."""
