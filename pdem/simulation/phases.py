"""Where the time of a run goes."""

from __future__ import annotations

import time


class Phases:
    """A stopwatch that gives the time since its last reading to a named phase.

    Attributes
    ----------
    seconds : dict of str to float
        Time of each phase [s], in the order of first use.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def start(self) -> None:
        """Forget the time since the last reading."""
        self._last = time.perf_counter()

    def lap(self, phase: str) -> None:
        """Give the time since the last reading to `phase`."""
        now = time.perf_counter()
        self.seconds[phase] = self.seconds.get(phase, 0.0) + now - self._last
        self._last = now
