"""Steps in which lists stay the same and nothing but contacts acts: many of them in one kernel.

`pdem.simulation.step.advance` does the same for all cases, a step at a time, and does so whenever anything else is due:
new lists, walls that move, more room for contacts, another rank.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from pdem.motion.integration import FINE
from pdem.simulation.carried_liquid import carries_liquid
from pdem.simulation.contact_forces import evaluate_contacts, what_acts
from pdem.simulation.step import tune_threads

if TYPE_CHECKING:
    from pdem.simulation.phases import Phases
    from pdem.simulation.system import System

LONGEST = 0.05
"""Time of steps after which signals are looked at [s]."""

FIRST = 16
"""Steps that are taken at a time before it is known how long they take."""


def advance_with_same_lists(system: System, phases: Phases, last: int) -> None:
    """Take steps up to the step `last` at most, all of them with the next one begun at once.

    Results are those of `pdem.simulation.step.advance`, to the bit. Ends, perhaps before its first step, where that has
    to look at something.
    """
    most = FIRST
    while _is_undisturbed(system, phases):
        most = min(most, _last_undisturbed(system, last) - system.step)
        if most < 1:
            return
        begin, acting = time.perf_counter(), what_acts(system, system.constants.step, ahead=True)
        taken, system.pending_drift = evaluate_contacts(system, acting, phases, most=most)
        system.step += taken
        tune_threads(system, phases)
        if taken == 0:
            return
        most = max(1, int(LONGEST * taken / (time.perf_counter() - begin)))


def _is_undisturbed(system: System, phases: Phases) -> bool:
    """Tell whether the next step has begun, lists hold, and contacts alone act on particles."""
    return (
        system.pending_drift == FINE
        and not system.errors
        and not system.stop_requested()
        and not phases.records_steps
        and has_contacts_alone(system)
    )


def has_contacts_alone(system: System) -> bool:
    """Tell whether nothing acts between steps of a case but contacts among particles of this rank and walls at rest."""
    walls, pairs = system.moving_walls, system.pair_contacts
    at_rest = walls is None or not (walls.moves or walls.surfaces.vary or walls.driven)
    added = system.own_forces.all, system.carriers, system.moving_box, system.wear, system.collisions
    return (
        system.exchange.size == 1
        and at_rest
        and all(one is None for one in added)
        and pairs.inner == pairs.candidates
        and not carries_liquid(system.constants)
    )


def _last_undisturbed(system: System, last: int) -> int:
    """Return the step before the next one at which the tuners ask for something, at most `last`."""
    wanted = last if system.skin_tuner is None else min(last, system.skin_tuner.next_detection - 1)
    return min(wanted, max(system.thread_tuner.next_look, system.step + 1))
