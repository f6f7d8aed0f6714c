"""Many steps in one kernel, while lists do not change and only contacts act.

`pdem.engine.step.advance` takes one step at a time in all cases, and whenever more than contacts is due: new lists,
more room for contacts, outputs.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from pdem.containers.exchange import MINE
from pdem.engine.box.stress import end_box_sums
from pdem.engine.clusters.carried_particles import finish_carried
from pdem.engine.contact_forces import ContactSteps
from pdem.engine.step import (
    StepStart,
    agree_on_start,
    check_drift,
    drift_and_move_walls,
    facets_are_stale,
    start_by,
    status_of,
    tune_threads,
    update_ghosts,
)
from pdem.engine.walls.driven_walls import finish_driven, move_walls
from pdem.motion.integration import FINE
from pdem.numerics.kernel_calls import PythonCall

if TYPE_CHECKING:
    from pdem.containers.exchange import ExchangeCalls
    from pdem.engine.feature_set import Features
    from pdem.engine.parts.run_progress import RunProgress
    from pdem.engine.parts.tuners import Tuners
    from pdem.engine.phases import Phases
    from pdem.engine.system import System
    from pdem.foundation.array_types import Integers
    from pdem.motion.walls import MovingWalls

LONGEST = 0.05
"""Wall-clock time of steps between two checks of signals [s]."""


def advance_with_same_lists(system: System, phases: Phases, last: int) -> StepStart | None:
    """Take steps up to the step `last` at most; each step also begins the next one.

    Results have the bits of `pdem.engine.step.advance`. Ends, perhaps before its first step, where `advance` is needed.
    Returns the begin of the next step, if it has begun. Collective.
    """
    if system.progress.pending_drift is None or phases.records_steps or not acts_alone(system.features):
        return None
    rows = system.contacts.pairs.rows_to_share(system.particles)
    ranks = system.exchange.calls(rows)
    if ranks is None or needs_python(system):
        return _StepsWithPython(system, phases, ranks if ranks and ranks.agree else None).take(last)
    return _take_without_python(system, phases, last, ranks)


def _take_without_python(system: System, phases: Phases, last: int, ranks: ExchangeCalls) -> StepStart | None:
    """Take steps as `advance_with_same_lists`, without Python within steps; ranks exchange status by these calls."""
    alone, walls = system.exchange.size == 1, _walls_with_plan(system.walls)
    while not alone or not (
        system.progress.pending_drift
        or system.progress.errors
        or system.progress.stop_requested()
        or system.progress.event_requested
    ):
        most = min(
            system.progress.steps_at_a_time,
            _last_undisturbed(system.tuners, system.progress, last) - system.progress.step,
        )
        if walls is not None and most > 0:
            limits = system.lists.wall_margin.length, system.lists.smallest_radius
            most = min(most, walls.planned_steps(system.progress.step, last, system.progress.time_of, limits))
        if most < 1:
            break
        begin = time.perf_counter()
        ranks.status[MINE] = status_of(system.progress, FINE)
        planned = None if walls is None else walls.planned
        contacts = ContactSteps(system, phases, system.progress.step, ahead=True, ranks=ranks, planned=planned)
        taken = contacts.take(most, updates=not alone)
        system.progress.advance(taken)
        if taken:
            if walls is not None:
                walls.adopt_planned(
                    system.progress.step, system.progress.time, system.progress.time_of(system.progress.step - 1)
                )
            system.progress.end_forces(contacts.code)
            tune_threads(system.progress, system.tuners, phases)
        if contacts.agreed is not None:
            return _begun(system, contacts.agreed)
        if taken == 0:
            break
        system.progress.measure_pace(taken, time.perf_counter() - begin, LONGEST)
    return None


def _begun(system: System, agreed: Integers) -> StepStart:
    """Return the begin of the next step from the all-reduced status; raise if any rank has recorded an error."""
    system.progress.advance()
    if system.progress.pending_drift is not None:
        check_drift(system, system.progress.pending_drift)
    if _walls_with_plan(system.walls) is not None:
        move_walls(system)
    return start_by(system, agreed)


def _walls_with_plan(walls: MovingWalls | None) -> MovingWalls | None:
    """Return the walls if they move by a plan, so that a kernel can move them."""
    return walls if walls is not None and walls.planned is not None else None


class _StepsWithPython:
    """Steps in a kernel with hooks of Python: motion of walls and clusters, driven walls, readers of contacts.

    Ranks exchange status and ghosts by `ranks`, or in Python if that is None.
    """

    def __init__(self, system: System, phases: Phases, ranks: ExchangeCalls | None) -> None:
        self._system, self._phases, self._ranks = system, phases, ranks
        self._contacts: ContactSteps | None = None
        self._begun: StepStart | None = None

    def take(self, last: int) -> StepStart | None:
        """Take steps as `advance_with_same_lists`."""
        system, begin = self._system, PythonCall(self._begin)
        while self._begun is None and system.progress.step < last:
            end_box_sums(system.box)
            contacts = ContactSteps(system, self._phases, system.progress.step, ahead=True, ranks=self._ranks)
            self._contacts = contacts
            taken = contacts.take(last - system.progress.step, updates=system.exchange.size > 1, begin=begin)
            if contacts.agreed is not None:
                self._begun = start_by(system, contacts.agreed)
            if self._begun is None and taken:
                self._note_step(contacts)
            if not taken:
                break
        return self._begun

    def _note_step(self, contacts: ContactSteps) -> None:
        """Update the state outside of kernels after a step."""
        system = self._system
        system.progress.end_forces(max(contacts.code, finish_carried(system, contacts.kick)))
        finish_driven(system, system.constants.time_step, self._phases)
        tune_threads(system.progress, system.tuners, self._phases)

    def _begin(self) -> int:
        """Begin a step; return 0 if lists are valid and no rank needs attention."""
        system, contacts = self._system, self._contacts
        assert contacts is not None
        contacts.note()
        if contacts.taken:
            self._note_step(contacts)
        stale, alone = drift_and_move_walls(system, self._phases), facets_are_stale(system.contacts, system.lists)
        contacts.note_wall_step()
        if self._ranks is None or alone:
            self._begun = agree_on_start(system, stale)
            self._phases.lap("wait")
            if alone or any(self._begun):
                return 1
            self._begun = None
            update_ghosts(system, self._phases)
        else:
            self._ranks.status[MINE] = status_of(system.progress, stale)
        contacts.follow_box()
        return 0


def acts_alone(features: Features) -> bool:
    """Return whether only contacts act on particles, and no feature acts in or at the begin of each step."""
    return not features.in_two_passes and not features.step_actors


def needs_python(system: System) -> bool:
    """Return whether Python acts in every step: moves walls without a plan, a box or clusters, or reads walls."""
    walls = system.walls
    move = walls is not None and (walls.moves or walls.surfaces.vary) and walls.planned is None
    looks = bool(system.features.wall_watchers or system.features.pair_watchers)
    return move or looks or system.carriers is not None or system.box.moving is not None


def _last_undisturbed(tuners: Tuners, progress: RunProgress, last: int) -> int:
    """Return the last step before the next action of a tuner, at most `last`."""
    wanted = last if tuners.skin is None else min(last, tuners.skin.next_detection - 1)
    return min(wanted, max(tuners.threads.end_of_window, progress.step + 1))
