"""Tuner of the chunk size, by trials during the run.

The best size depends on the case, on the caches, and on the load of the machine. From time to time the tuner tries the
next smaller or larger one: lists are built with both in turn, and the medians of the time of a step are compared.
Results do not depend on the chunk size, to the bit, so each rank may follow its own clock.
"""

from __future__ import annotations

import statistics

from pdem.contact.pairs.history_kernels import CHUNK, CHUNKS

FIRST_TRIAL = 300
"""Steps before the first trial, in which the skin is tuned."""

LEAST_CHUNKS = 16
"""Smallest number of chunks of a worker before the first trial, if there are enough candidates: large chunks have less
overhead, but with few of them no forces can be summed before the last chunk."""

SAMPLES = 5
"""Lists built with each of two sizes before the tried one is accepted."""

REJECTION_SAMPLES = 2
"""Lists built with each of two sizes before the tried one is rejected, if it was slower every time."""

ACCEPTED_RATIO = 0.97
"""Time of a step with the tried size, over that with the present one, below which it is accepted."""

REJECTED_RATIO = 1.2
"""The same ratio, with the first list, above which it is rejected immediately."""

PAUSE, LONGEST_PAUSE = 2000, 128_000
"""Steps before the next round of trials after a round without gain; each pause is twice the one before."""


class ChunkTuner:
    """Tunes the chunk size of one rank, one trial at a time.

    Parameters
    ----------
    first : int
        Chunk size to begin with, one of `pdem.contact.pairs.history_kernels.CHUNKS`.

    Attributes
    ----------
    best : int
        Best chunk size so far.
    """

    def __init__(self, first: int = CHUNK) -> None:
        self.best = first
        self._change = -1  # of the index among the sizes, in the present trial or the next one
        self._failed = 0
        self._times: tuple[list[float], list[float]] = ([], [])
        self._trying, self._used, self._has_tried = False, False, False
        self._pause = PAUSE
        self.start(0)

    def start(self, step: int) -> None:
        """Start counting at the step of a restart."""
        self._last, self._next_trial = (step, 0.0), step + FIRST_TRIAL

    @property
    def chunk(self) -> int:
        """Chunk size of the next lists."""
        return CHUNKS[self._tried] if self._used else self.best

    @property
    def _tried(self) -> int:
        """Index of the size that is tried, which may be beyond the smallest or largest one."""
        return CHUNKS.index(self.best) + self._change

    def begin_with(self, candidates: int, workers: int) -> None:
        """Choose the size before the first trial, for a total number of candidates, if it is positive."""
        if candidates > 0 and not self._has_tried:
            each = candidates // (LEAST_CHUNKS * workers)
            self.best = max((size for size in CHUNKS if size <= each), default=CHUNKS[0])

    def set_next(self, step: int, spent: float) -> None:
        """Choose the chunk size of the next lists.

        Parameters
        ----------
        step : int
            Steps taken so far.
        spent : float
            Time of these steps, without the time of building lists [s].
        """
        steps, seconds = step - self._last[0], spent - self._last[1]
        self._last = step, spent
        if self._trying and steps > 0:
            self._times[self._used].append(seconds / steps)
            self._used = not self._used
            self._judge()
        if not self._trying and step >= self._next_trial:
            self._try_next(step)

    def discard_times(self) -> None:
        """Discard the times of the present trial, for example because the skin has changed."""
        self._times = ([], [])

    def _try_next(self, step: int) -> None:
        """Try the next smaller or larger size; pause after a round of trials without gain."""
        while self._failed < 2:
            if 0 <= self._tried < len(CHUNKS):
                self._trying, self._used, self._has_tried = True, True, True
                self.discard_times()
                return
            self._reject()
        self._failed = 0
        self._next_trial = step + self._pause
        self._pause = min(2 * self._pause, LONGEST_PAUSE)

    def _reject(self) -> None:
        self._trying, self._used = False, False
        self._change = -self._change
        self._failed += 1

    def _accept(self) -> None:
        self.best = CHUNKS[self._tried]
        self._trying, self._used, self._failed, self._pause = False, False, 0, PAUSE

    def _judge(self) -> None:
        """Accept or reject the tried size, if the times suffice."""
        present, tried = self._times
        if not present or not tried:
            return
        samples = min(len(present), len(tried))
        slower = samples >= REJECTION_SAMPLES and min(tried) > max(present)
        if slower or tried[0] > REJECTED_RATIO * max(present):
            self._reject()
        elif samples >= SAMPLES:
            if statistics.median(tried) < ACCEPTED_RATIO * statistics.median(present):
                self._accept()
            else:
                self._reject()
