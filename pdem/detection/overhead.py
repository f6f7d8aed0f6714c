"""Time of a visit of a row of cells on this machine, in distance tests: measured once, then stored.

The cost model (`pdem.detection.cost_model`) gives the numbers of visited rows of cells and of distance tests. The best
grid depends on the ratio of their times, K of Krijgsman, Ogarko and Luding, Comput. Part. Mech. 1 (2014) 357-372. The
ratio is a property of the data layout and of the machine. It is a fit to the times of the search for one system with
several grids.
"""

from __future__ import annotations

import json
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from pdem.containers.sizes import PowerLaw
from pdem.detection.cell_sizes import OVERHEAD, cell_sizes
from pdem.detection.hgrid import HierarchicalGrid
from pdem.foundation.files import write_file
from pdem.numerics.cache import cache_directory, stored
from pdem.numerics.random import keyed_uniform, keyed_vectors

if TYPE_CHECKING:
    from pathlib import Path

    from pdem.foundation.array_types import Floats

_COUNT = 20_000
_RATIO, _EXPONENT, _FRACTION = 10.0, -3.0, 0.5
_LEVELS = (1, 2, 3, 4, 6, 8)
_REPETITIONS = 5
_LEAST, _MOST = 1.0, 200.0


@dataclass(frozen=True)
class SearchTimes:
    """Times of the search on this machine.

    Attributes
    ----------
    check : float
        One distance test [s].
    row : float
        One visit of a row of cells [s].
    """

    check: float
    row: float

    @property
    def overhead(self) -> float:
        """Time of a visit over the time of a test, limited to the range from 1 to 200."""
        return float(np.clip(self.row / self.check, _LEAST, _MOST)) if self.check > 0.0 else OVERHEAD["rows"]


@cache
def search_times() -> SearchTimes:
    """Return the times of this machine; the first call ever measures them (about a second)."""
    path = cache_directory() / "search_times.json"
    with suppress(OSError, ValueError, TypeError):
        return SearchTimes(**json.loads(stored(path).read_text(encoding="utf-8")))
    times = measure()
    _keep(times, path)
    return times


def _keep(times: SearchTimes, path: Path) -> None:
    """Write the times to a new file and rename it; if this fails, the next process measures again."""
    with suppress(OSError):
        write_file(path, json.dumps(asdict(times)) + "\n")


def measure() -> SearchTimes:
    """Time the search of one system with grids from one level to many, and fit the times of tests and visits.

    Returns
    -------
    SearchTimes
        Least squares of ``time = n (first + tests * check + visits * row)``, n particles.
    """
    position, radii, edge = uncorrelated_spheres(_COUNT, _RATIO, _FRACTION)
    found = [_timed(position, radii, edge, levels) for levels in _LEVELS]
    seconds, checks, visits = (np.array(column) for column in zip(*found, strict=True))
    columns = np.stack((np.ones(len(found)), checks, visits), axis=1)
    # relative errors are minimised: the grid of one level takes far longer than the other grids
    fitted = np.linalg.lstsq(columns / seconds[:, None], np.ones(len(found)), rcond=None)[0]
    return SearchTimes(check=float(fitted[1]), row=float(fitted[2]))


def uncorrelated_spheres(count: int, ratio: float, fraction: float) -> tuple[Floats, Floats, float]:
    """Return spheres at random positions in a cube, with equal volume in each interval of radius.

    Parameters
    ----------
    count : int
        Number of spheres.
    ratio : float
        Largest over smallest radius; the smallest is 1.
    fraction : float
        Volume of the spheres over the volume of the cube.

    Returns
    -------
    position, radii : (n, 3), (n,) arrays
        In units of the smallest radius.
    edge : float
        Edge of the cube.
    """
    identities = np.arange(count)
    radii = PowerLaw(_EXPONENT, 1.0, ratio).radii(keyed_uniform(1, 0, identities))
    edge = float(np.sum(4.0 / 3.0 * np.pi * radii**3) / fraction) ** (1.0 / 3.0)
    return edge * keyed_vectors(1, 1, identities), radii, edge


def _timed(position: Floats, radii: Floats, edge: float, levels: int) -> tuple[float, float, float]:
    """Return the shortest time of a search, its tests and its visits of rows, all per particle."""
    sizes = cell_sizes(radii, method="constant", levels=levels, volume_fraction=_FRACTION).sizes
    grid = HierarchicalGrid(sizes, np.zeros(3), np.full(3, edge), (True, True, True))
    least = np.inf
    for _ in range(_REPETITIONS):
        begun = time.perf_counter()
        grid.search(position, radii, _COUNT)
        least = min(least, time.perf_counter() - begun)
    return least / _COUNT, grid.checks / _COUNT, grid.accesses / _COUNT
