"""Particles that have left the domain, and their treatment by `domain.outside`.

The check is made at steps that follow from the case, so that results do not depend on when lists are made. It is not
made at each step: every removal requires new lists, and from an open silo a particle or more may leave in each step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.engine.population import remove_particles
from pdem.engine.step import migrate_and_rebuild_lists
from pdem.engine.views.bodies import bodies_of
from pdem.engine.views.contact_numbers import rows_of_bodies
from pdem.foundation import exact_math

if TYPE_CHECKING:
    from pdem.containers.particles import Particles
    from pdem.engine.parts.rank_contacts import RankContacts
    from pdem.engine.phases import Phases
    from pdem.engine.setup import Constants
    from pdem.engine.system import System
    from pdem.engine.views.bodies import Bodies
    from pdem.features.departures.left import Left
    from pdem.foundation.array_types import Booleans, Floats, Integers

EVERY = 64
"""Steps between two checks, about the lifetime of lists in a flowing bed."""

TOO_FAST = 0.5
"""Displacement in a step, over the radius, from which on a particle outside counts as lost in free fall.

At 1 it would end the run (`pdem.motion.integration.LOST`); gravity needs many checks between the two values."""


def remove_escaped(system: System, left: Left, phases: Phases) -> None:
    """Remove particles outside the domain, clusters by their centres, and count them.

    Collective, with columns that are up to date.
    """
    constants, bodies = system.constants, bodies_of(system)
    beyond = (bodies.position < constants.lowest) | (bodies.position > constants.highest)
    outside: Booleans = np.any(beyond, axis=1)
    if constants.keeps_outside:
        outside = _goes_on(system, bodies, outside)
    rows = np.flatnonzero(outside)
    side = np.argmax(_beyond(system.constants, bodies.position[rows]), axis=1)
    if left.add(system.exchange, side, bodies.mass[rows]):
        migrate_and_rebuild_lists(system, remove_particles(system, bodies.id[rows]), phases)


def _beyond(constants: Constants, position: Floats) -> Floats:
    """Return the distances of points (n, 3) beyond each side of the domain (n, 6) [m], negative inside."""
    both = np.stack((constants.lowest - position, position - constants.highest), axis=2)
    return both.reshape(len(position), 6)


def _goes_on(system: System, bodies: Bodies, outside: Booleans) -> Booleans:
    """Return which bodies outside touch nothing, move away from the domain, and are about to move too fast."""
    rows = np.flatnonzero(outside)
    result = np.zeros(len(outside), np.bool_)
    if not len(rows):
        return result
    speed = np.stack((-bodies.velocity[rows], bodies.velocity[rows]), axis=2).reshape(len(rows), 6)
    away = ((_beyond(system.constants, bodies.position[rows]) > 0.0) & (speed > 0.0)).any(axis=1)
    own, body = system.particles, rows_of_bodies(system)
    way = system.constants.time_step.dt * exact_math.norm(own.velocity)
    fast = np.bincount(body[way > TOO_FAST * own.radius], minlength=len(outside)) > 0
    touches = np.bincount(body[_touching(system.contacts, system.particles)], minlength=len(outside)) > 0
    result[rows] = away & fast[rows] & ~touches[rows]
    return result


def _touching(contacts: RankContacts, particles: Particles) -> Integers:
    """Return rows of owned particles in contact with particles or walls; a row may occur several times."""
    pairs, owned = contacts.pairs, particles.count
    ends = np.concatenate((pairs.lower[pairs.touching], pairs.higher[pairs.touching])).astype(np.int64)
    of_walls = () if contacts.walls is None else (contacts.walls.elastic_state()[0],)
    return np.concatenate((ends[ends < owned], *of_walls))
