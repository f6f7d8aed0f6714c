"""Check of positions for overlaps with particles and walls at the present time, over all ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.containers.meshes.mesh_topology import members_of
from pdem.particles.clearance import touching_walls
from pdem.particles.particle_spheres import single_spheres
from pdem.particles.sphere_table import NOBODY, SphereTable

if TYPE_CHECKING:
    from pdem.engine.system import System
    from pdem.foundation.array_types import Booleans, Floats, Integers
    from pdem.particles.particle_spheres import SphereGroups
    from pdem.particles.regions import Bounds

    WallOverlaps = tuple[Integers, Floats, Integers]

ROUNDING = 1e-9
"""Overlap with a wall, over the radius, that counts as rounding: a sphere may rest on a wall."""


def wall_overlaps(system: System, position: Floats, radius: Floats) -> WallOverlaps:
    """Return the spheres that overlap walls at their present poses by more than rounding.

    Parameters
    ----------
    system : System
        State of this rank; every rank has all walls.
    position, radius : (n, 3) and (n,) arrays
        Positions and radii of the spheres [m].

    Returns
    -------
    (m,), (m,), (m,) arrays
        Rows of overlapping spheres, rising; their overlaps [m]; the facets that they overlap most.
    """
    nothing = np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.int64)
    if system.walls is None:
        return nothing
    walls = system.walls
    mesh, tree = walls.mesh, system.lists.facet_tree
    every = np.arange(mesh.facet_count) if tree is None else tree.near(walls.places_of, position, radius)
    near = walls.there(every)
    if not len(near):
        return nothing
    start = np.zeros(len(near) + 1, np.int64)
    np.cumsum(mesh.facet_start[near + 1] - mesh.facet_start[near], out=start[1:])
    nodes, loops = np.unique(members_of(mesh.facet_start, mesh.facet_vertices, near), return_inverse=True)
    rows, depth, facet = touching_walls(position, radius, walls.places_of(nodes), start, loops)
    deep = depth > ROUNDING * radius[rows]
    return rows[deep], depth[deep], near[facet[deep]]


def clear_of_walls(system: System, spheres: SphereGroups) -> Booleans:
    """Return which particles overlap no wall, see `wall_overlaps`; their spheres may be across a periodic side."""
    in_box, _ = system.constants.shape.wrapped(spheres.centre)
    hit, _, _ = wall_overlaps(system, in_box, spheres.radius)
    clear = np.ones(len(spheres.radius), np.bool_)
    clear[hit] = False
    return spheres.every(clear)


class SpheresNear:
    """Particles near some positions, and the test whether a new one overlaps any of them.

    Parameters
    ----------
    system : System
        System with the box.
    capacity : int
        Largest number of spheres.
    smallest, largest : float
        Range of all radii [m].
    """

    def __init__(self, system: System, capacity: int, smallest: float, largest: float) -> None:
        constants = system.constants
        self._flat, self._lower = system.constants.dimension == 2, constants.lower
        upper = constants.lower + np.where(constants.period > 0.0, constants.period, 1.0)
        self._table = SphereTable(capacity, smallest, largest, constants.lower, upper, constants.period > 0.0)

    def add(self, spheres: SphereGroups) -> None:
        """Add particles of some spheres."""
        self._table.add(self._in_plane(spheres), np.arange(len(spheres.begin) - 1))

    def clear(self, spheres: SphereGroups) -> Booleans:
        """Return which particles of some spheres overlap none of the added particles."""
        return self._table.clear(self._in_plane(spheres), np.full(len(spheres.begin) - 1, NOBODY))

    def take(self, spheres: SphereGroups, allowed: Booleans, owner: Integers) -> Integers:
        """Add the first free and allowed position of each owner, in order; return it by owner, or -1."""
        return self._table.take_first(self._in_plane(spheres), allowed, owner)

    def _in_plane(self, spheres: SphereGroups) -> SphereGroups:
        """Return spheres, in 2D all at the same height."""
        if not self._flat:
            return spheres
        centre = spheres.centre.copy()
        centre[:, 2] = self._lower[2]
        return spheres._replace(centre=centre)


def own_particles_near(system: System, bounds: Bounds, largest: float) -> SpheresNear | None:
    """Return the spheres of this rank that particles with centres in a box may overlap; None if there are none.

    Parameters
    ----------
    system : System
        State of this rank, with up-to-date columns.
    bounds : tuple of (3,) arrays
        Corners of the box [m].
    largest : float
        Reach of the largest of the new particles [m].
    """
    own, (lower, upper) = system.particles, bounds
    offset = system.constants.shape.nearest(own.position - 0.5 * (lower + upper))
    reach = 0.5 * (upper - lower) + (own.radius + largest)[:, None]
    near = np.flatnonzero((np.abs(offset) <= reach)[:, : system.constants.dimension].all(axis=1))
    if not len(near):
        return None
    radius = own.radius[near]
    found = SpheresNear(system, len(near), float(radius.min()), float(radius.max()))
    found.add(single_spheres(own.position[near], radius))
    return found
