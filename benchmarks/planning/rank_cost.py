"""Costs of a step of one rank, measured in alternation with other ranks."""

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
"""Steps before the timing of neighbouring processes, in which these get memory of their own."""


@dataclass(frozen=True)
class RankCost:
    """Size of one rank's part, and its costs.

    Attributes
    ----------
    rank : int
        Number of the rank.
    owned, ghosts, neighbours : int
        Particles, ghosts, and ranks with which it exchanges messages.
    traffic : Traffic
        Messages and bytes of a step.
    step : float
        Time of a step without new lists, including packing [s].
    early : float
        Part of that time during which ghosts travel [s]: contacts among owned particles, and with walls.
    detection : float
        Time of a detection [s].
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
        """The larger of the bytes that the rank sends and receives in a step."""
        return max(self.traffic.sent, self.traffic.received)

    def delay(self, network: Network) -> float:
        """Return the time that messages add to a step [s]."""
        messages = max(self.traffic.sends, self.traffic.receives)
        return float(network.delay(messages, self.most_bytes, self.early))

    def seconds(self, detections: float, network: Network) -> float:
        """Return the mean time of a step with `detections` detections per step, including messages [s]."""
        lists = self.detection + MESSAGES * float(network.exchange(self.neighbours))
        return self.step + self.delay(network) + detections * lists


class TimedRank:
    """A rank that runs timed steps.

    Parameters
    ----------
    rank : int
        Number of the rank.
    system : System
        State of the rank, with lists.
    exchange : OneOfMany
        Exchange of the system.

    Attributes
    ----------
    detections : float
        Measured detections per step.
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
        """Number of owned particles."""
        return self._system.particles.count

    @property
    def detections(self) -> float:
        """Measured detections per step."""
        return self._made / self._taken

    def advance(self, steps: int) -> None:
        """Run steps."""
        system, last = self._system, self._system.progress.step + steps
        while system.progress.step < last:
            begun = advance_with_same_lists(system, self._phases, last - 1)
            following = system.progress.step + (begun is None)
            time_step.advance(system, self._phases, ahead=following < last, begun=begun)

    def time(self, steps: int, beside: int = 0) -> None:
        """Run steps and then a detection, and record the time of both.

        Parameters
        ----------
        steps : int
            Number of steps.
        beside : int
            Number of processes that run the same steps concurrently, as the other ranks of a node would.
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
        """Return the costs: medians of the measured times."""
        particles, exchange = self._system.particles, self._exchange
        return RankCost(
            self.rank, particles.count, particles.ghosts, exchange.neighbours, exchange.traffic(),
            median(self._steps), median(self._early), median(self._detections), self._system.memory(),
        )  # fmt: skip

    def _spent(self, phase: str) -> float:
        return self._phases.spent(phase)

    def _share_of_owned(self) -> float:
        """Return the share of candidates without a ghost, which are evaluated before the rank waits for ghosts."""
        pairs = self._system.contacts.pairs
        return float(pairs.inner / max(pairs.candidates, 1))

    def _own_clock(self) -> float:
        """Return a time that excludes the work for other ranks [s]."""
        return time.perf_counter() - self._exchange.seconds_of_others

    @contextmanager
    def _others_busy(self, count: int) -> Iterator[None]:
        """Let copies of this process run steps within this block."""
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
        """Run steps as long as the parent process exists."""
        while os.getppid() == parent:
            self.advance(_LEAD)
