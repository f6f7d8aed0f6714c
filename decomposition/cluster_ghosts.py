"""Refreshing copies of clusters: in each step a neighbour gets the state of a cluster, not its spheres.

Both sides know which clusters these are from the copies of spheres that they have exchanged, and in which order: that
of their numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from decomposition.copies import Copied
from decomposition.ghosts import Ghosts
from pdem.containers.clusters import STATE
from pdem.containers.exchange import Traffic

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.containers.clusters import Clusters
    from pdem.containers.particles import Particles

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

_SPHERES, _STATES = 17, 18
"""Tags of messages."""


def with_members_last(particles: Particles, copied: Copied) -> Copied:
    """Return copies in an order on which both sides agree: of each neighbour single spheres, then members."""
    rows = [one[np.argsort(particles.cluster[one] > 0, kind="stable")] for one in copied.rows]
    source = np.repeat(np.arange(len(copied.numbers)), copied.numbers)
    order = np.lexsort((copied.ghosts["cluster"] > 0, source))
    return Copied(rows, copied.ghosts[order], copied.numbers)


class ClusterGhosts:
    """The messages of a step where there are clusters: rows of single spheres, and states of clusters.

    Parameters
    ----------
    communicator
        Of all ranks.
    """

    def __init__(self, communicator: Any) -> None:
        self._spheres = Ghosts(communicator, _SPHERES)
        self._states = Ghosts(communicator, _STATES, STATE)
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
        single = [one[particles.cluster[one] == 0] for one in copied.rows]
        sent = [np.unique(particles.cluster[one]) for one in copied.rows]
        sent = [one[one > 0] for one in sent]
        ends = np.cumsum(copied.numbers)
        of_each = [
            copied.ghosts["cluster"][end - many : end] for end, many in zip(ends, copied.numbers, strict=True)
        ]
        came = [np.unique(one[one > 0]) for one in of_each]
        singles = np.array([np.count_nonzero(one == 0) for one in of_each], np.int64)
        self._spheres.connect(neighbours, single, singles, begins)
        numbers = np.array([len(one) for one in came], np.int64)
        clusters.take_ghosts(np.concatenate([np.zeros(0, np.int64), *came]))
        rows = [clusters.rows_of(one) for one in sent]
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
        return Traffic(
            *(sum(both) for both in zip(self._spheres.traffic(), self._states.traffic(), strict=True))
        )
