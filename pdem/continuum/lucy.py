"""Kernels that share what is at points, or along straight ways, among the cells of a grid by Lucy's function.

It is a function of the distance, and none of single coordinates: it is taken at points of a lattice that divides the
cells, as fine as half a width, and divided by its sum over them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

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
from pdem.foundation.kernels import inlined
from pdem.simd.shares import list_adder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

_add_list = list_adder(ROW)


class Lattice(NamedTuple):
    """A grid as kernels take it for Lucy's function. Places are in units of cells.

    Attributes
    ----------
    lower, inverse : (3,) arrays
        Lower corner [m]; one over the lengths of a cell, 0 of axes that do not count [1/m].
    cells : (3,) int64 array
        Numbers of cells.
    period : (3,) array
        Of periodic axes, else 0.
    images : (3,) int64 array
        How many images there are along the axes, on each side.
    width : float
        Of phi [m].
    reach : (3,) array
        Distance from which on phi is 0.
    behind, across : (3,) int64 arrays
        Cells before that of a place, and cells in all, that are looked at.
    points : (3,) int64 array
        Points of the lattice in a cell.
    stride : int
        Most points along an axis that are near a place: its rooms have two numbers of each, axis after axis, and
        behind these one for each cell of a stencil.
    """

    lower: Floats
    inverse: Floats
    cells: Integers
    period: Floats
    images: Integers
    width: float
    reach: Floats
    behind: Integers
    across: Integers
    points: Integers
    stride: int


@inlined
def lucy(squared: float) -> float:
    """Return Lucy's function, not normalised, of the square of the distance in widths; 0 from 2 widths on."""
    distance = min(math.sqrt(squared), 2.0)
    return (1.0 + 1.5 * distance) * (1.0 - 0.5 * distance) ** 3


@inlined
def write_points(place: float, axis: int, grid: Lattice, room: Floats) -> tuple[int, int]:
    """Write the points of the lattice along an axis that are near a place, in units of cells.

    Of each there is the square of its distance, in widths, and how many cells its own is behind the first of the
    stencil. Returns this first cell, and how many points there are.
    """
    stride, points, to = grid.stride, grid.points[axis], 2 * grid.stride * axis
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
def write_stencil(many: tuple[int, int, int], grid: Lattice, room: Floats) -> float:
    """Write what cells about a point have of Lucy's function; return the sum over them."""
    across, stride, at = grid.across, grid.stride, 6 * grid.stride
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
    first: tuple[int, int, int], item: tuple[int, int, float], grid: Lattice, items: Items,
    room: Floats, places: Integers, sums: Integers,
) -> None:  # fmt: skip
    """Add an item to the cells of the grid that have a share of it: these become a list, in front of the stencil."""
    place, target, scale = item
    across, cells, number, begin = grid.across, grid.cells, 0, 6 * grid.stride
    for x in range(max(first[0], 0), min(first[0] + across[0], cells[0])):
        for y in range(max(first[1], 0), min(first[1] + across[1], cells[1])):
            row = begin + ((x - first[0]) * across[1] + y - first[1]) * across[2]
            cell = target + ROW * ((x * cells[1] + y) * cells[2])
            for z in range(max(first[2], 0), min(first[2] + across[2], cells[2])):
                share = room[row + z - first[2]]
                if share > 0.0:
                    room[begin + number], places[number] = scale * share, cell + ROW * z
                    number += 1
    _add_list(items.values, place, items.scale, room, begin, places, 0, number, sums)


@inlined
def spread_node(
    at: tuple[float, float, float], item: tuple[int, int, float], grid: Lattice, items: Items,
    room: Floats, places: Integers, sums: Integers,
) -> None:  # fmt: skip
    """Add an item with its weight at one place, in units of cells."""
    first_x, many_x = write_points(at[0], 0, grid, room)
    first_y, many_y = write_points(at[1], 1, grid, room)
    first_z, many_z = write_points(at[2], 2, grid, room)
    whole = write_stencil((many_x, many_y, many_z), grid, room)
    place, target, weight = item
    first = first_x, first_y, first_z
    add_stencil(first, (place, target, weight / whole), grid, items, room, places, sums)


@inlined
def reaches(place: float, axis: int, grid: Lattice) -> bool:
    """Return whether a place, in units of cells, is so near the grid that cells may have a share of it."""
    return place + grid.reach[axis] >= 0.0 and place - grid.reach[axis] < grid.cells[axis]


@inlined
def spread_images(
    at: tuple[float, float, float], item: tuple[int, int, float], grid: Lattice, items: Items,
    room: Floats, places: Integers, sums: Integers,
) -> None:  # fmt: skip
    """Add an item with its weight at all images of one place, in units of cells."""
    images, period = grid.images, grid.period
    for i in range(2 * images[0] + 1):
        x = at[0] + image_at(i) * period[0]
        for j in range(2 * images[1] + 1):
            y = at[1] + image_at(j) * period[1]
            for k in range(2 * images[2] + 1):
                z = at[2] + image_at(k) * period[2]
                if reaches(x, 0, grid) and reaches(y, 1, grid) and reaches(z, 2, grid):
                    spread_node((x, y, z), item, grid, items, room, places, sums)


@inlined
def spread_item(p: int, items: Items, grid: Lattice, room: Floats, places: Integers, sums: Integers) -> None:
    """Share an item with all of its images: where it is a point at once, else node after node of its way."""
    (x, y, z), inverse = place_of(p, items, grid), grid.inverse
    place, target = ROW * p, items.target[p]
    if len(items.way) == 0:
        spread_images((x, y, z), (place, target, 1.0), grid, items, room, places, sums)
        return
    a, b, c = items.way[p, 0], items.way[p, 1], items.way[p, 2]
    parts = parts_of((a, b, c), grid.width)
    for node in range(NODES * parts):
        along = (node // NODES + 0.5 + (node % NODES - 1) * NODE) / parts
        at = x + along * a * inverse[0], y + along * b * inverse[1], z + along * c * inverse[2]
        weight = weight_of(node % NODES) / parts
        spread_images(at, (place, target, weight), grid, items, room, places, sums)


spread_lucy = spreading_kernel("lucy", Lattice, spread_item)
