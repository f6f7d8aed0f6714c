"""Loads of particles on walls: nodal forces, loads of facets and of connected bodies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.contact.walls.evaluate import LOADS
from pdem.contact.walls.nodal_loads import LOADED, MeshComponents, NodalLoads, nodal_loads
from pdem.engine.clusters.steps import contact_parameters
from pdem.foundation import exact_math
from pdem.foundation.fields import Field

if TYPE_CHECKING:
    from pdem.contact.walls.contacts import WallContacts
    from pdem.engine.system import System
    from pdem.motion.walls import MovingWalls

NODE_FIELDS = (Field("force", np.float64, (3,), "N", "contact force on each node of the walls"),)
FACET_FIELDS = (
    Field("force", np.float64, (3,), "N", "contact force on each facet"),
    Field("pressure", np.float64, (), "Pa", "normal contact forces on each facet over its area"),
    Field("sliding_power", np.float64, (), "W", "power lost by sliding on each facet in the last step"),
)
BODY_FIELDS = (
    Field("power", np.float64, (), "W", "power that each wall delivers to the particles"),
    Field("body_wall", np.int32, (), "1", "wall of each connected body of the walls"),
    Field("body_force", np.float64, (3,), "N", "contact force on each connected body"),
    Field("body_torque", np.float64, (3,), "N m", "its torque about the point of wall_loads"),
    Field("body_power", np.float64, (), "W", "power that each connected body delivers to the particles"),
)
BODY_INDEX = Field("body", np.int32, (), "1", "connected body of the walls, a row of body_force")
FACET_NUMBER = Field("facet", np.int64, (), "1", "number of the facet in the mesh of its wall")


def bodies_of(walls: MovingWalls) -> MeshComponents:
    """Return the connected bodies of the walls."""
    return MeshComponents(walls.mesh, walls.facet_wall)


def measured_walls(system: System) -> WallContacts | None:
    """Return the wall contacts with their forces, computed again if particles have been inserted or removed."""
    walls, constants = system.contacts.walls, system.constants
    if walls is not None and not walls.measured:
        system.contacts.pairs.begin(system.particles, constants.density, packed=False)
        packed = system.contacts.pairs.packed(system.particles.count)
        walls.measure(
            system.particles, packed, contact_parameters(system, at_rest=True), system.contacts.ended_energies
        )
    return walls


def summed_loads(system: System, bodies: MeshComponents | None) -> NodalLoads | None:
    """Return the loads of nodes, facets and bodies on rank 0, None elsewhere or without walls. Collective."""
    contacts = measured_walls(system)
    if contacts is None:
        return None
    columns = contacts.loaded(system.particles, contact_parameters(system))
    shaped = {name: np.asarray(columns[name], dtype).reshape(-1, *shape) for name, (dtype, shape) in LOADED.items()}
    joined = system.exchange.collect(shaped)
    if joined is None or bodies is None:
        return None
    return nodal_loads(contacts.walls, bodies, joined)


def loads_of_walls(system: System) -> dict[str, dict[str, Any]]:
    """Return force, torque and power of the particles on each wall, see `Simulation.wall_loads`. Collective."""
    contacts = measured_walls(system)
    if contacts is None:
        return {}
    sums = contacts.loads()
    sums.limbs = system.exchange.add(sums.limbs)
    values = np.array(list(sums.values().values())).reshape(-1, LOADS)
    walls = contacts.walls
    for wall, drive in walls.drives.items():  # the load that moved the wall, as stored in checkpoints
        load = drive.last_load[:6]
        rates = np.concatenate((walls.velocity[wall], walls.angular_velocity[wall]))
        whole = values[wall, 6] + exact_math.inner(values[wall, :6], rates)
        by_surface = whole if wall in walls.surfaces.courses else 0.0
        values[wall] = np.append(load, by_surface - exact_math.inner(load, rates))
    return {
        wall.name: {"force": row[:3], "torque": row[3:6], "power": float(row[6])}
        for wall, row in zip(system.case.walls, values, strict=True)
    }
