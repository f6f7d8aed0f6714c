"""Whether places are free of particles and walls at the present time, over all ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.containers.mesh_topology import members_of
from pdem.particles.clearance import touching_walls
from pdem.particles.sphere_table import NOBODY, SphereTable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.particles.regions import Bounds
    from pdem.simulation.system import System

    Floats = NDArray[np.float64]
    Booleans = NDArray[np.bool_]

    WallOverlaps = tuple[NDArray[np.int64], Floats, NDArray[np.int64]]

ROUNDING = 1e-9
"""Overlap with a wall, over the radius, that counts as rounding: a sphere may lie on a wall."""


def wall_overlaps(system: System, position: Floats, radius: Floats) -> WallOverlaps:
    """Return the spheres that overlap walls where these are now, by more than rounding.

    Parameters
    ----------
    system : System
        State of this rank; every rank has all walls.
    position, radius : (n, 3) and (n,) arrays
        Of the spheres [m].

    Returns
    -------
    (m,), (m,), (m,) arrays
        Rows of those spheres, rising; their overlaps [m]; the facets that they overlap most.
    """
    nothing = np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.int64)
    if system.moving_walls is None:
        return nothing
    walls = system.moving_walls
    mesh, tree = walls.mesh, system.facet_tree
    all_near = np.arange(mesh.facet_count) if tree is None else tree.near(walls.places_of, position, radius)
    near = walls.there(all_near)
    if not len(near):
        return nothing
    start = np.zeros(len(near) + 1, np.int64)
    np.cumsum(mesh.facet_start[near + 1] - mesh.facet_start[near], out=start[1:])
    nodes, loops = np.unique(members_of(mesh.facet_start, mesh.facet_vertices, near), return_inverse=True)
    rows, depth, facet = touching_walls(position, radius, walls.places_of(nodes), start, loops)
    deep = depth > ROUNDING * radius[rows]
    return rows[deep], depth[deep], near[facet[deep]]


class SpheresNear:
    """Spheres near some places, and the test whether another one overlaps any of them.

    Parameters
    ----------
    system : System
        For the box.
    capacity : int
        Largest number of spheres.
    smallest, largest : float
        Range of all their radii [m].
    """

    def __init__(self, system: System, capacity: int, smallest: float, largest: float) -> None:
        constants = system.constants
        self._flat = system.dimension == 2
        self._lower, self._period = constants.lower, constants.period
        upper = constants.lower + np.where(constants.period > 0.0, constants.period, 1.0)
        self._table = SphereTable(capacity, smallest, largest, constants.lower, upper, constants.period > 0.0)

    def add(self, position: Floats, radius: Floats) -> None:
        """Add spheres (n, 3), (n,) [m]."""
        self._table.add(self._places(position), radius, np.arange(len(radius)))

    def clear(self, position: Floats, radius: Floats) -> Booleans:
        """Return which spheres (n, 3), (n,) [m] overlap none of those that were added."""
        return self._table.clear(self._places(position), radius, np.full(len(radius), NOBODY))

    def take(
        self, position: Floats, radius: Floats, allowed: Booleans, owner: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Add the first free and allowed place of each owner, one after the other; return it by owner, or -1."""
        return self._table.take_first(self._places(position), radius, allowed, owner)

    def _places(self, position: Floats) -> Floats:
        """Return positions within the box along periodic axes; in 2D all at the same height."""
        inside = position - self._period * np.floor(
            np.divide(
                position - self._lower, self._period, out=np.zeros(position.shape), where=self._period > 0.0
            )
        )
        if self._flat:
            inside[:, 2] = self._lower[2]
        return inside


def own_particles_near(system: System, bounds: Bounds, largest: float) -> SpheresNear | None:
    """Return the particles of this rank that spheres with centres in a box may overlap; None if there are none.

    Parameters
    ----------
    system : System
        State of this rank, whose columns are up to date.
    bounds : tuple of (3,) arrays
        Corners of the box [m].
    largest : float
        Largest radius of those spheres [m].
    """
    own, period = system.particles, system.constants.period
    lower, upper = bounds
    offset = own.position - 0.5 * (lower + upper)
    offset -= period * np.round(np.divide(offset, period, out=np.zeros(offset.shape), where=period > 0.0))
    reach = 0.5 * (upper - lower) + (own.radius + largest)[:, None]
    near = np.flatnonzero((np.abs(offset) <= reach)[:, : system.dimension].all(axis=1))
    if not len(near):
        return None
    radius = own.radius[near]
    found = SpheresNear(system, len(near), float(radius.min()), float(radius.max()))
    found.add(own.position[near], radius)
    return found
