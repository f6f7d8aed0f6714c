"""The contacts of a rank in a step, or in several with the same lists: what kernels are given, and what they find."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.contact.pairs.arguments import NO_WALLS, kick_of, parameters_of
from pdem.contact.pairs.force_sums import sum_forces
from pdem.contact.pairs.kept_forces import keep_forces
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
from pdem.simulation.blow_up import PAIR_OVERLAP, WALL_OVERLAP
from pdem.simulation.box_stress import begin_box_sums
from pdem.simulation.carried_particles import finish_carried
from pdem.simulation.cluster_steps import contact_parameters, place_ghost_members
from pdem.simulation.driven_walls import finish_driven
from pdem.simulation.own_force_kicks import kick_own
from pdem.simulation.wall_wear import note_wall_contacts

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from pdem.contact.law.pair_table import ContactParameters
    from pdem.contact.pairs.arguments import Kick
    from pdem.simulation.phases import Phases
    from pdem.simulation.system import System


class Acting(NamedTuple):
    """What the contacts of a step need besides particles and lists: parameters of the law, and how forces act."""

    parameters: ContactParameters
    kick: Kick


def compute_contact_forces(
    system: System,
    dt: float,
    phases: Phases,
    *,
    same_lists: bool = False,
    ahead: bool = False,
    keep: bool = False,
) -> None:
    """Compute the contact forces on owned particles and kick these by the second half of the step.

    Parameters
    ----------
    system : System
        State of this rank.
    dt : float
        Time step [s]; 0 to compute forces only, without a kick.
    phases : Phases
        The stopwatch.
    same_lists : bool
        Lists are those of the last step: positions of ghosts are on their way, and contacts between owned particles
        are computed before they are waited for.
    ahead : bool
        Also begin the next step.
    keep : bool
        Leave the forces of all contacts, see `pdem.contact.pairs.kept_forces`.
    """
    particles, pairs = system.particles, system.pair_contacts
    pairs.begin(particles, system.constants.density, packed=same_lists)
    keep_forces(pairs, particles, keep)
    begin_box_sums(system)
    acting = what_acts(system, dt, ahead=ahead)
    system.columns_are_current = not ahead
    near_ghosts = pairs.candidates > pairs.inner
    _, code = evaluate_contacts(system, acting, phases, sums=not near_ghosts)
    if same_lists:
        system.exchange.finish_update()
        place_ghost_members(system)
        phases.lap("exchange")
    if near_ghosts:
        code = max(code, evaluate_contacts(system, acting, phases, ghosts=True)[1])
    code = max(code, finish_carried(system, acting.kick))
    system.pending_drift = code if ahead else None
    phases.lap("sum")
    if system.moving_walls is not None and system.moving_walls.driven:
        finish_driven(system, 0.5 * dt)
        phases.lap("walls move")
    if dt > 0.0 and system.own_forces.all is not None:
        kick_own(system, system.time, 0.5 * dt)
        phases.lap("own forces")


def what_acts(system: System, dt: float, *, ahead: bool) -> Acting:
    """Return what contacts need in a step of length `dt` [s], or 0; with `ahead` it also begins the next one."""
    contacts = system.wall_contacts
    walls = NO_WALLS if contacts is None else (contacts.total, contacts.total_row)
    motion = system.motion_at(system.step + ahead)
    kick = kick_of(walls, 0.5 * dt, motion, system.fixed_columns, ahead=ahead)
    return Acting(contact_parameters(system, dt), kick)


def evaluate_contacts(
    system: System, acting: Acting, phases: Phases, *, most: int = 1, ghosts: bool = False, sums: bool = True
) -> tuple[int, int]:
    """Find contacts and their forces, which act on particles where all that act on one are known.

    Parameters
    ----------
    system, phases
        State of this rank, and the stopwatch.
    acting : Acting
        Of the present step.
    most : int
        Number of steps; more than one, as long as lists stay the same, if each begins the next one.
    ghosts : bool
        Contacts with ghosts, in place of those with walls and among owned particles.
    sums : bool
        Also let the forces act on the particles that `pdem.contact.pairs.contacts.PairContacts.evaluate` leaves.

    Returns
    -------
    int, int
        How many steps were taken, and the largest code of particles that were advanced in the last one, see
        `pdem.motion.integration.FINE`.
    """
    outcome, times = np.zeros(OUTCOME, np.int64), np.zeros(TIMES, np.int64)
    walls, pairs = wall_calls(system, acting.parameters, acts=not ghosts), pair_calls(system, acting, ghosts)
    take_steps(most, sums, walls, tuple(pairs), system.ended_energies.limbs, outcome, times)
    system.ended_energies.count(int(times[COUNTED]))
    _note_walls(system, acting.parameters, outcome, acts=not ghosts)
    record_overlap_error(system, int(outcome[DEEP_PAIR]))
    _count_collisions(system, pairs)
    taken, code = int(outcome[TAKEN]), int(outcome[CODE])
    if outcome[UNFINISHED]:
        taken, code = taken + 1, max(code, _finish_step(system, pairs, acting, ghosts, sums=sums))
    phases.divide({"walls": int(times[WALLS]), "pairs": int(times[PAIRS]), "sum": int(times[SUM])})
    return taken, code


def wall_calls(system: System, parameters: ContactParameters, *, acts: bool) -> tuple[Any, ...] | None:
    """Return what `take_steps` is given of contacts with walls, None without walls.

    Contacts of the last step become those before this one; see `_note_walls`.
    """
    contacts = system.wall_contacts
    if contacts is None:
        return None
    contacts.swap()
    given = contacts.arguments(system.pair_contacts.packed(system.particles.count), parameters)
    both = given.found[0], given.work, *given.record
    find = call_of(contacts.find_kernel, (given.tally, given.near, given.parameters, given.surface, *both))
    law = call_of(contacts.law_kernel, (given.near, given.parameters, given.surface, given.motion, *both))
    acts = acts and contacts.is_near
    return tuple(WallCalls(acts, find, law, tuple(given), contacts.law.has_ledger, *contacts.accounts))


def _note_walls(
    system: System, parameters: ContactParameters, outcome: NDArray[np.int64], *, acts: bool
) -> None:
    """Have known what kernels have found of contacts with walls."""
    contacts = system.wall_contacts
    if contacts is None:
        return
    if outcome[SWAPS] % 2 == 0:  # they were exchanged once before
        contacts.swap()
    if not acts:
        return
    contacts.measured, contacts.ended = True, int(outcome[ENDED])
    if outcome[DEEP_WALL]:
        system.errors.append((WALL_OVERLAP, int(system.particles.id[outcome[DEEP_WALL] - 1]), 0))
    note_wall_contacts(system, system.pair_contacts.packed(system.particles.count), parameters)


def pair_calls(system: System, acting: Acting, ghosts: bool) -> PairCalls:
    """Return what `take_steps` is given of contacts between particles."""
    particles, pairs = system.particles, system.pair_contacts
    runs, numbers = pairs.storage.plan(ghosts, pairs.workers), parameters_of(acting.parameters, system.box)
    evaluated = pairs.arguments(runs, ghosts, particles, numbers, acting.kick)
    summed = pairs.remaining(particles, acting.kick)
    return PairCalls(
        call_of(pairs.kernel, evaluated), call_of(sum_forces, summed), evaluated, summed, pairs.storage.reserve,
        pairs.storage.forces.any_persistent, pairs.terms,
    )  # fmt: skip


def _count_collisions(system: System, calls: PairCalls) -> None:
    """Count the contacts between particles that have ended."""
    if system.collisions is not None:
        pairs = system.pair_contacts
        candidates, packed = (pairs.lower, pairs.higher), pairs.packed(system.particles.count)
        system.collisions.count_pairs(calls.evaluated[0], pairs.storage.ended, candidates, packed)


def _finish_step(system: System, calls: PairCalls, acting: Acting, ghosts: bool, *, sums: bool) -> int:
    """Finish the step that workers have left for want of room for contacts; return as `evaluate_contacts` does."""
    particles, pairs = system.particles, system.pair_contacts
    pairs.storage.resume()
    numbers = parameters_of(acting.parameters, system.box)
    deep, code = pairs.evaluate_runs(
        calls.evaluated[0], ghosts, particles, numbers, system.ended_energies, acting.kick
    )
    record_overlap_error(system, deep)
    return max(code, pairs.finish(particles, acting.kick)) if sums else code


def record_overlap_error(system: System, deep: int) -> None:
    """Record an error if `deep` > 0: candidate `deep` - 1 overlaps more than the limit."""
    if deep:
        ids = system.particles.column("id")
        a, b = system.pair_contacts.lower[deep - 1], system.pair_contacts.higher[deep - 1]
        system.errors.append((PAIR_OVERLAP, int(ids[a]), int(ids[b])))
