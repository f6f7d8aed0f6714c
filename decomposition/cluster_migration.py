"""Migration of clusters of spheres to their new owners, and their overhang beyond the parts of their ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from decomposition.migration import counts_for, rows_leaving
from pdem.containers.clusters import SCALE, SHAPE, STATE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from decomposition.messages import Messages
    from pdem.containers.box_shape import BoxShape
    from pdem.containers.clusters import Clusters
    from pdem.containers.particles import Particles
    from pdem.foundation.array_types import Floats, Integers

_CLUSTER = np.dtype([("number", np.int64), ("image", np.int32, (3,)), ("state", np.float64, (STATE,))])
"""Type of the row of a cluster in a message."""


def hand_over_clusters(
    messages: Messages, rank: int, owner: Integers, clusters: Clusters, partners: Integers | None = None
) -> None:
    """Send clusters that leave this rank to their new owners, and receive arriving clusters. Collective.

    Parameters
    ----------
    messages : Messages
        Messages to the other ranks.
    rank : int
        Number of this rank.
    owner : (c,) int64 array
        New owner of each owned cluster.
    clusters : Clusters
        Clusters of this rank. They are replaced by the clusters that remain here or arrive.
    partners : (k,) int64 array, optional
        Neighbour ranks in increasing order; the relation is symmetric. Requires that clusters move between
        neighbours only, on all ranks.
    """
    own, leaving = _packed(clusters), rows_leaving(rank, owner)
    rows, to = own[leaving], owner[leaving]
    if partners is None:
        came = messages.route({"rows": rows}, to)["rows"]
    else:
        came, _ = messages.swap(partners, rows, counts_for(partners, to))
    here = np.concatenate((own[owner == rank], came))
    clusters.replace(here["number"], here["image"], here["state"])


def _packed(clusters: Clusters) -> NDArray[Any]:
    """Return the owned clusters as one structured array."""
    rows = np.empty(clusters.count, _CLUSTER)
    rows["number"], rows["image"] = clusters.number[: clusters.count], clusters.image
    rows["state"] = clusters.states[: clusters.count]
    return rows


def largest_overhang(clusters: Clusters | None) -> float:
    """Return the largest distance of members from the centre of their cluster [m]; the centre decides the owner."""
    if clusters is None:
        return 0.0
    states = clusters.states[: clusters.count]
    reach = states[:, SCALE] * clusters.shapes.reach[states[:, SHAPE].astype(np.int64)]
    return float(reach.max(initial=0.0))


def unwrapped_positions(particles: Particles, clusters: Clusters | None, shape: BoxShape) -> Floats:
    """Return the positions (n, 3) of the owned particles, members next to the centre of their cluster [m].

    A member's position that is wrapped into the box may be at the opposite end, far from the part of its rank.
    """
    if clusters is None:
        return particles.position
    centre = clusters.centres(particles)
    return centre + shape.nearest(particles.position - centre)
