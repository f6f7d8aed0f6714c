"""Kernels that share what is at points, or along straight ways, among the cells of a grid.

Sums are whole numbers of quanta: they are the same in any order, so each thread has sums of its own, and those of
threads and ranks are added up afterwards.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from pdem.foundation.kernel_factory import inlined_closure, versioned_kernel
from pdem.foundation.kernels import inlined, prange
from pdem.simd.places import offset
from pdem.simd.shares import LANES, POWERS, cubic_row, share_adder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pdem.foundation.vectors import Vector

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

ROW = 12
"""Numbers of an item that are shared."""

SUMS = 24
"""Sums of a cell: two kinds of items add to the first and to the second half of them."""

_HALF_OF_TWO, _HALF_OF_THREE = 0.5 / math.sqrt(3.0), 0.5 * math.sqrt(0.6)

_add_share, _evaluate = share_adder(ROW), cubic_row()


class Items(NamedTuple):
    """What is shared: numbers at points, or evenly along straight ways.

    Attributes
    ----------
    begin, way : (n, 3) arrays
        Point, and the way from there to the end; zeros for points [m].
    values : (n * ROW,) array
        Numbers of each item, in quanta.
    target : (n,) int64 array
        Place among the sums of its first number in the first cell.
    """

    begin: Floats
    way: Floats
    values: Floats
    target: Integers


class Spreading(NamedTuple):
    """A grid as kernels take it.

    Attributes
    ----------
    lower, inverse : (3,) arrays
        Lower corner [m]; one over the lengths of a cell, 0 of axes that do not count [1/m].
    cells : (3,) int64 array
        Numbers of cells.
    images : (k, 3) array
        See `pdem.continuum.grid.images_of`.
    width : float
        Of phi [m].
    reach : (3,) array
        Distance from which on shares are 0, over the lengths of a cell.
    behind, across, filled, steps, begin, table
        See `pdem.continuum.grid.Shares`.
    """

    lower: Floats
    inverse: Floats
    cells: Integers
    images: Floats
    width: float
    reach: Floats
    behind: Integers
    across: Integers
    filled: Integers
    steps: Integers
    begin: Integers
    table: Floats


@inlined
def nodes_along(length: float, width: float) -> int:
    """Return at how many places phi is taken along a way: two (Gauss) in a width, three in each two widths else."""
    if length == 0.0:
        return 1
    return 2 if length <= width else 3 * math.ceil(0.5 * length / width)


@inlined
def node_at(node: int, nodes: int) -> tuple[float, float]:
    """Return where on a way a node is, from 0 to 1, and its weight."""
    if nodes == 1:
        return 0.0, 1.0
    if nodes == 2:
        return 0.5 + (2 * node - 1) * _HALF_OF_TWO, 0.5
    parts, part, place = nodes // 3, node // 3, node % 3 - 1
    weight = (8.0 if place == 0 else 5.0) / 18.0
    return (part + 0.5 + place * _HALF_OF_THREE) / parts, weight / parts


@inlined
def covered(begin: float, way: float, axis: int, grid: Spreading) -> tuple[int, int, bool]:
    """Return the cells along an axis that have a share of a way, in units of cells, and whether they have all of it.

    They are the first of the grid, and the one behind the last. Of cells that the table lacks none is taken.
    """
    low, high = min(begin, begin + way), max(begin, begin + way)
    reach, behind, cells = grid.reach[axis], grid.behind[axis], grid.cells[axis]
    if high + reach < 0.0 or low - reach >= cells:
        return 0, 0, False
    first = max(math.floor(low - reach), math.floor(low) - behind, 0)
    last = min(math.floor(high + reach), math.floor(high) + behind, cells - 1)
    return first, last + 1, low - reach >= 0.0 and high + reach <= cells


@inlined
def write_shares(place: float, axis: int, first: int, grid: Spreading, room: Floats, to: int) -> None:
    """Write the shares of cells along an axis, that of the cell `first` at `to`, of a point in units of cells."""
    cell = math.floor(place)
    steps, filled = grid.steps[axis], grid.filled[axis]
    interval = (place - cell) * steps
    number = min(int(interval), steps - 1)
    at = grid.begin[axis] + POWERS * filled * number
    here = to + int(cell) - grid.behind[axis] - first
    for lane in range(0, filled, LANES):
        _evaluate(grid.table, offset(at, lane), filled, interval - number, room, offset(here, lane))


@inlined
def spread_lines(
    nodes: int,
    stride: int,
    box: tuple[int, int, int, int, int, int],
    first: tuple[int, int, int],
    item: tuple[int, int],
    cells: Integers,
    values: Floats,
    room: Floats,
    sums: Integers,
) -> None:
    """Add an item to the cells of a box; the shares of its nodes along the axes are in the room."""
    low_x, high_x, low_y, high_y, low_z, high_z = box
    place, target = item
    for x in range(low_x, high_x):
        for y in range(low_y, high_y):
            for node in range(nodes):
                at = 3 * stride * node + nodes
                room[offset(node, 0)] = (
                    room[offset(at, x - first[0])] * room[offset(at, stride + y - first[1])]
                )
            cell = target + SUMS * ((x * cells[1] + y) * cells[2])
            for z in range(low_z, high_z):
                share = 0.0
                for node in range(nodes):
                    at = 3 * stride * node + nodes + 2 * stride
                    share += room[offset(node, 0)] * room[offset(at, z - first[2])]
                _add_share(sums, offset(cell, SUMS * z), values, place, share)


@inlined
def way_of(p: int, image: int, items: Items, grid: Spreading) -> tuple[Vector, Vector, int]:
    """Return where one image of an item begins and its way, in units of cells, and at how many places phi is taken."""
    begin = (
        (items.begin[p, 0] + grid.images[image, 0] - grid.lower[0]) * grid.inverse[0],
        (items.begin[p, 1] + grid.images[image, 1] - grid.lower[1]) * grid.inverse[1],
        (items.begin[p, 2] + grid.images[image, 2] - grid.lower[2]) * grid.inverse[2],
    )
    a, b, c = items.way[p, 0], items.way[p, 1], items.way[p, 2]
    nodes = nodes_along(math.sqrt(a * a + b * b + c * c), grid.width)
    return begin, (a * grid.inverse[0], b * grid.inverse[1], c * grid.inverse[2]), nodes


@inlined
def box_of(
    begin: Vector, way: Vector, grid: Spreading
) -> tuple[tuple[int, int, int, int, int, int], bool, bool]:
    """Return the box of cells that have a share of a way, whether it is empty, and whether they have all of it."""
    low_x, high_x, all_x = covered(begin[0], way[0], 0, grid)
    low_y, high_y, all_y = covered(begin[1], way[1], 1, grid)
    low_z, high_z, all_z = covered(begin[2], way[2], 2, grid)
    is_empty = low_x >= high_x or low_y >= high_y or low_z >= high_z
    return (low_x, high_x, low_y, high_y, low_z, high_z), is_empty, all_x and all_y and all_z


@inlined
def spread_image(
    p: int, image: int, items: Items, grid: Spreading, stride: int, room: Floats, sums: Integers
) -> bool:
    """Add one image of an item to the cells that it reaches; return whether all of it is in the grid."""
    begin, way, nodes = way_of(p, image, items, grid)
    box, is_empty, is_whole = box_of(begin, way, grid)
    if is_empty:
        return False
    (x, y, z), (a, b, c), (low_x, high_x, low_y, high_y, low_z, high_z) = begin, way, box
    # of the cells that are evaluated at once some may lie in front of the grid
    first = (
        math.floor(min(x, x + a)) - grid.behind[0],
        math.floor(min(y, y + b)) - grid.behind[1],
        math.floor(min(z, z + c)) - grid.behind[2],
    )
    for node in range(nodes):
        at, (along, weight) = nodes + 3 * stride * node, node_at(node, nodes)
        if nodes > 1:
            clear(room, at + low_x - first[0], high_x - low_x)
            clear(room, at + stride + low_y - first[1], high_y - low_y)
            clear(room, at + 2 * stride + low_z - first[2], high_z - low_z)
        write_shares(x + along * a, 0, first[0], grid, room, at)
        write_shares(y + along * b, 1, first[1], grid, room, at + stride)
        write_shares(z + along * c, 2, first[2], grid, room, at + 2 * stride)
        for place in range(low_x - first[0], high_x - first[0]):
            room[offset(at, place)] *= weight
    spread_lines(nodes, stride, box, first, (ROW * p, items.target[p]), grid.cells, items.values, room, sums)
    return is_whole


@inlined
def clear(room: Floats, begin: int, count: int) -> None:
    """Write zeros."""
    for place in range(count):
        room[offset(begin, place)] = 0.0


def spreading_kernel(phi: str, spread_image: Any) -> Any:
    """Make the kernel that shares items among the cells of a grid by a function phi, by its name.

    Its arguments are the fields of `Items` and of `Spreading`; the stride in the rooms; the rooms (workers, n) to write
    in; and the sums (workers, classes * cells * `SUMS`) that are added to, int64. `spread_image` is this module's, or
    that of another phi.
    """

    @inlined_closure
    def spread_some(
        first: int, last: int, items: Items, grid: Spreading, stride: int, room: Floats, sums: Integers
    ) -> None:
        """Add items from `first` to `last` - 1, with those of their images that reach the grid."""
        for p in range(first, last):
            if not spread_image(p, 0, items, grid, stride, room, sums):
                for image in range(1, len(grid.images)):
                    spread_image(p, image, items, grid, stride, room, sums)

    @versioned_kernel(phi, threaded=True)
    def spread(items: Any, grid: Any, stride: int, rooms: Floats, sums: Integers) -> None:
        for worker in prange(len(sums)):
            many = len(Items(*items).target)
            spread_some(
                many * worker // len(sums), many * (worker + 1) // len(sums), Items(*items), Spreading(*grid), stride,
                rooms[worker], sums[worker],
            )  # fmt: skip

    return spread


spread_gaussian = spreading_kernel("gaussian", spread_image)
"""Of it the stride is the room for the shares of one node along one axis."""
