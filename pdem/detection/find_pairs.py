"""The public search: all touching spheres, by any method, each pair once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.detection import hgrid
from pdem.detection.cell_sizes import automatic_cell_sizes, cell_sizes
from pdem.detection.cost_model import DIRECTIONS
from pdem.detection.occupancy import local_density
from pdem.detection.overhead import search_times
from pdem.detection.rivals import linked_cell
from pdem.detection.rivals.cell_grid import check_cell_count
from pdem.detection.search_input import SearchInput, check_input
from pdem.detection.searches import SINGLE_SIZE
from pdem.foundation.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from pdem.foundation.array_types import Floats, Integers

_SIZE_RULES = ("single", "linear", "exponential", "constant", "optimal")
_MOST_CELLS = 2.0**31

_OF_ONE_GRID = {"linked-cell": linked_cell.search_pairs, **SINGLE_SIZE}
METHODS = ("hgrid", *_OF_ONE_GRID)
"""Names of the detection methods."""


@dataclass(frozen=True)
class PairSearch:
    """Touching pairs, and the work of the search.

    Attributes
    ----------
    pairs : (m, 2) int64 array
        Indices of the two particles, the lower first; sorted, each pair once.
    checks : int
        Distance tests.
    cell_accesses : int
        Visits of cells. hgrid: rows of cells; linked-cell and screening: cells, per particle; nbs and
        sorting: lists (cells) read per occupied cell; brute-force: none.
    cell_sizes : (L,) array
        Limits of the diameters of the levels in m; the single cell size of the methods for similar sizes; empty for
        brute force and without particles.
    """

    pairs: Integers
    checks: int
    cell_accesses: int
    cell_sizes: Floats

    def __repr__(self) -> str:
        """Return the sizes of the result, without the pairs themselves."""
        sizes = ", ".join(f"{size:.4g}" for size in self.cell_sizes)
        return (
            f"PairSearch({len(self.pairs)} pairs, {self.checks} checks, {self.cell_accesses} cell accesses, "
            f"cell sizes [{sizes}] m)"
        )


def find_pairs(
    positions: ArrayLike,
    radii: ArrayLike,
    *,
    method: str = "hgrid",
    direction: str = "top-down",
    cell_sizes: str | Sequence[float] | Floats = "auto",
    lower: ArrayLike | None = None,
    upper: ArrayLike | None = None,
    periodic: Sequence[bool] = (False, False, False),
    skin: float = 0.0,
) -> PairSearch:
    """Find all pairs of spheres (2D: discs) that touch or have a gap smaller than the skin.

    Two spheres are a pair when the distance of their centres is no more than the sum of their radii plus the skin (the
    squares are compared); on periodic axes the nearest image counts. All methods return the same pairs.

    Parameters
    ----------
    positions : (n, 2) or (n, 3) array_like
        Centres in m. Positions outside the bounds are wrapped on periodic axes, and allowed on other axes.
    radii : float or (n,) array_like
        Radii in m.
    method : {"hgrid", "linked-cell", "nbs", "sorting", "screening", "brute-force"}
        Hierarchical grid of Krijgsman, Ogarko and Luding (2014); one level of cells as large as the largest
        sphere; NBS of Munjiza and Andrews (1998); sorting and screening of Munjiza (2004), 3.7 and 3.6; all
        pairs.
    direction : {"top-down", "bottom-up"}
        hgrid: whether large spheres search the levels of small ones, or small spheres the levels of large ones.
    cell_sizes : str or sequence of float
        hgrid: increasing limits of the diameters of the levels in m, the last no less than the largest diameter plus
        skin; or the name of a rule of `pdem.cell_sizes`; or "auto", few levels with a constant number per cell.
    lower, upper : (2,) or (3,) array_like, optional
        Bounds of the box in m; needed on periodic axes.
    periodic : sequence of bool
        Which axes are periodic.
    skin : float
        Largest gap in m at which spheres count as touching.

    Returns
    -------
    PairSearch
        Pairs, number of distance tests, number of cell accesses, cell sizes.

    Raises
    ------
    InputError
        Coordinates that are not finite; radii that are not positive; arrays of different lengths; cell sizes that do
        not increase or are too small for the largest particle; a periodic box smaller than a particle; more than 2**31
        cells along an axis; unknown method, direction or rule; screening array larger than the free memory.

    Examples
    --------
    >>> find_pairs([[0, 0], [1, 0], [5, 0]], 0.5).pairs.tolist()
    [[0, 1]]
    """
    if method not in METHODS:
        raise InputError(f"method is {method!r}; use one of {', '.join(METHODS)}")
    if direction not in DIRECTIONS:
        raise InputError(f"direction is {direction!r}; use one of {', '.join(DIRECTIONS)}")
    system = check_input(positions, radii, lower, upper, periodic, skin)
    common: dict[str, Any] = {
        "lower": system.lower,
        "upper": system.upper,
        "periodic": system.periodic,
        "dimension": system.dimension,
        "skin": system.skin,
    }
    sizes = _sizes(system, method, direction, cell_sizes)
    if method in _OF_ONE_GRID:
        found = _OF_ONE_GRID[method](system.positions, system.radii, **common)
    elif system.count < 2:
        found = np.empty((0, 2), dtype=np.int64), 0, 0
    else:
        found = hgrid.search_pairs(system.positions, system.radii, cell_sizes=sizes, direction=direction, **common)
    pairs, checks, accesses = found
    return PairSearch(_ordered(pairs, system.count), int(checks), int(accesses), sizes * system.unit)


def _ordered(pairs: Integers, count: int) -> Integers:
    """Return the pairs with the lower index first, sorted."""
    low, high = np.minimum(pairs[:, 0], pairs[:, 1]), np.maximum(pairs[:, 0], pairs[:, 1])
    keys = np.sort(low * count + high)
    return np.stack(np.divmod(keys, max(count, 1)), axis=1)


def _sizes(system: SearchInput, method: str, direction: str, wanted: str | Sequence[float] | Floats) -> Floats:
    """Return the checked cell sizes, in the unit of the system."""
    if isinstance(wanted, str) and wanted not in ("auto", *_SIZE_RULES):
        raise InputError(f"cell_sizes is {wanted!r}; use auto, one of {', '.join(_SIZE_RULES)}, or rising numbers in m")
    explicit = None if isinstance(wanted, str) else _checked_sizes(wanted, system)
    if method == "brute-force" or (system.count == 0 and explicit is None):
        return np.empty(0)
    if method != "hgrid":
        sizes = np.array([system.largest])
    elif explicit is not None:
        sizes = explicit
    else:
        sizes = _ruled_sizes(system, direction, str(wanted))
    for axis in range(system.dimension):
        check_cell_count(float(system.upper[axis] - system.lower[axis]), float(sizes[0]), axis)
    return sizes


def _checked_sizes(wanted: Sequence[float] | Floats, system: SearchInput) -> Floats:
    """Return explicit cell sizes, checked and in the unit of the system."""
    try:
        sizes = np.asarray(wanted, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"cell_sizes is {wanted!r}; give rising numbers in m") from None
    if sizes.ndim != 1 or sizes.size == 0:
        raise InputError(f"cell_sizes have shape {sizes.shape}; give a list of one size or more")
    bad = np.flatnonzero(~(np.isfinite(sizes) & (sizes > 0.0)))
    if len(bad):
        raise InputError(f"cell size {bad[0]} is {sizes[bad[0]]}; cell sizes must be positive and finite")
    falls = np.flatnonzero(np.diff(sizes) <= 0.0)
    if len(falls):
        level = falls[0]
        raise InputError(
            f"cell size {level + 1} is {sizes[level + 1]} after {sizes[level]}; "
            "cell sizes must rise from level to level"
        )
    scaled = sizes / system.unit
    if system.count and scaled[-1] < system.largest:
        particle = int(np.argmax(system.radii))
        raise InputError(
            f"the largest cell size {sizes[-1]} m cannot hold particle {particle} of diameter plus skin "
            f"{system.largest * system.unit} m; enlarge it or add a level"
        )
    return scaled


def _ruled_sizes(system: SearchInput, direction: str, rule: str) -> Floats:
    """Return the sizes of a rule for these particles, without sizes that would give too many cells to count."""
    dimension = system.dimension
    extent = (system.upper - system.lower)[:dimension]
    least = float(extent.max(initial=0.0)) / _MOST_CELLS
    density = local_density(
        system.positions[:, :dimension],
        system.largest,
        system.lower[:dimension],
        system.upper[:dimension],
        system.periodic[:dimension],
    )
    if rule == "auto":
        return automatic_cell_sizes(
            system.radii,
            density=density,
            dimension=dimension,
            overhead=search_times().overhead,
            skin=system.skin,
            direction=direction,
            least=least,
        ).sizes
    ball = np.pi if dimension == 2 else 4.0 * np.pi / 3.0
    sizes = cell_sizes(
        system.radii,
        method=rule,
        volume_fraction=density * ball * float(np.mean(system.radii**dimension)),
        dimension=dimension,
        direction=direction,
        unit="rows",
        own_level="search-box",
        overhead=search_times().overhead,
        skin=system.skin,
    ).sizes
    return np.append(sizes[(sizes >= least) & (sizes < system.largest)], system.largest)
