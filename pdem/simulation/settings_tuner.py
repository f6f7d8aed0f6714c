"""Autotuner of settings of lists, by trials during the run.

The best settings depend on the case, on the caches, and on the load of the machine. From time to time the tuner tries
a neighbour of the present setting: lists are built with both in turn, and the medians of the time of a step are
compared. Results do not depend on these settings, to the bit, so each rank may follow its own clock.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from pdem.contact.pairs.history_kernels import CHUNK, CHUNKS

FIRST_TRIAL = 300
"""Steps before the first trial: the skin is tuned before."""

SAMPLES = 5
"""Lists built with each of two settings before the tried one is accepted."""

REJECTION_SAMPLES = 2
"""Lists built with each of two settings before the tried one is rejected, if it was slower every time."""

ACCEPTED_RATIO = 0.97
"""Time of a step with the tried setting, over that with the present one, below which it is accepted."""

REJECTED_RATIO = 1.2
"""The same ratio, with the first list, above which it is rejected at once."""

PAUSE, LONGEST_PAUSE = 2000, 128_000
"""Steps before the next round of trials after a round without gain; each pause is twice the one before."""


@dataclass
class Setting:
    """A number with a list of choices and the present one.

    Attributes
    ----------
    choices : sequence of int
        In ascending order: trials go to neighbours.
    index : int
        Index of the best choice so far.
    """

    choices: Sequence[int]
    index: int

    def has(self, index: int) -> bool:
        """Return whether there is a choice of this index."""
        return 0 <= index < len(self.choices)


class SettingsTuner:
    """Tunes the settings of one rank, one trial at a time.

    Parameters
    ----------
    settings : dict of str to Setting
        By name; the tuner changes their `index`.
    """

    @classmethod
    def of_run(cls) -> SettingsTuner:
        """Return the tuner of a run: of ``chunk``, the chunk size."""
        return cls({"chunk": Setting(CHUNKS, CHUNKS.index(CHUNK))})

    def __init__(self, settings: dict[str, Setting]) -> None:
        self.settings = settings
        self._moves = [(name, change) for name in settings for change in (-1, 1)]
        self._move = 0
        self._failed = 0
        self._times: tuple[list[float], list[float]] = ([], [])
        self._trying, self._used = False, 0
        self._pause = PAUSE
        self.start(0)

    def start(self, step: int) -> None:
        """Start counting at this step, that of a restart."""
        self._last, self._next_trial = (step, 0.0), step + FIRST_TRIAL

    def value(self, name: str) -> int:
        """Return the value of a setting for the next lists."""
        setting, (tried, change) = self.settings[name], self._moves[self._move]
        return setting.choices[setting.index + (change if self._used and name == tried else 0)]

    def set_next(self, step: int, spent: float) -> None:
        """Choose the settings of the next lists.

        Parameters
        ----------
        step : int
            Steps taken so far.
        spent : float
            Time spent in them, without that of building lists [s].
        """
        steps, seconds = step - self._last[0], spent - self._last[1]
        self._last = step, spent
        if self._trying and steps > 0:
            self._times[self._used].append(seconds / steps)
            self._used = 1 - self._used
            self._judge()
        if not self._trying and step >= self._next_trial:
            self._try_next(step)

    def discard_times(self) -> None:
        """Discard the times of the present trial, for example because the skin has changed."""
        self._times = ([], [])

    def _try_next(self, step: int) -> None:
        """Try the next neighbouring choice; pause after a round of trials without gain."""
        for _ in range(len(self._moves) - self._failed):
            name, change = self._moves[self._move]
            if self.settings[name].has(self.settings[name].index + change):
                self._trying, self._used = True, 1
                self.discard_times()
                return
            self._reject()
        self._failed = 0
        self._next_trial = step + self._pause
        self._pause = min(2 * self._pause, LONGEST_PAUSE)

    def _reject(self) -> None:
        self._trying, self._used = False, 0
        self._move = (self._move + 1) % len(self._moves)
        self._failed += 1

    def _judge(self) -> None:
        """Accept or reject the tried setting, if the times suffice."""
        present, tried = self._times
        if not present or not tried:
            return
        samples = min(len(present), len(tried))
        slower = samples >= REJECTION_SAMPLES and min(tried) > max(present)
        if slower or tried[0] > REJECTED_RATIO * max(present):
            self._reject()
        elif samples >= SAMPLES:
            if statistics.median(tried) < ACCEPTED_RATIO * statistics.median(present):
                name, change = self._moves[self._move]
                self.settings[name].index += change
                self._trying, self._used, self._failed, self._pause = False, 0, 0, PAUSE
            else:
                self._reject()
