"""Loads on the nodes and facets of each wall, in the order of its own mesh, for scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.engine.feature import features_of
from pdem.engine.walls.wall_output import bodies_of, summed_loads

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.contact.walls.nodal_loads import MeshComponents, NodalLoads
    from pdem.engine.protocol import Engine
    from pdem.engine.system import System
    from pdem.motion.walls import MovingWalls


def loads_by_wall(simulation: Engine) -> dict[str, dict[str, NDArray[Any]]] | None:
    """Return the loads for `pdem.run.simulation.Simulation.nodal_forces`."""
    system = simulation.system
    walls = system.walls
    if walls is None:
        return {}
    bodies = bodies_of(walls) if system.exchange.rank == 0 else None
    loads, own = summed_loads(system, bodies), facet_values(system)
    if loads is None or bodies is None:
        return None
    return {
        wall.name: _of_wall(simulation, walls, bodies, loads, number) | _on_facets_of(simulation, own, number)
        for number, wall in enumerate(simulation.case.walls)
    }


def _of_wall(
    simulation: Engine, walls: MovingWalls, bodies: MeshComponents, loads: NodalLoads, number: int
) -> dict[str, NDArray[Any]]:
    """Return the loads of one wall on the nodes and facets of its own mesh."""
    mesh, moves = simulation.meshes[number], walls.motions[number].moves or number in walls.drives
    facets, nodes = walls.placed.facets_of(number), walls.placed.vertices_of(number)
    own = np.flatnonzero(bodies.wall == number)
    result = {
        "vertices": walls.pose_of(number).place(mesh.vertices) if moves else mesh.vertices,
        "force": np.zeros((mesh.vertex_count, 3)),
        "facet_force": np.zeros((mesh.facet_count, 3)),
        "pressure": np.zeros(mesh.facet_count),
        "sliding_power": np.zeros(mesh.facet_count),
        "body": np.full(mesh.facet_count, -1),
        "body_force": loads.body_force[own],
        "body_torque": loads.body_torque[own],
        "body_power": loads.body_power[own],
    }
    result["force"][walls.vertex_origin[nodes]] = loads.force[nodes]
    for name in ("facet_force", "pressure", "sliding_power"):
        result[name][walls.facet_origin[facets]] = getattr(loads, name)[facets]
    result["body"][walls.facet_origin[facets]] = bodies.of_facet[facets] - (own[0] if len(own) else 0)
    return result


def facet_values(system: System) -> dict[str, NDArray[Any]]:
    """Return the facet values of all features for all walls, by name of the field. Collective."""
    return {name: values for one in features_of(system) for name, values in one.facet_values(system).items()}


def _on_facets_of(simulation: Engine, values: dict[str, NDArray[Any]], number: int) -> dict[str, NDArray[Any]]:
    """Select the values of the facets of one wall, in the order of its mesh."""
    walls = simulation.system.walls
    assert walls is not None
    found: dict[str, NDArray[Any]] = {}
    facets = walls.placed.facets_of(number)
    for name, column in values.items():
        found[name] = np.zeros(simulation.meshes[number].facet_count)
        found[name][walls.facet_origin[facets]] = column[facets]
    return found
