"""Clusters in the state of a run: a group of a checkpoint, a row for each cluster."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.containers.clusters import NO_SHAPES, Clusters, states_of
from pdem.containers.id_directory import IdDirectory
from pdem.foundation.errors import CheckpointError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.engine.clusters.rigid_clusters import RigidClusters
    from pdem.engine.system import System
    from pdem.foundation.array_types import Integers

    Groups = dict[str, dict[str, NDArray[Any]]]

CLUSTERS = "clusters"
"""Name of the group."""

DIGEST = "shapes"
"""Counter of a checkpoint with a digest of its shapes."""


def cluster_groups(clusters: RigidClusters | None) -> Groups:
    """Return this rank's part of the group, nothing for a case without shapes."""
    return {} if clusters is None else {CLUSTERS: clusters.table.as_columns()}


def shapes_digest(clusters: RigidClusters | None) -> dict[str, NDArray[Any]]:
    """Return the digest of the shapes of a run, since their files may change; empty without shapes."""
    if clusters is None:
        return {}
    digest = hashlib.blake2b(digest_size=8)
    for array in clusters.table.shapes:
        digest.update(np.ascontiguousarray(array).tobytes())
    return {DIGEST: np.frombuffer(digest.digest(), np.int64)[0].copy()}


def _require_same_shapes(system: System, groups: Groups) -> None:
    """Require that the shapes equal the shapes of a checkpoint.

    Raises
    ------
    CheckpointError
        On all ranks, if they differ.
    """
    stored = groups["counters"].get(DIGEST)
    if stored is not None and int(stored) != int(shapes_digest(system.clusters)[DIGEST]):
        raise CheckpointError(
            "the shapes of the case differ from those of the checkpoint: a file of shapes has changed since, or its "
            "spheres are rounded otherwise on this processor; put the old files back, or begin a new run"
        )


def load_clusters(system: System, groups: Groups, owner: Integers) -> Integers:
    """Send the rows of clusters to the ranks that own their centres; return the owners of particles.

    `owner` are the ranks that own the positions of the particles on this rank; members go with their cluster.
    Collective.
    """
    if system.clusters is None:
        return owner
    _require_same_shapes(system, groups)
    exchange, rows = system.exchange, groups.setdefault(CLUSTERS, Clusters(NO_SHAPES).as_columns())
    to, cluster = exchange.owners(rows["position"]), groups["particles"]["cluster"]
    of_cluster = IdDirectory(exchange, rows["number"], to).find(cluster)
    came = exchange.route(dict(rows), to)
    rows.clear()
    system.clusters.table.replace(came["number"], came["image"], states_of(came))
    return np.where(cluster > 0, of_cluster, owner)
