"""One time step, and what it is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.motion.integration import LOST, STALE, drift, kick
from pdem.simulation.trouble import FAR, PAIR, WALL, stop_if_troubled
from pdem.simulation.tuning import Lists, Window

if TYPE_CHECKING:
    from pdem.containers.records import PairRecords, WallRecords
    from pdem.simulation.phases import Phases
    from pdem.simulation.system import System

SORT_EVERY = 10
"""Detections after which particles are put in the order of the cells in memory."""

MEMBERS = ("material", "radius", "position", "image", "velocity", "angular_velocity", "force", "torque")


def advance(system: System, phases: Phases) -> int:
    """Take one step; return the number of a signal that asks the run to stop, the same on every rank.

    Raises
    ------
    BlowUpError
        On all ranks, if any of them saw in this step or at the end of the last what cannot be.
    """
    system.step += 1
    stale = begin(system)
    if system.walls is not None:
        system.walls.walls.place(system.time)
    phases.lap("integrate")
    requested, stale = agree(system, stale)
    phases.lap("wait")
    if stale:
        detect(system, phases)
    else:
        system.exchange.update_ghosts(system.particles)
        phases.lap("exchange")
        refresh_facets(system)
        phases.lap("detect facets")
    evaluate(system, system.constants.step, phases)
    end(system)
    phases.lap("integrate")
    return requested


def begin(system: System) -> bool:
    """Kick by half and drift; return whether lists have to be made anew."""
    own, constants = system.particles, system.constants
    columns = [own.column(name) for name in MEMBERS]
    code = drift(
        own.count, constants.step, constants.gravity, constants.free, constants.density, constants.lower,
        constants.period, constants.frequency, *columns, system.reference, system.skin,
    )  # fmt: skip
    if code >= LOST:
        system.trouble.append((FAR, int(own.id[code - LOST]), 0))
    return bool(code >= STALE)


def agree(system: System, stale: bool) -> tuple[int, bool]:
    """Return a stop signal and whether lists are stale, as seen by any rank; stop if any has trouble."""
    mine = np.array([stale, system.stop_requested(), len(system.trouble)], np.int64)
    seen = system.exchange.largest(mine)
    if seen[2]:
        stop_if_troubled(system)
    return int(seen[1]), bool(seen[0])


def end(system: System) -> None:
    """Kick by the other half."""
    own, constants = system.particles, system.constants
    columns = [own.column(name) for name in MEMBERS if name not in ("position", "image")]
    kick(own.count, constants.step, constants.gravity, constants.free, constants.density, *columns)


def detect(system: System, phases: Phases) -> None:
    """Make all lists anew: migrate, copy ghosts, find pairs and facets; histories are carried over."""
    pairs, walls = system.pair_records(), system.wall_records()
    phases.lap("detect")
    tune(system, phases)
    pairs, walls = system.exchange.migrate(system.particles, pairs, walls)
    phases.lap("migrate")
    relist(system, pairs, walls, phases)


def tune(system: System, phases: Phases) -> None:
    """Choose the skin of the lists to be made, where the case leaves it open."""
    if system.tuner is None or not system.tuner.is_due(system.step):
        return
    pairs, detecting = phases.spent("pairs", "sum"), phases.spent("detect", "migrate", "detect facets")
    done = Window(system.step, pairs, detecting)
    rows = system.particles.count + system.particles.ghosts
    lists = Lists(system.pairs.candidates, system.pairs.count, rows)
    system.skins.fraction = system.tuner.next_fraction(done, lists, system.exchange.share)
    system.search.set_limits(system.skins.cell_sizes)


def relist(system: System, pairs: PairRecords, walls: WallRecords, phases: Phases) -> None:
    """Make ghosts and all lists for the particles this rank owns, whose contacts are `pairs` and `walls`."""
    particles = system.particles
    if system.detections % SORT_EVERY == 0:
        _sort_in_memory(system)
    system.detections += 1
    phases.lap("detect")
    system.exchange.make_ghosts(particles, system.skins.reach)
    phases.lap("exchange")
    rows = particles.count + particles.ghosts
    reach = system.skins.reach(particles.column("radius")[:rows])
    first, second = system.search.search(particles.column("position"), reach, rows)
    system.pairs.take_candidates(first, second, particles, pairs, system.ended)
    system.reference = particles.position.copy()
    system.skin = system.skins.of(particles.radius)
    phases.lap("detect")
    list_facets(system, walls)
    phases.lap("detect facets")


def _sort_in_memory(system: System) -> None:
    """Put the owned particles in the order of the cells, so that neighbours are near each other in memory."""
    particles = system.particles
    if particles.count > 1:
        system.search.sort(particles.position, system.skins.reach(particles.radius), particles.count)
        particles.reorder(system.search.order(particles.count).copy())


def list_facets(system: System, records: WallRecords) -> None:
    """List the facets that owned particles may touch before their skins and the walls' margin are used up."""
    if system.walls is None:
        if len(system.no_wall_forces) < system.particles.count:
            system.no_wall_forces = np.zeros((2 * system.particles.count, 6))
        return
    moving = system.walls.walls.speed > 0.0
    system.wall_margin = float(system.skin.mean()) if moving and system.particles.count else 0.0
    system.facets_listed = system.time
    reaches = system.particles.radius + system.skin + system.wall_margin
    system.walls.take_candidates(system.particles, system.reference, reaches, records, system.ended)


def refresh_facets(system: System) -> None:
    """List facets anew where the walls have moved by their margin since."""
    if system.walls is None:
        return
    moved = system.walls.walls.speed * (system.time - system.facets_listed)
    if moved > system.wall_margin:
        list_facets(system, system.wall_records())


def evaluate(system: System, dt: float, phases: Phases) -> None:
    """Set the contact forces of the owned particles; histories grow by `dt` [s]."""
    constants, particles = system.constants, system.particles
    law = constants.density, constants.table, dt, constants.step, constants.largest_overlap, system.ended
    beyond = system.pairs.evaluate(particles, system.box, *law)
    if beyond:
        ids = particles.column("id")
        a, b = system.pairs.lower[beyond - 1], system.pairs.higher[beyond - 1]
        system.trouble.append((PAIR, int(ids[a]), int(ids[b])))
    phases.lap("pairs")
    forces = system.no_wall_forces
    if system.walls is not None:
        beyond = system.walls.evaluate(particles, *law)
        if beyond:
            system.trouble.append((WALL, int(particles.id[beyond - 1]), 0))
        forces = system.walls.total
        phases.lap("walls")
    system.pairs.add_up(particles, forces)
    phases.lap("sum")
