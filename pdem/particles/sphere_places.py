"""Placed particles over many ranks, and the test whether further particles overlap them.

A particle is stored on all ranks with parts of space that the ball around it touches. Two overlapping particles have a
point in common, and the rank that owns this point stores both.
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
    from pdem.foundation.array_types import Booleans
    from pdem.particles.particle_spheres import ParticleShapes, SphereGroups
    from pdem.particles.regions import RegionDomain

    Columns = dict[str, NDArray[Any]]


class SpherePlaces:
    """Particles that are placed. Every method is collective.

    Particles are passed as columns: ``number`` (n,), and the columns for `ParticleShapes.spheres`.

    Parameters
    ----------
    domain : RegionDomain
        The box, for its corners and periodic axes.
    shapes : ParticleShapes
        Shapes of the particles.
    ends : (float, float)
        Range of the radii of all spheres that are placed or moved [m].
    capacity : int
        Approximate number of particles that this rank will store.
    over : Exchange
        The ranks, among which space is divided.

    Attributes
    ----------
    table : SphereTable
        Placed particles that touch this rank's part of space.
    """

    def __init__(
        self, domain: RegionDomain, shapes: ParticleShapes, ends: tuple[float, float], capacity: int, over: Exchange
    ) -> None:
        self._domain = np.asarray(domain.lower), np.asarray(domain.upper), np.asarray(domain.periodic)
        self._shapes, self._over = shapes, over
        self.table = SphereTable(capacity, *ends, *self._domain)
        self._fixed: SphereTable | None = None

    def fix(self, particles: Columns) -> None:
        """Add particles that keep their positions."""
        here, spheres = self._known(particles)
        if len(here["radius"]):
            ends = float(spheres.radius.min()), float(spheres.radius.max())
            self._fixed = SphereTable(len(spheres.radius), *ends, *self._domain)
            self._fixed.add(spheres, np.full(len(here["radius"]), NOBODY))

    def _known(self, particles: Columns, **more: NDArray[Any]) -> tuple[Columns, SphereGroups]:
        """Return the particles of all ranks that touch this rank's part of space, and their spheres."""
        rows, ranks = self._over.near(particles["position"], particles["radius"])
        columns = {**particles, **more}
        here = route_in_one(self._over, {name: column[rows] for name, column in columns.items()}, ranks)
        return here, self._shapes.spheres(here)

    def clear(self, particles: Columns) -> Booleans:
        """Return which particles overlap no other placed particle at their positions."""
        count = len(particles["radius"])
        rank = np.full(count, self._over.rank)
        here, spheres = self._known(particles, row=np.arange(count), rank=rank)
        free = self.table.clear(spheres, here["number"])
        if self._fixed is not None:
            some = np.flatnonzero(free)
            free[some] = self._fixed.clear(spheres.of(some), here["number"][some])
        result = np.ones(count, np.bool_)
        result[self._over.route({"row": here["row"][~free]}, here["rank"][~free])["row"]] = False
        return result

    def place(self, candidates: Columns) -> Booleans:
        """Place candidates that are clear of placed particles; return which, see `pdem.particles.first_come`."""
        return place_first_come(candidates, self._shapes, self.table, self._over)

    def movable(self, candidates: Columns) -> Booleans:
        """Return which particles can move one after the other to positions that are clear of all present ones."""
        return place_first_come(candidates, self._shapes, self.table.empty_like(0), self._over)

    def renew(self, particles: Columns) -> None:
        """Replace all placed particles, except those of `fix`, by the same particles at new positions."""
        here, spheres = self._known(particles)
        self.table = self.table.empty_like(len(spheres.radius))
        self.table.add(spheres, here["number"])
