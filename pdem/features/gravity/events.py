"""Changes of gravity while a case runs, and their work.

Between two changes gravity is constant, so that the energy of particles in it is a potential. At a change this energy
jumps by the work of rotating the whole system: the exact sum of the jumps is ``gravity_work`` of the energy balance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.engine.clusters.energy import cluster_gravity_energies
from pdem.engine.energy import gravity_energies
from pdem.motion.bodies import FreeBody
from pdem.numerics.sums import ExactSums

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pdem.case.model import Case
    from pdem.engine.system import System
    from pdem.features.gravity.course import GravityCourse
    from pdem.foundation.array_types import Floats
    from pdem.motion.drives import Drive


def set_gravity(system: System, course: GravityCourse) -> None:
    """Set the gravity of particles and bodies to its value at the present step and stage."""
    course.plan(system.stages, system.progress.step)
    gravity = course.at(system.stages, system.progress.step)
    if np.array_equal(gravity, system.constants.gravity):
        return
    system.set_gravity(gravity)
    if system.walls is not None:
        give_bodies(system.case, system.walls.drives, gravity)


def give_bodies(case: Case, drives: Mapping[int, Drive], gravity: Floats) -> None:
    """Set gravity (3,) [m/s^2] of the bodies on which it acts."""
    for wall, drive in drives.items():
        body = case.walls[wall].body
        if isinstance(drive, FreeBody) and body is not None and body.gravity:
            drive.gravity = gravity


def change_gravity(system: System, course: GravityCourse) -> None:
    """Set gravity to its value from the present step on, and add the work of the change to the energy balance.

    Columns of particles have to be up to date.
    """
    before = _potential(system)
    set_gravity(system, course)
    work = _potential(system).limbs - before.limbs
    row = system.contacts.ended_energies.names.index("gravity_work")
    system.contacts.ended_energies.limbs[row] += work[0]
    system.contacts.ended_energies.normalise()


def _potential(system: System) -> ExactSums:
    """Return the energy in gravity of the particles of this rank, on the first rank also of bodies."""
    sums, walls = ExactSums(("gravity",)), system.walls
    for energies in [
        *gravity_energies(system.particles, system.constants),
        *cluster_gravity_energies(system.clusters, system.constants),
    ]:
        sums.add("gravity", energies)
    if walls is not None and system.exchange.rank == 0:
        there = [drive.potential() for wall, drive in walls.drives.items() if walls.present[wall]]
        sums.add("gravity", np.array(there))
    sums.normalise()
    return sums
