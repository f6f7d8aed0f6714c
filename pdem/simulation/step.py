"""One time step, and what it is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.contact.pairs.arguments import NO_WALLS, kick_of
from pdem.foundation.kernels import plain, set_threads, threads
from pdem.motion.integration import GONE, LOST, STALE, StepColumns, drift, drift_rows
from pdem.simulation.carried import begin_carried, finish_carried, list_carried
from pdem.simulation.driven import finish_driven, move_walls, note_fast_walls
from pdem.simulation.population import remove_escaped_particles, renew_levels
from pdem.simulation.trouble import FAR, PAIR, WALL, stop_if_troubled
from pdem.simulation.tuning import Lists, Window

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.contact.law.pair_table import ContactParameters
    from pdem.contact.walls.facet_lists import Carried
    from pdem.containers.exchange import Records
    from pdem.simulation.phases import Phases
    from pdem.simulation.system import System

SORT_EVERY = 10
"""Detections after which particles are put in the order of the cells in memory."""


def advance(system: System, phases: Phases, *, ahead: bool = False) -> int:
    """Take one step; return the number of a signal that asks the run to stop, the same on every rank.

    With `ahead` the next step is begun at once, unless a signal has come: nobody may look at the particles in between.

    Raises
    ------
    BlowUpError
        On all ranks, if any of them saw in this step or at the end of the last what cannot be.
    """
    system.step += 1
    stale = (
        kick_and_drift(system) if system.pending_drift is None else note_drift(system, system.pending_drift)
    )
    if system.tuner is not None and system.tuner.wants_lists(system.step):
        stale = max(stale, STALE)
    phases.lap("integrate")
    if system.walls is not None and system.walls.walls.moves:
        if move_walls(system) > system.least_radius:
            sync_columns(system)
            note_fast_walls(system)
        phases.lap("walls move")
    requested, stale = allreduce_status_or_stop(system, stale)
    phases.lap("wait")
    if stale:
        sync_columns(system)
        detect(system, phases, stale == GONE)
    else:
        system.exchange.begin_update(system.pairs.rows_to_share(system.particles))
        phases.lap("exchange")
        refresh_facets(system)
        phases.lap("detect facets")
    ahead = ahead and not requested
    evaluate(system, system.constants.step, phases, same_lists=not stale, ahead=ahead)
    return requested


def kick_and_drift(system: System) -> int:
    """Kick by half and drift; return `FINE`, `STALE` if lists have to be made anew, `GONE` if particles left."""
    own, constants = system.particles, system.constants
    columns = tuple(own.column(name) for name in StepColumns._fields)
    given = (
        constants.step, constants.motion, constants.density, system.fixed, columns,
        system.pairs.packed(own.count + own.ghosts),
    )  # fmt: skip
    if system.carriers is None:
        return note_drift(system, int(drift(*plain(own.count, *given))))
    code = int(drift_rows(*plain(system.pairs.free_rows, *given)))
    return note_drift(system, max(code, begin_carried(system, constants.step)))


def note_drift(system: System, code: int) -> int:
    """Return how stale lists are by what `drift` has returned; note a particle that went too far."""
    system.pending_drift = None
    if code >= LOST:
        system.trouble.append((FAR, int(system.particles.id[code - LOST]), 0))
    return min(code, GONE)


def sync_columns(system: System) -> None:
    """Write the columns of owned particles where they are behind."""
    if not system.columns_are_current:
        system.pairs.show(system.particles)
        system.columns_are_current = True


def allreduce_status_or_stop(system: System, stale: int) -> tuple[int, int]:
    """Return a stop signal and how stale lists are, as seen by any rank; stop if any has trouble."""
    mine = np.array([stale, system.stop_requested(), len(system.trouble)], np.int64)
    seen = system.exchange.largest(mine)
    if seen[2]:
        sync_columns(system)
        stop_if_troubled(system)
    return int(seen[1]), int(seen[0])


def detect(system: System, phases: Phases, gone: bool = False) -> None:
    """Make all lists anew: migrate, copy ghosts, find pairs and facets; histories are carried over.

    With `gone`, particles outside the box are taken out before.
    """
    phases.lap("detect")
    tune(system, phases)
    rebalance_load(system, phases)
    stay = remove_escaped_particles(system) if gone else None
    migrate_and_rebuild_lists(system, stay, phases)


def migrate_and_rebuild_lists(system: System, contacts: Records | None, phases: Phases) -> None:
    """Hand particles to their owners and make all lists; `contacts` are theirs if not those of the lists."""
    records = system.records if contacts is None else lambda: contacts
    handed = system.exchange.migrate(system.particles, records) or contacts
    phases.lap("migrate")
    if contacts is not None:
        renew_levels(system)
    rebuild_lists(system, handed, phases)


def tune(system: System, phases: Phases) -> None:
    """Choose for the lists to be made on what only the speed depends."""
    tune_skin(system, phases)
    system.trials.note(system.step, phases.spent("integrate", "pairs", "walls", "sum"))
    system.pairs.chunk_size, wanted = system.trials.value("chunk"), system.trials.value("threads")
    if threads() != wanted:
        set_threads(wanted)


def tune_skin(system: System, phases: Phases) -> None:
    """Choose the skin, where the case leaves it open."""
    if system.tuner is None or not system.tuner.is_due(system.step):
        return
    pairs, detecting = phases.spent("pairs", "sum"), phases.spent("detect", "migrate", "detect facets")
    done = Window(system.step, system.detections, pairs, detecting)
    rows = system.particles.count + system.particles.ghosts
    lists = Lists(system.pairs.candidates, system.pairs.count, rows)
    before = system.skins.fraction
    system.skins.fraction = system.tuner.next_fraction(done, lists, system.exchange.share)
    if system.skins.fraction != before:
        system.trials.restart()
    system.search.set_limits(system.skins.cell_sizes)


def rebalance_load(system: System, phases: Phases) -> None:
    """Let the ranks divide the particles anew, if that is worth it."""
    seconds = [
        phases.spent(*names)
        for names in (("integrate", "sum"), ("pairs", "detect"), ("walls", "detect facets"))
    ]
    own = system.particles
    if system.exchange.rebalance(own.position, np.array(seconds), system.work):
        system.divisions += 1


def rebuild_lists(system: System, handed: Records | None, phases: Phases) -> None:
    """Make ghosts and all lists for the particles this rank owns.

    Their contacts are those there were, unless others are handed over.
    """
    carried = regroup(system, handed)
    del handed  # at the begin of a run it may hold all contacts once more
    system.detections += 1
    phases.lap("detect")
    particles = system.particles
    system.exchange.make_ghosts(particles, system.skins.reach, system.skins.radii)
    phases.lap("exchange")
    system.measure_reaches()
    list_carried(system)
    near = system.search.search(
        particles.column("position"), system.reach, particles.count + particles.ghosts
    )
    system.pairs.take_candidates(near, particles, system.ended)
    phases.lap("detect")
    list_facets(system, carried)
    phases.lap("detect facets")


def regroup(system: System, handed: Records | None) -> Carried | None:
    """Now and then put particles in the order of cells; have pairs and return wall contacts for the new rows."""
    particles, walls = system.particles, system.walls
    order = _order_of_cells(system) if system.detections % SORT_EVERY == 0 else None
    carried = None
    if handed is None:
        system.pairs.carry(particles, order)
        carried = None if walls is None else walls.carry(particles, order)
    if order is not None:
        particles.reorder(order)
    if handed is not None:
        table = system.rows_by_id()
        system.pairs.adopt(handed[0], particles, table)
        carried = None if walls is None else walls.adopt(handed[1], particles, table)
    return carried


def _order_of_cells(system: System) -> NDArray[np.int32]:
    """Return the owned particles in the order of the cells, so that neighbours are near each other in memory."""
    particles = system.particles
    system.measure_reaches()
    system.search.sort(particles.position, system.reach, particles.count)
    return system.search.order(particles.count)


def list_facets(system: System, carried: Carried | None) -> None:
    """List the facets that owned particles may touch before their skins and the walls' margin are used up."""
    if system.walls is None or carried is None:
        return
    walls = system.walls.walls
    system.wall_margin = float(system.skin.mean()) if walls.moves and system.particles.count else 0.0
    walls.note_places()
    reaches = system.wall_reach() + system.wall_margin
    system.walls.take_candidates(system.particles, system.reference, reaches, carried, system.ended)


def refresh_facets(system: System) -> None:
    """List facets anew where the walls have moved by their margin since."""
    if system.walls is None:
        return
    if system.walls.walls.moved > system.wall_margin:
        list_facets(system, system.walls.carry(system.particles))


def evaluate(
    system: System, dt: float, phases: Phases, *, same_lists: bool = False, ahead: bool = False
) -> None:
    """Set the contact forces of the owned particles and kick by the other half; histories grow by `dt` [s].

    With `dt` = 0 forces are measured, and nothing is kicked. With the `same_lists` as in the last step the ghosts are
    under way, and what needs none of them is done meanwhile. With `ahead` the next step is begun, too.
    """
    constants, particles, pairs = system.constants, system.particles, system.pairs
    packed = pairs.begin(particles, constants.density, packed=same_lists)
    law = constants.parameters(dt)
    wall = evaluate_walls(system, packed, law, phases)
    system.columns_are_current = not ahead
    kick = kick_of(wall, 0.5 * dt, constants.motion, system.fixed, ahead=ahead)
    beyond, code = pairs.evaluate(False, particles, system.box, law, system.ended, kick)
    note_pair(system, beyond)
    phases.lap("pairs")
    if same_lists:
        system.exchange.finish_update()
        phases.lap("exchange")
    beyond, others = pairs.evaluate(True, particles, system.box, law, system.ended, kick)
    note_pair(system, beyond)
    phases.lap("pairs")
    code = max(code, others, pairs.finish(particles, kick), finish_carried(system, kick))
    system.pending_drift = code if ahead else None
    phases.lap("sum")
    if system.walls is not None and system.walls.walls.driven:
        finish_driven(system, 0.5 * dt)
        phases.lap("walls move")


def evaluate_walls(
    system: System, packed: NDArray[np.float64], law: ContactParameters, phases: Phases
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Evaluate the contacts with walls; return force and torque from them, and which row of it each particle has."""
    if system.walls is None:
        return NO_WALLS
    beyond = system.walls.evaluate(packed, law, system.ended)
    if beyond:
        system.trouble.append((WALL, int(system.particles.id[beyond - 1]), 0))
    phases.lap("walls")
    return system.walls.total, system.walls.total_row


def note_pair(system: System, beyond: int) -> None:
    """Remember that the candidate `beyond` - 1, if any, overlaps more than it may."""
    if beyond:
        ids = system.particles.column("id")
        a, b = system.pairs.lower[beyond - 1], system.pairs.higher[beyond - 1]
        system.trouble.append((PAIR, int(ids[a]), int(ids[b])))
