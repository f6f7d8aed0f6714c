"""Placed spheres over many ranks, and the test whether others overlap them.

Each is known to all ranks whose parts of space it touches. Two spheres that overlap have a point in common, and the
rank whose part that point is in knows both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.containers.group import route_in_one
from pdem.particles.first_come import place_first_come
from pdem.particles.sphere_table import NOBODY, SphereTable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.containers.exchange import Exchange
    from pdem.particles.regions import Domain

    Floats = NDArray[np.float64]
    Indices = NDArray[np.int64]
    Booleans = NDArray[np.bool_]
    Columns = dict[str, NDArray[Any]]


class SpherePlaces:
    """Spheres that are placed. Every method is collective.

    Parameters
    ----------
    domain : Domain
        The box, for its corners and periodic axes.
    smallest, largest : float
        Range of the radii of all spheres that are placed or moved [m].
    capacity : int
        About how many this rank will know.
    over : Exchange
        The ranks, among which space is divided.

    Attributes
    ----------
    table : SphereTable
        Those that touch this rank's part of space.
    """

    def __init__(
        self, domain: Domain, smallest: float, largest: float, capacity: int, over: Exchange
    ) -> None:
        self._domain = np.asarray(domain.lower), np.asarray(domain.upper), np.asarray(domain.periodic)
        self.table = SphereTable(capacity, smallest, largest, *self._domain)
        self._fixed: SphereTable | None = None
        self._over = over

    def fix(self, position: Floats, radius: Floats) -> None:
        """Keep spheres, positions (n, 3) and radii (n,) in m, that stay where they are."""
        here = self._known(position, radius, np.full(len(radius), NOBODY))
        if len(here["radius"]):
            ends = float(here["radius"].min()), float(here["radius"].max())
            self._fixed = SphereTable(len(here["radius"]), *ends, *self._domain)
            self._fixed.add(here["position"], here["radius"], here["number"])

    def _known(self, position: Floats, radius: Floats, number: Indices, **more: NDArray[Any]) -> Columns:
        """Return the spheres of all ranks that touch this rank's part of space."""
        rows, ranks = self._over.near(position, radius)
        columns = {"position": position, "radius": radius, "number": number, **more}
        return route_in_one(self._over, {name: column[rows] for name, column in columns.items()}, ranks)

    def clear(self, position: Floats, radius: Floats, number: Indices) -> Booleans:
        """Return which spheres of these numbers overlap no other there, positions (n, 3) and radii (n,) in m."""
        rank = np.full(len(radius), self._over.rank)
        here = self._known(position, radius, number, row=np.arange(len(radius)), rank=rank)
        spheres = here["position"], here["radius"], here["number"]
        free = self.table.clear(*spheres)
        if self._fixed is not None:
            some = np.flatnonzero(free)
            free[some] = self._fixed.clear(*(column[some] for column in spheres))
        result = np.ones(len(radius), np.bool_)
        result[self._over.route({"row": here["row"][~free]}, here["rank"][~free])["row"]] = False
        return result

    def place(self, candidates: Columns) -> Booleans:
        """Place candidates that are clear of what is placed; return which, see `pdem.particles.first_come`."""
        return place_first_come(candidates, self.table, self._over)

    def movable(self, candidates: Columns) -> Booleans:
        """Return which spheres can move one after the other to places that are clear of all present ones."""
        return place_first_come(candidates, self.table.empty_like(0), self._over)

    def renew(self, position: Floats, radius: Floats, number: Indices) -> None:
        """Know all spheres that are placed, but for those that stay, at new positions (n, 3) [m]."""
        here = self._known(position, radius, number)
        self.table = self.table.empty_like(len(here["number"]))
        self.table.add(here["position"], here["radius"], here["number"])
