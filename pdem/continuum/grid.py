"""Grids of cells in space, and the function phi by which what is at a point is shared among the cells.

A cell has the share of a point that phi about the point has in it: fields are means of Goldhirsch's fields over cells,
and the mean of some cells is the field of the cell that they make together. The Gaussian, cut at `REACH` widths along
each axis, is a product of three functions of one coordinate each, which are integrated over cells. Lucy's
function is none; it is taken at points of a finer lattice and divided by its sum over them. So the shares of a point
add up to 1, to rounding, over all cells of a lattice without end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.continuum.layout import NODE, PART

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from pdem.foundation.array_types import Floats, Integers

GAUSSIAN, LUCY = "gaussian", "lucy"

REACH = {GAUSSIAN: 3.0, LUCY: 2.0}
"""Distance, in widths, from which on each function is 0."""

MOST_SHARES = 2_000_000
"""Cells among which a particle may be shared: a number for each is written, of 32 at a time."""

POINTS_PER_WIDTH = 2
"""Points in a width at which Lucy's function is taken at least."""


class Grid(NamedTuple):
    """Cells, and how points are spread over them.

    Attributes
    ----------
    lower, size : (3,) arrays
        Lower corner of the first cell, and lengths of a cell [m].
    cells : (3,) int64 array
        Numbers of cells.
    width : float
        Standard deviation of the Gaussian, or half of the distance from which on Lucy's function is 0 [m].
    kernel : {"gaussian", "lucy"}
        The function phi.
    dimension : {2, 3}
        In 2D z does not count.
    """

    lower: Floats
    size: Floats
    cells: Integers
    width: float
    kernel: str
    dimension: int

    @property
    def volume(self) -> float:
        """Volume of a cell [m^3]; in 2D its area [m^2]."""
        return float(np.prod(self.size[: self.dimension]))

    @property
    def total(self) -> int:
        """Number of cells."""
        return int(self.cells.prod())

    @property
    def reach(self) -> float:
        """Distance from which on phi is 0 [m]."""
        return REACH[self.kernel] * self.width

    @property
    def centres(self) -> Floats:
        """Centres of the cells (nx, ny, nz, 3) [m]."""
        steps = [np.arange(count) + 0.5 for count in self.cells]
        places: Floats = self.lower + np.stack(np.meshgrid(*steps, indexing="ij"), axis=-1) * self.size
        return places

    @property
    def inverse(self) -> Floats:
        """One over the lengths of a cell, 0 of axes that do not count (3,) [1/m]."""
        found: Floats = 1.0 / self.size
        found[self.dimension :] = 0.0
        return found

    @property
    def ratios(self) -> Floats:
        """Lengths of a cell over the width (3,); of axes that do not count infinite."""
        found: Floats = self.size / self.width
        found[self.dimension :] = np.inf
        return found


def grid_of(
    corners: tuple[ArrayLike, ArrayLike], cells: Sequence[int], width: float, kernel: str, dimension: int
) -> Grid:
    """Return the grid between two corners [m] that is cut into so many cells along each axis."""
    lower, upper = (np.asarray(corner, np.float64) for corner in corners)
    counts = np.asarray(cells, np.int64)
    return Grid(lower, (upper - lower) / counts, counts, float(width), kernel, dimension)


def too_wide(grid: Grid, length: ArrayLike) -> str | None:
    """Return what is wrong with a width that is too large for a grid in a domain of some lengths [m], as ``is ...``.

    Of a wave as long as a periodic box a Gaussian as wide leaves 3e-9, so that all cells are the same, and yet each of
    the many images that reach a cell would count.
    """
    axes, several, remedy = grid.dimension, grid.cells > 1, "narrow it: it is in m, a radius or two are usual"
    lengths = np.asarray(length, np.float64)[:axes]
    for axis, own in enumerate(lengths.tolist()):
        if grid.width > own and (several[axis] or grid.width > lengths.max()):
            where = f"is longer than the domain ({own:.4g} m along {'xyz'[axis]})"
            return f"{where}, where all cells are the same then; {remedy}"
    shares = float(np.prod(2.0 * grid.reach / grid.size[:axes] + 1.0))
    if shares <= MOST_SHARES:
        return None
    return f"shares a particle among {shares:,.0f} cells, more than {MOST_SHARES:,}; give fewer cells, or {remedy}"


def images_along(period: Floats, grid: Grid, farthest: float) -> Integers:
    """Return how many periodic images of the box may reach the grid along each axis, on either side (3,).

    Parameters
    ----------
    period : (3,) array
        Length of the box along its periodic axes, 0 of others [m].
    grid : Grid
        The cells.
    farthest : float
        How far from the box points can be [m].
    """
    over = np.divide(grid.reach + farthest, period, out=np.zeros(3), where=period > 0.0)
    return np.ceil(over).astype(np.int64)


def cells_across(ratios: Floats) -> Integers:
    """Return in how many cells along each axis all nodes of a way have shares of the Gaussian (3,)."""
    apart = 2.0 * NODE * PART * (1.0 + 1e-9)  # more than what rounding adds
    found: Integers = np.ceil((2.0 * REACH[GAUSSIAN] + apart) / ratios).astype(np.int64) + 1
    return found


def points_per_cell(grid: Grid) -> Integers:
    """Return into how many points of the finer lattice of Lucy's function each cell is divided along the axes (3,)."""
    points = np.ones(3, np.int64)
    axes = grid.dimension
    points[:axes] = np.maximum(np.ceil(POINTS_PER_WIDTH * grid.ratios[:axes]), 1.0)
    return points
