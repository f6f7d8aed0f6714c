"""Where the time of a run goes."""

from __future__ import annotations

import time


class Phases:
    """A stopwatch that gives the time since its last reading to a named phase.

    Attributes
    ----------
    seconds : dict of str to float
        Time of each phase [s], in the order of first use; who reads it may clear it.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._always: dict[str, float] = {}
        self._last = time.perf_counter()

    def start(self) -> None:
        """Forget the time since the last reading."""
        self._last = time.perf_counter()

    def lap(self, phase: str) -> None:
        """Give the time since the last reading to `phase`."""
        now = time.perf_counter()
        for seconds in (self.seconds, self._always):
            seconds[phase] = seconds.get(phase, 0.0) + now - self._last
        self._last = now

    def spent(self, *phases: str) -> float:
        """Return the time of some phases since the beginning [s]."""
        return sum(self._always.get(phase, 0.0) for phase in phases)
