"""Integerised coordinates: the common part of linked cells, NBS, sorting and screening.

Every axis is treated as a ring of cells. A periodic axis already is a ring; an open axis becomes one by an empty cell
after the last, so that no kernel needs a special case at a border. On a ring of three or more cells the neighbours of a
cell are the previous and the next cell. On a ring of two cells both are the same cell, and on a ring of one cell there
is no neighbour. The functions `previous_exists`, `first_offset` and `last_offset` implement exactly these cases.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from pdem.foundation.errors import InputError
from pdem.numerics.geometry_kernels import geometry_kernel, inlined_geometry

if TYPE_CHECKING:
    from collections.abc import Callable

    from pdem.foundation.array_types import Floats, Integers

    Search: TypeAlias = tuple[Integers, int, int]

MAX_CELLS_PER_AXIS = 2**31
"""Largest number of cells along one axis: beyond it a cell index is no longer exact to a millionth of a cell."""

_ROUNDING = float(np.finfo(np.float64).eps)


class Spheres(NamedTuple):
    """Data that determine whether two spheres touch, in the form for kernels.

    Attributes
    ----------
    positions : (n, 3) array
        Centres in m, inside the box on periodic axes.
    radii : (n,) array
        Radii in m.
    skin : float
        Largest gap in m at which spheres count as touching.
    box : (3,) array
        Period of each axis in m, infinite on open axes.
    """

    positions: Floats
    radii: Floats
    skin: float
    box: Floats


@geometry_kernel
def touches(spheres: Spheres, first: int, second: int) -> bool:
    """Return whether the gap of two spheres, between nearest images, is at most the skin.

    The squares are compared. The result is symmetric in the two particles to the last bit, and the same in every
    detection method.
    """
    squared = 0.0
    for axis in range(3):
        period = spheres.box[axis]
        apart = spheres.positions[first, axis] - spheres.positions[second, axis]
        if apart > 0.5 * period:
            apart -= period
        elif apart < -0.5 * period:
            apart += period
        squared += apart * apart
    reach = spheres.radii[first] + spheres.radii[second] + spheres.skin
    return squared <= reach * reach


@inlined_geometry
def store(pairs: Integers, found: int, first: int, second: int) -> int:
    """Write a pair, lower index first, if the array has room; return the new number of pairs."""
    if found < pairs.shape[0]:
        pairs[found, 0] = min(first, second)
        pairs[found, 1] = max(first, second)
    return found + 1


@inlined_geometry
def in_cell(cells: Integers, entry: int, cell: Integers) -> bool:
    """Return whether an entry has exactly the integerised coordinates of `cell`."""
    return cells[entry, 0] == cell[0] and cells[entry, 1] == cell[1] and cells[entry, 2] == cell[2]


@inlined_geometry
def previous_exists(index: int, count: int) -> bool:
    """Return whether a ring of `count` cells has a cell before `index` that differs from the cell after it."""
    return count > 2 or (count == 2 and index == 1)


@inlined_geometry
def first_offset(count: int) -> int:
    """Return the offset of the first distinct neighbour on a ring of `count` cells."""
    return -1 if count > 2 else 0


@inlined_geometry
def last_offset(count: int) -> int:
    """Return the offset of the last distinct neighbour on a ring of `count` cells."""
    return 1 if count > 1 else 0


@inlined_geometry
def _meets(offset: int, index: int, count: int, leading: bool) -> bool:
    """Return whether the half mask contains an offset; `leading`: all offsets along the previous axes are 0."""
    if leading:
        return offset == 0 or (offset < 0 and previous_exists(index, count))
    return first_offset(count) <= offset <= last_offset(count)


@geometry_kernel
def half_mask(cell: Integers, counts: Integers, neighbours: Integers) -> int:
    """Write the integerised coordinates of half of the neighbours of a cell, so that each pair of cells occurs once.

    Parameters
    ----------
    cell : (3,) int64 array
        The central cell.
    counts : (3,) int64 array
        Cells on the ring of each axis.
    neighbours : (13, 3) int64 array
        Written: 4 cells in 2D, 13 in 3D, fewer on rings of one or two cells.

    Returns
    -------
    int
        The number of cells written.
    """
    number = 0
    for layer in range(-1, 1):
        if not _meets(layer, cell[2], counts[2], True):
            continue
        for row in range(-1, 2):
            if not _meets(row, cell[1], counts[1], layer == 0):
                continue
            leading = layer == 0 and row == 0
            for column in range(-1, 0 if leading else 2):
                if _meets(column, cell[0], counts[0], leading):
                    neighbours[number, 0] = (cell[0] + column) % counts[0]
                    neighbours[number, 1] = (cell[1] + row) % counts[1]
                    neighbours[number, 2] = (cell[2] + layer) % counts[2]
                    number += 1
    return number


@dataclass(frozen=True)
class CellGrid:
    """Cubic (on periodic axes nearly cubic) cells over all particles.

    Attributes
    ----------
    origin : (3,) array
        Lower corner of cell (0, 0, 0), in m.
    edge : (3,) array
        Edges of a cell, in m; no less than the largest diameter plus skin.
    counts : (3,) int64 array
        Cells on the ring of each axis (with the empty cell of an open axis).
    folded : (3,) int64 array
        Cells on a smaller ring onto which the first can be wound, while neighbours stay neighbours: equal to `counts`,
        or to the requested limit.
    box : (3,) array
        Period of each axis in m, infinite on open axes.
    """

    origin: Floats
    edge: Floats
    counts: Integers
    folded: Integers
    box: Floats

    def spheres(self, positions: Floats, radii: Floats, skin: float) -> Spheres:
        """Return the spheres with the periods of this grid."""
        return Spheres(positions, radii, skin, self.box)

    def cells(self, positions: Floats) -> Integers:
        """Return the integerised coordinates, shape (n, 3)."""
        found = np.empty(positions.shape, dtype=np.int64)
        _integerise(positions, self.origin, self.edge, self.counts, found)
        return found


def cell_margin(extent: float, size: float) -> float:
    """Return the factor by which cells exceed `size` so that rounding cannot separate touching spheres.

    A cell index is a rounded quotient: two spheres one cell edge apart could get indices that differ by two.
    """
    return 1.0 + 8.0 * _ROUNDING * (extent / size + 16.0)


def cell_grid(
    positions: Floats,
    size: float,
    *,
    lower: Floats,
    upper: Floats,
    periodic: tuple[bool, bool, bool],
    dimension: int,
    fold: int = 2**62,
) -> CellGrid:
    """Cover the particles with cells of edge `size` (m).

    Parameters
    ----------
    positions : (n, 3) array
        Centres in m, inside the box on periodic axes.
    size : float
        Largest diameter plus skin.
    lower, upper : (3,) arrays
        Bounds in m, used on periodic axes.
    periodic : three bool
        Which axes are periodic.
    dimension : int
        2 ignores the third axis.
    fold : int
        Wind axes with more cells than this (3 or more) onto a ring of this length; a periodic axis then gets a multiple
        of this number of cells.

    Raises
    ------
    InputError
        More than 2**31 cells along an axis.
    """
    origin, edge = np.zeros(3), np.full(3, size)
    counts, box = np.ones(3, dtype=np.int64), np.full(3, np.inf)
    for axis in range(dimension):
        if periodic[axis]:
            extent = float(upper[axis] - lower[axis])
            origin[axis], box[axis] = lower[axis], extent
        else:
            least, most = (positions[:, axis].min(), positions[:, axis].max()) if len(positions) else (0.0, 0.0)
            origin[axis], extent = least, float(most - least)
        check_cell_count(extent, size, axis)
        step = size * cell_margin(extent, size)
        if periodic[axis]:
            count = max(1, int(extent / step))
            counts[axis] = count if count <= fold else count - count % fold
            edge[axis] = extent / counts[axis]
        else:
            counts[axis], edge[axis] = int(extent / step) + 2, step
    return CellGrid(origin, edge, counts, np.minimum(counts, fold), box)


def check_cell_count(extent: float, size: float, axis: int) -> None:
    """Check that an extent (m) does not contain more cells of `size` (m) than integers can distinguish.

    Raises
    ------
    InputError
        More than 2**31 cells along the axis.
    """
    if not extent <= size * MAX_CELLS_PER_AXIS:
        raise InputError(
            f"the particles extend {extent:.6g} m along {'xyz'[axis]}: more than 2^31 cells of {size:.6g} m; "
            "use larger cell sizes, or bring stray particles back"
        )


def collect(search: Callable[[Integers], tuple[int, int, int]], count: int) -> Search:
    """Run `search(pairs) -> (found, checks, accesses)` with enough room for all pairs.

    Room for 8 pairs per particle is nearly always enough; otherwise the search runs once more.

    Returns
    -------
    pairs : (m, 2) int64 array
    checks, accesses : int
    """
    pairs = np.empty((8 * count + 16, 2), dtype=np.int64)
    found, checks, accesses = search(pairs)
    if found > len(pairs):
        pairs = np.empty((found, 2), dtype=np.int64)
        found, checks, accesses = search(pairs)
    return pairs[:found], int(checks), int(accesses)


@geometry_kernel
def _integerise(positions: Floats, origin: Floats, edge: Floats, counts: Integers, cells: Integers) -> None:
    for particle in range(positions.shape[0]):
        for axis in range(3):
            index = int((positions[particle, axis] - origin[axis]) / edge[axis])
            cells[particle, axis] = min(max(index, 0), counts[axis] - 1)
