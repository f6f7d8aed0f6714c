"""Autotuner of the number of threads that run, by trials of a few steps.

Threads wait for each other at the end of every loop. With few particles this can take longer than their work, and if
other programs use the cores a thousand times as long. So the tuner compares fewer and more threads, from the first
steps on, repeatedly, and whenever steps have become much slower. Results do not depend on the number, to the bit, so
that each rank may use its own clock.
"""

from __future__ import annotations

import statistics
import sys

WINDOW = 8
"""Steps that are timed together."""

QUIET_WINDOW = 32
"""Smallest number of steps that are timed together outside of trials."""

FIRST_TRIAL = 8
"""Steps before the first trial."""

SAMPLES = 5
"""Windows with each of two numbers of threads before they are compared."""

ACCEPTED_RATIO = 0.97
"""Ratio of the median times with the tried and the present number below which the tried one is accepted."""

CLEAR_RATIO = 4.0
"""Ratio of times at which the first window of each number suffices."""

SLOWED_RATIO = 2.0
"""Time of a step over the usual one above which a round of trials begins before it is due."""

RECENT = 4
"""Number of recent windows; their mean is compared with the usual time."""

PAUSE, SHORT_PAUSE = 50.0, 10.0
"""Smallest time between rounds of trials, over the time of the last round; the shorter one if steps became slow."""


class ThreadTuner:
    """Chooses the number of running threads of one rank.

    Parameters
    ----------
    threads : int
        Most threads.

    Attributes
    ----------
    choices : list of int
        Numbers of threads, in ascending order.
    number : int
        Threads that shall run now.
    next_look : int
        Step from which on `look` has to be called.
    """

    def __init__(self, threads: int) -> None:
        self.choices = [threads >> times for times in range(threads.bit_length())][::-1]
        self._index = self._tried = len(self.choices) - 1
        self._moves: list[int] = []
        self._times: tuple[list[float], list[float]] = ([], [])
        self._recent: list[float] = []
        self._usual = self._begin = self._end = self._took = 0.0
        self.start(0)

    @property
    def number(self) -> int:
        """Threads that shall run now."""
        return self.choices[self._tried]

    @property
    def division(self) -> int:
        """Number of parts of loops: enough for the next larger number, which may be tried."""
        return self.choices[min(self._index + 1, len(self.choices) - 1)]

    def start(self, step: int) -> None:
        """Start counting at the step of a restart."""
        self._last = step, 0.0
        self.next_look = step + FIRST_TRIAL if len(self.choices) > 1 else sys.maxsize

    @property
    def end_of_window(self) -> int:
        """Last step of the present window: the step of the next decision during a round of trials."""
        return self.next_look if self._moves else sys.maxsize

    @property
    def is_trying(self) -> bool:
        """Whether a round of trials is running."""
        return bool(self._moves)

    def look(self, step: int, spent: float) -> None:
        """Record the time of the last steps, and choose the number of threads for the next ones.

        Parameters
        ----------
        step : int
            Steps taken so far.
        spent : float
            Time of these steps, without the time of making lists [s].
        """
        window = (spent - self._last[1]) / max(step - self._last[0], 1)
        self._last = step, spent
        if self._moves:
            self._times[self._tried != self._index].append(window)
            self._judge(spent)
        else:
            self._watch(window, spent)
        self.next_look = step + (WINDOW if self._moves else QUIET_WINDOW)

    def _watch(self, window: float, spent: float) -> None:
        """Begin a round of trials if it is due, or, with fewer threads, if steps have become slow."""
        self._recent = [*self._recent[1 - RECENT :], window]
        recent = statistics.fmean(self._recent) if len(self._recent) == RECENT else 0.0
        self._usual = self._usual or recent
        slowed = self._index > 0 and recent > SLOWED_RATIO * self._usual
        pause = (SHORT_PAUSE if slowed else PAUSE) * self._took
        if spent >= self._end + pause:
            self._begin, self._moves = spent, [-1] if slowed else [-1, 1]
            self._try_next(spent)

    def _try_next(self, spent: float) -> None:
        """Try the next number of this round; the round ends without one."""
        self._times = ([], [])
        while self._moves:
            tried = self._index + self._moves[0]
            if 0 <= tried < len(self.choices):
                self._tried = tried
                return
            self._moves.pop(0)
        self._tried = self._index
        self._usual, self._recent = 0.0, []
        self._end, self._took = spent, spent - self._begin

    def _judge(self, spent: float) -> None:
        """Accept or reject the tried number, if the times suffice; else continue with the second number."""
        present, tried = self._times
        if len(present) == len(tried):
            better, worse = _verdict(present, tried)
            if better:
                self._index += self._moves[0]
                self._moves = self._moves[:1]  # farther in the same direction
            if worse:
                self._moves = self._moves[1:]
            if better or worse:
                self._try_next(spent)
                return
        self._tried = self._index if self._tried != self._index else self._index + self._moves[0]


def _verdict(present: list[float], tried: list[float]) -> tuple[bool, bool]:
    """Return whether the tried number is better, and whether it is worse, from equally many times of both.

    Means show threads that wait for long occasionally, medians show the usual time: both have to be better.
    """
    ratio = sum(tried) / max(sum(present), 1e-30)
    clear = CLEAR_RATIO if len(tried) < 2 else SLOWED_RATIO
    if len(tried) < SAMPLES:
        return ratio < 1.0 / clear, ratio > clear
    usual = statistics.median(tried) / max(statistics.median(present), 1e-30)
    better = ratio < 1.0 / SLOWED_RATIO or (usual < ACCEPTED_RATIO and ratio < 1.0)
    return better, not better
