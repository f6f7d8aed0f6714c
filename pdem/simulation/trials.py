"""Settings on which only the speed of a run depends, chosen by trying them while it runs.

How many candidates are best evaluated at a time, and on how many threads, depends on the case, on the caches, and on
what else the machine has to do. So a setting next to the present one is tried now and then: lists are made with the one
and the other in turn, and the medians of the time of a step are compared. Results do not depend on these settings, to
the bit, so that each rank may follow its own clock.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from pdem.contact.pairs.history_kernels import CHUNK, CHUNKS

FIRST = 300
"""Steps before anything is tried: the skin comes first."""

SAMPLES = 5
"""Lists that are made with each of two settings before the tried one is taken."""

FEW = 2
"""And before it is given up, if it was slower each time."""

WORTHWHILE = 0.97
"""A setting is taken if a step takes less than this part of the time it takes now."""

HOPELESS = 1.2
"""And is tried no longer if a step takes so many times as long with the first list."""

REST, LONGEST_REST = 2000, 128_000
"""Steps until all is tried once more where nothing was better, twice as many each time."""


@dataclass
class Setting:
    """A number that can be set, and where it stands.

    Attributes
    ----------
    choices : sequence of int
        In their order: neighbours are tried.
    place : int
        Which of them is the best known.
    """

    choices: Sequence[int]
    place: int

    def has(self, place: int) -> bool:
        """Tell whether there is such a choice."""
        return 0 <= place < len(self.choices)


class Trials:
    """Tries the settings of one rank, one neighbour at a time.

    Parameters
    ----------
    settings : dict of str to Setting
        By name; their places are changed.
    """

    @classmethod
    def of_run(cls, threads: int) -> Trials:
        """Return trials of the settings of a run: ``chunk``, and ``threads`` up to so many."""
        halves = [threads >> times for times in range(threads.bit_length())][::-1]
        return cls({
            "threads": Setting(halves, len(halves) - 1), "chunk": Setting(CHUNKS, CHUNKS.index(CHUNK)),
        })  # fmt: skip

    def __init__(self, settings: dict[str, Setting]) -> None:
        self.settings = settings
        self._moves = [(name, way) for name in settings for way in (-1, 1)]
        self._move = 0
        self._failed = 0
        self._times: tuple[list[float], list[float]] = ([], [])
        self._trying, self._used = False, 0
        self._rest = REST
        self.begin(0)

    def begin(self, step: int) -> None:
        """Have a run that begins with so many steps taken before."""
        self._last, self._next_trial = (step, 0.0), step + FIRST

    def value(self, name: str) -> int:
        """Return what a setting shall be for the next lists."""
        setting, (tried, way) = self.settings[name], self._moves[self._move]
        return setting.choices[setting.place + (way if self._used and name == tried else 0)]

    def note(self, step: int, spent: float) -> None:
        """Choose the settings of the lists that are about to be made.

        Parameters
        ----------
        step : int
            Steps taken so far.
        spent : float
            Time spent in them, but for the making of lists [s].
        """
        steps, seconds = step - self._last[0], spent - self._last[1]
        self._last = step, spent
        if self._trying and steps > 0:
            self._times[self._used].append(seconds / steps)
            self._used = 1 - self._used
            self._judge()
        if not self._trying and step >= self._next_trial:
            self._try_next(step)

    def restart(self) -> None:
        """Forget the times of a trial: what else a step depends on has changed."""
        self._times = ([], [])

    def _try_next(self, step: int) -> None:
        """Try the next neighbour there is; rest if none of them was better."""
        for _ in range(len(self._moves) - self._failed):
            name, way = self._moves[self._move]
            if self.settings[name].has(self.settings[name].place + way):
                self._trying, self._used = True, 1
                self.restart()
                return
            self._give_up()
        self._failed = 0
        self._next_trial = step + self._rest
        self._rest = min(2 * self._rest, LONGEST_REST)

    def _give_up(self) -> None:
        self._trying, self._used = False, 0
        self._move = (self._move + 1) % len(self._moves)
        self._failed += 1

    def _judge(self) -> None:
        """End a trial that has been decided."""
        present, tried = self._times
        if not present or not tried:
            return
        samples = min(len(present), len(tried))
        slower = samples >= FEW and min(tried) > max(present)
        if slower or tried[0] > HOPELESS * max(present):
            self._give_up()
        elif samples >= SAMPLES:
            if statistics.median(tried) < WORTHWHILE * statistics.median(present):
                name, way = self._moves[self._move]
                self.settings[name].place += way
                self._trying, self._used, self._failed, self._rest = False, 0, 0, REST
            else:
                self._give_up()
