"""Steps in which lists stay the same and nothing but contacts acts: many of them in one kernel.

`pdem.simulation.step.advance` does the same for all cases, a step at a time, and does so whenever anything else is due: new
lists, walls that move, more room for contacts, another rank.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from pdem.contact.pairs.arguments import NO_WALLS, kick_of, parameters_of
from pdem.contact.pairs.force_sums import sum_forces
from pdem.contact.steps import (
    CODE,
    COUNTED,
    DEEP_PAIR,
    DEEP_WALL,
    ENDED,
    OUTCOME,
    PAIRS,
    SUM,
    SWAPS,
    TAKEN,
    TIMES,
    UNFINISHED,
    WALLS,
    PairCalls,
    WallCalls,
    take_steps,
)
from pdem.foundation.kernel_calls import call_of
from pdem.motion.integration import FINE
from pdem.simulation.blow_up import WALL_OVERLAP
from pdem.simulation.carried_liquid import carries_liquid
from pdem.simulation.cluster_steps import contact_parameters
from pdem.simulation.step import record_overlap_error, tune_threads

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from pdem.contact.law.pair_table import ContactParameters
    from pdem.contact.pairs.arguments import Kick
    from pdem.contact.walls.contacts import WallContacts
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
        begin, before = time.perf_counter(), system.step
        _take(system, phases, most)
        tune_threads(system, phases)
        if system.step == before:
            return
        most = max(1, int(LONGEST * (system.step - before) / (time.perf_counter() - begin)))


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


def _take(system: System, phases: Phases, most: int) -> None:
    """Take at most so many steps."""
    parameters = contact_parameters(system, system.constants.step)
    outcome, times = np.zeros(OUTCOME, np.int64), np.zeros(TIMES, np.int64)
    kick = _kick(system)
    walls, pairs = wall_calls(system, parameters), pair_calls(system, parameters, kick)
    take_steps(most, walls, tuple(pairs), system.ended_energies.limbs, outcome, times)
    system.ended_energies.count(int(times[COUNTED]))
    phases.divide({"walls": int(times[WALLS]), "pairs": int(times[PAIRS]), "sum": int(times[SUM])})
    system.step += int(outcome[TAKEN])
    _note_outcome(system, outcome)
    if outcome[UNFINISHED]:
        _finish_step(system, pairs, parameters, kick)
        phases.lap("pairs")


def _kick(system: System) -> Kick:
    contacts = system.wall_contacts
    walls = NO_WALLS if contacts is None else (contacts.total, contacts.total_row)
    motion = system.motion_at(system.step)
    return kick_of(walls, 0.5 * system.constants.step, motion, system.fixed_columns, ahead=True)


def wall_calls(system: System, parameters: ContactParameters) -> tuple[Any, ...] | None:
    """Return what `take_steps` is given of the contacts with walls, the next ones in place of those before the last."""
    contacts = system.wall_contacts
    if contacts is None:
        return None
    contacts.swap()
    packed = system.pair_contacts.packed(system.particles.count)
    given = contacts.arguments(packed, parameters)
    both = given.found[0], given.work, *given.record
    find = call_of(contacts.find_kernel, (given.tally, given.near, given.parameters, given.surface, *both))
    law = call_of(contacts.law_kernel, (given.near, given.parameters, given.surface, given.motion, *both))
    return tuple(WallCalls(find, law, tuple(given), contacts.law.has_ledger, *contacts.accounts))


def pair_calls(system: System, parameters: ContactParameters, kick: Kick) -> PairCalls:
    """Return what `take_steps` is given of the contacts between particles."""
    particles, pairs = system.particles, system.pair_contacts
    storage = pairs.storage
    runs, numbers = storage.plan_inner(pairs.workers), parameters_of(parameters, system.box)
    evaluated = pairs.arguments(runs, False, particles, numbers, kick)
    summed = pairs.remaining(particles, kick)
    return PairCalls(
        call_of(pairs.kernel, evaluated), call_of(sum_forces, summed), evaluated, summed,
        storage.reserve if pairs.candidates else 0, storage.forces.any_persistent, pairs.terms,
    )  # fmt: skip


def _note_outcome(system: System, outcome: NDArray[np.int64]) -> None:
    """Have what kernels have found known as after single steps."""
    system.pending_drift = int(outcome[CODE])
    contacts = system.wall_contacts
    if contacts is not None:
        if outcome[SWAPS] % 2 == 0:  # the contacts were exchanged once before
            contacts.swap()
        if outcome[SWAPS]:
            contacts.ended = int(outcome[ENDED])
    if outcome[DEEP_WALL]:
        system.errors.append((WALL_OVERLAP, int(system.particles.id[outcome[DEEP_WALL] - 1]), 0))
    record_overlap_error(system, int(outcome[DEEP_PAIR]))


def _finish_step(system: System, calls: PairCalls, parameters: ContactParameters, kick: Kick) -> None:
    """Finish the step that a worker has left for want of room for its contacts."""
    particles, pairs = system.particles, system.pair_contacts
    system.step += 1
    pairs.storage.resume()
    deep, code = pairs.evaluate_runs(
        calls.evaluated[0], False, particles, parameters_of(parameters, system.box), system.ended_energies, kick
    )  # fmt: skip
    record_overlap_error(system, deep)
    system.pending_drift = max(int(system.pending_drift or FINE), code, pairs.finish(particles, kick))
