"""Refreshing copies of clusters: in each step a neighbour gets the state of a cluster, not its spheres.

Both sides know which clusters these are from the copies of spheres that they have exchanged, and in which order: that
of their numbers.
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
"""Bytes of one cluster in the message of a step."""


def with_members_last(particles: Particles, copied: Copied) -> Copied:
    """Return copies in an order on which both sides agree: of each neighbour single spheres, then members."""
    rows = [one[np.argsort(particles.cluster[one] > 0, kind="stable")] for one in copied.rows]
    source = np.repeat(np.arange(len(copied.numbers)), copied.numbers)
    order = np.lexsort((copied.ghosts["cluster"] > 0, source))
    return Copied(rows, copied.ghosts[order], copied.numbers)


class SharedSpheres(NamedTuple):
    """What is refreshed in steps, of each of k neighbours.

    Attributes
    ----------
    single : list of k int64 arrays
        Owned rows of single spheres that it has copies of.
    singles : (k,) int64 array
        Copies of its single spheres.
    sent, came : lists of k int64 arrays
        Numbers of clusters that it has copies of, and of those that it owns of which there are copies here; rising.
    """

    single: list[Integers]
    singles: Integers
    sent: list[Integers]
    came: list[Integers]


def shared_spheres(particles: Particles, copied: Copied) -> SharedSpheres:
    """Return single spheres and clusters among copies."""
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
    """The messages of a step where there are clusters: rows of single spheres, and states of clusters.

    Parameters
    ----------
    communicator
        Of all ranks.
    """

    def __init__(self, communicator: Any) -> None:
        self._spheres = Ghosts(communicator, SPHERE_ROWS)
        self._states = Ghosts(communicator, CLUSTER_STATES, STATE)
        self._waits = False

    def connect(
        self, neighbours: Integers, copied: Copied, particles: Particles, clusters: Clusters, begins: Integers
    ) -> None:
        """Say what goes where, and fetch the states of the copies that `clusters` gets. Collective.

        Parameters
        ----------
        neighbours : (k,) int64 array
            Ranks, rising.
        copied : Copied
            Copies of spheres, members last.
        particles, clusters : Particles, Clusters
            Of this rank; ghosts of particles have been appended.
        begins : (k,) int64 array
            Row of the first copy from each neighbour.
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
        """Begin to refresh rows of single spheres and states of clusters."""
        self._spheres.begin_update(rows)
        self._states.begin_update(states)
        self._waits = True

    def finish_update(self) -> None:
        """Return when they are here, if that was begun."""
        if self._waits:
            self._spheres.finish_update()
            self._states.finish_update()
        self._waits = False

    def traffic(self) -> Traffic:
        """Return what crosses ranks in a step."""
        return Traffic(*(sum(both) for both in zip(self._spheres.traffic(), self._states.traffic(), strict=True)))
