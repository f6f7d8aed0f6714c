"""A deforming box within steps: changes of its rates, and checks of lists and of its size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.engine.blow_up import BOX_TOO_SMALL
from pdem.motion.box_kicks import kick_with_box
from pdem.motion.integration import FINE, STALE

if TYPE_CHECKING:
    from pdem.engine.system import System


def change_box(system: System) -> None:
    """Before a step: apply new rates of the box, if any, and add the change of its velocity to particles.

    Columns of particles have to be up to date if the rates change.
    """
    box = system.box.moving
    if box is None or box.wanted is None:
        return
    gained = box.change(system.progress.step, box.wanted)
    box.wanted = None
    own = system.particles
    if not gained.any():
        return
    kick_with_box(own.count, own.column("position"), own.column("velocity"), box.centre, gained)
    if system.clusters is not None:
        table = system.clusters.table
        place, velocity = np.ascontiguousarray(table.position), np.ascontiguousarray(table.velocity)
        kick_with_box(table.count, place, velocity, box.centre, gained)
        system.clusters.set_velocities(own, velocity)


def lists_in_box(system: System) -> int:
    """Return `STALE` if the deformation exceeds the share of the skins; record an error if the box is too small."""
    box = system.box.moving
    if box is None:
        return FINE
    if not box.shortest(system.progress.step) >= box.least_length(system.lists.skins.radii[-1]):
        _record_no_room(system)
    walls = system.walls
    if walls is not None and walls.moved + box.farthest(system.progress.step) > system.lists.wall_margin.length:
        return STALE
    return STALE if box.narrowest(system.progress.step) < system.box.share.narrowest else FINE


def _record_no_room(system: System) -> None:
    """Record the error that a periodic axis is shorter than two of the largest diameters."""
    box = system.box.moving
    assert box is not None
    least = box.least_length(system.lists.skins.radii[-1])
    for axis, (length, periodic) in enumerate(zip(box.at(system.progress.step).lengths, box.periodic, strict=True)):
        if periodic and not length >= least:
            system.progress.record_error(BOX_TOO_SMALL, axis)
