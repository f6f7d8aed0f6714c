"""The time step of particles that carriers move, see `pdem.motion.clusters.carriers`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.motion.clusters.carriers import Placing
from pdem.motion.fixed_particles import NO_ROWS, HeldRows
from pdem.motion.integration import FINE

if TYPE_CHECKING:
    from pdem.contact.pairs.arguments import Kick
    from pdem.engine.system import System
    from pdem.motion.integration import Motion


def list_carried(system: System) -> None:
    """Store the rows of fixed particles and of particles that carriers move, before lists are built."""
    own, carriers = system.particles, system.carriers
    system.contacts.set_held(HeldRows.of(own, NO_ROWS if carriers is None else carriers.rows(own)))


def begin_carried(system: System, dt: float) -> int:
    """Move particles of carriers by a step of `dt` [s]; return a status code of `pdem.motion.integration.drift`."""
    if system.carriers is None:
        return FINE
    pairs, motion = system.contacts.pairs, system.motion_at(system.progress.step)
    # constant parts of packed rows may be missing, if particles have been inserted since
    pairs.begin(system.particles, system.constants.density, packed=False)
    code = system.carriers.begin(system.particles, pairs.held.carried, dt, _placing(system, motion))
    pairs.show(system.particles)
    return code


def _placing(system: System, motion: Motion) -> Placing:
    own = system.particles
    packed = system.contacts.pairs.packed(own.count + own.ghosts)
    return Placing(motion, system.constants.density, system.lists.fixed_columns, packed)


def finish_carried(system: System, kick: Kick) -> int:
    """Sum the forces on particles of carriers and kick the carriers; with `kick.ahead` also begin the next step.

    Forces on fixed particles are summed only without `kick.ahead`, when they may be read. Returns the status code of
    `begin_carried`.
    """
    own, (rows, fixed, _) = system.particles, system.contacts.pairs.held
    if system.carriers is None:
        if len(fixed) and not kick.ahead:
            system.contacts.pairs.carried_loads(own, kick).write()
        return FINE
    loads = system.contacts.pairs.carried_loads(own, kick)
    if kick.ahead:  # without kicks of features, see `pdem.engine.step.advance`
        placing = _placing(system, system.motion_at(system.progress.step + 1))
        return system.carriers.advance(own, rows, kick.dt, placing, loads)
    loads.write()
    for feature in system.features.kicking:
        feature.load_carriers(system, kick.dt)
    system.contacts.pairs.show(own)  # carriers have written packed rows
    system.carriers.finish(own, rows, kick.dt)
    return FINE
