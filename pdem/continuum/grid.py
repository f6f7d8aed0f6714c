"""Grids of cells in space, and the function phi by which what is at a point is shared among the cells.

A cell has the share of a point that phi about the point has in it: fields are means of Goldhirsch's fields over cells,
and the mean of some cells is the field of the cell that they make together. The Gaussian, cut at `REACH` widths along
each axis, is a product of three functions of one coordinate each, whose integrals over cells are tabulated. Lucy's
function is none; it is taken at points of a finer lattice and divided by its sum over them. So the shares of a point
add up to 1, to rounding, over all cells of a lattice without end.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.continuum.spreading import NODE, PART
from pdem.simd.shares import LANES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

GAUSSIAN, LUCY = "gaussian", "lucy"

REACH = {GAUSSIAN: 3.0, LUCY: 2.0}
"""Distance, in widths, from which on each function is 0."""

STEPS_PER_WIDTH = 64
"""Intervals of a table in a width: cubic polynomials in them are right to 1e-9, and to 1e-5 where the
function is cut."""

LEAST_STEPS, MOST_STEPS = 8, 8192

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
    def spread(self) -> Floats:
        """Distance along each axis from which on cells have no shares (3,) [m].

        Between two columns of a table a cell has a share as soon as it has one in either of them.
        """
        steps = np.array([_steps_of(ratio) for ratio in self.ratios.tolist()])
        found: Floats = self.reach + (1.0 + 1e-9) * self.size / steps
        return found

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


class Shares(NamedTuple):
    """Tables of the shares of cells, axis after axis, as kernels take them.

    A place is where phi about a point begins, in units of cells. For a place in the middle of an interval of a cell
    shares are polynomials of the place in the interval: one for each of the cells from that of the place on. Nodes of
    a way begin some cells behind the first of them, and all of them have shares in `stride` cells: tables have zeros in
    front and behind.

    Attributes
    ----------
    stride : int
        Cells that are evaluated, in whole vectors.
    power : int
        How far coefficients of one power are behind those of another.
    axes : (8,) array
        By axis and one more, intervals of a cell; then the place in `table` of the cell of a place.
    table : array
        Coefficients, by interval, power and cell.
    """

    stride: int
    power: int
    axes: Floats
    table: Floats


def shares_of(ratios: Floats) -> Shares:
    """Return the tables for the Gaussian of cells so many widths long (3,); of axes that do not count infinite.

    Axes whose cells differ by rounding have one table.
    """
    return _shares_of(*(float(f"{ratio:.12g}") for ratio in ratios.tolist()))


@lru_cache(maxsize=8)
def _shares_of(*ratios: float) -> Shares:
    different = list(dict.fromkeys(ratios))
    across, spans = zip(*(_cells_of(ratio) for ratio in different), strict=True)
    stride, span = max(across) + -max(across) % LANES, max(spans)
    tables = [np.pad(_table_of(ratio, stride), ((0, 0), (0, 0), (span, 0))) for ratio in different]
    begins = np.cumsum([span, *(table.size for table in tables[:-1])])
    places = [different.index(ratio) for ratio in (*ratios, ratios[-1])]
    axes = np.concatenate((np.array([len(table) for table in tables])[places], begins[places]))
    table = np.concatenate([one.ravel() for one in tables])
    return Shares(stride, span + stride, axes.astype(np.float64), table)


def _steps_of(ratio: float) -> int:
    """Return the number of intervals of a cell that is `ratio` widths long."""
    return (
        min(max(math.ceil(STEPS_PER_WIDTH * ratio), LEAST_STEPS), MOST_STEPS) if math.isfinite(ratio) else 1
    )


def _cells_of(ratio: float) -> tuple[int, int]:
    """Return in how many cells all nodes of a way have shares, and how many cells a node may be behind another."""
    if not math.isfinite(ratio):
        return 1, 0
    apart = 2.0 * NODE * PART / ratio * (1.0 + 1e-9)  # more than what rounding adds
    reach = 2.0 * REACH[GAUSSIAN] / ratio + apart + 1.0 / _steps_of(ratio)
    return math.ceil(reach) + 1, math.ceil(apart)


def _table_of(ratio: float, stride: int) -> Floats:
    """Return polynomials (steps, 4, stride) of an axis whose cells are `ratio` widths long."""
    if not math.isfinite(ratio):
        return np.pad([[[1.0], [0.0], [0.0], [0.0]]], ((0, 0), (0, 0), (0, stride - 1)))
    steps = _steps_of(ratio)
    place = np.arange(steps + 1)[:, None] / steps
    faces = (np.arange(stride + 1)[None] - place) * ratio - REACH[GAUSSIAN]
    share = np.diff(_below(faces), axis=1)
    slope = np.diff(-_density(faces) * ratio / steps, axis=1)
    begin, change = share[:-1], np.diff(share, axis=0)
    first, last = slope[:-1], slope[1:]
    return np.stack((begin, first, 3.0 * change - 2.0 * first - last, first + last - 2.0 * change), axis=1)


def _below(place: Floats) -> Floats:
    """Return the integral of the Gaussian, cut and normalised, up to a place in widths."""
    from scipy.special import ndtr  # late, because it takes long to import

    reach = REACH[GAUSSIAN]
    cut: Floats = np.clip(place, -reach, reach)
    found: Floats = (ndtr(cut) - ndtr(-reach)) / (ndtr(reach) - ndtr(-reach))
    return found


def _density(place: Floats) -> Floats:
    from scipy.special import ndtr

    reach = REACH[GAUSSIAN]
    whole = math.sqrt(2.0 * math.pi) * (ndtr(reach) - ndtr(-reach))
    return np.where(np.abs(place) < reach, np.exp(-0.5 * place * place) / whole, 0.0)


def points_per_cell(grid: Grid) -> Integers:
    """Return into how many points of the finer lattice of Lucy's function each cell is divided along the axes (3,)."""
    points = np.ones(3, np.int64)
    axes = grid.dimension
    points[:axes] = np.maximum(np.ceil(POINTS_PER_WIDTH * grid.ratios[:axes]), 1.0)
    return points
