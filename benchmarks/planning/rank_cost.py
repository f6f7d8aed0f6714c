"""What a step of one rank costs, measured in turn with other ranks."""

from __future__ import annotations

import multiprocessing
import os
import time
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from benchmarks.planning.predict import MESSAGES
from pdem.engine import step as time_step
from pdem.engine.phases import Phases
from pdem.engine.same_lists import advance_with_same_lists

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.planning.network import Network
    from benchmarks.planning.one_of_many import OneOfMany
    from pdem.containers.exchange import Traffic
    from pdem.engine.system import System

_LEAD = 20
"""Steps before others are timed, in which processes that share memory come to have their own."""


@dataclass(frozen=True)
class RankCost:
    """What one rank has, and what it takes.

    Attributes
    ----------
    rank : int
        Its number.
    owned, ghosts, neighbours : int
        Particles, copies of those of others, ranks that it exchanges messages with.
    traffic : Traffic
        Messages and bytes of a step.
    step : float
        Work of a step without lists, packing included [s].
    early : float
        Part of it that is done while ghosts travel [s]: contacts among owned particles, and with walls.
    detection : float
        Work of a detection [s].
    bytes : int
        Memory of particles, contacts and lists.
    """

    rank: int
    owned: int
    ghosts: int
    neighbours: int
    traffic: Traffic
    step: float
    early: float
    detection: float
    bytes: int

    @property
    def most_bytes(self) -> int:
        """Bytes that it sends or receives in a step, whichever are more."""
        return max(self.traffic.sent, self.traffic.received)

    def delay(self, network: Network) -> float:
        """Return how much longer messages make a step [s]."""
        messages = max(self.traffic.sends, self.traffic.receives)
        return float(network.delay(messages, self.most_bytes, self.early))

    def seconds(self, detections: float, network: Network) -> float:
        """Return the time of a mean step, with so many detections per step, messages included [s]."""
        lists = self.detection + MESSAGES * float(network.exchange(self.neighbours))
        return self.step + self.delay(network) + detections * lists


class TimedRank:
    """A rank that takes steps while somebody looks at the clock.

    Parameters
    ----------
    rank : int
        Its number.
    system : System
        Its state, with lists.
    exchange : OneOfMany
        That of the system.

    Attributes
    ----------
    detections : float
        Of a step, as measured.
    """

    def __init__(self, rank: int, system: System, exchange: OneOfMany) -> None:
        self.rank, self._system, self._exchange = rank, system, exchange
        self._phases = Phases()
        self._steps: list[float] = []
        self._early: list[float] = []
        self._detections: list[float] = []
        self._taken = self._made = 0

    @property
    def owned(self) -> int:
        """Number of its particles."""
        return self._system.particles.count

    @property
    def detections(self) -> float:
        """Measured detections per step."""
        return self._made / self._taken

    def advance(self, steps: int) -> None:
        """Take steps."""
        system, last = self._system, self._system.progress.step + steps
        while system.progress.step < last:
            begun = advance_with_same_lists(system, self._phases, last - 1)
            following = system.progress.step + (begun is None)
            time_step.advance(system, self._phases, ahead=following < last, begun=begun)

    def time(self, steps: int, beside: int = 0) -> None:
        """Take steps and then make lists, and note how long both took.

        Parameters
        ----------
        steps : int
            How many.
        beside : int
            Other processes that take the same steps meanwhile, as the other ranks of a node would.
        """
        with self._others_busy(beside):
            made, begin = self._system.lists.detections, self._own_clock()
            walls, pairs = self._spent("walls"), self._spent("pairs")
            self.advance(steps)
            early = self._spent("walls") - walls + self._share_of_owned() * (self._spent("pairs") - pairs)
            seconds, made = self._own_clock() - begin, self._system.lists.detections - made
            begin = self._own_clock()
            time_step.migrate_and_rebuild_lists(self._system, None, Phases())
            detection = self._own_clock() - begin
        self._taken, self._made = self._taken + steps, self._made + made
        self._detections.append(detection)
        self._steps.append(max(seconds - made * detection, 0.0) / steps)
        self._early.append(early / steps)

    def cost(self) -> RankCost:
        """Return the costs: medians of what was timed."""
        particles, exchange = self._system.particles, self._exchange
        return RankCost(
            self.rank, particles.count, particles.ghosts, exchange.neighbours, exchange.traffic(),
            median(self._steps), median(self._early), median(self._detections), self._system.memory(),
        )  # fmt: skip

    def _spent(self, phase: str) -> float:
        return self._phases.spent(phase)

    def _share_of_owned(self) -> float:
        """Return the share of candidates without a ghost, whose contacts are evaluated before ghosts are waited for."""
        pairs = self._system.contacts.pairs
        return float(pairs.inner / max(pairs.candidates, 1))

    def _own_clock(self) -> float:
        """Return a time without what was spent on the work of other ranks [s]."""
        return time.perf_counter() - self._exchange.seconds_of_others

    @contextmanager
    def _others_busy(self, count: int) -> Iterator[None]:
        """Have copies of this process take steps meanwhile."""
        fork = multiprocessing.get_context("fork")
        others = [fork.Process(target=self._advance_while, args=(os.getpid(),), daemon=True) for _ in range(count)]
        for one in others:
            one.start()
        try:
            self.advance(_LEAD if count else 0)
            yield
        finally:
            for one in others:
                one.kill()
                one.join()

    def _advance_while(self, parent: int) -> None:
        """Take steps as long as the process that has started this one lives."""
        while os.getppid() == parent:
            self.advance(_LEAD)
