"""Grids in the form for kernels: the origin of cell coordinates, and the indices of the sums of cells."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.continuum.gaussian import Lengths
from pdem.continuum.grid import GAUSSIAN, LUCY, Grid, cells_across, images_along, points_per_cell
from pdem.continuum.layout import NODE, NODES, PART, ROW, FieldCells
from pdem.continuum.lucy import LucyLattice
from pdem.numerics.simd.transposition import LANES

if TYPE_CHECKING:
    from pdem.foundation.array_types import Booleans, Floats, Integers

    Three = tuple[float, ...]

_MORE = 1e-9  # relative to a cell: more than any rounding error
_FILLS = 1e-9  # relative difference of lengths above which a grid does not fill the box


class Prepared(NamedTuple):
    """A grid in the form for kernels.

    Attributes
    ----------
    cells : FieldCells
        Its cells.
    phi : Lengths or LucyLattice
        Data for the evaluation of phi.
    room : int
        Length of the scratch array for the evaluation.
    """

    cells: FieldCells
    phi: Lengths | LucyLattice
    room: int


class _Layout(NamedTuple):
    """Cells with shares of a point, by axis of a grid; positions and lengths are in units of cells.

    Attributes
    ----------
    inverse : (3,) array
        Inverse lengths of cells [1/m]; 0 along axes that do not count.
    before : (3,) array
        Distance of the coordinate 0 from the first cell.
    reach : (3,) array
        Distance from a point beyond which phi is 0.
    across : (3,) int64 array
        Largest number of cells with shares of a part of a segment.
    """

    inverse: Floats
    before: Floats
    reach: Floats
    across: Integers


def fills_period(grid: Grid, period: Floats) -> Booleans:
    """Return along which axes a grid is as long as the periodic box."""
    found: Booleans = np.abs(grid.cells * grid.size - period) <= _FILLS * period
    return found


def prepared(grid: Grid, period: Floats, longest: float) -> Prepared:
    """Return a grid in the form for kernels, for segments up to a length [m]."""
    beyond = np.where(fills_period(grid, period), 0.0, period)
    images = images_along(beyond, grid, longest + float(grid.size.max())) if beyond.any() else np.zeros(3, np.int64)
    lists = (tuple(one.tolist()) for one in (grid.lower, grid.size, grid.cells, period, images))
    return _prepared(*lists, grid.width, grid.kernel, grid.dimension)


@lru_cache(maxsize=8)
def _prepared(
    lower: Three, size: Three, cells: Three, period: Three, images: Three, width: float, kernel: str, dimension: int
) -> Prepared:  # fmt: skip
    grid = Grid(np.array(lower), np.array(size), np.array(cells), width, kernel, dimension)
    filled = fills_period(grid, np.array(period))
    layout = _gaussian_layout(grid, filled) if kernel == GAUSSIAN else _lucy_layout(grid)
    made = _cells_of(grid, layout, filled, np.array(period), np.array(images))
    if kernel == LUCY:
        lattice = _lattice_of(grid, layout)
        return Prepared(made, lattice, 6 * lattice.stride + made.box_size)
    lengths = Lengths(np.where(layout.inverse > 0.0, grid.ratios, 1.0), int(made.box.max()))
    return Prepared(made, lengths, 3 * NODES * LANES * lengths.stride)


def _gaussian_layout(grid: Grid, filled: Booleans) -> _Layout:
    # a single cell that fills the box has the whole share of every point
    inverse = np.where(filled & (grid.cells == 1), 0.0, grid.inverse)
    counts = inverse > 0.0
    across = np.where(counts, cells_across(grid.ratios), 1)
    reach = np.where(counts, 2.0 * grid.reach * inverse + _MORE, 0.0)
    return _Layout(inverse, grid.reach * inverse, reach, across)


def _lucy_layout(grid: Grid) -> _Layout:
    behind = np.ceil(grid.reach * grid.inverse)
    apart = np.ceil(2.0 * NODE * PART * grid.width * grid.inverse * (1.0 + 1e-9))
    return _Layout(grid.inverse, behind, 2.0 * behind, (2.0 * behind + apart).astype(np.int64) + 1)


def _cells_of(grid: Grid, layout: _Layout, filled: Booleans, period: Floats, images: Integers) -> FieldCells:
    ahead = np.where(filled, 0, layout.across - 1)
    steps = ROW * np.cumprod([1, *grid.cells[:0:-1]])[::-1]
    begins = (_begins(axis, int(step), grid.cells, filled, ahead + layout.across) for axis, step in enumerate(steps))
    return FieldCells(
        grid.lower + layout.before * grid.size, layout.inverse, grid.cells, ahead, grid.cells + ahead,
        np.where(filled, grid.cells, period * layout.inverse), images, layout.reach, grid.width, layout.across, *begins,
    )  # fmt: skip


def _begins(axis: int, step: int, cells: Integers, filled: Booleans, more: Integers) -> Integers:
    """Return the first index of the sums of each plane, line, or cell, by slot; -1 beyond the grid."""
    slot, count = np.arange(cells[axis] + more[axis]), cells[axis]
    if filled[axis]:
        return slot % count * step
    cell = slot - more[axis] // 2
    return np.where((cell >= 0) & (cell < count), cell * step, -1)


def _lattice_of(grid: Grid, layout: _Layout) -> LucyLattice:
    points = points_per_cell(grid)
    stride = 2 + int(np.ceil(2.0 * grid.reach * layout.inverse * points).max())
    return LucyLattice(points, grid.width * layout.inverse, layout.before, stride)
