"""One time step and its parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.containers.exchange import ERRORS, LISTS, REQUEST, SIGNAL
from pdem.detection.walls.facets_of_images import images_across_sides
from pdem.engine.blow_up import PARTICLE_TOO_FAST, raise_blow_up
from pdem.engine.box.steps import change_box, lists_in_box
from pdem.engine.carried_contacts import migrate_and_carry, migrate_by_id, reorder, restore_contacts
from pdem.engine.clusters.carried_particles import begin_carried, list_carried
from pdem.engine.clusters.steps import states_to_share
from pdem.engine.contact_forces import compute_contact_forces
from pdem.engine.id_pairs.halo import make_ghosts
from pdem.engine.id_pairs.no_contact import leave_out_pairs
from pdem.engine.population import renew_levels_if_due
from pdem.engine.tuning.skin_tuner import ListSizes, TunedWindow
from pdem.engine.walls.driven_walls import move_walls, record_fast_walls
from pdem.motion.integration import LOST, STALE, StepColumns, drift, drift_rows
from pdem.numerics.kernels import plain
from pdem.numerics.thread_pool import run_on, set_threads, threads

if TYPE_CHECKING:
    from pdem.contact.walls.facet_lists import Carried
    from pdem.containers.exchange import Records
    from pdem.engine.parts.neighbour_lists import NeighbourLists
    from pdem.engine.parts.rank_contacts import RankContacts
    from pdem.engine.parts.run_progress import RunProgress
    from pdem.engine.parts.tuners import Tuners
    from pdem.engine.phases import Phases
    from pdem.engine.system import System
    from pdem.foundation.array_types import Integers

_ON_THREADS = ("integrate", "pairs", "walls", "sum")
"""Phases of steps with loops over threads."""


class StepStart(NamedTuple):
    """The begin of a step: particles have moved, lists have not been checked.

    Attributes
    ----------
    requested : int
        Number of a stop signal, or 0.
    stale : int
        `FINE`, or `STALE` on any rank.
    event : int
        1 if contacts have requested an event of a feature, which ranks have agreed on.
    """

    requested: int
    stale: int
    event: int = 0


def advance(
    system: System, phases: Phases, *, ahead: bool = False, keep: bool = False, begun: StepStart | None = None
) -> int:
    """Take one step; return the number of a stop signal, or 0, the same on every rank.

    With `ahead` also begin the next step, unless there is a stop signal: the columns of particles are not written in
    this case, see `sync_columns`. With `keep` the forces of all contacts can be read afterwards. `begun` is the begin
    of this step, if it has begun already.

    Raises
    ------
    BlowUpError
        On all ranks, if any of them recorded an error in this step or at the end of the last.
    """
    requested, stale, _ = begin_step(system, phases) if begun is None else begun
    if stale:
        sync_columns(system)
        detect(system, phases)
    else:
        update_ghosts(system, phases)
        refresh_facets(system)
        phases.lap("detect facets")
    # features act between the end of a step and the begin of the next
    ahead = ahead and not requested and not system.features.in_two_passes
    is_requested = system.progress.step >= system.features.requested_step
    ahead, keep = ahead and not is_requested, keep or is_requested
    compute_contact_forces(system, phases, same_lists=not stale, ahead=ahead, keep=keep)
    tune_threads(system.progress, system.tuners, phases)
    return requested


def begin_step(system: System, phases: Phases) -> StepStart:
    """Begin a step: move particles and walls, and all-reduce the status of ranks. Collective.

    Raises
    ------
    BlowUpError
        On all ranks, if any of them has recorded an error.
    """
    begun = agree_on_start(system, drift_and_move_walls(system, phases))
    phases.lap("wait")
    return begun


def drift_and_move_walls(system: System, phases: Phases) -> int:
    """Move particles and walls of this rank to the next step; return the state of lists, see `StepStart`."""
    for feature in system.features.step_actors:
        feature.before_step(system)
    change_box(system)
    system.progress.advance()
    pending = system.progress.pending_drift
    stale = kick_and_drift(system) if pending is None else check_drift(system, pending)
    tuner = system.tuners.skin
    if system.lists.are_asked_for or (tuner is not None and tuner.needs_detection(system.progress.step)):
        stale = max(stale, STALE)
    for feature in system.features.drifting:
        feature.after_drift(system)
    phases.lap("integrate")
    walls = system.walls
    if walls is not None and (walls.moves or walls.surfaces.vary):
        if move_walls(system) > system.lists.smallest_radius:
            sync_columns(system)
            record_fast_walls(system)
        phases.lap("walls move")
    return max(stale, lists_in_box(system))


def update_ghosts(system: System, phases: Phases) -> None:
    """Start the exchange of ghosts."""
    rows = system.contacts.pairs.rows_to_share(system.particles)
    system.exchange.begin_update(rows, states_to_share(system.clusters), system.particles.columns_beside_rows())
    phases.lap("exchange")


def kick_and_drift(system: System) -> int:
    """Kick by half a step and drift; return `FINE`, or `STALE` if lists are out of date."""
    own, constants = system.particles, system.constants
    for feature in system.features.kicking:
        feature.half_kick(
            system, system.progress.time_of(system.progress.step - 1), constants.time_step.half, begins=True
        )
    columns = tuple(own.column(name) for name in StepColumns._fields)
    arguments = (
        constants.time_step.dt, system.motion_at(system.progress.step), constants.density,
        system.lists.fixed_columns, columns, system.contacts.pairs.packed(own.count + own.ghosts),
    )  # fmt: skip
    held = system.contacts.pairs.held
    if not held.any_owned and system.carriers is None:
        return check_drift(system, int(drift(*plain(own.count, *arguments))))
    held.pack(own, arguments[-1], copies=False)
    code = int(drift_rows(*plain(system.contacts.pairs.free_rows, *arguments)))
    return check_drift(system, max(code, begin_carried(system, constants.time_step.dt)))


def check_drift(system: System, code: int) -> int:
    """Return the state of lists by a status code of `drift`; record an error if a particle moved too far."""
    system.progress.drift_checked()
    if code >= LOST:
        system.progress.record_error(PARTICLE_TOO_FAST, int(system.particles.id[code - LOST]))
    return min(code, STALE)


def sync_columns(system: System) -> None:
    """Write the columns of owned particles from their packed rows, if they are out of date."""
    if not system.progress.columns_are_current:
        system.contacts.pairs.show(system.particles)
        system.progress.columns_written()


def allreduce_status_or_stop(system: System, stale: int) -> tuple[int, int]:
    """Return the stop signal and the state of lists over all ranks; raise if any has recorded an error.

    Parameters
    ----------
    system : System
        State of this rank.
    stale : int
        `FINE` or `STALE` on this rank.

    Raises
    ------
    BlowUpError
        On all ranks.
    """
    return status_or_stop(system, system.exchange.agree(status_of(system.progress, stale)))


def agree_on_start(system: System, stale: int) -> StepStart:
    """All-reduce the status of ranks at the begin of a step, with the state of lists of this rank. Collective.

    Raises
    ------
    BlowUpError
        On all ranks, if any of them has recorded an error.
    """
    return start_by(system, system.exchange.agree(status_of(system.progress, stale)))


def start_by(system: System, largest: Integers) -> StepStart:
    """Return the begin of the present step from the all-reduced status; plan an event that contacts have requested.

    Between two steps such a request waits, so that the step of its event does not depend on outputs.

    Raises
    ------
    BlowUpError
        On all ranks, if any of them has recorded an error.
    """
    requested, stale = status_or_stop(system, largest)
    if largest[REQUEST]:
        system.progress.request_event(requested=False)
        for feature in system.features.breaking:
            feature.request(system.progress.step)
    return StepStart(requested, stale, int(largest[REQUEST]))


def status_of(progress: RunProgress, stale: int) -> Integers:
    """Return the status of this rank at the begin of a step (4,), see `pdem.containers.exchange.LISTS`."""
    return np.array([stale, progress.stop_requested(), len(progress.errors), progress.event_requested], np.int64)


def status_or_stop(system: System, largest: Integers) -> tuple[int, int]:
    """Return stop signal and state of lists from the all-reduced status; raise as `allreduce_status_or_stop`."""
    if largest[ERRORS]:
        sync_columns(system)
        raise_blow_up(system)
    return int(largest[SIGNAL]), int(largest[LISTS])


def detect(system: System, phases: Phases) -> None:
    """Rebuild all lists: migrate particles, make ghosts, find pairs and facets, retain histories."""
    phases.lap("detect")
    system.follow_box()
    tune_settings(system, phases)
    rebalance_load(system, phases)
    migrate_and_rebuild_lists(system, None, phases)


def migrate_and_rebuild_lists(system: System, contacts: Records | None, phases: Phases) -> None:
    """Migrate particles and rebuild all lists; `contacts` are their contacts, None to retain the present ones."""
    system.follow_box()
    if contacts is None:
        walls = migrate_and_carry(system)
        phases.lap("migrate")
    else:
        contacts = migrate_by_id(system, contacts)
        phases.lap("migrate")
        renew_levels_if_due(system)
        walls = restore_contacts(system, contacts)
    _make_lists(system, walls, phases)


def tune_settings(system: System, phases: Phases) -> None:
    """Set skin and chunk size for the next lists, and divide them for threads. Results do not depend on it."""
    tune_skin(system, phases)
    system.tuners.chunks.begin_with(system.contacts.pairs.candidates, threads())
    system.tuners.chunks.set_next(system.progress.step, phases.spent(*_ON_THREADS))
    system.contacts.set_chunk_size(system.tuners.chunks.chunk)
    if threads() != system.tuners.threads.division:
        set_threads(system.tuners.threads.division)
    run_on(system.tuners.threads.number)


def tune_threads(progress: RunProgress, tuners: Tuners, phases: Phases) -> None:
    """Choose the number of running threads. Results do not depend on it."""
    if progress.step >= tuners.threads.next_look:
        tuners.threads.look(progress.step, phases.spent(*_ON_THREADS))
        run_on(tuners.threads.number)
        if tuners.threads.is_trying:
            tuners.chunks.discard_times()


def tune_skin(system: System, phases: Phases) -> None:
    """Set the skin, if the case leaves it to the tuner."""
    if system.tuners.skin is None or not system.tuners.skin.is_due(system.progress.step):
        return
    pairs, detecting = phases.spent("pairs", "sum"), phases.spent("detect", "migrate", "detect facets")
    done = TunedWindow(system.progress.step, system.lists.detections, pairs, detecting)
    rows = system.particles.count + system.particles.ghosts
    lists = ListSizes(system.contacts.pairs.candidates, system.contacts.pairs.count, rows)
    before = system.lists.skins.fraction
    system.lists.measure_speeds(system.constants, system.exchange)
    life = system.lists.skins.life / system.constants.time_step.dt
    fraction = system.tuners.skin.next_fraction(done, lists, system.exchange.share, life)
    system.lists.set_fraction(fraction)
    if fraction != before:
        system.tuners.chunks.discard_times()


def rebalance_load(system: System, phases: Phases) -> None:
    """Rebalance the particles among the ranks, if the gain exceeds the cost."""
    seconds = [
        phases.spent(*names) for names in (("integrate", "sum"), ("pairs", "detect"), ("walls", "detect facets"))
    ]
    own = system.particles
    if system.exchange.rebalance(own.position, np.array(seconds), system.contacts.work):
        system.lists.note_rebalance()


def rebuild_lists(system: System, contacts: Records, phases: Phases) -> None:
    """Make ghosts and all lists for the particles that this rank owns, with these contacts. Collective."""
    system.follow_box()
    walls = restore_contacts(system, contacts)
    del contacts  # at the start of a run this is a second copy of all contacts
    _make_lists(system, walls, phases)


def _make_lists(system: System, walls: Carried | None, phases: Phases) -> None:
    """Make ghosts and all lists; contacts between particles are retained already, `walls` are contacts with walls."""
    if system.lists.note_detection(system.progress.step):
        walls = reorder(system, walls)
    phases.lap("detect")
    particles = system.particles
    make_ghosts(system)
    phases.lap("exchange")
    system.lists.measure_reaches(system.constants, system.box, system.progress.step)
    list_carried(system)
    near = system.lists.search.search(
        particles.column("position"), system.lists.reach, particles.count + particles.ghosts
    )
    leave_out_pairs(system, near)
    for feature in system.features:
        if (begun := feature.new_contacts(system, near)) is not None:
            system.contacts.pairs.add(begun, particles)
    system.contacts.pairs.take_candidates(near, particles, system.contacts.ended_energies)
    phases.lap("detect")
    list_facets(system, walls)
    phases.lap("detect facets")


def list_facets(system: System, wall_histories: Carried | None) -> None:
    """List the facets that owned particles may touch until their skins and the margin of the walls are used up."""
    walls = system.walls
    if system.contacts.walls is None or walls is None or wall_histories is None:
        return
    moves = walls.moves or system.box.moving is not None
    skin = float(system.lists.skin.mean()) if moves and system.particles.count else 0.0
    system.lists.wall_margin.choose(system.progress.step, walls.moved, skin)
    walls.note_places()
    reaches = system.lists.wall_reach() + system.lists.wall_margin.length
    travel = system.lists.skin + system.lists.wall_margin.length
    images = images_across_sides(system.lists.reference, travel, system.constants.shape)
    system.contacts.walls.take_candidates(
        system.particles, system.lists.reference, reaches, images, wall_histories, system.contacts.ended_energies
    )


def refresh_facets(system: System) -> None:
    """List facets again if the walls have moved by more than the margin of the present lists."""
    if facets_are_stale(system.contacts, system.lists):
        assert system.contacts.walls is not None
        list_facets(system, system.contacts.walls.carry(system.particles))


def facets_are_stale(contacts: RankContacts, lists: NeighbourLists) -> bool:
    """Return whether the walls have moved by more than the margin of the lists of facets."""
    walls = contacts.walls
    return walls is not None and walls.walls.moved > lists.wall_margin.length
