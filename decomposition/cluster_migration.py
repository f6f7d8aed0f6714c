"""Clusters of spheres that go to their new owners, and how far they stick out of the parts of their ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.containers.clusters import SCALE, SHAPE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.containers.box_shape import BoxShape
    from pdem.containers.clusters import Clusters
    from pdem.containers.exchange import Exchange
    from pdem.containers.particles import Particles


def hand_over_clusters(exchange: Exchange, clusters: Clusters) -> None:
    """Hand the states of clusters to the ranks in whose parts their centres are. Collective."""
    own = slice(0, clusters.count)
    columns: dict[str, NDArray[Any]] = {
        "number": clusters.number[own],
        "image": clusters.image,
        "state": clusters.states[own],
    }
    came = exchange.route(columns, exchange.owners(np.ascontiguousarray(clusters.position)))
    clusters.replace(came["number"], came["image"], came["state"])


def largest_overhang(clusters: Clusters | None) -> float:
    """Return how far members of a rank's clusters may be from their centres, with which they are owned [m]."""
    if clusters is None:
        return 0.0
    states = clusters.states[: clusters.count]
    reach = states[:, SCALE] * clusters.shapes.reach[states[:, SHAPE].astype(np.int64)]
    return float(reach.max(initial=0.0))


def unwrapped_positions(
    particles: Particles, clusters: Clusters | None, shape: BoxShape
) -> NDArray[np.float64]:
    """Return positions (n, 3) of the owned particles, of members those next to the centre of their cluster [m].

    Those lie beside the part of the rank, while positions in the box may be at its other end.
    """
    if clusters is None:
        return particles.position
    centre = clusters.centres(particles)
    return centre + shape.nearest(particles.position - centre)
