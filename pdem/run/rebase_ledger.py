"""Energy balance of a run that continues with a changed case: the residual continues without a jump."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from pdem.case.drives import drives_of
from pdem.engine.setup import constants_of, table_of
from pdem.engine.stages.state import STAGES, adopt_stages, stage_groups
from pdem.engine.stages.timeline import Stages
from pdem.features.gravity.course import GravityCourse
from pdem.features.gravity.events import give_bodies

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.case.model import Case
    from pdem.engine.protocol import Engine
    from pdem.engine.setup import Constants
    from pdem.engine.system import System


def rebase_ledger(simulation: Engine, old: Case) -> float:
    """Shift the initial energy by the change in energy of the same state under a changed case. Collective.

    With a different gravity or stiffness a state has a different energy, although no work was done.

    Parameters
    ----------
    simulation : Engine
        The continued simulation before its first step.
    old : Case
        Case of the checkpoint.

    Returns
    -------
    float
        Energy of the state under the present case minus its energy under the old case [J]; the same bits on any number
        of ranks.
    """
    present = simulation.measures().balance
    with _energies_of_case(simulation, old):
        former = simulation.measures().balance
    jump = present - former
    simulation.first_balance += jump
    return jump


@contextmanager
def _energies_of_case(simulation: Engine, old: Case) -> Iterator[None]:
    """Measure energies with the constants and drives of the old case in this context."""
    system = simulation.system
    constants, walls = _constants_in_stage(system, old), system.walls
    driven = [] if walls is None else walls.driven
    try:
        if walls is not None and driven:
            drives = drives_of(old, simulation.meshes)
            walls.driven = [drives[wall] for wall in walls.drives]
            give_bodies(old, drives, constants.gravity)
            for drive, row in zip(walls.driven, (one.state() for one in driven), strict=True):
                drive.load_state(row)
        with system.with_constants(constants):
            yield
    finally:
        if walls is not None:
            walls.driven = driven


def _constants_in_stage(system: System, old: Case) -> Constants:
    """Return the present constants under the old case, in its stage with the same name as the present stage."""
    constants = constants_of(old)
    stages, states = Stages(old.stages, constants.time_step.dt), stage_groups(system.stages)
    if system.stages.sections and system.stages.section.name in stages.names:
        adopt_stages(stages, states[STAGES])
    return replace(
        constants,
        table=table_of(old, stages.present, constants.law),
        gravity=GravityCourse(old, constants.time_step.dt).at(stages, system.progress.step),
        shape=system.constants.shape,
        flow=system.constants.flow,
        centre=system.constants.centre,
    )
