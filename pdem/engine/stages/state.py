"""State of stages in checkpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.engine.named_events import name_key
from pdem.engine.stages.change import begin_first_stage
from pdem.engine.stages.timeline import Stages, StageState
from pdem.foundation.errors import CheckpointError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pdem.case.model import Case
    from pdem.engine.system import System
    from pdem.motion.courses import Clock

STAGES = "stages"
"""Name of the group of a checkpoint with a row for each stage."""

_COLUMNS = {
    "begin": np.int64, "end": np.int64, "since": np.int64, "looked": np.int64, "value": np.float64,
    "outcome": np.int64,
}  # fmt: skip


def stage_groups(stages: Stages) -> dict[str, dict[str, NDArray[Any]]]:
    """Return the group of a checkpoint for stages, empty without stages; the same on every rank."""
    if not stages.sections:
        return {}
    columns: dict[str, NDArray[Any]] = {
        name: np.array([getattr(one, name) for one in stages.states], kind) for name, kind in _COLUMNS.items()
    }
    return {STAGES: {"key": np.array([name_key(name) for name in stages.names], np.int64), **columns}}


def load_stages(system: System, groups: Mapping[str, Mapping[str, NDArray[Any]]]) -> None:
    """Set the state of stages from the group of a checkpoint; without a group the first stage begins now.

    Raises
    ------
    CheckpointError
        If the case has no stage with the name of the present stage of the checkpoint.
    """
    if not system.stages.sections:
        return
    if STAGES in groups:
        adopt_stages(system.stages, groups[STAGES])
        system.stages.plan(system.progress.step)
    else:
        begin_first_stage(system)


def adopt_stages(stages: Stages, stored: Mapping[str, NDArray[Any]]) -> None:
    """Continue from the stored states of stages, matched by name.

    Raises
    ------
    CheckpointError
        If the case has no stage with the name of the present stage of the checkpoint.
    """
    begun = np.flatnonzero(stored["begin"] >= 0)
    present = int(stored["key"][begun[-1]])
    for number, name in enumerate(stages.names):
        rows = np.flatnonzero(stored["key"] == name_key(name))
        if len(rows):
            values = {column: stored[column][int(rows[0])].item() for column in _COLUMNS}
            stages.states[number] = StageState(**values)
    numbers = [number for number, name in enumerate(stages.names) if name_key(name) == present]
    if not numbers:
        raise CheckpointError(
            f"the checkpoint was written in stage {len(begun) - 1} of its case, and the present case has no stage of "
            f"that name (it has {', '.join(stages.names)}); keep its name"
        )
    stages.present = numbers[0]
    for name, state in zip(stages.names, stages.states, strict=True):
        if state.begin >= 0:
            stages.clocks[name].begin = stages.time_of(state.begin)
    stages.plan()


def clocks_of(stages: Stages, groups: Mapping[str, Mapping[str, NDArray[Any]]]) -> dict[str, Clock]:
    """Return the clocks of stages of a checkpoint."""
    if stages.sections and STAGES in groups:
        adopt_stages(stages, groups[STAGES])
    return stages.clocks


def finished_stage(case: Case, groups: Mapping[str, Mapping[str, NDArray[Any]]]) -> str:
    """Return the name of the last stage of a case if it has ended in a checkpoint, else nothing.

    Raises
    ------
    CheckpointError
        See `adopt_stages`.
    """
    stages = Stages(case.stages, case.resolved_step())
    clocks_of(stages, groups)
    return stages.present_name if stages.finished else ""
