"""The sorting detection of Munjiza (2004), section 3.7: sorted integerised coordinates and binary search.

The cell of each particle is stored in one array per axis, and the particle's index in one more array. The arrays are
sorted together, so that the particles of a cell are contiguous, and a cell is located by binary search: O(N log N) time
and O(N) memory at any density.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.detection.rivals.cell_grid import Spheres, cell_grid, collect, half_mask, in_cell, store, touches
from pdem.numerics.geometry_kernels import geometry_kernel, inlined_geometry

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
    """Find touching pairs by sorting and binary search.

    Parameters and errors are the same as for `pdem.detection.rivals.linked_cell.search_pairs`.

    Returns
    -------
    pairs : (m, 2) int64 array
        Lower index first, unsorted.
    checks : int
        Distance tests.
    accesses : int
        Visited cells: each occupied cell itself and the cells of its half mask, one binary search each.
    """
    count = len(positions)
    if count == 0:
        return np.empty((0, 2), dtype=np.int64), 0, 0
    size = 2.0 * float(radii.max()) + skin
    grid = cell_grid(positions, size, lower=lower, upper=upper, periodic=periodic, dimension=dimension)
    cells = grid.cells(positions)
    order = np.lexsort((cells[:, 2], cells[:, 1], cells[:, 0]))
    cells = cells[order]
    neighbours = np.empty((13, 3), dtype=np.int64)
    spheres = grid.spheres(positions, radii, skin)
    return collect(lambda pairs: _search(spheres, cells, order, grid.counts, neighbours, pairs), count)


@inlined_geometry
def _before(cells: Integers, entry: int, cell: Integers) -> bool:
    """Return whether the cell of a sorted entry comes before `cell`."""
    if cells[entry, 0] != cell[0]:
        return cells[entry, 0] < cell[0]
    if cells[entry, 1] != cell[1]:
        return cells[entry, 1] < cell[1]
    return cells[entry, 2] < cell[2]


@geometry_kernel
def _find(cells: Integers, cell: Integers) -> int:
    """Return the first sorted entry that does not come before `cell`."""
    low, high = 0, cells.shape[0]
    while low < high:
        middle = (low + high) // 2
        if _before(cells, middle, cell):
            low = middle + 1
        else:
            high = middle
    return low


@geometry_kernel
def _run_end(cells: Integers, start: int) -> int:
    """Return the index after the last entry in the cell of entry `start`."""
    end = start + 1
    while end < cells.shape[0] and in_cell(cells, end, cells[start]):
        end += 1
    return end


@geometry_kernel
def _search(
    spheres: Spheres, cells: Integers, order: Integers, counts: Integers, neighbours: Integers, pairs: Integers
) -> tuple[int, int, int]:
    """Test each occupied cell against itself and the cells of its half mask."""
    found = checks = accesses = start = 0
    while start < cells.shape[0]:
        end = _run_end(cells, start)
        number = half_mask(cells[start], counts, neighbours)
        accesses += number + 1
        for place in range(-1, number):
            other_start, other_end = start, end
            if place >= 0:
                other_start = _find(cells, neighbours[place])
                other_end = other_start
                if other_start < cells.shape[0] and in_cell(cells, other_start, neighbours[place]):
                    other_end = _run_end(cells, other_start)
            for one in range(start, end):
                for other in range(one + 1 if place < 0 else other_start, other_end):
                    checks += 1
                    if touches(spheres, order[one], order[other]):
                        found = store(pairs, found, order[one], order[other])
        start = end
    return found, checks, accesses
