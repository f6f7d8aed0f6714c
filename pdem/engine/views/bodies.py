"""The bodies of a rank: single spheres, and clusters as a whole. Sensors, stages and the series count these."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.detection.id_table import find_rows, indexed
from pdem.engine.clusters.energy import cluster_masses
from pdem.preflight.given_particles import largest_speed

if TYPE_CHECKING:
    from pdem.containers.exchange import Exchange
    from pdem.containers.particles import Particles
    from pdem.engine.system import System
    from pdem.foundation.array_types import Booleans, Floats, Int32s, Integers


class Bodies(NamedTuple):
    """Columns of the bodies of a rank.

    Attributes
    ----------
    id : (n,) int64 array
        Id of a sphere, or of the first member of a cluster.
    material : (n,) int32 array
        Index in the case.
    radius : (n,) array
        Radius of a sphere, or of the sphere with the volume of a cluster [m].
    position, velocity : (n, 3) arrays
        Position and velocity of the centre of mass [m, m/s].
    mass : (n,) array
        Mass [kg].
    """

    id: Integers
    material: Int32s
    radius: Floats
    position: Floats
    velocity: Floats
    mass: Floats


def bodies_of(system: System) -> Bodies:
    """Return the free bodies of this rank: single spheres in the order of particles, then clusters."""
    own, density, single = system.particles, system.constants.density, singles_of(system)
    radius, material = own.radius[single], own.material[single]
    mass = sphere_masses(radius, density[material])
    if system.clusters is None:
        return Bodies(own.id[single], material, radius, own.position[single], own.velocity[single], mass)
    table = system.clusters.table
    return Bodies(
        np.concatenate((own.id[single], table.number[: table.count] - 1)),
        np.concatenate((material, table.material.astype(np.int32))),
        np.concatenate((radius, table.radius)),
        np.concatenate((own.position[single], table.position)),
        np.concatenate((own.velocity[single], table.velocity)),
        np.concatenate((mass, cluster_masses(table, system.constants))),
    )  # fmt: skip


def singles_of(system: System) -> Booleans | slice:
    """Return which owned particles are single free bodies: neither members of clusters nor fixed."""
    own, all_ = system.particles, slice(None)
    if not system.constants.has_fixed:
        return all_ if system.clusters is None else own.cluster == 0
    return (own.cluster == 0) & (own.fixed == 0)


def rows_of_ids(particles: Particles, ids: Integers) -> Integers:
    """Return the rows of particles with some ids, owned or ghosts."""
    known, rows = particles.column("id")[: particles.count + particles.ghosts], np.empty(len(ids), np.int32)
    find_rows(ids, known, indexed(known), rows)
    return rows.astype(np.int64)


def sphere_masses(radius: Floats, density: Floats) -> Floats:
    """Return the masses of spheres [kg]."""
    return density * (4.0 / 3.0 * np.pi) * (radius * radius * radius)


def sizes_of(radius: Floats, dimension: int) -> Floats:
    """Return volumes of spheres [m^3], in 2D areas of discs [m^2]."""
    area = np.pi * (radius * radius)
    return 4.0 / 3.0 * area * radius if dimension == 3 else area


def largest_present_speed(particles: Particles, exchange: Exchange) -> float:
    """Return the largest speed of present particles on any rank [m/s]. Collective."""
    own = largest_speed(particles.velocity)
    return float(exchange.largest(np.array([own]))[0])


def count_of_bodies(system: System) -> int:
    """Return the number of free bodies that this rank owns."""
    clusters = 0 if system.clusters is None else system.clusters.table.count
    return len(system.particles.id[singles_of(system)]) + clusters
