"""The step of particles that carriers move, see `pdem.motion.carriers`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.foundation.kernels import plain
from pdem.motion.carriers import place_carried
from pdem.motion.integration import FINE, StepColumns

if TYPE_CHECKING:
    from pdem.contact.pairs.arguments import Kick
    from pdem.simulation.system import System


def list_carried(system: System) -> None:
    """Note which owned particles are carried, for the lists that are about to be made."""
    if system.carriers is not None:
        system.pairs.carried = system.carriers.rows(system.particles)


def begin_carried(system: System, dt: float) -> int:
    """Begin a step of length `dt` [s] of the carriers; return what `pdem.motion.integration.drift` does."""
    if system.carriers is None:
        return FINE
    own, constants, rows = system.particles, system.constants, system.pairs.carried
    system.carriers.begin(own, rows, dt)
    columns = tuple(own.column(name) for name in StepColumns._fields)
    packed = system.pairs.packed(own.count + own.ghosts)
    return int(
        place_carried(*plain(rows, constants.motion, constants.density, system.fixed, columns, packed))
    )


def finish_carried(system: System, kick: Kick) -> int:
    """Sum the forces on carried particles and let the carriers end their step; begin the next if `kick` says so.

    Returns what `begin_carried` does.
    """
    if system.carriers is None:
        return FINE
    system.pairs.sum_carried(system.particles, kick)
    system.carriers.finish(system.particles, system.pairs.carried, kick.half)
    return begin_carried(system, 2.0 * kick.half) if kick.ahead else FINE
