"""Kernels that share what is at points, or along straight ways, among the cells of a grid by the Gaussian.

It is a product of three functions of one coordinate each: the shares of cells along each axis are evaluated from
tables, and the cells of a box, with their shares, become one list, to which the numbers of an item are added four at a
time. A single loop over that list is what takes least time: loops over the few cells along each axis end where the
processor does not expect it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pdem.continuum.spreading import (
    NODE,
    NODES,
    ROW,
    WEIGHTS,
    Items,
    image_at,
    parts_of,
    place_of,
    spreading_kernel,
)
from pdem.foundation.kernel_factory import inlined_closure
from pdem.foundation.kernels import inlined
from pdem.simd.shares import LANES, box_lister, list_adder, share_writer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.foundation.vectors import Vector

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]
    Three = tuple[int, int, int]

_add_list = list_adder(ROW)


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
    stride, power, axes, table
        See `pdem.continuum.grid.Shares`.
    rows, first_row : int64 array, (3,) int64 array
        How far the sums of cells along the axes are behind those of the first one, and where each axis begins in that;
        behind its last cell an axis goes on with its first one.
    """

    lower: Floats
    inverse: Floats
    cells: Integers
    period: Floats
    images: Integers
    width: float
    reach: Floats
    stride: int
    power: int
    axes: Floats
    table: Floats
    rows: Integers
    first_row: Integers


@inlined
def cells_along(axis: int, middle: float, away: float, grid: Spreading) -> tuple[float, int, int, int]:
    """Return the first cell along an axis that nodes have a share in, how many are skipped, the next, and how many are.

    Those before the grid are skipped; where it fills a periodic box there are none.
    """
    first, cells = np.floor(middle - abs(away)), grid.cells[axis]
    cell = int(first)
    end = min(int(np.floor(middle + abs(away) + grid.reach[axis])) + 1, cell + grid.stride)
    if grid.period[axis] == cells:
        begin = cell
        while begin < 0:
            begin += cells
        while begin >= cells:
            begin -= cells
        return first, 0, begin, end - cell
    begin = max(cell, 0)
    return first, begin - cell, begin, min(end, cells) - begin


def box_adder(nodes: int) -> Any:
    """Make the function that adds an item to a box of cells, whose shares along the axes are in the room."""
    ahead, list_box = 3 * nodes, box_lister(nodes)

    @inlined_closure
    def add_box(
        p: int, begins: Three, rows: Three, many: Three, items: Items, grid: Spreading, room: Floats,
        places: Integers, sums: Integers,
    ) -> None:  # fmt: skip
        """Add an item at once, or where the list has not room for all plane by plane."""
        begin, target, stride = ahead * grid.stride, items.target[p], grid.stride
        plane = many[1] * many[2]
        planes = many[0] if begin + many[0] * plane + 2 * LANES <= len(room) else 1
        for x in range(0, many[0], planes):
            here, there = (begins[0] + x, begins[1], begins[2]), (rows[0] + x, rows[1], rows[2])
            box = planes, many[1], many[2]
            end = list_box(room, here, stride, box, grid.rows, there, target, places, begin)
            _add_list(items.values, ROW * p, items.scale, room, begin, places, begin, end - begin, sums)

    return add_box


def part_spreader(nodes: int) -> Any:
    """Make the function that shares a part of a way, or a point."""
    add_box, write_shares = box_adder(nodes), share_writer(WEIGHTS if nodes > 1 else (1.0,), NODE)

    @inlined_closure
    def spread_part(
        p: int, part: tuple[Vector, Vector, float], items: Items, grid: Spreading, room: Floats, places: Integers,
        sums: Integers,
    ) -> None:  # fmt: skip
        """Share a part of a way: its middle and the part, in units of cells, and its share."""
        (x, y, z), (a, b, c), factor = part
        far = NODE if nodes > 1 else 0.0
        first_x, skip_x, row_x, many_x = cells_along(0, x, far * a, grid)
        first_y, skip_y, row_y, many_y = cells_along(1, y, far * b, grid)
        first_z, skip_z, row_z, many_z = cells_along(2, z, far * c, grid)
        if many_x > 0 and many_y > 0 and many_z > 0:
            firsts, start, axis = (first_x, first_y, first_z), grid.first_row, nodes * grid.stride
            write_shares(
                (x, y, z), (a, b, c), factor, firsts, grid.table, grid.axes, grid.power,
                grid.stride // LANES, room,
            )  # fmt: skip
            add_box(
                p, (skip_x, axis + skip_y, 2 * axis + skip_z), (start[0] + row_x, start[1] + row_y, start[2] + row_z),
                (many_x, many_y, many_z), items, grid, room, places, sums,
            )  # fmt: skip

    return spread_part


def gaussian_kernel(nodes: int) -> Any:
    """Make the kernel for the Gaussian: of points with one node, of ways with `NODES`.

    Its rooms begin with the shares along the axes, a stride for each node of each axis. Behind them is a list of the
    shares of cells, and places have those of their sums.
    """
    spread_part = part_spreader(nodes)

    @inlined_closure
    def spread_images(
        p: int, part: tuple[Vector, Vector, float], items: Items, grid: Spreading, room: Floats, places: Integers,
        sums: Integers,
    ) -> None:  # fmt: skip
        """Share a part of a way with all of its images."""
        (x, y, z), way, factor = part
        images, period = grid.images, grid.period
        for i in range(2 * images[0] + 1):
            for j in range(2 * images[1] + 1):
                for k in range(2 * images[2] + 1):
                    middle = (
                        x + image_at(i) * period[0],
                        y + image_at(j) * period[1],
                        z + image_at(k) * period[2],
                    )
                    spread_part(p, (middle, way, factor), items, grid, room, places, sums)

    @inlined_closure
    def spread_item(
        p: int, items: Items, grid: Spreading, room: Floats, places: Integers, sums: Integers
    ) -> None:
        """Share an item, part after part."""
        (x, y, z), inverse = place_of(p, items, grid), grid.inverse
        if nodes == 1:
            spread_images(p, ((x, y, z), (0.0, 0.0, 0.0), 1.0), items, grid, room, places, sums)
            return
        way = items.way[p, 0], items.way[p, 1], items.way[p, 2]
        parts = parts_of(way, grid.width)
        share = 1.0 / parts
        a, b, c = share * way[0] * inverse[0], share * way[1] * inverse[1], share * way[2] * inverse[2]
        for part in range(parts):
            half = part + 0.5
            middle = x + half * a, y + half * b, z + half * c
            spread_images(p, (middle, (a, b, c), share), items, grid, room, places, sums)

    return spreading_kernel(f"gaussian, {nodes}", Spreading, spread_item)


spread_points, spread_ways = gaussian_kernel(1), gaussian_kernel(NODES)
