"""Masses, spins and energies of rigid clusters; members of clusters have no mass or energy of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.case.groups.shapes import shapes_of
from pdem.foundation import exact_math
from pdem.particles.clusters.quaternions import conjugate, product, rotated

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.case.model import Case
    from pdem.containers.clusters import Clusters
    from pdem.engine.clusters.rigid_clusters import RigidClusters
    from pdem.engine.setup import Constants
    from pdem.foundation.array_types import Floats, Integers


def cluster_masses(clusters: Clusters, constants: Constants) -> Floats:
    """Return the masses (n,) of the owned clusters [kg]."""
    shape, material = clusters.shape.astype(np.int64), clusters.material.astype(np.int64)
    scale = clusters.scale  # the last bit of a vectorised power may depend on the length of the array
    return constants.density[material] * clusters.shapes.volume[shape] * (scale * scale * scale)


def cluster_spins(clusters: Clusters, constants: Constants) -> tuple[Floats, Floats]:
    """Return angular momentum and angular velocity (n, 3) of the owned clusters along their principal axes."""
    shape, material = clusters.shape.astype(np.int64), clusters.material.astype(np.int64)
    square = clusters.scale * clusters.scale
    factor = constants.density[material] * (square * square * clusters.scale)
    moments = clusters.shapes.moments[shape] * factor[:, None]
    momentum = rotated(conjugate(clusters.orientation), clusters.angular_momentum)
    return momentum, momentum / moments


def cluster_columns_of(clusters: Clusters, constants: Constants, case: Case) -> dict[str, NDArray[Any]]:
    """Return the columns of the owned clusters for users: orientations relative to the shapes of the case."""
    shape = clusters.shape.astype(np.int32)
    frame = np.array([one.frame for one in shapes_of(case).values()])[shape]
    _, spin = cluster_spins(clusters, constants)
    orientation = np.ascontiguousarray(clusters.orientation)
    return {
        "cluster": clusters.number[: clusters.count].copy(), "shape": shape,
        "material": clusters.material.astype(np.int32), "scale": clusters.scale.copy(),
        "radius": clusters.radius,
        "position": np.ascontiguousarray(clusters.position), "velocity": np.ascontiguousarray(clusters.velocity),
        "angular_velocity": rotated(orientation, spin), "orientation": product(orientation, conjugate(frame)),
        "image": clusters.image.copy(), "mass": cluster_masses(clusters, constants),
    }  # fmt: skip


def cluster_energies(clusters: Clusters, constants: Constants) -> list[Floats]:
    """Return energies of owned clusters [J]: translation, rotation, and gravity along each axis that has gravity."""
    mass, speed = (cluster_masses(clusters, constants), constants.own_velocity(clusters.position, clusters.velocity))
    momentum, spin = cluster_spins(clusters, constants)
    turning = momentum * spin
    return [
        0.5 * mass * exact_math.inner(speed, speed),
        0.5 * (turning[:, 0] + turning[:, 1] + turning[:, 2]),
        *_gravity(clusters, constants, mass),
    ]


def _gravity(clusters: Clusters, constants: Constants, mass: Floats) -> list[Floats]:
    place = clusters.position + constants.period * clusters.image
    axes = np.flatnonzero(constants.gravity * constants.free[:3])
    return [-constants.gravity[axis] * mass * place[:, axis] for axis in axes]


def cluster_motion_energies(clusters: RigidClusters | None, constants: Constants) -> list[Floats]:
    """Return energies of translation and rotation of the clusters of a rank [J]."""
    return [] if clusters is None else cluster_energies(clusters.table, constants)[:2]


def cluster_gravity_energies(clusters: RigidClusters | None, constants: Constants) -> list[Floats]:
    """Return energies of the clusters of a rank in gravity [J], for each axis along which gravity acts."""
    if clusters is None:
        return []
    table = clusters.table
    return _gravity(table, constants, cluster_masses(table, constants))


def removed_energies(clusters: RigidClusters | None, constants: Constants, removed: Integers) -> list[Floats]:
    """Return the energies of clusters with these numbers."""
    if clusters is None or not len(removed):
        return []
    table = clusters.table
    gone = table.chosen(np.isin(table.number[: table.count], removed))
    return cluster_energies(gone, constants)
