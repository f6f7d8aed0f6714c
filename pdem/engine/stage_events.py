"""What happens at the end of a stage and at the begin of the next one."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pdem.case.stage_cases import walls_present
from pdem.engine.added_walls import overlaps_with_added_walls
from pdem.engine.box_events import begin_deformation, set_targets
from pdem.engine.energy import BALANCE, TERMS, local_sums
from pdem.engine.feature import features_of
from pdem.engine.gravity_events import change_gravity, set_gravity
from pdem.engine.setup import table_of
from pdem.engine.stage_report import stage_line
from pdem.engine.stage_values import value_of
from pdem.engine.stages import AT_LATEST, BY_CONDITION, BY_TIME
from pdem.engine.step import migrate_and_rebuild_lists
from pdem.foundation.errors import PdemWarning

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.containers.exchange import Records
    from pdem.engine.phases import Phases
    from pdem.engine.system import System
    from pdem.numerics.sums import ExactSums


def act_stages(system: System) -> None:
    """Look at the present stage, which ends if its time or its condition says so. Collective."""
    stages, step = system.stages, system.step
    until, state = stages.section.until, stages.state
    if until is None:
        stages.end(step, BY_TIME)
    else:
        state.looked, state.value = step, value_of(system, until.quantity)
        holds = until.holds(state.value)
        state.since = -1 if not holds else step if state.since < 0 else state.since
        if holds and step - state.since >= round(until.held / system.constants.step):
            stages.end(step, BY_CONDITION)
        elif step >= stages.latest:
            stages.end(step, AT_LATEST)
            _warn(system)
    stages.plan()
    if stages.is_over:
        system.notices.append(stage_line(stages, stages.present))


def _warn(system: System) -> None:
    """Warn, on the first rank, that the condition of the present stage was not reached."""
    text = f"{stage_line(system.stages, system.stages.present)}; the next stage begins from what is there"
    if system.stages.finished:
        text = stage_line(system.stages, system.stages.present)
    _tell(system, text)


def _tell(system: System, text: str) -> None:
    """Warn of something on the first rank."""
    if system.exchange.rank == 0:
        warnings.warn(text, PdemWarning, stacklevel=6)


def begin_next_stage(system: System, phases: Phases) -> None:
    """Begin the stage after the present one, between two steps. Collective, with columns that are up to date."""
    stages, moving = system.stages, system.moving_walls
    present = None if moving is None else moving.present
    stages.begin(stages.present + 1, system.step)
    _begin_stage_of_features(system)
    if system.gravity is not None:
        change_gravity(system)
    if stages.section.deformation is not None:
        begin_deformation(system)
    if stages.section.walls or stages.section.interactions:
        with_ledger = system.constants.law.has_ledger
        before = local_sums(system)[0] if with_ledger else None
        migrate_and_rebuild_lists(system, _change(system), phases)
        if before is not None:
            _add_jump(system, before)
        for text in () if present is None else overlaps_with_added_walls(system, present):
            _tell(system, text)
    system.notices.append(
        f"stage {stages.section.name} begins with step {system.step + 1}, at {system.time:.6g} s"
    )


def enter_stage(system: System) -> None:
    """Give a system that has been loaded what its present stage says, before lists are made. Collective."""
    for feature in features_of(system):
        feature.enter_stage(system)
    set_targets(system)
    if system.gravity is not None:
        set_gravity(system)
    if system.stages.sections:
        _set_constants_and_walls(system)


def begin_first_stage(system: System) -> None:
    """Begin the first stage at the present step."""
    if system.stages.sections:
        system.stages.begin(0, system.step)
        _begin_stage_of_features(system)


def _begin_stage_of_features(system: System) -> None:
    for feature in features_of(system):
        feature.begin_stage(system)


def _change(system: System) -> Records:
    """Give the system interactions and walls of the present stage; return the contacts that go on."""
    pairs, walls = system.records()
    _set_constants_and_walls(system)
    moving = system.moving_walls
    if moving is None or system.wall_contacts is None:
        return pairs, walls
    goes_on = moving.present[moving.facet_wall[walls.facet]]
    rows = np.flatnonzero(~goes_on).astype(np.int32)
    system.wall_contacts.end(walls.history, rows, system.ended_energies)
    return pairs, walls.take(goes_on)


def _set_constants_and_walls(system: System) -> None:
    number, case = system.stages.present, system.case
    system.constants = replace(system.constants, table=table_of(case, number, system.constants.law))
    system.skins.beyond = system.constants.adhesion_half_gaps
    if system.moving_walls is not None:
        system.moving_walls.set_present(np.array(walls_present(case, number), np.bool_))


def _add_jump(system: System, before: ExactSums) -> None:
    """Add what a change has taken out of the balance to the term ``stages``: exact, in whole numbers."""
    after = local_sums(system)[0]
    signs = np.array([BALANCE[name] for name in TERMS])
    jump: NDArray[np.int64] = ((before.limbs - after.limbs) * signs[:, None]).sum(axis=0)
    system.ended_energies.limbs[system.ended_energies.names.index("stages")] += jump
    system.ended_energies.normalise()
