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


def next_escape_step(system: System) -> int:
    """Return the next step at which particles outside the box are looked for, `NEVER` if these are kept."""
    return (system.step // EVERY + 1) * EVERY if _limits_any(system) else NEVER


def is_escape_step(system: System) -> bool:
    """Tell whether particles outside the box are looked for at the present step."""
    return system.step % EVERY == 0 and _limits_any(system)


def remove_escaped(system: System, phases: Phases) -> None:
    """Take out the particles outside the box, clusters by their centres. Collective, with columns up to date."""
    constants, bodies = system.constants, bodies_of(system)
    outside = ((bodies.position < constants.lowest) | (bodies.position > constants.highest)).any(axis=1)
    if int(system.exchange.add(np.array([np.count_nonzero(outside)], np.int64))[0]):
        migrate_and_rebuild_lists(system, remove_particles(system, bodies.id[outside]), phases)


def _limits_any(system: System) -> bool:
    limits = system.constants.lowest
    return bool(np.isfinite(limits).any())
