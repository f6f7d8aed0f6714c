"""The contacts of a rank in a step, or in several steps with the same lists: calls of kernels, and their results."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.contact.pairs import runs as runs_of_pairs
from pdem.contact.pairs.arguments import NO_WALLS, kick_of, parameters_of
from pdem.contact.pairs.due_candidates import STEP, count_step_of_all, longest_of_workers, longest_step
from pdem.contact.pairs.force_sums import sum_forces
from pdem.contact.pairs.kept_forces import keep_forces
from pdem.contact.step_calls import PairCalls, PythonHooks, WallCalls
from pdem.contact.steps import (
    BREAKS,
    CODE,
    COUNTED,
    DEEP_PAIR,
    DEEP_WALL,
    ENDED,
    EXCHANGE,
    GHOST_PAIRS,
    MOVES,
    OUTCOME,
    OWNED_PAIRS,
    PAIRS,
    STATUS_AGREED,
    SUM,
    SWAPS,
    TAKEN,
    TIMES,
    UNFINISHED,
    WAIT,
    WALLS,
    take_steps,
)
from pdem.contact.strength_watch import BROKEN, Strengths, finish_step_of_strengths, watch_walls_of_step
from pdem.contact.walls.due_facets import OF_WALLS
from pdem.containers.exchange import AGREED, calls_without
from pdem.engine.blow_up import PAIR_OVERLAP, WALL_OVERLAP
from pdem.engine.box.stress import begin_box_sums
from pdem.engine.clusters.carried_particles import finish_carried
from pdem.engine.clusters.steps import contact_parameters, place_ghost_members
from pdem.engine.feature_forces import act_forces, evaluate_forces
from pdem.engine.walls.driven_walls import finish_driven
from pdem.motion.integration import FINE
from pdem.motion.planned_walls import NO_PLAN, place_walls
from pdem.numerics.kernel_calls import PythonCall, call_of

if TYPE_CHECKING:
    from typing import Any

    from pdem.contact.pairs.arguments import Kick
    from pdem.containers.exchange import ExchangeCalls
    from pdem.engine.phases import Phases
    from pdem.engine.system import System
    from pdem.foundation.array_types import Integers
    from pdem.motion.planned_walls import PlannedWalls


def compute_contact_forces(
    system: System,
    phases: Phases,
    *,
    at_rest: bool = False,
    same_lists: bool = False,
    ahead: bool = False,
    keep: bool = False,
) -> None:
    """Compute the contact forces on owned particles and kick the particles by the second half of the step.

    Parameters
    ----------
    system : System
        State of this rank.
    phases : Phases
        The stopwatch.
    at_rest : bool
        Compute forces only, without a kick.
    same_lists : bool
        Whether lists are the lists of the last step: positions of ghosts are being received, and contacts between owned
        particles are computed meanwhile.
    ahead : bool
        Also begin the next step.
    keep : bool
        Leave the forces of all contacts, see `pdem.contact.pairs.kept_forces`.
    """
    particles, pairs = system.particles, system.contacts.pairs
    pairs.begin(particles, system.constants.density, packed=same_lists)
    keep_forces(pairs, particles, keep)
    step = system.constants.time_step.at_rest() if at_rest else system.constants.time_step
    evaluate_forces(system, step.dt, phases, waits=same_lists)
    begin_box_sums(system)
    system.progress.begin_forces(ahead=ahead)
    contacts = ContactSteps(system, phases, system.progress.step - 1, at_rest=at_rest, ahead=ahead)
    contacts.take(1, updates=same_lists and system.exchange.size > 1)
    code = max(contacts.code, finish_carried(system, contacts.kick))
    system.progress.end_forces(code if ahead else None)
    phases.lap("sum")
    finish_driven(system, step, phases)
    act_forces(system, step.dt, phases)
    for feature in () if at_rest else system.features.kicking:
        feature.half_kick(system, system.progress.time, step.half, begins=False)
        phases.lap("own forces")


class ContactSteps:
    """The contacts of a step, or of several steps with the same lists: calls of kernels, and their results.

    Parameters
    ----------
    system : System
        State of this rank.
    phases : Phases
        The stopwatch.
    step : int
        The step before the first one.
    at_rest : bool
        Whether forces are computed only, and nothing moves.
    ahead : bool
        Whether each step also begins the next one.
    ranks : ExchangeCalls, optional
        Calls by which kernels all-reduce the status of ranks in each step and refresh ghosts; by default Python does.
    planned : PlannedWalls, optional
        Plan by which walls move in each step; by default Python has moved them.

    Attributes
    ----------
    kick : Kick
        Arguments of the integration.
    """

    def __init__(
        self, system: System, phases: Phases, step: int, *, ahead: bool, at_rest: bool = False,
        ranks: ExchangeCalls | None = None, planned: PlannedWalls | None = None,
    ) -> None:  # fmt: skip
        self._system, self._phases = system, phases
        self._ranks = calls_without() if ranks is None else ranks
        self._other_phases = {} if ranks is None else {"exchange": EXCHANGE, "wait": WAIT}
        self._planned = planned
        if planned is not None:
            self._other_phases["walls move"] = MOVES
        self._parameters = contact_parameters(system, at_rest=at_rest)
        self.kick = _kick(system, self._parameters.step.dt, ahead=ahead)
        self._outcome, self._times = np.zeros(OUTCOME, np.int64), np.zeros(TIMES, np.int64)
        self._outcome[CODE] = system.progress.pending_drift or FINE
        self._swaps = 0
        if system.box.moving is not None and ahead:
            self._have_own_box()
        system.contacts.pass_losses_to(_loss_sink(system))
        system.contacts.watch_strengths(_strengths(system, step))
        self._walls, self._pairs = self._wall_calls(), self._pair_calls()

    def _have_own_box(self) -> None:
        """Allocate arrays of the box that are at the same address in every step, see `follow_box`."""
        images = np.empty_like(self._parameters.images)
        sides, box = np.empty_like(self.kick.sides), np.empty_like(self.kick.box)
        self._parameters = self._parameters._replace(images=images)
        self.kick = self.kick._replace(sides=sides, box=box)
        self.follow_box()

    def follow_box(self) -> None:
        """Write the shape of a deforming box at the end of the present and of the next step to arrays of kernels."""
        box, step = self._system.box.moving, self._system.progress.step
        if box is not None:
            assert self._parameters.images is not None
            assert self.kick.box is not None
            self._parameters.images[:] = box.images(step)
            self.kick.sides[:], self.kick.box[:] = box.sides(step + 1), box.images(step + 1)

    @property
    def code(self) -> int:
        """Largest code of particles integrated in the last step, see `pdem.motion.integration.FINE`."""
        return int(self._outcome[CODE])

    @property
    def agreed(self) -> Integers | None:
        """The all-reduced status for the step after the completed ones, None if ranks have not exchanged it."""
        return self._ranks.status[AGREED] if self._outcome[STATUS_AGREED] else None

    @property
    def taken(self) -> int:
        """Number of completed steps."""
        return int(self._outcome[TAKEN])

    def take(self, most: int, *, updates: bool = False, begin: PythonCall | None = None) -> int:
        """Take steps; return their number, fewer than `most` if Python has to act before the next one.

        Parameters
        ----------
        most : int
            Largest number of steps.
        updates : bool
            Whether ghosts are refreshed in every step.
        begin : PythonCall, optional
            Hook at the begin of each step; the step is not taken unless it returns 0.
        """
        system = self._system
        counts = bool(system.features.pair_watchers)
        walls = PythonCall(self._note_walls) if counts or system.features.wall_watchers else None
        waits = updates and self._ranks.finish_update == 0
        ghosts = PythonCall(lambda: self._wait_for_ghosts(updates=waits)) if waits or counts else None
        between = PythonHooks(*(0 if call is None else call.address for call in (begin, walls, ghosts)))
        self._note_last_step()
        limbs = system.contacts.ended_energies.limbs
        ranks, pairs = tuple(self._ranks), tuple(self._pairs)
        take_steps(most, tuple(between), ranks, self._walls, pairs, limbs, self._outcome, self._times)
        system.exchange.check_calls(self._ranks.status)
        for call in (begin, walls, ghosts):
            if call is not None:
                call.reraise()
        stage = int(self._outcome[UNFINISHED])
        self.note()
        if stage:
            self._finish(stage, updates=updates)
        taken = self.taken + (stage > 0)
        due = system.contacts.pairs.due_values
        due.has_longest = self.kick.ahead and taken > 0
        return taken

    def _note_last_step(self) -> None:
        """Record the largest displacement of owned particles in the last step."""
        system, pairs = self._system, self._system.contacts.pairs
        owned, due = system.particles.count, pairs.due_values
        if system.carriers is not None or system.box.moving is not None:
            due.path[STEP] = np.inf
        elif due.has_longest:
            due.path[STEP] = longest_of_workers(pairs.workers, pairs.storage.work)
        else:
            due.path[STEP] = longest_step(owned, self.kick.dt, pairs.packed(owned))
        self.note_wall_step()

    def note_wall_step(self) -> None:
        """Record the largest displacement of walls in the last step."""
        walls, contacts = self._system.walls, self._system.contacts.walls
        if walls is not None and contacts is not None:
            contacts.path[OF_WALLS] = walls.largest_displacement if walls.moves else 0.0

    def _count_step_of_ghosts(self) -> None:
        """Add the displacement of ghosts in the last step to the path of all particles."""
        particles, pairs = self._system.particles, self._system.contacts.pairs
        rows = particles.count + particles.ghosts
        count_step_of_all(self.kick.dt, particles.count, rows, pairs.packed(rows), pairs.due_values.path)

    def note(self) -> None:
        """Collect the results of kernels: times, energies, overlap errors."""
        system, outcome, times = self._system, self._outcome, self._times
        walls = {} if self._walls is None else {"walls": WALLS}
        parts = {"pairs": PAIRS, "sum": SUM, **walls, **self._other_phases}
        self._phases.divide({phase: int(times[part]) for phase, part in parts.items()})
        system.contacts.ended_energies.count(int(times[COUNTED]))
        times[:] = 0
        record_overlap_error(system, int(outcome[DEEP_PAIR]))
        if outcome[BREAKS]:
            system.progress.request_event()
            outcome[BREAKS] = 0
        self._note_walls()
        if system.features.pair_watchers:
            runs = self._pairs.evaluated[0]
            for feature in system.features.pair_watchers:
                feature.after_pairs(system, runs)
            runs[:, runs_of_pairs.ENDED] = 0
        outcome[DEEP_PAIR] = outcome[DEEP_WALL] = 0

    def _note_walls(self) -> int:
        system, contacts, outcome = self._system, self._system.contacts.walls, self._outcome
        if contacts is None or outcome[SWAPS] == self._swaps:
            return 0
        if (outcome[SWAPS] - self._swaps) % 2:
            contacts.swap()
        self._swaps = int(outcome[SWAPS])
        contacts.ended = int(outcome[ENDED])
        if outcome[DEEP_WALL]:
            system.progress.record_error(WALL_OVERLAP, int(system.particles.id[outcome[DEEP_WALL] - 1]))
        packed = system.contacts.pairs.packed(system.particles.count)
        if self._parameters.step.dt > 0.0 and system.features.wall_watchers:
            evaluated = contacts.evaluated(packed, len(self._parameters.density))
            for feature in system.features.wall_watchers:
                feature.after_walls(system, evaluated, self._parameters)
        return 0

    def _wait_for_ghosts(self, *, updates: bool) -> int:
        """Wait until ghosts are up to date."""
        self.note()
        if updates:
            self._system.exchange.finish_update()
            place_ghost_members(self._system)
            self._phases.lap("exchange")
        return 0

    def _finish(self, stage: int, *, updates: bool) -> None:
        """Finish the step that workers could not complete for lack of room for contacts."""
        system, pairs = self._system, self._system.contacts.pairs
        numbers = parameters_of(self._parameters, system.constants.periods)
        rest = system.particles, numbers, system.contacts.ended_energies, self.kick
        pairs.storage.resume()
        found = [pairs.evaluate_runs(self._pairs.evaluated[0], stage == GHOST_PAIRS, *rest)]
        if stage == OWNED_PAIRS:
            self._wait_for_ghosts(updates=updates)
            self._count_step_of_ghosts()
            found.append(pairs.evaluate_runs(pairs.storage.plan(True, pairs.workers), True, *rest))
        for deep, _ in found:
            record_overlap_error(system, deep)
        last = pairs.finish(system.particles, self.kick)
        self._outcome[CODE] = max(self.code, last, *(code for _, code in found))
        self._watch_strengths()

    def _watch_strengths(self) -> None:
        """Apply the damage of a step that Python has finished, and watch its contacts."""
        if (strengths := self._pairs.strengths) is None:
            return
        storage = self._system.contacts.pairs.storage
        finished = self.taken + 1
        chunks, contacts = tuple(storage.chunks), tuple(storage.contacts)
        finish_step_of_strengths(storage.number, chunks, contacts, finished, strengths)
        if (walls := self._system.contacts.walls) is not None:
            evaluated = walls.evaluated(
                self._system.contacts.pairs.packed(self._system.particles.count), len(self._parameters.density)
            )
            watch_walls_of_step(tuple(evaluated.near), tuple(evaluated.now), finished, strengths)
        s = Strengths(*strengths)
        if s.asks and s.counts[BROKEN]:
            self._system.progress.request_event()

    def _wall_calls(self) -> tuple[Any, ...] | None:
        """Return the arguments of `take_steps` for contacts with walls, None without walls."""
        contacts = self._system.contacts.walls
        if contacts is None:
            return None
        contacts.measured, contacts.ended = True, 0
        packed = self._system.contacts.pairs.packed(self._system.particles.count)
        contacts.swap()  # new contacts overwrite the contacts before the last ones
        given = contacts.arguments(packed, self._parameters)
        contacts.swap()
        if contacts.calls is None:
            tally, near, parameters, surface, motion, work, found, record = given
            both = found[0], work, *record
            contacts.calls = (
                call_of(contacts.find_kernel, (tally, near, parameters, surface, *both)),
                call_of(contacts.law_kernel, (near, parameters, surface, motion, *both)),
            )
        find, evaluate = contacts.calls
        place, row, poses, places = self._wall_moves()
        return tuple(WallCalls(
            contacts.is_near, find, evaluate, tuple(given), contacts.law.has_ledger, *contacts.accounts,
            place, row, poses, places, self._system.contacts.pairs.sink, self._system.contacts.pairs.strengths,
        ))  # fmt: skip

    def _wall_moves(self) -> tuple[Any, int, tuple[Any, ...], tuple[Any, ...]]:
        """Return the call that moves walls in each step, the first row of the plan, and the arguments of the call."""
        if self._planned is None:
            return 0, *NO_PLAN
        row, poses, places = self._planned.arguments(self._system.progress.step)
        return call_of(place_walls, (row, poses, places)), row, poses, places

    def _pair_calls(self) -> PairCalls:
        """Return the arguments of `take_steps` for contacts between particles."""
        system, pairs = self._system, self._system.contacts.pairs
        storage, numbers = pairs.storage, parameters_of(self._parameters, system.constants.periods)
        rows = system.particles.count + system.particles.ghosts
        runs = storage.plan(False, pairs.workers)
        evaluated = pairs.arguments(runs, False, system.particles, numbers, self.kick)
        summed = pairs.remaining(system.particles, self.kick)
        if pairs.calls is None:
            pairs.calls = call_of(pairs.kernel, evaluated), call_of(sum_forces, summed)
        return PairCalls(
            *pairs.calls, evaluated, summed, pairs.late_schedule, rows, storage.inner_number, storage.number,
            storage.reserve, storage.forces.any_persistent, pairs.terms, pairs.sink, pairs.strengths,
        )  # fmt: skip


def _loss_sink(system: System) -> tuple[Any, ...] | None:
    """Return the arrays of a feature that receive the losses of contacts that end, as a plain tuple; or None."""
    if not system.constants.law.passes_losses:
        return None
    sinks = (one.loss_sink(system) for one in system.features.loss_takers)
    return next((tuple(sink) for sink in sinks if sink is not None), None)


def _strengths(system: System, step: int) -> tuple[Any, ...] | None:
    """Return the strengths of particles before steps as a plain tuple; None if nothing breaks."""
    found = (one.strengths(system) for one in system.features.breaking)
    return next((tuple(one._replace(step=step)) for one in found if one is not None), None)


def _kick(system: System, dt: float, *, ahead: bool) -> Kick:
    contacts = system.contacts.walls
    walls = NO_WALLS if contacts is None else (contacts.total, contacts.total_row)
    motion = system.motion_at(system.progress.step + ahead)
    return kick_of(walls, dt, motion, system.lists.fixed_columns, ahead=ahead)


def record_overlap_error(system: System, deep: int) -> None:
    """Record an error if `deep` > 0: candidate `deep` - 1 overlaps more than the limit."""
    if deep:
        ids = system.particles.column("id")
        a, b = system.contacts.pairs.lower[deep - 1], system.contacts.pairs.higher[deep - 1]
        system.progress.record_error(PAIR_OVERLAP, int(ids[a]), int(ids[b]))
