"""Share of a step outside threaded loops, which runs on a single thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.engine.phases import Phases, parts_of
from pdem.numerics.loop_calls import LoopTicks, has_clock, read_loop_ticks

if TYPE_CHECKING:
    from collections.abc import Mapping


class ThreadedPhases(Phases):
    """A stopwatch that also records, by phase, the time within threaded loops.

    A loop counts from its entry by the calling thread until all threads have left it, which includes threads waiting
    for other threads. On processors without a readable clock, nothing is recorded.

    Parameters
    ----------
    earlier : Phases
        Stopwatch with the times to continue.
    """

    def __init__(self, earlier: Phases) -> None:
        super().__init__(earlier)
        self._ticks: dict[str, float] = {}
        self._in_loops: dict[str, float] = {}
        self._can_read = has_clock()
        self._at = read_loop_ticks() if self._can_read else LoopTicks(0, 0)

    def start(self) -> None:
        """Discard the time since the last reading."""
        super().start()
        if self._can_read:
            self._at = read_loop_ticks()

    def lap(self, phase: str) -> None:
        """Add the time since the last reading to `phase`."""
        super().lap(phase)
        self._add_ticks({phase: 1.0})

    def divide(self, shares: Mapping[str, int]) -> None:
        """Add the time since the last reading to several phases."""
        super().divide(shares)
        self._add_ticks(parts_of(shares))

    def _add_ticks(self, parts: Mapping[str, float]) -> None:
        if not self._can_read:
            return
        now, before = read_loop_ticks(), self._at
        for phase, part in parts.items():
            self._ticks[phase] = self._ticks.get(phase, 0.0) + (now.now - before.now) * part
            self._in_loops[phase] = self._in_loops.get(phase, 0.0) + (now.in_loops - before.in_loops) * part
        self._at = now

    def on_one_thread(self) -> dict[str, float]:
        """Return by phase the share of the total time (0 to 1) spent in the phase outside threaded loops."""
        whole = sum(self._ticks.values())
        return {phase: (ticks - self._in_loops[phase]) / whole for phase, ticks in self._ticks.items()}


def share_line(shares: Mapping[str, float]) -> str:
    """Return a line for users: the share of a step on one thread, in total and by phase."""
    parts = sorted(shares.items(), key=lambda item: -item[1])
    named = ", ".join(f"{phase} {100.0 * share:.2g}" for phase, share in parts if share >= 5e-5)
    return f"  on one thread: {100.0 * sum(shares.values()):.2g} % of a step ({named})"
