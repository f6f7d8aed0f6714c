"""The stages of a run: the present stage, its begin, and the step of its next check.

A stage ends at a step that follows from the case and the state. The changes of the next stage act at the begin of the
next step: outputs and checkpoints between the two belong to the ended stage, and a run that continues from such a
checkpoint makes the same changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pdem.engine.named_events import NEVER
from pdem.motion.courses import Clock
from pdem.preflight.stage_preflight import look_interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pdem.case.sections.stages import Stage

GOES_ON, BY_TIME, BY_CONDITION, AT_LATEST = range(4)
"""Outcome of a stage: not ended; by its time; by its condition; at its latest time without reaching the condition."""


@dataclass(eq=False)
class StageState:
    """State of a stage.

    Attributes
    ----------
    begin, end : int
        Steps at which it began and ended, -1 before.
    since : int
        Step from which on its condition has held without a break, -1 if it does not hold.
    looked : int
        Step of the last check of its quantity, -1 before.
    value : float
        Value of the quantity at this check.
    outcome : int
        `GOES_ON`, `BY_TIME`, `BY_CONDITION` or `AT_LATEST`.
    """

    begin: int = -1
    end: int = -1
    since: int = -1
    looked: int = -1
    value: float = 0.0
    outcome: int = GOES_ON


class Stages:
    """All stages of a case; the sequence may be empty.

    Parameters
    ----------
    sections : sequence of Stage
        Sections of the case.
    step : float
        Time step [s].

    Attributes
    ----------
    sections : tuple of Stage
        Sections of the case.
    states : list of StageState
        State of each stage.
    clocks : dict of str to Clock
        Clocks by name; motions, servos and insertions count from them.
    present : int
        Number of the present stage.
    next_step : int
        Step of its next check, `NEVER` if there is none.
    last : int
        Number of the last stage of the run, by default the last one of the case.
    """

    def __init__(self, sections: Sequence[Stage] = (), step: float = 1.0) -> None:
        self.sections, self._step = tuple(sections), step
        self.states = [StageState() for _ in self.sections]
        self.clocks = {stage.name: Clock() for stage in self.sections}
        self.present, self.next_step = 0, NEVER
        self.last = len(self.sections) - 1

    @property
    def names(self) -> list[str]:
        """Names of all stages."""
        return [stage.name for stage in self.sections]

    @property
    def present_name(self) -> str:
        """Name of the present stage, empty without stages."""
        return self.section.name if self.sections else ""

    @property
    def section(self) -> Stage:
        """The present stage in the case."""
        return self.sections[self.present]

    @property
    def state(self) -> StageState:
        """The state of the present stage."""
        return self.states[self.present]

    @property
    def is_frozen(self) -> bool:
        """Whether nothing moves in the present stage."""
        return bool(self.sections) and self.section.motion == "frozen"

    @property
    def is_over(self) -> bool:
        """Whether the present stage has ended: the next one begins with the next step."""
        return bool(self.sections) and self.state.outcome != GOES_ON

    @property
    def finished(self) -> bool:
        """Whether the last stage has ended, and with it the run."""
        return self.is_over and self.present >= self.last

    @property
    def is_due(self) -> bool:
        """Whether a stage begins with the next step."""
        return self.is_over and not self.finished

    def begin(self, number: int, step: int) -> None:
        """Begin a stage at a step."""
        self.present, self.states[number].begin = number, step
        self.clocks[self.section.name].begin = step * self._step
        self.plan()

    def end(self, step: int, outcome: int) -> None:
        """End the present stage at a step."""
        self.state.end, self.state.outcome = step, outcome
        self.plan()

    @property
    def latest(self) -> int:
        """Step at which the present stage ends at the latest, `NEVER` if `time.end` alone ends it."""
        stage = self.section
        length = stage.end if stage.until is None else stage.until.latest
        return NEVER if length is None else self.state.begin + self.steps_of(length)

    def next_step_after(self, step: int) -> int:
        """Return the step of the next check after a step; if a stage is about to begin, the step after its begin."""
        return step + 1 if self.is_due else self.next_step

    def steps_of(self, time: float) -> int:
        """Return the number of steps in a time [s], at least one."""
        return max(1, round(time / self._step))

    def plan(self, after: int = -1) -> None:
        """Set the step of the next check of the present stage, later than a step.

        In a changed case that continues a run, the check may have been due before.
        """
        self.next_step = NEVER
        if not self.sections or self.is_over:
            return
        look, state = NEVER, self.state
        if self.section.until is not None:
            look = max(state.begin, state.looked) + look_interval(self.section, self._step)
        self.next_step = max(min(look, self.latest), after + 1)

    def time_of(self, step: int) -> float:
        """Return the time at the end of a step [s]."""
        return step * self._step
