"""Updates of cluster ghosts: in each step a neighbour receives the state of a cluster instead of its spheres.

Both sides derive the list of clusters from the ghost spheres that they have exchanged, and sort it by cluster number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from decomposition.copies import Copied, split_rows
from decomposition.ghosts import Ghosts
from decomposition.tags import CLUSTER_STATES, SPHERE_ROWS
from pdem.containers.clusters import STATE
from pdem.containers.exchange import Traffic

if TYPE_CHECKING:
    from pdem.containers.clusters import Clusters
    from pdem.containers.particles import Particles
    from pdem.foundation.array_types import Floats, Integers

STATE_BYTES = 8 * STATE
"""Size of the state of one cluster in the message of a step [bytes]."""


def with_members_last(particles: Particles, copied: Copied) -> Copied:
    """Sort the copies of each neighbour, single spheres before members of clusters: the same order on both sides."""
    rows = [one[np.argsort(particles.cluster[one] > 0, kind="stable")] for one in copied.rows]
    source = np.repeat(np.arange(len(copied.numbers)), copied.numbers)
    order = np.lexsort((copied.ghosts["cluster"] > 0, source))
    return Copied(rows, copied.ghosts[order], copied.numbers)


class SharedSpheres(NamedTuple):
    """Spheres and clusters that are updated in each step, for each of k neighbours.

    Attributes
    ----------
    single : list of k int64 arrays
        Owned rows of the single spheres that the neighbour has as ghosts.
    singles : (k,) int64 array
        Number of this rank's ghosts that are single spheres of the neighbour.
    sent, came : lists of k int64 arrays
        Numbers of the owned clusters that the neighbour has as ghosts, and of the neighbour's clusters that this rank
        has as ghosts; in increasing order.
    """

    single: list[Integers]
    singles: Integers
    sent: list[Integers]
    came: list[Integers]


def shared_spheres(particles: Particles, copied: Copied) -> SharedSpheres:
    """Return the single spheres and the clusters among exchanged copies."""
    of_each = split_rows(copied.ghosts["cluster"], copied.numbers)
    sent = [np.unique(particles.cluster[rows]) for rows in copied.rows]
    came = [np.unique(one) for one in of_each]
    return SharedSpheres(
        [rows[particles.cluster[rows] == 0] for rows in copied.rows],
        np.array([np.count_nonzero(one == 0) for one in of_each], np.int64),
        [one[one > 0] for one in sent],
        [one[one > 0] for one in came],
    )


class ClusterGhosts:
    """Messages of a step in a case with clusters: rows of single spheres, and states of clusters.

    Parameters
    ----------
    communicator
        Communicator of all ranks.
    """

    def __init__(self, communicator: Any) -> None:
        self._spheres = Ghosts(communicator, SPHERE_ROWS)
        self._states = Ghosts(communicator, CLUSTER_STATES, STATE)
        self._waits = False

    def connect(
        self, neighbours: Integers, copied: Copied, particles: Particles, clusters: Clusters, begins: Integers
    ) -> None:
        """Set up the messages from the exchanged copies, and fetch the states of ghost clusters. Collective.

        Parameters
        ----------
        neighbours : (k,) int64 array
            Neighbour ranks in increasing order.
        copied : Copied
            Exchanged copies of spheres, members of clusters last.
        particles, clusters : Particles, Clusters
            Particles and clusters of this rank. Ghosts of particles have been appended; ghosts of clusters are added
            here.
        begins : (k,) int64 array
            Row of the first ghost from each neighbour.
        """
        shared = shared_spheres(particles, copied)
        self._spheres.connect(neighbours, shared.single, shared.singles, begins)
        numbers = np.array([len(one) for one in shared.came], np.int64)
        clusters.take_ghosts(np.concatenate([np.zeros(0, np.int64), *shared.came]))
        rows = [clusters.rows_of(one) for one in shared.sent]
        self._states.connect(neighbours, rows, numbers, clusters.count + np.cumsum(numbers) - numbers)
        self._states.begin_update(clusters.states)
        self._states.finish_update()

    def begin_update(self, rows: Floats, states: Floats) -> None:
        """Start the messages that update rows of single spheres and states of clusters."""
        self._spheres.begin_update(rows)
        self._states.begin_update(states)
        self._waits = True

    def finish_update(self) -> None:
        """Wait for the messages of `begin_update`, if there are any."""
        if self._waits:
            self._spheres.finish_update()
            self._states.finish_update()
        self._waits = False

    def traffic(self) -> Traffic:
        """Return the number of messages and bytes that cross ranks in a step."""
        return Traffic(*(sum(both) for both in zip(self._spheres.traffic(), self._states.traffic(), strict=True)))
