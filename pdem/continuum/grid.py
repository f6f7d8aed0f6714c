"""Grids of cells in space, and the function phi that distributes a point over the cells.

The share of a cell in a point is the integral of phi about the point over the cell. So fields are means of Goldhirsch's
fields over cells, and the mean of some cells is the field of the larger cell that they form. The Gaussian, cut at
`REACH` widths along each axis, is a product of three functions of one coordinate each, which are integrated over cells.
Lucy's function is no such product; it is evaluated at points of a finer lattice and divided by its sum over them. So
the shares of a point add up to 1, to rounding, over all cells of an infinite lattice.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.continuum.layout import NODE, PART

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from pdem.foundation.array_types import Floats, Integers

GAUSSIAN, LUCY = "gaussian", "lucy"

REACH = {GAUSSIAN: 3.0, LUCY: 2.0}
"""Distance, in widths, beyond which each function is 0."""

MOST_SHARES = 2_000_000
"""Largest number of cells that share a particle: 32 particles at a time write a number for each cell."""

POINTS_PER_WIDTH = 2
"""Smallest number of points per width at which Lucy's function is evaluated."""


class Grid(NamedTuple):
    """Cells, and the function that distributes points over them.

    Attributes
    ----------
    lower, size : (3,) arrays
        Lower corner of the first cell, and lengths of a cell [m].
    cells : (3,) int64 array
        Numbers of cells.
    width : float
        Standard deviation of the Gaussian, or half of the distance beyond which Lucy's function is 0 [m].
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
        return math.prod(self.size[: self.dimension].tolist())

    @property
    def total(self) -> int:
        """Number of cells."""
        return int(self.cells.prod())

    @property
    def reach(self) -> float:
        """Distance beyond which phi is 0 [m]."""
        return REACH[self.kernel] * self.width

    @property
    def centres(self) -> Floats:
        """Centres of the cells (nx, ny, nz, 3) [m]."""
        steps = [np.arange(count) + 0.5 for count in self.cells]
        places: Floats = self.lower + np.stack(np.meshgrid(*steps, indexing="ij"), axis=-1) * self.size
        return places

    @property
    def inverse(self) -> Floats:
        """Inverse lengths of a cell (3,) [1/m]; 0 along axes that do not count."""
        found: Floats = 1.0 / self.size
        found[self.dimension :] = 0.0
        return found

    @property
    def ratios(self) -> Floats:
        """Lengths of a cell over the width (3,); infinite along axes that do not count."""
        found: Floats = self.size / self.width
        found[self.dimension :] = np.inf
        return found


def grid_of(
    corners: tuple[ArrayLike, ArrayLike], cells: Sequence[int], width: float, kernel: str, dimension: int
) -> Grid:
    """Return the grid between two corners [m] with these numbers of cells along each axis."""
    lower, upper = (np.asarray(corner, np.float64) for corner in corners)
    counts = np.asarray(cells, np.int64)
    return Grid(lower, (upper - lower) / counts, counts, float(width), kernel, dimension)


def too_wide(grid: Grid, length: ArrayLike) -> str | None:
    """Return an error text, ``is ...``, if the width is too large for a domain of some lengths [m], else None.

    A Gaussian as wide as a periodic box reduces a wave of that length to 3e-9 of its amplitude, so that all cells have
    the same values, while each of the many images within reach of a cell would cost time.
    """
    axes, several, remedy = grid.dimension, grid.cells > 1, "narrow it: it is in m, a radius or two are usual"
    lengths = np.asarray(length, np.float64)[:axes]
    for axis, own in enumerate(lengths.tolist()):
        if grid.width > own and (several[axis] or grid.width > lengths.max()):
            where = f"is longer than the domain ({own:.4g} m along {'xyz'[axis]})"
            return f"{where}, where all cells are the same then; {remedy}"
    shares = math.prod((2.0 * grid.reach / grid.size[:axes] + 1.0).tolist())
    if shares <= MOST_SHARES:
        return None
    return f"shares a particle among {shares:,.0f} cells, more than {MOST_SHARES:,}; give fewer cells, or {remedy}"


def images_along(period: Floats, grid: Grid, farthest: float) -> Integers:
    """Return the number of periodic images that may be within reach of the grid along each axis, on either side (3,).

    Parameters
    ----------
    period : (3,) array
        Length of the box along its periodic axes, 0 along other axes [m].
    grid : Grid
        The cells.
    farthest : float
        Largest distance of a point from the box [m].
    """
    over = np.divide(grid.reach + farthest, period, out=np.zeros(3), where=period > 0.0)
    return np.ceil(over).astype(np.int64)


def cells_across(ratios: Floats) -> Integers:
    """Return the number of cells along each axis with shares of the Gaussian at any node of a segment (3,)."""
    apart = 2.0 * NODE * PART * (1.0 + 1e-9)  # covers rounding errors
    found: Integers = np.ceil((2.0 * REACH[GAUSSIAN] + apart) / ratios).astype(np.int64) + 1
    return found


def points_per_cell(grid: Grid) -> Integers:
    """Return the number of points per cell of the lattice of Lucy's function, along the axes (3,)."""
    points = np.ones(3, np.int64)
    axes = grid.dimension
    points[:axes] = np.maximum(np.ceil(POINTS_PER_WIDTH * grid.ratios[:axes]), 1.0)
    return points
