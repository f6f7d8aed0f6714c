"""Particles that have left the domain, and what `domain.outside` says about them.

They are looked for at steps that follow from the case, so that results do not depend on when lists are made, and not at
each step: every removal makes lists anew, and from an open silo a grain or more may leave in each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.engine.population import remove_particles
from pdem.engine.step import migrate_and_rebuild_lists
from pdem.engine.views.bodies import bodies_of
from pdem.engine.views.contact_numbers import rows_of_bodies

if TYPE_CHECKING:
    from pdem.engine.phases import Phases
    from pdem.engine.system import System
    from pdem.engine.views.bodies import Bodies
    from pdem.features.departures.left import Left
    from pdem.foundation.array_types import Booleans, Floats, Integers

EVERY = 64
"""Steps from one look to the next: lists of beds that flow last about as long."""

TOO_FAST = 0.5
"""Displacement in a step, over the radius, from which on a particle that is kept outside goes on for ever.

It ends the run at 1 (`pdem.motion.integration.LOST`); gravity needs many looks from here to there."""


def remove_escaped(system: System, left: Left, phases: Phases) -> None:
    """Take out particles outside the domain, clusters by their centres, and count them.

    Collective, with columns that are up to date.
    """
    constants, bodies = system.constants, bodies_of(system)
    beyond = (bodies.position < constants.lowest) | (bodies.position > constants.highest)
    outside: Booleans = np.any(beyond, axis=1)
    if constants.keeps_outside:
        outside = _goes_on(system, bodies, outside)
    rows = np.flatnonzero(outside)
    side = np.argmax(_beyond(system, bodies.position[rows]), axis=1)
    if left.add(system.exchange, side, bodies.mass[rows]):
        migrate_and_rebuild_lists(system, remove_particles(system, bodies.id[rows]), phases)


def _beyond(system: System, position: Floats) -> Floats:
    """Return how far places (n, 3) are beyond each side of the domain (n, 6) [m], negative inside."""
    constants = system.constants
    both = np.stack((constants.lowest - position, position - constants.highest), axis=2)
    return both.reshape(len(position), 6)


def _goes_on(system: System, bodies: Bodies, outside: Booleans) -> Booleans:
    """Return which bodies outside touch nothing, move away from the domain, and are about to move too fast."""
    rows = np.flatnonzero(outside)
    result = np.zeros(len(outside), np.bool_)
    if not len(rows):
        return result
    speed = np.stack((-bodies.velocity[rows], bodies.velocity[rows]), axis=2).reshape(len(rows), 6)
    away = ((_beyond(system, bodies.position[rows]) > 0.0) & (speed > 0.0)).any(axis=1)
    own, body = system.particles, rows_of_bodies(system)
    way = system.constants.step * np.sqrt((own.velocity**2).sum(axis=1))
    fast = np.bincount(body[way > TOO_FAST * own.radius], minlength=len(outside)) > 0
    touches = np.bincount(body[_touching(system)], minlength=len(outside)) > 0
    result[rows] = away & fast[rows] & ~touches[rows]
    return result


def _touching(system: System) -> Integers:
    """Return rows of owned particles that touch others or walls; some several times."""
    pairs, owned = system.contacts.pairs, system.particles.count
    ends = np.concatenate((pairs.lower[pairs.touching], pairs.higher[pairs.touching])).astype(np.int64)
    of_walls = () if system.contacts.walls is None else (system.contacts.walls.elastic_state()[0],)
    return np.concatenate((ends[ends < owned], *of_walls))
