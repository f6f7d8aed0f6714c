"""The detection methods in the form for the step: objects that find near pairs repeatedly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from pdem.detection.hgrid import HierarchicalGrid
from pdem.detection.neighbours import NearPairs
from pdem.detection.rivals import brute_force, nbs, screening, sorting

if TYPE_CHECKING:
    from pdem.containers.box_shape import BoxShape
    from pdem.foundation.array_types import Booleans, Floats, Int32s, Integers


class Search(Protocol):
    """Interface of each method for bodies of similar size."""

    def __call__(
        self,
        positions: Floats,
        radii: Floats,
        *,
        lower: Floats,
        upper: Floats,
        periodic: tuple[bool, bool, bool],
        dimension: int,
        skin: float,
    ) -> tuple[Integers, int, int]:
        """Return touching pairs (m, 2), each once; the number of distance tests; the number of visited cells."""
        ...


class PairFinder(Protocol):
    """Interface of a search for pairs with a distance below the sum of their reaches."""

    @property
    def checks(self) -> int:
        """Distance tests of the last search."""
        ...

    @property
    def accesses(self) -> int:
        """Visits of cells of the last search."""
        ...

    @property
    def memory(self) -> int:
        """Bytes held in buffers."""
        ...

    def set_limits(self, cell_sizes: Floats) -> None:
        """Change the limits of the reach diameters of the levels [m]; the number of levels stays the same."""
        ...

    def set_shape(self, shape: BoxShape) -> None:
        """Set the shape of the box for the next searches; only hierarchical grids support a leaning box."""
        ...

    def set_cut_axes(self, cut: Booleans) -> None:
        """Set the axes (3,) with cuts at both ends; `order` then keeps the particles near these ends together."""
        ...

    def order(self, position: Floats, reach: Floats, count: int) -> Int32s:
        """Return the particles in the order of cells."""
        ...

    def search(self, position: Floats, reach: Floats, count: int) -> NearPairs:
        """Return both particles of each pair, each pair once."""
        ...


class SingleSizeFinder:
    """A method for bodies of similar size, as a `PairFinder`.

    Parameters
    ----------
    find : callable
        The function ``search_pairs`` of the method's module.
    lower, upper : (3,) arrays
        Box [m].
    periodic : three bool
        Which axes are periodic.
    dimension : int
        2 or 3.
    """

    def __init__(
        self, find: Search, lower: Floats, upper: Floats, periodic: tuple[bool, bool, bool], dimension: int
    ) -> None:
        self._find = find
        self._lower, self._upper = lower, upper
        self._periodic = periodic
        self._dimension = dimension
        self.checks = 0
        self.accesses = 0
        self.memory = 0

    def set_limits(self, cell_sizes: Floats) -> None:
        """Do nothing: the edge of cells is always the largest reach."""

    def set_shape(self, shape: BoxShape) -> None:
        """Set the shape of the box for the next searches."""
        self._lower, self._upper = shape.lower, shape.lower + shape.period

    def set_cut_axes(self, cut: Booleans) -> None:
        """Do nothing: these methods have no order of cells."""

    def order(self, position: Floats, reach: Floats, count: int) -> Int32s:
        """Return the particles in their present order."""
        return np.arange(count, dtype=np.int32)

    def search(self, position: Floats, reach: Floats, count: int) -> NearPairs:
        """Return both particles of each pair, each pair once."""
        if count < 2:
            return NearPairs.of(np.empty(0, np.int32), np.empty(0, np.int32))
        centres = position[:count].copy()
        lower = np.where(self._periodic, self._lower, centres.min(axis=0))
        upper = np.where(self._periodic, self._upper, centres.max(axis=0))
        pairs, checks, accesses = self._find(
            centres, reach[:count].copy(), skin=0.0, lower=lower, upper=upper, periodic=self._periodic,
            dimension=self._dimension,
        )  # fmt: skip
        self.checks, self.accesses = int(checks), int(accesses)
        return NearPairs.of(pairs[:, 0].astype(np.int32), pairs[:, 1].astype(np.int32))


SINGLE_SIZE: dict[str, Search] = {
    "nbs": nbs.search_pairs,
    "sorting": sorting.search_pairs,
    "screening": screening.search_pairs,
    "brute-force": brute_force.search_pairs,
}
"""The methods for bodies of similar size, by name."""


def make_search(
    method: str, cell_sizes: Floats, lower: Floats, period: Floats, direction: str, dimension: int
) -> PairFinder:
    """Return the finder of a method.

    Parameters
    ----------
    method : str
        As in `pdem.find_pairs`; ``"linked-cell"`` is the hierarchical grid with only its largest level.
    cell_sizes : (L,) array
        Limits of the reach diameters of the levels [m].
    lower, period : (3,) arrays
        Corner of the box, and length of periodic axes or 0 [m].
    direction : str
        Direction of the search in the hierarchical grid.
    dimension : int
        2 or 3.
    """
    x, y, z = (bool(length > 0.0) for length in period)
    periodic = x, y, z
    if method in SINGLE_SIZE:
        return SingleSizeFinder(SINGLE_SIZE[method], lower, lower + period, periodic, dimension)
    sizes = cell_sizes if method == "hgrid" else cell_sizes[-1:]
    return HierarchicalGrid(sizes, lower, lower + period, periodic, direction)
