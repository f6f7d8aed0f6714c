"""Walls that move, in the step: every rank moves them alike, driven ones by exact sums over all ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.contact.walls.driven_loads import DRIVEN_LOADS
from pdem.foundation.sums import exact_values
from pdem.simulation.trouble import DRIVEN, FAST

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pdem.simulation.system import System

GROUP = "driven_walls"
"""Name of the group of a checkpoint that holds their state."""


def move_walls(system: System) -> float:
    """Put all walls where they are at the end of the step, and return how far one has come at most [m].

    A driven one that cannot be followed is noted.
    """
    assert system.walls is not None
    walls, before = system.walls.walls, system.time_of(system.step - 1)
    walls.begin_step(before, system.time)
    walls.place(system.time, before)
    for wall in walls.drives:
        if not walls.ways[wall] <= system.skins.radii[-1]:
            system.trouble.append((DRIVEN, wall, 0))
    return walls.longest_way


def note_fast_walls(system: System) -> None:
    """Note walls that in this step went farther than the radius of a particle which they pass.

    Those are meant that are in the box around all places of the wall on its way.
    """
    assert system.walls is not None
    walls, own = system.walls.walls, system.particles
    for wall in np.flatnonzero(walls.ways > system.least_radius).tolist():
        way, lower, upper = walls.passage(wall)
        near = own.radius < way
        for axis in np.flatnonzero(
            system.constants.period == 0.0
        ):  # along others it may be passed by an image
            x = own.position[:, axis]
            near &= (x + own.radius > lower[axis]) & (x - own.radius < upper[axis])
        if near.any():
            system.trouble.append((FAST, wall, int(own.id[near].min())))


def finish_driven(system: System, half: float) -> None:
    """Give driven walls their new loads for half a step [s]. Collective."""
    assert system.walls is not None
    constants = system.constants
    limbs = system.walls.driven_loads(system.particles, constants.parameters(0.0))
    loads = exact_values(system.exchange.add(limbs)).reshape(-1, DRIVEN_LOADS)
    system.walls.walls.finish_step(loads, system.time, half)


def driven_group(system: System) -> dict[str, dict[str, NDArray[Any]]]:
    """Return the group of a checkpoint for driven walls, nothing if there are none."""
    if system.walls is None or not system.walls.walls.driven:
        return {}
    walls = system.walls.walls
    return {GROUP: {"wall": np.array(list(walls.drives), np.int64), "state": walls.driven_state()}}


def adopt_driven(system: System, groups: Mapping[str, Mapping[str, NDArray[Any]]]) -> None:
    """Go on from the group of a checkpoint, if there is one."""
    if GROUP in groups and system.walls is not None:
        system.walls.walls.adopt_driven(groups[GROUP]["state"])
