"""Kernels that share what is at points, or along straight ways, among the cells of a grid by Lucy's function.

It is a function of the distance, and none of single coordinates: it is taken at points of a lattice that divides the
cells, as fine as half a width, and divided by its sum over them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pdem.continuum.spreading import ROW, SUMS, Items, Spreading, box_of, node_at, spreading_kernel, way_of
from pdem.foundation.kernels import inlined
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
    begin, way, nodes = way_of(p, image, items, grid)
    _, is_empty, is_whole = box_of(begin, way, grid)
    if is_empty:
        return False
    (x, y, z), (a, b, c) = begin, way
    for node in range(nodes):
        along, weight = node_at(node, nodes)
        at, item = (x + along * a, y + along * b, z + along * c), (ROW * p, items.target[p], weight)
        spread_node(at, item, grid, stride, items.values, room, sums)
    return is_whole


spread_lucy = spreading_kernel("lucy", spread_image)
"""The steps of its grid are those of `pdem.continuum.grid.points_per_cell`; the stride is the room for the points along
an axis: there is twice as much for each axis, and behind that room for the cells of a stencil."""
