"""Lines on stages in the log and in the report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.engine.stages.timeline import AT_LATEST, BY_CONDITION, GOES_ON

if TYPE_CHECKING:
    from pdem.engine.stages.timeline import Stages


def stage_line(stages: Stages, number: int) -> str:
    """Return a line on a stage that has begun."""
    stage, state = stages.sections[number], stages.states[number]
    text = f"stage {stage.name}: from step {state.begin} ({stages.time_of(state.begin):.6g} s)"
    if state.outcome != GOES_ON:
        text += f" to step {state.end} ({stages.time_of(state.end):.6g} s)"
    if stage.until is None:
        return text
    missed = f"{stage.until} was not reached (it was {state.value:.6g})"
    ends = {
        GOES_ON: f", not ended: {missed}",
        BY_CONDITION: f", ended by {stage.until} (it was {state.value:.6g})",
        AT_LATEST: f", ended at its latest: {missed}; give more time in until.latest, or another limit",
    }
    return text + ends[state.outcome]


def stage_lines(stages: Stages) -> list[str]:
    """Return a line on each stage for the report that ends a run."""
    return [
        stage_line(stages, number) if state.begin >= 0 else f"stage {stages.sections[number].name}: not reached"
        for number, state in enumerate(stages.states)
    ]
