"""Kernels that share what is at points, or along straight ways, among the cells of a grid by Lucy's function.

It is a function of the distance, and none of single coordinates: it is taken at points of a lattice that divides the
cells, as fine as half a width, and divided by its sum over them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pdem.continuum.spreading import ROW, SUMS, Items, Spreading, covered, node_at, nodes_along
from pdem.foundation.kernels import inlined, prange, threaded_kernel
from pdem.simd.places import offset
from pdem.simd.shares import share_adder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

_add_share = share_adder(ROW)


@inlined
def lucy(squared: float) -> float:
    """Return Lucy's function, not normalised, of the square of the distance in widths; 0 from 2 widths on."""
    distance = min(math.sqrt(squared), 2.0)
    return (1.0 + 1.5 * distance) * (1.0 - 0.5 * distance) ** 3


@inlined
def write_squares(place: float, first: int, axis: int, grid: Spreading, room: Floats, to: int) -> None:
    """Write the squared distances, in widths, of the points of all cells along an axis from a place."""
    points = grid.steps[axis]
    for point in range(grid.across[axis] * points):
        away = first + (point + 0.5) / points - place
        away = away / (grid.inverse[axis] * grid.width) if grid.inverse[axis] > 0.0 else 0.0
        room[to + point] = away * away


@inlined
def write_stencil(grid: Spreading, stride: int, room: Floats) -> float:
    """Write what cells about a point have of Lucy's function; return the sum over them."""
    count, points, at = grid.across, grid.steps, 3 * stride
    for cell in range(count[0] * count[1] * count[2]):
        room[at + cell] = 0.0
    whole = 0.0
    for x in range(count[0] * points[0]):
        for y in range(count[1] * points[1]):
            flat = room[x] + room[stride + y]
            row = at + (x // points[0] * count[1] + y // points[1]) * count[2]
            for z in range(count[2] * points[2]):
                found = lucy(flat + room[2 * stride + z])
                room[row + z // points[2]] += found
                whole += found
    return whole


@inlined
def add_stencil(
    first: tuple[int, int, int], item: tuple[int, int, float], grid: Spreading, stride: int, values: Floats,
    room: Floats, sums: Integers,
) -> None:  # fmt: skip
    """Add an item to the cells of the grid that have a share of it."""
    place, target, scale = item
    count, cells = grid.across, grid.cells
    for x in range(max(first[0], 0), min(first[0] + count[0], cells[0])):
        for y in range(max(first[1], 0), min(first[1] + count[1], cells[1])):
            row = 3 * stride + ((x - first[0]) * count[1] + y - first[1]) * count[2]
            cell = target + SUMS * ((x * cells[1] + y) * cells[2])
            for z in range(max(first[2], 0), min(first[2] + count[2], cells[2])):
                share = scale * room[row + z - first[2]]
                if share > 0.0:
                    _add_share(sums, offset(cell, SUMS * z), values, place, share)


@inlined
def spread_node(
    at: tuple[float, float, float], item: tuple[int, int, float], grid: Spreading, stride: int, values: Floats,
    room: Floats, sums: Integers,
) -> None:  # fmt: skip
    """Add an item with its weight at one place, in units of cells."""
    first_x, _ = covered(at[0], 0.0, 0, grid)
    first_y, _ = covered(at[1], 0.0, 1, grid)
    first_z, _ = covered(at[2], 0.0, 2, grid)
    write_squares(at[0], first_x, 0, grid, room, 0)
    write_squares(at[1], first_y, 1, grid, room, stride)
    write_squares(at[2], first_z, 2, grid, room, 2 * stride)
    whole = write_stencil(grid, stride, room)
    place, target, weight = item
    first = first_x, first_y, first_z
    add_stencil(first, (place, target, weight / whole), grid, stride, values, room, sums)


@inlined
def spread_image(
    p: int, image: int, items: Items, grid: Spreading, stride: int, room: Floats, sums: Integers
) -> None:
    """Add one image of an item to the cells that it reaches."""
    x = (items.begin[p, 0] + grid.images[image, 0] - grid.lower[0]) * grid.inverse[0]
    y = (items.begin[p, 1] + grid.images[image, 1] - grid.lower[1]) * grid.inverse[1]
    z = (items.begin[p, 2] + grid.images[image, 2] - grid.lower[2]) * grid.inverse[2]
    a, b, c = items.way[p, 0], items.way[p, 1], items.way[p, 2]
    nodes = nodes_along(math.sqrt(a * a + b * b + c * c), grid.width)
    a, b, c = a * grid.inverse[0], b * grid.inverse[1], c * grid.inverse[2]
    low_x, high_x = covered(x, a, 0, grid)
    low_y, high_y = covered(y, b, 1, grid)
    low_z, high_z = covered(z, c, 2, grid)
    outside = (high_x < 0) | (high_y < 0) | (high_z < 0)
    outside |= (low_x >= grid.cells[0]) | (low_y >= grid.cells[1]) | (low_z >= grid.cells[2])
    for node in range(0 if outside else nodes):
        along, weight = node_at(node, nodes)
        at, item = (x + along * a, y + along * b, z + along * c), (ROW * p, items.target[p], weight)
        spread_node(at, item, grid, stride, items.values, room, sums)


@inlined
def spread_some(
    first: int, last: int, items: Items, grid: Spreading, stride: int, room: Floats, sums: Integers
) -> None:
    """Add items from `first` to `last` - 1, with those of their images that reach the grid."""
    for p in range(first, last):
        for image in range(len(grid.images)):
            spread_image(p, image, items, grid, stride, room, sums)


@threaded_kernel
def spread_lucy(items: Any, grid: Any, stride: int, rooms: Floats, sums: Integers) -> None:
    """Share items among the cells of a grid by Lucy's function; `pdem.continuum.spreading.spread` does by the Gaussian.

    Of `grid` the steps are those of `pdem.continuum.grid.points_per_cell`; `stride` is the room for the points of a
    stencil along one axis, behind which there is room for its cells.
    """
    for worker in prange(len(sums)):
        many = len(Items(*items).target)
        spread_some(
            many * worker // len(sums), many * (worker + 1) // len(sums), Items(*items), Spreading(*grid), stride,
            rooms[worker], sums[worker],
        )  # fmt: skip
