"""Kernels that share what is at points, or along straight ways, among the cells of a grid by Lucy's function.

It is a function of the distance, and none of single coordinates: it is taken at points of a lattice that divides the
cells, as fine as half a width, and divided by its sum over them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pdem.continuum.spreading import ROW, SUMS, Items, Spreading, covered, node_at, nodes_along
from pdem.foundation.kernels import inlined, prange, uncounted_kernel
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
def write_points(place: float, axis: int, grid: Spreading, stride: int, room: Floats) -> tuple[int, int]:
    """Write the points of the lattice along an axis that are near a place, in units of cells.

    Of each there is the square of its distance, in widths, and how many cells its own is behind the first of the
    stencil. Returns this first cell, and how many points there are.
    """
    points, to = grid.steps[axis], 2 * stride * axis
    cell = math.floor(place) - grid.behind[axis]
    if grid.inverse[axis] == 0.0:
        room[to] = room[to + stride] = 0.0
        return cell, 1
    width = grid.inverse[axis] * grid.width
    first = max(math.ceil((place - 2.0 * width) * points - 0.5), cell * points)
    number = 0
    while (first + number + 0.5) / points <= place + 2.0 * width:
        away = ((first + number + 0.5) / points - place) / width
        room[to + number] = away * away
        room[to + stride + number] = (first + number) // points - cell
        number += 1
    return cell, number


@inlined
def write_stencil(many: tuple[int, int, int], grid: Spreading, stride: int, room: Floats) -> float:
    """Write what cells about a point have of Lucy's function; return the sum over them."""
    across, at = grid.across, 6 * stride
    for cell in range(across[0] * across[1] * across[2]):
        room[at + cell] = 0.0
    whole = 0.0
    for x in range(many[0]):
        for y in range(many[1]):
            flat = room[x] + room[2 * stride + y]
            cells = int(room[stride + x]) * across[1] + int(room[3 * stride + y])
            row = at + cells * across[2]
            for z in range(many[2]):
                found = lucy(flat + room[4 * stride + z])
                room[row + int(room[5 * stride + z])] += found
                whole += found
    return whole


@inlined
def add_stencil(
    first: tuple[int, int, int], item: tuple[int, int, float], grid: Spreading, stride: int, values: Floats,
    room: Floats, sums: Integers,
) -> None:  # fmt: skip
    """Add an item to the cells of the grid that have a share of it."""
    place, target, scale = item
    across, cells = grid.across, grid.cells
    for x in range(max(first[0], 0), min(first[0] + across[0], cells[0])):
        for y in range(max(first[1], 0), min(first[1] + across[1], cells[1])):
            row = 6 * stride + ((x - first[0]) * across[1] + y - first[1]) * across[2]
            cell = target + SUMS * ((x * cells[1] + y) * cells[2])
            for z in range(max(first[2], 0), min(first[2] + across[2], cells[2])):
                share = scale * room[row + z - first[2]]
                if share > 0.0:
                    _add_share(sums, offset(cell, SUMS * z), values, place, share)


@inlined
def spread_node(
    at: tuple[float, float, float], item: tuple[int, int, float], grid: Spreading, stride: int, values: Floats,
    room: Floats, sums: Integers,
) -> None:  # fmt: skip
    """Add an item with its weight at one place, in units of cells."""
    first_x, many_x = write_points(at[0], 0, grid, stride, room)
    first_y, many_y = write_points(at[1], 1, grid, stride, room)
    first_z, many_z = write_points(at[2], 2, grid, stride, room)
    whole = write_stencil((many_x, many_y, many_z), grid, stride, room)
    place, target, weight = item
    first = first_x, first_y, first_z
    add_stencil(first, (place, target, weight / whole), grid, stride, values, room, sums)


@inlined
def spread_image(
    p: int, image: int, items: Items, grid: Spreading, stride: int, room: Floats, sums: Integers
) -> bool:
    """Add one image of an item to the cells that it reaches; return whether all of it is in the grid."""
    x = (items.begin[p, 0] + grid.images[image, 0] - grid.lower[0]) * grid.inverse[0]
    y = (items.begin[p, 1] + grid.images[image, 1] - grid.lower[1]) * grid.inverse[1]
    z = (items.begin[p, 2] + grid.images[image, 2] - grid.lower[2]) * grid.inverse[2]
    a, b, c = items.way[p, 0], items.way[p, 1], items.way[p, 2]
    nodes = nodes_along(math.sqrt(a * a + b * b + c * c), grid.width)
    a, b, c = a * grid.inverse[0], b * grid.inverse[1], c * grid.inverse[2]
    low_x, high_x, all_x = covered(x, a, 0, grid)
    low_y, high_y, all_y = covered(y, b, 1, grid)
    low_z, high_z, all_z = covered(z, c, 2, grid)
    if low_x >= high_x or low_y >= high_y or low_z >= high_z:
        return False
    for node in range(nodes):
        along, weight = node_at(node, nodes)
        at, item = (x + along * a, y + along * b, z + along * c), (ROW * p, items.target[p], weight)
        spread_node(at, item, grid, stride, items.values, room, sums)
    return all_x and all_y and all_z


@inlined
def spread_some(
    first: int, last: int, items: Items, grid: Spreading, stride: int, room: Floats, sums: Integers
) -> None:
    """Add items from `first` to `last` - 1, with those of their images that reach the grid."""
    for p in range(first, last):
        if not spread_image(p, 0, items, grid, stride, room, sums):
            for image in range(1, len(grid.images)):
                spread_image(p, image, items, grid, stride, room, sums)


@uncounted_kernel
def spread_lucy(items: Any, grid: Any, stride: int, rooms: Floats, sums: Integers) -> None:
    """Share items among the cells of a grid by Lucy's function; `pdem.continuum.spreading.spread` does by the Gaussian.

    Of `grid` the steps are those of `pdem.continuum.grid.points_per_cell`; `stride` is the room for the points along
    an axis: there is twice as much for each axis, and behind that room for the cells of a stencil.
    """
    for worker in prange(len(sums)):
        many = len(Items(*items).target)
        spread_some(
            many * worker // len(sums), many * (worker + 1) // len(sums), Items(*items), Spreading(*grid), stride,
            rooms[worker], sums[worker],
        )  # fmt: skip
