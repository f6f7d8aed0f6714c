"""Steps, and what happens between them: events of gravity, stages, sensors, insertions, the box and who leaves it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.engine import step as time_step
from pdem.engine.box_events import look_at_box, next_box_step
from pdem.engine.escape_events import escape_step, remove_escaped
from pdem.engine.feature_set import Features, Turn
from pdem.engine.gravity import gravity_of
from pdem.engine.gravity_events import change_gravity
from pdem.engine.named_events import NEVER
from pdem.engine.same_lists import advance_with_same_lists
from pdem.engine.stage_events import act_stages, begin_next_stage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pdem.engine.feature import Feature
    from pdem.engine.phases import Phases
    from pdem.engine.stages import Stages
    from pdem.engine.system import System


def add_events(system: System, stages: Stages, features: Iterable[type[Feature]]) -> None:
    """Give a system all that happens between the steps of its case, at time 0. Collective.

    Raises
    ------
    CaseError
        On all ranks, if a file that the case names cannot be used.
    """
    case, exchange, step = system.case, system.exchange, system.constants.step
    system.stages, system.gravity = stages, gravity_of(case, exchange, step)
    system.features = Features(kind.of(system) for kind in features)


def advance_by(system: System, phases: Phases, steps: int) -> int:
    """Take steps, with the events after each; return the number of the signal that stopped them, or 0. Collective.

    Raises
    ------
    BlowUpError
        If a particle or a contact left the range in which results mean something.
    """
    last, requested = system.step + steps, 0
    system.own_forces.check_given()
    while system.step < last and not requested:
        if system.stages.is_due:
            begin_next_stage(system, phases)
            act(system, phases)
        looked_at = min(last, _next_look(system))
        stop = min(looked_at, _next_other_event(system, system.step + 1))
        while system.step < stop and not requested:
            begun = advance_with_same_lists(system, phases, stop - 1)
            following = system.step + (begun is None)
            keep = system.keeps_forces and following == looked_at
            requested = time_step.advance(system, phases, ahead=following < stop, keep=keep, begun=begun)
        act(system, phases)
    system.follow_box()
    if not requested:
        time_step.allreduce_status_or_stop(system, False)
    return requested


def _next_look(system: System) -> int:
    """Return the step of the next event that may ask for the forces of contacts, which are kept in that step."""
    gravity = NEVER if system.gravity is None else system.gravity.next_step
    looks = system.features.next_step(forces=True)
    return min(gravity, looks, system.stages.next_step)


def _next_other_event(system: System, first: int) -> int:
    """Return the step of the next event that needs no forces: of loads of walls, of the box, of those who leave it.

    Of these from `first` on.
    """
    own = min(next_box_step(system), escape_step(system, first))
    return min(own, system.features.next_step(forces=False))


def act(system: System, phases: Phases) -> None:
    """Let the events of the present step happen, if it has any. Collective.

    After a restart with shorter intervals some may have been due before: they happen now.
    """
    if system.step < min(_next_look(system), _next_other_event(system, system.step)):
        return
    time_step.allreduce_status_or_stop(system, False)
    system.follow_box()
    _let_act(system, phases, Turn.MEASURE, Turn.COLLECT)
    if system.step == escape_step(system, system.step):
        remove_escaped(system, phases)
    if system.gravity is not None and system.step >= system.gravity.next_step:
        change_gravity(system)
    if system.step >= system.stages.next_step:
        act_stages(system)
    _let_act(system, phases, Turn.COUNT, Turn.INSERT)
    if system.step >= next_box_step(system):
        look_at_box(system)


def _let_act(system: System, phases: Phases, first: Turn, last: Turn) -> None:
    """Let those features act that are due at the present step, with turns from `first` to `last`. Collective."""
    for feature in system.features.by_turn:
        if first <= feature.turn <= last and system.step >= feature.next_step:
            feature.act(system, phases)
