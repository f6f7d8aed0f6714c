"""Particles that have left the box, where `domain.outside` says that they are taken out.

They are looked for at steps that follow from the case, so that results do not depend on when lists are made, and not at
each step: every removal makes lists anew, and from an open silo a grain or more may leave in each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.simulation.bodies import bodies_of
from pdem.simulation.named_events import NEVER
from pdem.simulation.population import remove_particles
from pdem.simulation.step import migrate_and_rebuild_lists

if TYPE_CHECKING:
    from pdem.simulation.phases import Phases
    from pdem.simulation.system import System

EVERY = 64
"""Steps from one look to the next: lists of beds that flow last about as long."""


def escape_step(system: System, first: int) -> int:
    """Return the first step from `first` on at which particles outside the box are looked for, `NEVER` if they stay."""
    is_limited = bool(np.isfinite(system.constants.lowest).any())
    return -(-first // EVERY) * EVERY if is_limited else NEVER


def remove_escaped(system: System, phases: Phases) -> None:
    """Take out the particles outside the box, clusters by their centres. Collective, with columns up to date."""
    constants, bodies = system.constants, bodies_of(system)
    outside = ((bodies.position < constants.lowest) | (bodies.position > constants.highest)).any(axis=1)
    if int(system.exchange.add(np.array([np.count_nonzero(outside)], np.int64))[0]):
        migrate_and_rebuild_lists(system, remove_particles(system, bodies.id[outside]), phases)
