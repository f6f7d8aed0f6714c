"""Steps, and what happens between them: events of insertions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.simulation import step as time_step
from pdem.simulation.insertion_events import act_insertions

if TYPE_CHECKING:
    from pdem.simulation.phases import Phases
    from pdem.simulation.system import System


def advance_by(system: System, phases: Phases, steps: int) -> int:
    """Take steps, with the events after each; return the number of the signal that stopped them, or 0. Collective.

    Raises
    ------
    BlowUpError
        If a particle or a contact left the range in which results mean something.
    """
    last, requested = system.step + steps, 0
    while system.step < last and not requested:
        stop = min(last, system.insertions.next_step)
        while system.step < stop and not requested:
            requested = time_step.advance(system, phases, ahead=system.step + 1 < stop)
        act(system, phases)
    if not requested:
        time_step.allreduce_status_or_stop(system, False)
    return requested


def act(system: System, phases: Phases) -> None:
    """Let the events of the present step happen, if it has any. Collective."""
    if system.step == system.insertions.next_step:
        time_step.allreduce_status_or_stop(system, False)
        act_insertions(system, phases)
