"""Linked cells: one level of cells as large as the largest sphere, with a singly linked list for each cell.

In the screening algorithm the heads of the lists are a dense array over all cells. Here cells are wound onto an array
of about four cells per particle, and spheres of other cells in the same list are recognised by their own cell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.detection.rivals.cell_grid import CellGrid, Spheres, cell_grid, collect, half_mask, in_cell, store, touches
from pdem.numerics.geometry_kernels import geometry_kernel

if TYPE_CHECKING:
    from pdem.detection.rivals.cell_grid import Search
    from pdem.foundation.array_types import Floats, Integers


def search_pairs(
    positions: Floats,
    radii: Floats,
    *,
    lower: Floats,
    upper: Floats,
    periodic: tuple[bool, bool, bool],
    dimension: int,
    skin: float,
) -> Search:
    """Find touching pairs with one linked list per cell, in O(N) memory.

    Parameters
    ----------
    positions : (n, 3) array
        Centres in m, inside the box on periodic axes; the third column is ignored in 2D.
    radii : (n,) array
        Radii in m.
    lower, upper : (3,) arrays
        Bounds in m, used on periodic axes.
    periodic : three bool
        Which axes are periodic.
    dimension : int
        2 or 3.
    skin : float
        Largest gap in m at which spheres count as touching.

    Returns
    -------
    pairs : (m, 2) int64 array
        Lower index first, unsorted.
    checks : int
        Distance tests.
    accesses : int
        Visited cells: for each particle its own cell and half of the neighbours.

    Raises
    ------
    InputError
        More than 2**31 cells along an axis.
    """
    count = len(positions)
    if count == 0:
        return np.empty((0, 2), dtype=np.int64), 0, 0
    size = 2.0 * float(radii.max()) + skin

    def grid(fold: int) -> CellGrid:
        return cell_grid(positions, size, lower=lower, upper=upper, periodic=periodic, dimension=dimension, fold=fold)

    return search_lists(positions, radii, skin, grid(_fold(grid(2**62).counts, 4 * count + 64)))


def search_lists(positions: Floats, radii: Floats, skin: float, grid: CellGrid) -> Search:
    """Find touching pairs with one linked list for each cell of the folded rings of `grid`."""
    cells = grid.cells(positions)
    width, depth, height = (int(ring) for ring in grid.folded)
    heads = np.full((height, depth, width), -1, dtype=np.int64)
    following = np.empty(len(positions), dtype=np.int64)
    neighbours = np.empty((13, 3), dtype=np.int64)
    _fill(cells, heads, following)
    spheres = grid.spheres(positions, radii, skin)
    return collect(lambda pairs: _search(spheres, cells, grid.counts, heads, following, neighbours, pairs), len(radii))


def _fold(counts: Integers, most: int) -> int:
    """Return a ring length, 3 or more, so that the number of folded cells is at most `most`."""
    fold = int(counts.max())
    while fold > 3 and np.prod(np.minimum(counts, fold), dtype=np.float64) > most:
        fold = max(3, fold * 7 // 8)
    return max(3, fold)


@geometry_kernel
def _fill(cells: Integers, heads: Integers, following: Integers) -> None:
    height, depth, width = heads.shape
    for particle in range(cells.shape[0]):
        z, y, x = cells[particle, 2] % height, cells[particle, 1] % depth, cells[particle, 0] % width
        following[particle] = heads[z, y, x]
        heads[z, y, x] = particle


@geometry_kernel
def _search(
    spheres: Spheres,
    cells: Integers,
    counts: Integers,
    heads: Integers,
    following: Integers,
    neighbours: Integers,
    pairs: Integers,
) -> tuple[int, int, int]:
    """Test each particle against the later particles of its own list and against the lists of its half mask."""
    height, depth, width = heads.shape
    found = checks = accesses = 0
    for one in range(cells.shape[0]):
        number = half_mask(cells[one], counts, neighbours)
        accesses += number + 1
        for place in range(-1, number):
            cell = cells[one] if place < 0 else neighbours[place]
            other = following[one]
            if place >= 0:
                other = heads[cell[2] % height, cell[1] % depth, cell[0] % width]
            while other >= 0:
                if in_cell(cells, other, cell):
                    checks += 1
                    if touches(spheres, one, other):
                        found = store(pairs, found, one, other)
                other = following[other]
    return found, checks, accesses
