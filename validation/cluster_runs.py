"""Small runs of rigid clusters for their study: tops, rods, rings of feet.

Masses and moments of inertia of the bodies are round numbers, those of slender rods and thin rings, so that expected
values do not depend on the volumes that pdem integrates.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import tomli_w

from pdem.case.model import Case
from pdem.engine.clusters.energy import cluster_spins
from pdem.run.simulation import Simulation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pdem.containers.meshes.mesh import Mesh
    from pdem.foundation.array_types import Floats

GRAVITY = 9.81
RADIUS = 1e-3
"""Radius of all spheres [m]."""

DENSITY = 1000.0
"""Density of the clusters [kg/m^3]; walls are rigid."""

STIFFNESS = 1e6
"""Stiffness of contacts [N/m], so large that a body hardly rotates during a contact."""

HALF = 4.0 * RADIUS
"""Half the length of a rod, between the centres of its first and its last sphere [m]."""

VOLUME = 3e-8
"""Volume of rods and rings [m^3]."""

ROD = {
    "spheres": [[k * RADIUS, 0.0, 0.0, RADIUS] for k in range(-4, 5)],
    "mass_properties": {
        "volume": VOLUME, "inertia": [1e-3 * HALF**2, HALF**2 / 3.0, HALF**2 / 3.0, 0.0, 0.0, 0.0],
    },
}  # fmt: skip
"""Nine spheres in a row, with the moments of a slender rod."""

ONE = {"spheres": [[0.0, 0.0, 0.0, RADIUS]]}
"""A cluster of one sphere."""

TOP = {**ONE, "mass_properties": {"volume": 1e-6, "inertia": [1e-6, 2e-6, 3e-6, 0.0, 0.0, 0.0]}}
"""A body with moments of inertia 1 : 2 : 3."""

FLOOR = {"name": "floor", "shape": "plane", "point": [0.0, 0.0, 0.0], "normal": [0.0, 0.0, 1.0]}

_ROUGH = {"law": "linear", "normal_stiffness": STIFFNESS, "friction": 0.5, "restitution": 0.5}


def ring(feet: int) -> dict[str, Any]:
    """Return a shape with spheres on a horizontal circle of two radii about its centre, which contain all the mass.

    Two spheres have the moments of a dumb-bell, more spheres those of a thin ring.
    """
    wide = 2.0 * RADIUS
    angles = [2.0 * math.pi * k / feet for k in range(feet)]
    along, across = (1e-3, 1.0) if feet == 2 else (0.5, 0.5)
    return {
        "spheres": [[wide * math.cos(a), wide * math.sin(a), 0.0, RADIUS] for a in angles],
        "mass_properties": {
            "volume": VOLUME, "inertia": [along * wide**2, across * wide**2, wide**2, 0.0, 0.0, 0.0],
        },
    }  # fmt: skip


def cluster(shape: str, place: Sequence[float], **more: Any) -> dict[str, Any]:
    """Return a group of particles with one cluster at a position [m], in the orientation of its shape by default."""
    return {"material": "grain", "shape": shape, "positions": [list(place)], "orientation": "aligned", **more}


def simulate(
    groups: Sequence[Mapping[str, Any]], shapes: Mapping[str, Any], step: float, law: Mapping[str, Any] | None = None,
    mesh: Mesh | None = None, method: str = "signed", **domain: Any,
) -> Simulation:  # fmt: skip
    """Return a simulation of clusters above a floor at height 0.

    Parameters
    ----------
    groups : sequence of mapping
        Entries of ``[[particles]]``.
    shapes : mapping
        Section ``[shapes]``.
    step : float
        Time step [s].
    law : mapping, optional
        Keys of the linear law that differ from a smooth law without losses.
    mesh : Mesh, optional
        Mesh instead of the floor.
    method : str
        Method for contacts with walls.
    **domain
        Keys of ``[domain]``.
    """
    contact = {**_ROUGH, "friction": 0.0, "restitution": 1.0, **(law or {})}
    document = {
        "time": {"step": step, "end": 1e6},
        "domain": {"lower": [-1.0] * 3, "upper": [1.0] * 3, "outside": "keep", **domain},
        "materials": {"grain": {"density": DENSITY}, "steel": {}},
        "interactions": {"grain-grain": contact, "grain-steel": contact, "steel-steel": _ROUGH},
        "shapes": dict(shapes), "particles": list(groups), "detection": {"walls": method},
        "walls": [{"material": "steel", **(FLOOR if mesh is None else {"mesh": "given"})}],
    }  # fmt: skip
    case = Case.from_text(tomli_w.dumps(document))
    return Simulation(case, threads=1, meshes=None if mesh is None else [mesh])


def own_spins(simulation: Simulation) -> tuple[Floats, Floats]:
    """Return angular momentum and angular velocity (n, 3) of clusters along their principal axes [kg m^2/s, rad/s]."""
    return cluster_spins(simulation.clusters, simulation.system.constants)


def lowest_speeds(simulation: Simulation) -> Floats:
    """Return the vertical velocity of the lowest sphere of each cluster [m/s]."""
    own = simulation.particles
    speeds = []
    for number in simulation.clusters.number:
        members = np.flatnonzero(own.cluster == number)
        speeds.append(own.velocity[members[own.position[members, 2].argmin()], 2])
    return np.array(speeds)
