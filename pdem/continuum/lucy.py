"""Kernels that share what is at points, or along straight ways, among the cells of a grid by Lucy's function.

It is a function of the distance, and none of single coordinates: it is taken at points of a lattice that divides the
cells, as fine as half a width, and divided by its sum over them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from pdem.continuum.layout import NODE, NODES, WEIGHTS
from pdem.continuum.spreading import spreading_kernel
from pdem.numerics.kernel_factory import inlined_closure
from pdem.numerics.kernels import inlined
from pdem.numerics.simd.shares import PLACED
from pdem.numerics.simd.transposition import LANES

if TYPE_CHECKING:
    from pdem.continuum.layout import FieldCells
    from pdem.foundation.array_types import Floats, Integers

    Three = tuple[int, int, int]


class LucyLattice(NamedTuple):
    """A grid as Lucy's function takes it. Places are in units of cells.

    Attributes
    ----------
    points : (3,) int64 array
        Points of the lattice in a cell.
    width : (3,) array
        Of phi; 0 of axes that do not count.
    behind : (3,) array
        Cells between the first one of a box and that of a place.
    stride : int
        Most points along an axis that are near a place: rooms have two numbers of each, axis after axis, and behind
        these the cells of a box.
    """

    points: Integers
    width: Floats
    behind: Floats
    stride: int


@inlined
def lucy(squared: float) -> float:
    """Return Lucy's function, not normalised, of the square of the distance in widths; 0 from 2 widths on."""
    distance = min(math.sqrt(squared), 2.0)
    return (1.0 + 1.5 * distance) * (1.0 - 0.5 * distance) ** 3


@inlined
def write_points(away: float, cells: int, axis: int, grid: LucyLattice, room: Floats, to: int) -> int:
    """Write the points of the lattice along an axis that are near a place, which is so many cells behind the first one.

    Of each there is the square of its distance, in widths, and how many cells its own is behind the first one. Returns
    their number.
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
    """Return how far a node of an entry is behind the first cell of its box along an axis."""
    return grid.behind[axis] - room[place + LANES * axis] + step * room[place + LANES * (3 + axis)]


@inlined
def write_stencil(near: Three, box: Integers, stride: int, room: Floats, free: int, at: int) -> float:
    """Write what the cells of a box have of Lucy's function about a point; return the sum over them."""
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
    """Make the kernels for Lucy's function: of points with one node, of ways with `NODES`."""
    weights = WEIGHTS if nodes > 1 else (1.0,)

    @inlined_closure
    def add_node(
        node: int, cells: FieldCells, grid: LucyLattice, room: Floats, place: int, to: int, behind: int, free: int
    ) -> None:
        """Add the shares of a node, which add up to its weight, to those of the cells of its box."""
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
