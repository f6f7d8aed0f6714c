"""How many bodies each particle touches, as snapshots have it. All are integers, the same on any ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.contact.law.contact_law import OVERLAP
from pdem.foundation.fields import Field

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.engine.system import System

CONTACT_COUNT = Field(
    "contact_count", np.int32, (), "1", "number of contacts that overlap, with particles and walls"
)
"""Column of snapshots of particles, and of clusters: the sum over the spheres of each."""


def contact_counts(system: System) -> NDArray[np.int32]:
    """Return how many contacts each owned particle has (n,), with particles and walls.

    Contacts that are stretched, such as bridges of liquid, act, but do not count.
    """
    owned, pairs = system.particles.count, system.pair_contacts
    found = np.zeros(owned, np.int64)
    for touching, histories in pairs.pieces():
        deep = touching[histories[OVERLAP] > 0.0]
        ends = np.concatenate((pairs.lower[deep], pairs.higher[deep]))
        found += np.bincount(ends[ends < owned], minlength=owned)
    if system.wall_contacts is not None:
        particle, row, _, histories = system.wall_contacts.places()
        found += np.bincount(particle[histories[row, OVERLAP] > 0.0], minlength=owned)
    return found.astype(np.int32)


def counts_of_clusters(system: System, counts: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the contacts of each owned cluster (c,) from those of the particles: the sum over its members."""
    assert system.clusters is not None
    table, cluster = system.clusters.table, system.particles.cluster
    member = np.flatnonzero(cluster)
    rows = table.rows_of(cluster[member])
    return np.bincount(rows, weights=counts[member], minlength=table.count).astype(np.int32)
