"""Clusters in the state of a run: a group of a checkpoint, a row for each cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.containers.clusters import states_of
from pdem.containers.id_directory import IdDirectory

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.simulation.system import System

    Groups = dict[str, dict[str, NDArray[Any]]]

CLUSTERS = "clusters"
"""Name of the group."""


def cluster_groups(system: System) -> Groups:
    """Return this rank's part of the group, nothing for a case without shapes."""
    return {} if system.clusters is None else {CLUSTERS: system.clusters.table.as_columns()}


def load_clusters(system: System, groups: Groups, owner: NDArray[np.int64]) -> NDArray[np.int64]:
    """Hand the rows of clusters to the ranks in whose parts their centres are; return who owns the particles.

    `owner` are the ranks in whose parts the particles are that this rank holds; members go with their cluster.
    Collective.
    """
    if system.clusters is None:
        return owner
    exchange, rows = system.exchange, groups[CLUSTERS]
    to, cluster = exchange.owners(rows["position"]), groups["particles"]["cluster"]
    of_cluster = IdDirectory(exchange, rows["number"], to).find(cluster)
    came = exchange.route(dict(rows), to)
    rows.clear()
    system.clusters.table.replace(came["number"], came["image"], states_of(came))
    return np.where(cluster > 0, of_cluster, owner)
