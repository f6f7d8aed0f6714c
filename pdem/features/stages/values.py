"""Quantities for the conditions of stages: exact sums over all ranks, the same everywhere."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pdem.case.rules.stage_quantities import quantities_of
from pdem.engine.clusters.energy import cluster_motion_energies
from pdem.engine.energy import Measures, particle_energies
from pdem.engine.views.bodies import count_of_bodies
from pdem.engine.walls.fixed_loads import fixed_values
from pdem.engine.walls.wall_output import loads_of_walls
from pdem.numerics.sums import ExactSums

if TYPE_CHECKING:
    from pdem.engine.system import System

_COMPONENT = {"x": 0, "y": 1, "z": 2}


def value_of(system: System, name: str) -> float:
    """Return the present value of a quantity, the same on every rank. Collective, with up-to-date columns."""
    quantity = quantities_of(system.case)[name]
    if quantity.kind == "state":
        return _of_particles(system, name)
    if quantity.kind == "fixed":
        return fixed_values(system)[name]
    column = name.removeprefix(f"{quantity.owner}_")
    if quantity.kind == "load":
        return _of_load(system, quantity.owner, column)
    if quantity.kind == "drive":
        walls = system.walls
        assert walls is not None
        number = [wall.name for wall in system.case.walls].index(quantity.owner)
        return walls.drives[number].report(system.progress.time)[column][0]
    return system.features.named(quantity.kind).quantity(system, quantity.owner, name)


def _of_load(system: System, wall: str, column: str) -> float:
    load = loads_of_walls(system)[wall]
    if column == "power":
        return float(load[column])
    kind, axis = column.split("_")
    return float(load[kind][_COMPONENT[axis]])


def _of_particles(system: System, name: str) -> float:
    """Return a mean over all particles, or their number; the mean is NaN without particles."""
    number = int(system.exchange.add(np.array([count_of_bodies(system)]))[0])
    if name == "particles":
        return float(number)
    if number == 0:
        return math.nan
    if name == "contacts_per_particle":
        return Measures(system).contacts_per_particle
    sums = ExactSums(("kinetic",))
    for energies in [
        *particle_energies(system.particles, system.constants)[:2],
        *cluster_motion_energies(system.clusters, system.constants),
    ]:
        sums.add("kinetic", energies)
    sums.normalise()
    return ExactSums(sums.names, system.exchange.add(sums.limbs)).values()["kinetic"] / number
