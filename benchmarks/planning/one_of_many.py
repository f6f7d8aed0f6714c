"""Simulation of one rank of a large run without the other ranks: it decides, copies, packs and computes as in the run.

Generated particles represent its neighbours. The messages that they would send are computed by the same functions that
the neighbours would use; the time of this computation is measured separately.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from decomposition.cluster_ghosts import shared_spheres, with_members_last
from decomposition.cluster_migration import unwrapped_positions
from decomposition.compiled_messages import gather_rows, gathering
from decomposition.copies import Selection, Sizes, exchange_copies, extents_of, split_rows
from decomposition.ghosts import append_ghosts
from decomposition.layers import may_meet, with_levels_below
from decomposition.packing import pack
from decomposition.repeats import Repeats
from pdem.containers.box_shape import BoxShape
from pdem.containers.clusters import STATE
from pdem.containers.exchange import Alone, Traffic
from pdem.foundation.packed_row import PACKED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from decomposition.copies import Copied
    from pdem.containers.clusters import Clusters
    from pdem.containers.exchange import ExchangeCalls
    from pdem.containers.particles import Particles
    from pdem.foundation.array_types import Booleans, Floats, Integers


class OtherRank(NamedTuple):
    """Particles of a rank that does not exist, or the nearby part of these particles.

    Attributes
    ----------
    particles : Particles
        Spheres, members of clusters among them.
    Clusters of the member spheres; None without shapes.
    """

    particles: Particles
    clusters: Clusters | None = None


class _Gathered:
    """Rows that are gathered in each step for a message."""

    def __init__(self, rows: Sequence[Integers], width: int) -> None:
        self.rows = np.concatenate([np.empty(0, np.int64), *rows])
        self.buffer = np.empty((len(self.rows), width))
        self.messages = sum(len(one) > 0 for one in rows)

    def gather(self, source: Floats) -> None:
        """Copy the rows into the buffer."""
        gather_rows(source, self.rows, self.buffer)

    def traffic(self, numbers: Integers) -> Traffic:
        """Return the traffic for these rows, with `numbers` rows received from each neighbour."""
        received = self.buffer.itemsize * self.buffer.shape[1] * int(numbers.sum())
        return Traffic(self.messages, int((numbers > 0).sum()), self.buffer.nbytes, received)


class OneOfMany(Alone):
    """Substitute for the other ranks of a run; implements `pdem.containers.exchange.Exchange`.

    Parameters
    ----------
    Each rank that may be near, with at least all of its particles within twice the largest reach of the
    particles of this rank.
    period : (3,) array
        Lengths of the periodic axes [m], 0 for open axes.
    cut_axes : (3,) bool array
        See `pdem.containers.exchange.Exchange.cut_axes`.
    threads : int
        Threads of this rank.

    Attributes
    ----------
    neighbours : int
        Number of neighbours in the last detection.
    seconds_of_others : float
        Time spent so far on computations of the other ranks [s].
    """

    def __init__(self, neighbours: Sequence[OtherRank], period: Floats, cut_axes: Booleans, threads: int = 1) -> None:
        super().__init__(threads)
        self._cut_axes = cut_axes
        self._others, self._shape = list(neighbours), BoxShape.upright(np.zeros(3), period)
        self._spheres, self._states = _Gathered([], PACKED), _Gathered([], STATE)
        self._columns: list[_Gathered] = []
        self._numbers = self._numbers_of_states = self._numbers_of_all = np.zeros(0, np.int64)
        self._has_clusters = False
        self.neighbours = 0
        self.seconds_of_others = 0.0

    @property
    def cut_axes(self) -> Booleans:
        """See `pdem.containers.exchange.Exchange.cut_axes`."""
        return self._cut_axes

    def make_ghosts(
        self,
        particles: Particles,
        reach: Callable[[Floats, Floats, Floats], Any],
        radii: Floats,
        clusters: Clusters | None = None,
    ) -> None:
        """Append ghosts as `decomposition.exchange.RankExchange` does."""
        sizes = Sizes(reach, radii)
        mine = _extents_of(OtherRank(particles, clusters), sizes, self._shape)
        begin = time.perf_counter()
        others = _Answers(self._others, sizes, mine, self._shape)
        self.seconds_of_others += time.perf_counter() - begin
        selection = Selection(particles, sizes, mine, Repeats.of(self._shape))
        copied = exchange_copies(others, selection, others.numbers, others.extents)
        self.seconds_of_others += others.seconds
        copied = copied if clusters is None else with_members_last(particles, copied)
        append_ghosts(particles, copied.ghosts)
        self.neighbours, self._numbers, self._numbers_of_all = (len(others.numbers), copied.numbers, copied.numbers)
        widths = [column.shape[1] for column in particles.columns_beside_rows()]
        self._columns = [_Gathered(copied.rows, width) for width in widths]
        if clusters is None:
            self._spheres = _Gathered(copied.rows, PACKED)
        else:
            self._connect_clusters(particles, clusters, copied, others)

    def _connect_clusters(self, particles: Particles, clusters: Clusters, copied: Copied, others: _Answers) -> None:
        """Set up the rows that are gathered in a case with clusters, and append copies of remote clusters."""
        shared = shared_spheres(particles, copied)
        self._has_clusters, self._numbers = True, shared.singles
        self._numbers_of_states = np.array([len(one) for one in shared.came], np.int64)
        clusters.take_ghosts(np.concatenate([np.zeros(0, np.int64), *shared.came]))
        self._spheres = _Gathered(shared.single, PACKED)
        self._states = _Gathered([clusters.rows_of(one) for one in shared.sent], STATE)
        begin = time.perf_counter()
        clusters.states[clusters.count :] = others.states(shared.came)
        self.seconds_of_others += time.perf_counter() - begin

    def begin_update(self, rows: Floats, states: Floats | None = None, columns: Sequence[Floats] = ()) -> None:
        """Gather the rows for the neighbours."""
        self._spheres.gather(rows)
        for one, column in zip(self._columns, columns, strict=False):
            one.gather(column)
        if states is not None and self._has_clusters:
            self._states.gather(states)

    def calls(self, rows: Floats) -> ExchangeCalls | None:
        """Return the calls by which kernels gather these rows; None with clusters or columns, as among real ranks."""
        in_python = self._has_clusters or self._columns
        return None if in_python else gathering(rows, self._spheres.rows, self._spheres.buffer)

    def traffic(self) -> Traffic:
        """Return the messages and bytes that this rank would send and receive in a step."""
        all_ = (
            self._spheres.traffic(self._numbers), self._states.traffic(self._numbers_of_states),
            *(one.traffic(self._numbers_of_all) for one in self._columns),
        )  # fmt: skip
        return Traffic(*(sum(each) for each in zip(*all_, strict=True)))


def _extents_of(one: OtherRank, sizes: Sizes, shape: BoxShape) -> Floats:
    """Return the extents (L, `EXTENT`) of a rank's particles; the row of a level includes all lower levels."""
    position = unwrapped_positions(one.particles, one.clusters, shape)
    return with_levels_below(extents_of(one.particles, position, sizes))


class _Answers:
    """Messages of the neighbours in one detection; implements `decomposition.copies.Swap`.

    Attributes
    ----------
    numbers : (k,) int64 array
        Numbers of the neighbours that may have something to send.
    extents : (k, L, `EXTENT`) array
        Extents of their particles; the row of a level includes all lower levels.
    seconds : float
        Time spent on their messages [s].
    """

    def __init__(self, others: Sequence[OtherRank], sizes: Sizes, extents: Floats, shape: BoxShape) -> None:
        self._extents, repeats = extents, Repeats.of(shape)
        found = [_extents_of(one, sizes, shape) for one in others]
        theirs = np.array(found).reshape(len(found), *extents.shape)
        near = may_meet(extents[-1], theirs[:, -1], repeats)
        chosen = [others[number] for number in np.flatnonzero(near).tolist()]
        self._clusters = [one.clusters for one in chosen]
        self.numbers, self.extents = np.arange(len(chosen)), theirs[near]
        self._selections = [
            Selection(one.particles, sizes, its, repeats) for one, its in zip(chosen, self.extents, strict=True)
        ]
        self._sent: list[Integers] = []
        self.seconds = 0.0

    def states(self, numbers: Sequence[Integers]) -> Floats:
        """Return the states (n, `STATE`) of some clusters of each neighbour, by their numbers."""
        found = [
            clusters.states[clusters.rows_of(some)]
            for clusters, some in zip(self._clusters, numbers, strict=True)
            if clusters is not None
        ]
        return np.concatenate([np.empty((0, STATE)), *found])

    def swap(self, partners: Integers, rows: NDArray[Any], sent: Integers) -> tuple[NDArray[Any], Integers]:
        """Return the rows of the neighbours: first layers of their larger particles, then partners of copies."""
        begin = time.perf_counter()
        if self._sent:
            chosen = zip(self._selections, self._sent, split_rows(rows, sent), strict=True)
            answers = [one.partners(before, copies) for one, before, copies in chosen]
        else:
            self._sent = answers = [one.layer(self._extents) for one in self._selections]
        packed = [pack(one.particles, found, rows.dtype) for one, found in zip(self._selections, answers, strict=True)]
        self.seconds += time.perf_counter() - begin
        return np.concatenate([np.empty(0, rows.dtype), *packed]), np.array([len(one) for one in packed], np.int64)
