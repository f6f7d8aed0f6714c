"""Operations of a step on the rigid clusters of a system, if it has any."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.foundation import exact_math
from pdem.motion.clusters.rigid_clusters import place_all_members

if TYPE_CHECKING:
    from pdem.contact.law.pair_table import ContactParameters
    from pdem.containers.clusters import Clusters
    from pdem.containers.particles import Particles
    from pdem.engine.clusters.rigid_clusters import RigidClusters
    from pdem.engine.system import System
    from pdem.foundation.array_types import Floats, Int32s, Integers


def cluster_table(clusters: RigidClusters | None) -> Clusters | None:
    """Return the clusters of this rank, None for a case without shapes."""
    return None if clusters is None else clusters.table


def contact_parameters(system: System, *, at_rest: bool = False) -> ContactParameters:
    """Return the parameters of contact forces of a step, or of a measurement in which histories do not grow."""
    constants = system.constants
    parameters = constants.parameters(constants.time_step.at_rest() if at_rest else constants.time_step)
    if system.box.moving is not None:
        images, sums = system.box.moving.images(system.progress.step), system.box.drive.sums
        parameters = parameters._replace(images=images, sums=(sums.ways, sums.limbs))
    return parameters if system.clusters is None else parameters._replace(tensors=system.clusters.tensors)


def states_to_share(clusters: RigidClusters | None) -> Floats | None:
    """Return the states of owned and ghost clusters, which ranks exchange in a step; None without clusters."""
    return None if clusters is None else clusters.table.states


def place_ghost_members(system: System) -> None:
    """Write the ghosts of members from the received states of their clusters."""
    if system.clusters is not None and system.particles.ghosts:
        packed = system.contacts.pairs.packed(system.particles.count + system.particles.ghosts)
        system.clusters.place_ghosts(system.constants.time_step.dt, packed)


def whole_clusters(particles: Particles, ids: Integers) -> Integers:
    """Return ids of particles of this rank together with the ids of all members of their clusters."""
    chosen = np.isin(particles.id, ids)
    clusters = np.unique(particles.cluster[chosen])
    return particles.id[chosen | np.isin(particles.cluster, clusters[clusters > 0])]


def with_members_together(order: Int32s, particles: Particles) -> Int32s:
    """Return an order of owned particles in which the members of a cluster are consecutive, sorted by ids.

    A cluster has the position of its first member in the order. A step that loops over clusters then reads memory
    sequentially.
    """
    cluster = particles.cluster[order]
    members = np.flatnonzero(cluster)
    if not len(members):
        return order
    first = np.arange(len(order))
    _, begin, of_cluster = np.unique(cluster[members], return_index=True, return_inverse=True)
    first[members] = members[begin[of_cluster]]
    return order[np.lexsort((particles.id[order], first))]


def keep_clusters(clusters: RigidClusters | None, removed: Integers) -> None:
    """Remove the clusters with these numbers; 0 is no cluster."""
    if clusters is not None and len(removed):
        table = clusters.table
        table.keep(~np.isin(table.number[: table.count], removed))


def place_written_clusters(system: System) -> None:
    """Move members after a script may have moved their clusters; normalise orientations of clusters."""
    if system.clusters is None:
        return
    table = system.clusters.table
    table.orientation[:] /= exact_math.norm(table.orientation)[:, None]
    place_all_members(table, system.particles, system.constants.density)
