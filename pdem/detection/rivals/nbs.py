"""NBS, the detection without binary search of Munjiza and Andrews (1998), in two and three dimensions.

All spheres are treated as large as the largest, which sets the edge of a cell. Singly linked lists contain the spheres
of a layer of cells, then of the rows of two layers, then of the cells of the rows in reach: two rows in 2D as in the
paper, five in 3D. Lists are visited and emptied through their spheres, so that no loop runs over cells: time is O(N) at
any density. A 2D system is a single layer, for which the algorithm is identical to the paper.

The heads of lists take ncelz + 2 ncely + 5 ncelx integers. In the paper these numbers grow with the extent of the
system; here rings of more than 4 N cells are wound up (`CellGrid.folded`), so that memory is O(N) as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.detection.rivals.cell_grid import (
    Spheres,
    cell_grid,
    collect,
    first_offset,
    last_offset,
    previous_exists,
    store,
    touches,
)
from pdem.numerics.geometry_kernels import geometry_kernel, inlined_geometry

if TYPE_CHECKING:
    from pdem.detection.rivals.cell_grid import Search
    from pdem.foundation.array_types import Booleans, Floats, Integers


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
    """Find touching pairs with lists of layers, rows and cells.

    Parameters and errors are the same as for `pdem.detection.rivals.linked_cell.search_pairs`.

    Returns
    -------
    pairs : (m, 2) int64 array
        Lower index first, unsorted.
    checks : int
        Distance tests.
    accesses : int
        Lists read: per occupied cell its own list and those of its half mask of neighbours, 5 in 2D, 14 in 3D.
    """
    count = len(positions)
    if count == 0:
        return np.empty((0, 2), dtype=np.int64), 0, 0
    grid = cell_grid(
        positions,
        2.0 * float(radii.max()) + skin,
        lower=lower,
        upper=upper,
        periodic=periodic,
        dimension=dimension,
        fold=4 * count + 1024,
    )
    spheres = grid.spheres(positions, radii, skin)
    lists = _empty_lists(grid.cells(positions) % grid.folded, grid.folded)
    return collect(lambda pairs: _search(spheres, lists, pairs), count)


class _Lists(NamedTuple):
    """Singly linked lists of particles; -1 ends a list and marks an empty one.

    Attributes
    ----------
    cells : (n, 3) array
        Integerised coordinates.
    cell_heads : (5, ncelx) array
        First particle of each cell: of the present row, the previous row, and three rows of the layer below.
    row_heads : (2, ncely) array
        First particle of each row: of the present layer and of the layer below.
    layer_heads : (1, ncelz) array
        First particle of each layer.
    following : (3, n) array
        Next particle in the list of the cell, the row, the layer.
    new_cell, new_row, new_layer : bool arrays
        Whether a list has not been processed yet.
    sources : (5,) array
        Work: first particles of the rows in reach.
    used : (5,) bool array
        Work: whether the half mask contains such a row.
    """

    cells: Integers
    cell_heads: Integers
    row_heads: Integers
    layer_heads: Integers
    following: Integers
    new_cell: Booleans
    new_row: Booleans
    new_layer: Booleans
    sources: Integers
    used: Booleans


def _empty_lists(cells: Integers, rings: Integers) -> _Lists:
    heads = [np.full((number, ring), -1, dtype=np.int64) for number, ring in zip((5, 2, 1), rings, strict=True)]
    new = [np.ones(ring, dtype=np.bool_) for ring in rings]
    return _Lists(
        cells,
        cell_heads=heads[0],
        row_heads=heads[1],
        layer_heads=heads[2],
        following=np.empty((3, len(cells)), dtype=np.int64),
        new_cell=new[0],
        new_row=new[1],
        new_layer=new[2],
        sources=np.empty(5, dtype=np.int64),
        used=np.empty(5, dtype=np.bool_),
    )


@inlined_geometry
def _push(heads: Integers, slot: int, index: int, following: Integers, particle: int) -> None:
    """Insert a particle at the front of a list."""
    following[particle] = heads[slot, index]
    heads[slot, index] = particle


@geometry_kernel
def _spread(source: int, heads: Integers, slot: int, axis: int, lists: _Lists) -> None:
    """Distribute the particles of the row or layer that starts at `source` over the lists along `axis`."""
    particle = source
    while particle >= 0:
        _push(heads, slot, lists.cells[particle, axis], lists.following[axis], particle)
        particle = lists.following[axis + 1, particle]


@geometry_kernel
def _empty(source: int, heads: Integers, slot: int, axis: int, lists: _Lists) -> None:
    """Empty all lists along `axis` that contain particles of the row or layer that starts at `source`."""
    particle = source
    while particle >= 0:
        heads[slot, lists.cells[particle, axis]] = -1
        particle = lists.following[axis + 1, particle]


@geometry_kernel
def _check_lists(
    spheres: Spheres, first: int, second: int, same: bool, following: Integers, pairs: Integers, found: int
) -> tuple[int, int]:
    """Test the spheres of two cells, or of one cell against each other."""
    checks = 0
    one = first
    while one >= 0:
        other = following[one] if same else second
        while other >= 0:
            checks += 1
            if touches(spheres, one, other):
                found = store(pairs, found, one, other)
            other = following[other]
        one = following[one]
    return found, checks


@inlined_geometry
def _mask(slot: int, column: int, ring: int) -> tuple[int, int]:
    """Return the range of column offsets to test, in the own row (slot 0) or in another row."""
    if slot > 0:
        return first_offset(ring), last_offset(ring) + 1
    return -1, (0 if previous_exists(column, ring) else -1)


@geometry_kernel
def _check_row(spheres: Spheres, row: int, lists: _Lists, pairs: Integers, found: int) -> tuple[int, int, int]:
    """Test each occupied cell of a row against itself and its half mask in the rows in reach."""
    ring = lists.cell_heads.shape[1]
    following = lists.following[0]
    checks = accesses = 0
    particle = row
    while particle >= 0:
        column = lists.cells[particle, 0]
        if lists.new_cell[column]:
            lists.new_cell[column] = False
            head = lists.cell_heads[0, column]
            found, tests = _check_lists(spheres, head, head, True, following, pairs, found)
            checks += tests
            accesses += 1
            for slot in range(5):
                first, end = _mask(slot, column, ring)
                for offset in range(first, end if lists.used[slot] else first):
                    other = lists.cell_heads[slot, (column + offset) % ring]
                    found, tests = _check_lists(spheres, head, other, False, following, pairs, found)
                    checks += tests
                    accesses += 1
        particle = lists.following[1, particle]
    particle = row
    while particle >= 0:
        lists.new_cell[lists.cells[particle, 0]] = True
        particle = lists.following[1, particle]
    return found, checks, accesses


@geometry_kernel
def _rows_in_reach(row: int, has_below: bool, lists: _Lists) -> None:
    """Collect the rows of the half mask: the row itself, the previous row, three rows of the layer below."""
    ring = lists.row_heads.shape[1]
    lists.used[:] = False
    lists.sources[:] = -1
    lists.used[0] = True
    lists.sources[0] = lists.row_heads[0, row]
    if previous_exists(row, ring):
        lists.used[1] = True
        lists.sources[1] = lists.row_heads[0, (row - 1) % ring]
    if has_below:
        for offset in range(first_offset(ring), last_offset(ring) + 1):
            lists.used[3 + offset] = True
            lists.sources[3 + offset] = lists.row_heads[1, (row + offset) % ring]


@geometry_kernel
def _check_layer(
    spheres: Spheres, layer: int, has_below: bool, lists: _Lists, pairs: Integers, found: int
) -> tuple[int, int, int]:
    """Test each occupied row of the layer with the first particle `layer`; the lists of rows must be complete."""
    checks = accesses = 0
    particle = layer
    while particle >= 0:
        row = lists.cells[particle, 1]
        if lists.new_row[row]:
            lists.new_row[row] = False
            _rows_in_reach(row, has_below, lists)
            for slot in range(5):
                _spread(lists.sources[slot], lists.cell_heads, slot, 0, lists)
            found, tests, visits = _check_row(spheres, lists.sources[0], lists, pairs, found)
            checks += tests
            accesses += visits
            for slot in range(5):
                _empty(lists.sources[slot], lists.cell_heads, slot, 0, lists)
        particle = lists.following[2, particle]
    particle = layer
    while particle >= 0:
        lists.new_row[lists.cells[particle, 1]] = True
        particle = lists.following[2, particle]
    return found, checks, accesses


@geometry_kernel
def _search(spheres: Spheres, lists: _Lists, pairs: Integers) -> tuple[int, int, int]:
    """Visit layers, rows and cells through their particles; return the numbers of pairs, tests and lists read."""
    found = checks = accesses = 0
    count, layers = lists.cells.shape[0], lists.layer_heads.shape[1]
    for particle in range(count):
        layer = lists.cells[particle, 2]
        _push(lists.layer_heads, 0, layer, lists.following[2], particle)
        lists.new_layer[layer] = True
    for particle in range(count):
        layer = lists.cells[particle, 2]
        if lists.new_layer[layer]:
            lists.new_layer[layer] = False
            has_below = previous_exists(layer, layers)
            central = lists.layer_heads[0, layer]
            below = lists.layer_heads[0, (layer - 1) % layers] if has_below else -1
            _spread(central, lists.row_heads, 0, 1, lists)
            _spread(below, lists.row_heads, 1, 1, lists)
            found, tests, visits = _check_layer(spheres, central, has_below, lists, pairs, found)
            checks += tests
            accesses += visits
            _empty(central, lists.row_heads, 0, 1, lists)
            _empty(below, lists.row_heads, 1, 1, lists)
    for particle in range(count):
        lists.layer_heads[0, lists.cells[particle, 2]] = -1
    return found, checks, accesses
