"""Steps, the events of features between them, and the begin of stages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.engine import step as time_step
from pdem.engine.named_events import NEVER
from pdem.engine.same_lists import advance_with_same_lists
from pdem.engine.stages.change import begin_next_stage

if TYPE_CHECKING:
    from pdem.engine.phases import Phases
    from pdem.engine.system import System


def advance_by(system: System, phases: Phases, steps: int) -> int:
    """Take steps, with the events after each; return the number of the signal that stopped them, or 0. Collective.

    Raises
    ------
    BlowUpError
        If a particle or a contact left the range of meaningful results.
    """
    last, requested = system.progress.step + steps, 0
    for feature in system.features:
        feature.before_steps(system)
    system.features.find_kicking()
    while system.progress.step < last and not requested:
        if system.stages.is_due:
            begin_next_stage(system, phases)
            act(system, phases)
        frozen = system.stages.is_frozen
        looked_at = min(last, system.features.next_step(forces=True, frozen=frozen))
        stop = min(looked_at, system.features.next_step(forces=False, frozen=frozen))
        if frozen:
            system.progress.rest(max(stop - system.progress.step, 0))
            requested, _ = time_step.allreduce_status_or_stop(system, False)
        while system.progress.step < stop and not requested:
            begun = advance_with_same_lists(system, phases, stop - 1)
            following = system.progress.step + (begun is None)
            keep = system.contacts.keeps_forces and following == looked_at
            requested = time_step.advance(system, phases, ahead=following < stop, keep=keep, begun=begun)
            stop = min(stop, system.features.requested_step)
        act(system, phases)
    system.follow_box()
    if not requested:
        time_step.allreduce_status_or_stop(system, False)
    return requested


def act(system: System, phases: Phases) -> None:
    """Run the events of features that are due at the present step. Collective.

    After a restart with shorter intervals some events may have been due before: they run now.
    """
    acting = system.features.acting(frozen=system.stages.is_frozen)
    if system.progress.step < min((one.next_step for one in acting), default=NEVER):
        return
    time_step.allreduce_status_or_stop(system, False)
    system.follow_box()
    for feature in acting:
        if system.progress.step >= feature.next_step:
            feature.act(system, phases)
