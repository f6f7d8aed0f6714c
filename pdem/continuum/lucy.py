"""Kernels that distribute points and straight segments over the cells of a grid by Lucy's function.

Lucy's function depends on the distance, and is not a product of functions of single coordinates. It is evaluated at the
points of a lattice that divides the cells, with a spacing of at most half a width, and divided by its sum over them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from pdem.continuum.layout import NODE, NODES, WEIGHTS
from pdem.continuum.spreading import spreading_kernel
from pdem.numerics.kernel_factory import inlined_closure
from pdem.numerics.kernels import inlined
from pdem.numerics.simd.quantised_weights import PLACED
from pdem.numerics.simd.transposition import LANES

if TYPE_CHECKING:
    from pdem.continuum.layout import FieldCells
    from pdem.foundation.array_types import Floats, Integers

    Three = tuple[int, int, int]


class LucyLattice(NamedTuple):
    """A grid for the evaluation of Lucy's function. Positions are in units of cells.

    Attributes
    ----------
    points : (3,) int64 array
        Points of the lattice per cell.
    width : (3,) array
        Width of phi; 0 along axes that do not count.
    behind : (3,) array
        Number of cells between the first cell of a box and the cell of its point.
    stride : int
        Largest number of lattice points along an axis near a point. A room has two numbers for each lattice point, axis
        after axis, followed by the cells of the box.
    """

    points: Integers
    width: Floats
    behind: Floats
    stride: int


@inlined
def lucy(squared: float) -> float:
    """Return Lucy's function without normalisation, for the squared distance in widths; 0 from 2 widths on."""
    distance = min(math.sqrt(squared), 2.0)
    return (1.0 + 1.5 * distance) * (1.0 - 0.5 * distance) ** 3


@inlined
def write_points(away: float, cells: int, axis: int, grid: LucyLattice, room: Floats, to: int) -> int:
    """Write the lattice points along an axis near a point at a distance `away` from the first cell, in cells.

    For each lattice point the room gets the square of its distance, in widths, and the index of its cell in the box.
    Returns the number of lattice points.
    """
    points, width, behind = grid.points[axis], grid.width[axis], to + grid.stride
    if width == 0.0:
        room[to] = room[behind] = 0.0
        return 1
    begin, number = max(math.ceil((away - 2.0 * width) * points - 0.5), 0), 0
    while (begin + number + 0.5) / points <= away + 2.0 * width and begin + number < cells * points:
        distance = ((begin + number + 0.5) / points - away) / width
        room[to + number] = distance * distance
        room[behind + number] = (begin + number) // points
        number += 1
    return number


@inlined
def away_of(axis: int, place: int, step: float, grid: LucyLattice, room: Floats) -> float:
    """Return the distance of an entry's node from the first cell of its box along an axis, in cells."""
    return grid.behind[axis] - room[place + LANES * axis] + step * room[place + LANES * (3 + axis)]


@inlined
def write_stencil(near: Three, box: Integers, stride: int, room: Floats, free: int, at: int) -> float:
    """Write Lucy's function about a point, summed over each cell of the box; return the sum over all cells."""
    whole = 0.0
    for cell in range(box[0] * box[1] * box[2]):
        room[at + cell] = 0.0
    for x in range(near[0]):
        plane = int(room[free + stride + x]) * box[1]
        for y in range(near[1]):
            flat = room[free + x] + room[free + 2 * stride + y]
            line = at + (plane + int(room[free + 3 * stride + y])) * box[2]
            for z in range(near[2]):
                found = lucy(flat + room[free + 4 * stride + z])
                room[line + int(room[free + 5 * stride + z])] += found
                whole += found
    return whole


def lucy_kernel(nodes: int) -> Any:
    """Make the kernels for Lucy's function: for points with one node, for segments with `NODES` nodes."""
    weights = WEIGHTS if nodes > 1 else (1.0,)

    @inlined_closure
    def add_node(
        node: int, cells: FieldCells, grid: LucyLattice, room: Floats, place: int, to: int, behind: int, free: int
    ) -> None:
        """Add the shares of a node, which sum to its weight, to the shares of the cells of its box."""
        step, stride, box = (node - (nodes - 1) / 2.0) * NODE, grid.stride, cells.box
        near_x = write_points(away_of(0, place, step, grid, room), box[0], 0, grid, room, free)
        near_y = write_points(away_of(1, place, step, grid, room), box[1], 1, grid, room, free + 2 * stride)
        near_z = write_points(away_of(2, place, step, grid, room), box[2], 2, grid, room, free + 4 * stride)
        at = free + 6 * stride
        whole = write_stencil((near_x, near_y, near_z), box, stride, room, free, at)
        share = room[place + 6 * LANES] * weights[node] / whole
        for cell in range(box[0] * box[1] * box[2]):
            room[to + cell * behind] += share * room[at + cell]

    @inlined_closure
    def write_boxes(
        number: int,
        cells: FieldCells,
        grid: LucyLattice,
        room: Floats,
        places: int,
        shares: int,
        behind: int,
        free: int,
    ) -> None:
        """Write the shares of the cells of boxes."""
        for one in range(number):
            place = places + one // LANES * (PLACED * LANES) + one % LANES
            for cell in range(cells.box[0] * cells.box[1] * cells.box[2]):
                room[shares + one + cell * behind] = 0.0
            for node in range(nodes):
                add_node(node, cells, grid, room, place, shares + one, behind, free)

    return spreading_kernel("lucy", LucyLattice, nodes, write_boxes)


points, ways = lucy_kernel(1), lucy_kernel(NODES)
