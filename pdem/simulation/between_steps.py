"""Steps, and what happens between them: events of sensors, which also take particles out, and of insertions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.simulation import step as time_step
from pdem.simulation.insertion_events import act_insertions
from pdem.simulation.sensor_events import act_sensors

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
    system.own_forces.check_given()
    while system.step < last and not requested:
        stop = min(last, next_event(system))
        while system.step < stop and not requested:
            requested = time_step.advance(system, phases, ahead=system.step + 1 < stop)
        act(system, phases)
    if not requested:
        time_step.allreduce_status_or_stop(system, False)
    return requested


def next_event(system: System) -> int:
    """Return the step of the next event."""
    return min(system.insertions.next_step, system.sensors.next_step)


def act(system: System, phases: Phases) -> None:
    """Let the events of the present step happen, if it has any. Collective."""
    if system.step != next_event(system):
        return
    time_step.allreduce_status_or_stop(system, False)
    if system.step == system.sensors.next_step:
        act_sensors(system, phases)
    if system.step == system.insertions.next_step:
        act_insertions(system, phases)
