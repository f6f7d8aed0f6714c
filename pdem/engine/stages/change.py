"""Changes at the begin of a stage."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from pdem.case.stage_cases import walls_present
from pdem.contact.ends import JOINED, WALL_REMOVED
from pdem.contact.walls.stages import wall_columns_of
from pdem.containers.records import PairRecords, WallRecords
from pdem.engine.energy import local_sums
from pdem.engine.feature import features_of
from pdem.engine.id_pairs.no_contact import are_left_out
from pdem.engine.setup import table_of
from pdem.engine.stages.added_walls import overlaps_with_added_walls
from pdem.engine.step import migrate_and_rebuild_lists
from pdem.foundation.errors import PdemWarning

if TYPE_CHECKING:
    from pdem.containers.exchange import Records
    from pdem.engine.phases import Phases
    from pdem.engine.system import System
    from pdem.foundation.array_types import Integers
    from pdem.numerics.sums import ExactSums


def begin_next_stage(system: System, phases: Phases) -> None:
    """Begin the stage after the present one, between two steps. Collective, with columns that are up to date."""
    stages, moving = system.stages, system.walls
    present = None if moving is None else moving.present
    stages.begin(stages.present + 1, system.progress.step)
    _begin_stage_of_features(system)
    for feature in features_of(system):
        feature.change_stage(system)
    system.features.find_kicking()
    adds = [feature.add_pairs(system) for feature in features_of(system)]
    if stages.section.walls or stages.section.interactions or any(adds):
        with_ledger = system.constants.law.has_ledger
        before = local_sums(system)[0] if with_ledger else None
        migrate_and_rebuild_lists(system, _change(system), phases)
        if before is not None:
            _add_jump(system, before)
        for text in () if present is None else overlaps_with_added_walls(system, present):
            if system.exchange.rank == 0:
                warnings.warn(text, PdemWarning, stacklevel=5)
    system.progress.note(
        f"stage {stages.section.name} begins with step {system.progress.step + 1}, at {system.progress.time:.6g} s"
    )


def enter_stage(system: System) -> None:
    """Set interactions and walls of the present stage in a loaded system, before lists are made. Collective."""
    for feature in features_of(system):
        feature.enter_stage(system)
    if system.stages.sections:
        _set_constants_and_walls(system)


def begin_first_stage(system: System) -> None:
    """Begin the first stage at the present step."""
    if system.stages.sections:
        system.stages.begin(0, system.progress.step)
        _begin_stage_of_features(system)


def _begin_stage_of_features(system: System) -> None:
    for feature in features_of(system):
        feature.begin_stage(system)


def _change(system: System) -> Records:
    """Set interactions and walls of the present stage; return the contacts that continue."""
    pairs, walls = system.contacts.records()
    pairs = _without_joined(system, pairs)
    _set_constants_and_walls(system)
    moving = system.walls
    if moving is None or system.contacts.walls is None:
        return pairs, walls
    goes_on = moving.present[moving.facet_wall[walls.facet]]
    rows = np.flatnonzero(~goes_on).astype(np.int32)
    system.contacts.walls.end(walls.history, rows, system.contacts.ended_energies)
    ended = PairRecords.none(len(pairs.history)), walls.take(~goes_on)
    for feature in features_of(system):
        feature.on_end(system, WALL_REMOVED, *ended)
    return pairs, walls.take(goes_on)


def _without_joined(system: System, pairs: PairRecords) -> PairRecords:
    """Return the contacts that continue; the others end, because their particles have become pairs without contact."""
    joined = are_left_out(system, pairs)
    if not np.any(joined):
        return pairs
    ended, none = pairs.take(joined), WallRecords.none(wall_columns_of(system.constants.law))
    system.contacts.end_pairs(ended)
    for feature in features_of(system):
        feature.on_end(system, JOINED, ended, none)
    return pairs.take(~joined)


def _set_constants_and_walls(system: System) -> None:
    number, case = system.stages.present, system.case
    system.set_table(table_of(case, number, system.constants.law))
    if system.walls is not None:
        system.walls.set_present(np.array(walls_present(case, number), np.bool_))


def _add_jump(system: System, before: ExactSums) -> None:
    """Add the change of stored energy by a change of stage to the term ``stages``: exact, by integers."""
    after = local_sums(system)[0]
    signs = np.array([system.features.terms.signs[name] for name in after.names])
    jump: Integers = ((before.limbs - after.limbs) * signs[:, None]).sum(axis=0)
    system.contacts.ended_energies.limbs[system.contacts.ended_energies.names.index("stages")] += jump
    system.contacts.ended_energies.normalise()
