"""One rank among many that are not there: it decides, copies, packs and computes as it would in a run on all of them.

Its neighbours are particles that somebody has made. What they would send is found by the same functions with which they
would decide; the time that takes is counted apart.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from decomposition.compiled_messages import gather_rows, gathering
from decomposition.copies import Copier, Sizes
from decomposition.ghosts import ROW_BYTES, append_ghosts
from decomposition.layers import (
    Cells,
    extents_of_levels,
    levels_of,
    mark_layer,
    may_meet,
    with_levels_below,
)
from decomposition.packing import GHOST, pack
from decomposition.repeats import Repeats
from pdem.containers.exchange import Alone, Traffic

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from pdem.containers.clusters import Clusters
    from pdem.containers.exchange import ExchangeCalls
    from pdem.containers.particles import Particles

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]


class OneOfMany(Alone):
    """What a rank asks of others, answered for it; implements `pdem.containers.exchange.Exchange`.

    Parameters
    ----------
    neighbours : sequence of Particles
        Of each rank that may be near: at least all of its particles that are within twice the largest reach of the
        particles of this rank.
    period : (3,) array
        Of the axes [m], 0 for open ones.
    threads : int
        Of this rank.

    Attributes
    ----------
    neighbours : int
        How many of them have been asked at the last detection.
    seconds_of_others : float
        Time spent so far on what the others would do [s].
    """

    def __init__(self, neighbours: Sequence[Particles], period: Floats, threads: int = 1) -> None:
        super().__init__(threads)
        self._others, self._repeats = list(neighbours), Repeats.upright(period)
        self._rows, self._buffer = np.empty(0, np.int64), np.empty((0, ROW_BYTES // 8))
        self._numbers = np.zeros(0, np.int64)
        self._messages = 0
        self.neighbours = 0
        self.seconds_of_others = 0.0

    def make_ghosts(
        self,
        particles: Particles,
        reach: Callable[[Floats, Floats, Floats], Any],
        radii: Floats,
        clusters: Clusters | None = None,
    ) -> None:
        """Append copies of the particles of others as `decomposition.exchange.RankExchange` does."""
        mine = _extents_of(particles, Sizes(reach, radii))
        begin = time.perf_counter()
        others = _Others(self._others, Sizes(reach, radii), mine, self._repeats)
        self.seconds_of_others += time.perf_counter() - begin
        copier = Copier(others, particles, Sizes(reach, radii), mine, self._repeats)
        copied = copier.exchange(others.numbers, others.extents)
        self.seconds_of_others += others.seconds
        append_ghosts(particles, copied.ghosts)
        self.neighbours, self._numbers = len(others.numbers), copied.numbers
        self._messages = sum(len(rows) > 0 for rows in copied.rows)
        self._rows = np.concatenate([np.empty(0, np.int64), *copied.rows])
        self._buffer = np.empty((len(self._rows), ROW_BYTES // 8))

    def begin_update(self, rows: Floats, states: Floats | None = None) -> None:
        """Gather the rows that go to the neighbours."""
        gather_rows(rows, self._rows, self._buffer)

    def calls(self, rows: Floats) -> ExchangeCalls | None:
        """Return how kernels gather these rows."""
        return gathering(rows, self._rows, self._buffer)

    def traffic(self) -> Traffic:
        """Return what this rank would send and receive in a step."""
        sent, received = len(self._rows), int(self._numbers.sum())
        return Traffic(self._messages, int((self._numbers > 0).sum()), ROW_BYTES * sent, ROW_BYTES * received)


def _extents_of(particles: Particles, sizes: Sizes) -> Floats:
    """Return the extents (L, `EXTENT`) of the particles of each level and all below."""
    level, reach = levels_of(particles.radius, sizes.radii), sizes.reach_of_owned(particles)
    return with_levels_below(extents_of_levels(particles.position, reach, level, len(sizes.radii)))


class _Others:
    """What the neighbours answer in one detection; implements `decomposition.copies.Swap`.

    Attributes
    ----------
    numbers : (k,) int64 array
        Of those that may have something to send.
    extents : (k, L, `EXTENT`) array
        Of their particles of each level and all below.
    seconds : float
        Time spent on their answers [s].
    """

    def __init__(self, others: Sequence[Particles], sizes: Sizes, extents: Floats, repeats: Repeats) -> None:
        self._sizes, self._extents, self._repeats = sizes, extents, repeats
        found = [_extents_of(one, sizes) for one in others]
        theirs = np.array(found).reshape(len(found), *extents.shape)
        near = may_meet(extents[-1], theirs[:, -1], repeats)
        self._particles = [others[number] for number in np.flatnonzero(near).tolist()]
        self.numbers, self.extents = np.arange(len(self._particles)), theirs[near]
        self._marks: list[NDArray[np.bool_]] = []
        self.seconds = 0.0

    def swap(self, partners: Integers, rows: NDArray[Any], sent: Integers) -> tuple[NDArray[Any], Integers]:
        """Return what the neighbours send: at first the layers of their larger particles, then partners of copies."""
        begin = time.perf_counter()
        answers = self._partners(rows, sent) if self._marks else self._layers()
        packed = [pack(one, found, GHOST) for one, found in zip(self._particles, answers, strict=True)]
        self.seconds += time.perf_counter() - begin
        return np.concatenate([np.empty(0, GHOST), *packed]), np.array([len(one) for one in packed], np.int64)

    def _layers(self) -> list[Integers]:
        for one in self._particles:
            mark = np.zeros(one.count, bool)
            level = levels_of(one.radius, self._sizes.radii)
            reach = self._sizes.reach_of_owned(one)
            mark_layer(one.position, reach, level, self._extents, tuple(self._repeats), mark)
            self._marks.append(mark)
        return [np.flatnonzero(mark) for mark in self._marks]

    def _partners(self, rows: NDArray[Any], sent: Integers) -> list[Integers]:
        found, ends = [], np.cumsum(sent)
        for number, one in enumerate(self._particles):
            copies, before = rows[ends[number] - sent[number] : ends[number]], self._marks[number]
            mark = before.copy()
            level = levels_of(one.radius, self._sizes.radii)
            cells = Cells(
                one.position,
                self._sizes.reach_of_owned(one),
                level,
                self.extents[number, :, 6].copy(),
                self._repeats,
            )
            radius = np.ascontiguousarray(copies["radius"])
            cells.mark_partners(
                np.ascontiguousarray(copies["position"]), self._sizes.reach_of(copies),
                levels_of(radius, self._sizes.radii), mark,
            )  # fmt: skip
            found.append(np.flatnonzero(mark & ~before))
        return found
