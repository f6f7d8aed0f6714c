"""The time step of carried particles, which carriers move: see `pdem.motion.carriers`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.foundation.kernels import plain
from pdem.motion.carriers import place_carried
from pdem.motion.integration import FINE, StepColumns
from pdem.simulation.own_force_kicks import add_to_carried

if TYPE_CHECKING:
    from pdem.contact.pairs.arguments import Kick
    from pdem.motion.integration import Motion
    from pdem.simulation.system import System


def list_carried(system: System) -> None:
    """Store the rows of carried particles, before lists are built."""
    if system.carriers is not None:
        system.pair_contacts.carried = system.carriers.rows(system.particles)


def begin_carried(system: System, dt: float) -> int:
    """Move carried particles by a step of `dt` [s]; return a status code of `pdem.motion.integration.drift`."""
    if system.carriers is None:
        return FINE
    code = system.carriers.begin(system.particles, system.pair_contacts.carried, dt)
    return _place(system, dt, code, system.motion_at(system.step))


def _place(system: System, dt: float, code: int, motion: Motion) -> int:
    """Pack carried particles where their carriers have moved them; return the status code, `code` is the carriers'."""
    own, constants, rows = system.particles, system.constants, system.pair_contacts.carried
    columns = tuple(own.column(name) for name in StepColumns._fields)
    packed = system.pair_contacts.packed(own.count + own.ghosts)
    arguments = plain(rows, dt, motion, constants.density, system.fixed_columns, columns, packed)
    return max(code, int(place_carried(*arguments)))


def finish_carried(system: System, kick: Kick) -> int:
    """Sum the forces on carried particles and kick their carriers; with `kick.ahead` also begin the next step.

    Returns the status code of `begin_carried`.
    """
    if system.carriers is None:
        return FINE
    system.pair_contacts.sum_carried(system.particles, kick)
    add_to_carried(system, kick.half)
    own, rows = system.particles, system.pair_contacts.carried
    if kick.ahead:
        code = system.carriers.advance(own, rows, kick.half)
        return _place(system, 2.0 * kick.half, code, system.motion_at(system.step + 1))
    system.carriers.finish(own, rows, kick.half)
    return FINE
