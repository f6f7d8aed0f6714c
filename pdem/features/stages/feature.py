"""Ends of stages as a feature of the engine; `pdem.engine.stages` begins the next stage."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Self

from pdem.engine.feature import Feature
from pdem.engine.feature_set import Turn
from pdem.engine.stages.timeline import AT_LATEST, BY_CONDITION, BY_TIME
from pdem.features.stages.report import stage_line, stage_lines
from pdem.features.stages.values import value_of
from pdem.foundation.errors import PdemWarning

if TYPE_CHECKING:
    from pathlib import Path

    from pdem.containers.exchange import Exchange
    from pdem.engine.phases import Phases
    from pdem.engine.stages.timeline import Stages
    from pdem.engine.system import System
    from pdem.engine.views.series_line import SeriesLine


class StageEnds(Feature):
    """The ends of stages, by their times and conditions.

    Parameters
    ----------
    stages : Stages, optional
        Stages of the system.
    """

    name, turn = "stages", Turn.END_STAGE

    def __init__(self, stages: Stages | None = None) -> None:
        self._stages = stages

    @classmethod
    def of(cls, system: System) -> Self:
        """Return the ends of the stages of a case."""
        return cls(system.stages)

    @property
    def next_step(self) -> int:
        """Step of the next check of the present stage, `NEVER` if there is none."""
        return super().next_step if self._stages is None else self._stages.next_step

    def act(self, system: System, phases: Phases) -> None:
        """Check the present stage, and end it if its time is over or its condition holds. Collective."""
        stages, step = system.stages, system.progress.step
        if stages.section.until is None:
            stages.end(step, BY_TIME)
        else:
            _look(system)
        stages.plan()
        if stages.is_over:
            system.progress.note(stage_line(stages, stages.present))

    def columns(self, system: System) -> list[tuple[str, ...]]:
        """Return name, unit and type of the column with the number of the stage, empty without stages."""
        return [("stage", "1", "i8")] if system.stages.sections else []

    def values(self, system: System, line: SeriesLine) -> dict[str, float]:
        """Return the number of the present stage, from 0 on."""
        return {"stage": system.stages.present} if system.stages.sections else {}

    def finish(self, system: System, folder: Path) -> list[str]:
        """Return a line on each stage for the report."""
        return stage_lines(system.stages)


def _look(system: System) -> None:
    """End the present stage if its condition has held for long enough, or at its latest time. Collective."""
    stages, step = system.stages, system.progress.step
    until, state = stages.section.until, stages.state
    assert until is not None
    state.looked, state.value = step, value_of(system, until.quantity)
    holds = until.holds(state.value)
    state.since = -1 if not holds else step if state.since < 0 else state.since
    if holds and step - state.since >= round(until.held / system.constants.time_step.dt):
        stages.end(step, BY_CONDITION)
    elif step >= stages.latest:
        stages.end(step, AT_LATEST)
        _warn(system.stages, system.exchange)


def _warn(stages: Stages, exchange: Exchange) -> None:
    """Warn, on the first rank, that the condition of the present stage was not reached."""
    text = stage_line(stages, stages.present)
    if not stages.finished:
        text = f"{text}; the next stage begins from what is there"
    if exchange.rank == 0:
        warnings.warn(text, PdemWarning, stacklevel=6)
