"""The detection methods as the step uses them: objects that find near pairs again and again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from pdem.detection import brute_force, nbs, screening, sorting
from pdem.detection.hgrid import HierarchicalGrid

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Pairs = tuple[NDArray[np.int32], NDArray[np.int32]]


class PairFinder(Protocol):
    """What finds the pairs nearer than the sum of their reaches."""

    checks: int
    accesses: int
    memory: int

    def search(self, position: NDArray[np.float64], reach: NDArray[np.float64], count: int) -> Pairs:
        """Return both particles of each pair, each pair once."""
        ...


class SingleSizeFinder:
    """A method for bodies of similar size, from its own module.

    Parameters
    ----------
    module
        With ``search_pairs``.
    lower, upper : (3,) arrays
        Box [m].
    periodic : three bool
        Which axes are periodic.
    dimension : int
        2 or 3.
    """

    def __init__(
        self,
        module: object,
        lower: NDArray[np.float64],
        upper: NDArray[np.float64],
        periodic: tuple[bool, bool, bool],
        dimension: int,
    ) -> None:
        self._find = module.search_pairs  # type: ignore[attr-defined]
        self._box = {"lower": lower, "upper": upper, "periodic": periodic, "dimension": dimension}
        self.checks = 0
        self.accesses = 0
        self.memory = 0

    def search(self, position: NDArray[np.float64], reach: NDArray[np.float64], count: int) -> Pairs:
        """Return both particles of each pair, each pair once."""
        if count < 2:
            return np.empty(0, np.int32), np.empty(0, np.int32)
        box = dict(self._box)
        centres = position[:count].copy()
        for axis, periodic in enumerate(self._box["periodic"]):
            if not periodic:
                box["lower"] = np.where(np.arange(3) == axis, centres.min(axis=0), box["lower"])
                box["upper"] = np.where(np.arange(3) == axis, centres.max(axis=0), box["upper"])
        pairs, checks, accesses = self._find(centres, reach[:count].copy(), skin=0.0, **box)
        self.checks, self.accesses = int(checks), int(accesses)
        return pairs[:, 0].astype(np.int32), pairs[:, 1].astype(np.int32)


_SINGLE_SIZE = {"nbs": nbs, "sorting": sorting, "screening": screening, "brute-force": brute_force}


def make_search(
    method: str,
    cell_sizes: NDArray[np.float64],
    lower: NDArray[np.float64],
    period: NDArray[np.float64],
    direction: str,
    dimension: int,
) -> PairFinder:
    """Return the finder of a method.

    Parameters
    ----------
    method : str
        As in `pdem.find_pairs`; ``"linked-cell"`` is the hierarchical grid with its one largest level.
    cell_sizes : (L,) array
        Limits of the reach diameters of the levels [m].
    lower, period : (3,) arrays
        Corner of the box, length of periodic axes or 0 [m].
    direction : str
        Of the hierarchical grid.
    dimension : int
        2 or 3.
    """
    x, y, z = (bool(length > 0.0) for length in period)
    periodic = x, y, z
    if method in _SINGLE_SIZE:
        return SingleSizeFinder(_SINGLE_SIZE[method], lower, lower + period, periodic, dimension)
    sizes = cell_sizes if method == "hgrid" else cell_sizes[-1:]
    return HierarchicalGrid(sizes, lower, lower + period, periodic, direction)
