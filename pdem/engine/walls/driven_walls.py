"""Motion of walls during a time step: the same on every rank; driven walls move by exact sums over all ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.contact.walls.driven_loads import DRIVEN_LOADS
from pdem.engine.blow_up import DRIVEN_WALL_TOO_FAST, WALL_TOO_FAST
from pdem.engine.clusters.steps import contact_parameters
from pdem.numerics.sums import exact_values

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pdem.engine.phases import Phases
    from pdem.engine.system import System
    from pdem.motion.time_step import TimeStep
    from pdem.motion.walls import MovingWalls

GROUP = "driven_walls"
"""Name of the group of a checkpoint with the state of driven walls."""


def move_walls(system: System) -> float:
    """Move all walls to the end of the step and return the largest displacement of a wall [m].

    Records an error if a driven wall is too fast.
    """
    assert system.walls is not None
    walls, before = system.walls, system.progress.time_of(system.progress.step - 1)
    walls.begin_step(before, system.progress.time)
    walls.place(system.progress.time, before)
    for wall in walls.drives:
        if not walls.displacements[wall] <= system.lists.skins.radii[-1]:
            system.progress.record_error(DRIVEN_WALL_TOO_FAST, wall)
    return walls.largest_displacement


def record_fast_walls(system: System) -> None:
    """Record an error for each wall with a displacement in this step above the radius of a particle in its path.

    The path is the bounding box of the wall from the begin to the end of the step.
    """
    assert system.walls is not None
    walls, own = system.walls, system.particles
    for wall in np.flatnonzero(walls.displacements > system.lists.smallest_radius).tolist():
        displacement, lower, upper = walls.passage(wall)
        near = own.radius < displacement
        open_axes = np.flatnonzero(system.constants.period == 0.0)  # along periodic ones an image may be in the path
        for axis in open_axes:
            x = own.position[:, axis]
            near &= (x + own.radius > lower[axis]) & (x - own.radius < upper[axis])
        if near.any():
            system.progress.record_error(WALL_TOO_FAST, wall, int(own.id[near].min()))


def finish_driven(system: System, step: TimeStep, phases: Phases) -> None:
    """Kick driven walls, if there are any, by their loads for half of a step. Collective."""
    if system.contacts.walls is None or not system.contacts.walls.walls.driven:
        return
    limbs = system.contacts.walls.driven_loads(system.particles, contact_parameters(system, at_rest=True))
    loads = exact_values(system.exchange.add(limbs)).reshape(-1, DRIVEN_LOADS)
    system.contacts.walls.walls.finish_step(loads, system.progress.time, step.half)
    phases.lap("walls move")


def driven_group(walls: MovingWalls | None) -> dict[str, dict[str, NDArray[Any]]]:
    """Return the group of a checkpoint for driven walls, empty if there are none."""
    if walls is None or not walls.driven:
        return {}
    return {GROUP: {"wall": np.array(list(walls.drives), np.int64), "state": walls.driven_state()}}


def load_driven_state(system: System, groups: Mapping[str, Mapping[str, NDArray[Any]]]) -> None:
    """Set the state of driven walls from the group of a checkpoint, if there is one."""
    if GROUP in groups and system.walls is not None:
        system.walls.adopt_driven(groups[GROUP]["state"])


def driven_reports(system: System) -> dict[str, dict[str, float]]:
    """Return the result of `pdem.run.simulation.Simulation.driven_walls`."""
    if system.walls is None:
        return {}
    return {
        system.case.walls[wall].name: {name: value for name, (value, _) in drive.report(system.progress.time).items()}
        for wall, drive in system.walls.drives.items()
    }
