"""Steps at which the outputs of a run, or of a part of it, are due."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pdem.engine.feature import features_of

if TYPE_CHECKING:
    from pdem.case.sections.general import Output
    from pdem.engine.protocol import Engine

PROGRESS_SHARES = 20
"""Number of parts of a run; progress is shown at least after each of them."""


def series_steps(output: Output, step: float) -> int:
    """Return the steps between two lines of the series, for a time step [s]."""
    return max(1, round(output.series_every / step))


class OutputWindow(NamedTuple):
    """The part of a run with output, when it is run again.

    Attributes
    ----------
    begin, end : int
        First and last step of series and snapshots.
    last : int
        Step at which it stops, not before `end`.
    checkpoints : tuple of int
        Steps of checkpoints, which replace the steps of the case.
    """

    begin: int
    end: int
    last: int
    checkpoints: tuple[int, ...]

    def next_stop(self, step: int) -> int:
        """Return the next step after `step` with an output or an end of this window."""
        stops = (self.begin, self.end, self.last, *self.checkpoints)
        return min((one for one in stops if one > step), default=self.last)


class OutputSchedule:
    """Steps at which outputs are due.

    Parameters
    ----------
    simulation : Engine
        Simulation; its case has the intervals.
    window : OutputWindow, optional
        Part of the run with output; by default all steps.

    Attributes
    ----------
    last : int
        Step at which the run ends.
    snapshots, series, checkpoint, progress : int
        Steps between outputs.
    contacts : int
        Steps between two outputs of contacts, 0 without.
    parts : int
        Number of intervals of contacts in an interval of snapshots, 0 if it is no integer: snapshots have contacts if
        the intervals of the case are multiples of each other, for any number of steps of each.
    windows : list of int
        Steps between two outputs of features.
    """

    def __init__(self, simulation: Engine, window: OutputWindow | None = None) -> None:
        output, step = simulation.case.output, simulation.system.constants.time_step.dt
        self._window = window
        self.last = round(simulation.case.time.end / step) if window is None else window.last
        self.snapshots = max(1, round(output.snapshots_every / step))
        self.series = series_steps(output, step)
        self.checkpoint = max(1, round(output.checkpoint_every / step))
        self.contacts, self.parts = self._contacts_of(output, step)
        self.windows = [steps for feature in features_of(simulation.system) for steps in feature.output_intervals]
        self.progress = max(1, self.last // PROGRESS_SHARES)

    def _contacts_of(self, output: Output, step: float) -> tuple[int, int]:
        """Return `contacts` and `parts`."""
        every, snapshots = output.contacts_every, output.snapshots_every
        if every is None:
            return 0, 0
        if multiple := _whole(every / snapshots):
            return multiple * self.snapshots, 0
        parts = min(_whole(snapshots / every), self.snapshots)
        return max(1, round(every / step)), parts

    def _next_contacts(self, step: int) -> int:
        """Return the next step after `step` at which contacts are due."""
        if not self.parts:
            return (step // self.contacts + 1) * self.contacts
        begin = step // self.snapshots * self.snapshots
        part = (step - begin) * self.parts // self.snapshots
        steps = (begin + ((part + more) * self.snapshots * 2 + self.parts) // (2 * self.parts) for more in range(3))
        return next(one for one in steps if one > step)

    def has_contacts(self, step: int) -> bool:
        """Return whether contacts are due at a step."""
        return bool(self.contacts) and self._next_contacts(step - 1) == step

    def next_stop(self, step: int) -> int:
        """Return the next step after `step` at which an output is due or the run ends."""
        intervals = [self.snapshots, self.series, self.checkpoint, self.progress, *self.windows]
        stop = min(self.last, *((step // every + 1) * every for every in intervals))
        stop = min(stop, self._next_contacts(step)) if self.contacts else stop
        return stop if self._window is None else min(stop, self._window.next_stop(step))

    def is_shown(self, step: int) -> bool:
        """Return whether series and snapshots have this step if it is due."""
        return self._window is None or self._window.begin <= step <= self._window.end

    def is_edge(self, step: int) -> bool:
        """Return whether series and snapshots begin or end with this step."""
        return step >= self.last if self._window is None else step in self._window[:2]

    def begins_at(self, step: int) -> bool:
        """Return whether series and snapshots of a run that is continued begin with this step."""
        return self._window is not None and step == self._window.begin

    def has_checkpoint(self, step: int) -> bool:
        """Return whether a checkpoint of this step is due."""
        if self._window is not None:
            return step in self._window.checkpoints
        return step % self.checkpoint == 0 or step >= self.last


def _whole(ratio: float) -> int:
    """Return a ratio of two intervals if it is an integer, else 0."""
    whole = round(ratio)
    return whole if abs(ratio - whole) <= 1e-9 * ratio else 0
