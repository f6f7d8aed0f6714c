"""The bodies of a rank: single spheres, and clusters as a whole. Sensors, stages and the series count these."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.simulation.cluster_energy import cluster_masses

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.simulation.system import System

    Floats = NDArray[np.float64]


class Bodies(NamedTuple):
    """Columns of the bodies of a rank.

    Attributes
    ----------
    id : (n,) int64 array
        Of a sphere; of the first member of a cluster.
    material : (n,) int32 array
        Index in the case.
    radius : (n,) array
        Of a cluster that of the sphere of its volume [m].
    position, velocity : (n, 3) arrays
        Of the centre of mass [m, m/s].
    mass : (n,) array
        [kg].
    """

    id: NDArray[np.int64]
    material: NDArray[np.int32]
    radius: Floats
    position: Floats
    velocity: Floats
    mass: Floats


def bodies_of(system: System) -> Bodies:
    """Return the bodies that this rank owns: single spheres in the order of particles, then clusters."""
    own, density = system.particles, system.constants.density
    if system.clusters is None:
        mass = sphere_masses(own.radius, density[own.material])
        return Bodies(own.id, own.material, own.radius, own.position, own.velocity, mass)
    single, table = own.cluster == 0, system.clusters.table
    material = table.material.astype(np.int32)
    radius = own.radius[single]
    return Bodies(
        np.concatenate((own.id[single], table.number[: table.count] - 1)),
        np.concatenate((own.material[single], material)),
        np.concatenate((radius, table.radius)),
        np.concatenate((own.position[single], table.position)),
        np.concatenate((own.velocity[single], table.velocity)),
        np.concatenate((sphere_masses(radius, density[own.material[single]]), cluster_masses(table, system.constants))),
    )  # fmt: skip


def sphere_masses(radius: Floats, density: Floats) -> Floats:
    """Return the masses of spheres [kg]."""
    return density * (4.0 / 3.0 * np.pi) * radius**3


def sizes_of(radius: Floats, dimension: int) -> Floats:
    """Return volumes of spheres [m^3], in 2D areas of discs [m^2]."""
    return 4.0 / 3.0 * np.pi * radius**3 if dimension == 3 else np.pi * radius**2


def count_of_bodies(system: System) -> int:
    """Return how many bodies this rank owns."""
    if system.clusters is None:
        return system.particles.count
    return int(np.count_nonzero(system.particles.cluster == 0)) + system.clusters.table.count
