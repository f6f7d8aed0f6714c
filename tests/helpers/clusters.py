"""Cases with rigid clusters, for tests: shapes, and clusters at given places."""

from __future__ import annotations

import tomllib
from typing import Any

import numpy as np
import tomli_w
from scipy.spatial.transform import Rotation

import pdem

RADIUS = 1e-3
ROD = [[k * RADIUS, 0.0, 0.0, RADIUS] for k in range(-4, 5)]
PAIR = [[-RADIUS, 0.0, 0.0, RADIUS], [RADIUS, 0.0, 0.0, RADIUS]]
TETRAPOD = [[x, y, z, RADIUS] for x, y, z in 0.7e-3 * np.array([(1, 1, 1), (-1, -1, 1), (1, -1, -1), (-1, 1, -1)])]
ONE = [[0.0, 0.0, 0.0, RADIUS]]

STIFFNESS = 1e4
DENSITY = 1000.0

SMOOTH = {"law": "linear", "normal_stiffness": STIFFNESS, "friction": 0.0, "restitution": 1.0}
ROUGH = {**SMOOTH, "friction": 0.5, "restitution": 0.5}
"""Laws with and without friction are one kernel in a case that has both."""


def cluster(shape: str, position: Any, **more: Any) -> dict[str, Any]:
    """Return one cluster as a group of particles, as its shape is drawn unless `more` says otherwise."""
    place = [float(x) for x in position]
    return {"material": "grain", "shape": shape, "positions": [place], "orientation": "aligned", **more}


def document(
    groups: list[dict[str, Any]], shapes: dict[str, Any], *, law: dict[str, Any] | None = None,
    walls: tuple[dict[str, Any], ...] = (), step: float = 1e-6, gravity: Any = (0.0, 0.0, 0.0), **more: Any,
) -> dict[str, Any]:  # fmt: skip
    """Return a case of clusters in a wide box; what `law` leaves out is smooth."""
    given = {"grain-grain": {**SMOOTH, **(law or {})}, "grain-steel": {**SMOOTH, **(law or {})}, "steel-steel": ROUGH}
    return {
        "time": {"step": step, "end": 1e3},
        "domain": {"lower": [-1.0] * 3, "upper": [1.0] * 3, "outside": "keep", "gravity": [float(g) for g in gravity]},
        "materials": {"grain": {"density": DENSITY}, "steel": {}},
        "interactions": given, "shapes": {name: {"spheres": one} if isinstance(one, list) else one
                                          for name, one in shapes.items()},
        "particles": groups, "walls": [{"material": "steel", **wall} for wall in walls], "output": {"folder": "unused"},
        **more,
    }  # fmt: skip


def simulate(*given: Any, **options: Any) -> pdem.Simulation:
    """Return a simulation of a `document`."""
    return pdem.Simulation(pdem.Case.from_text(tomli_w.dumps(document(*given, **options))), threads=1)


def floor() -> dict[str, Any]:
    """Return a horizontal plane at z = 0."""
    return {"name": "floor", "shape": "plane", "point": [0.0, 0.0, 0.0], "normal": [0.0, 0.0, 1.0]}


def turned(axis: Any, angle: float) -> dict[str, Any]:
    """Return the orientation of a cluster that is turned about an axis [degrees]."""
    return {"axis": [float(x) for x in axis], "angle": angle}


def spin_of(simulation: pdem.Simulation) -> np.ndarray:
    """Return the angular velocities (n, 3) of all clusters, those of their first members."""
    particles = simulation.particles
    order = np.argsort(particles.id)
    first = np.unique(particles.cluster[order], return_index=True)[1]
    return particles.angular_velocity[order][first]


def inertia_of(simulation: pdem.Simulation) -> tuple[np.ndarray, np.ndarray]:
    """Return mass (n,) and tensor of inertia in space (n, 3, 3) of all clusters."""
    table = simulation.clusters
    shape = table.shape.astype(int)
    mass = DENSITY * table.shapes.volume[shape] * table.scale**3
    moments = DENSITY * table.shapes.moments[shape] * (table.scale**5)[:, None]
    turn = Rotation.from_quat(table.orientation, scalar_first=True).as_matrix()
    return mass, np.einsum("nij,nj,nkj->nik", turn, moments, turn)


CROWD = """
[time]
step = 1e-5
end = 1.0
[domain]
lower = [0.0, 0.0, 0.0]
upper = [0.04, 0.03, 0.022]
periodic = [true, true, false]
gravity = [3.0, 0.0, -100.0]
outside = "keep"
[materials.grain]
density = 1000.0
[materials.steel]
[interactions.grain-grain]
law = "linear"
normal_stiffness = 200.0
friction = 0.5
restitution = 0.5
[interactions.grain-steel]
law = "linear"
normal_stiffness = 200.0
friction = 0.5
restitution = 0.5
[[particles]]
material = "grain"
shape = "rod"
velocity = {random = 1.0, seed = 1}
angular_velocity = [40.0, -20.0, 10.0]
fill = {count = 14, seed = 1}
[[particles]]
material = "grain"
shape = "tetrapod"
radius = {distribution = "uniform", min = 0.001, max = 0.0016}
velocity = {random = 1.0, seed = 2}
fill = {count = 30, seed = 2}
[[particles]]
material = "grain"
radius = {distribution = "uniform", min = 0.0005, max = 0.0015}
velocity = {random = 1.0, seed = 3}
fill = {count = 150, seed = 3}
[[walls]]
name = "floor"
shape = "plane"
point = [0.0, 0.0, 0.0]
normal = [0.0, 0.0, 1.0]
material = "steel"
[output]
folder = "unused"
"""


def crowd(method: str, **more: Any) -> pdem.Case:
    """Return rods as long as a rank's part, tetrapods and spheres in a box with two periodic axes."""
    document = tomllib.loads(CROWD) | more
    document["shapes"] = {"rod": {"spheres": ROD}, "tetrapod": {"spheres": TETRAPOD}, "pair": {"spheres": PAIR}}
    document["decomposition"] = {"method": method, "balance": "always"}
    return pdem.Case.from_text(tomli_w.dumps(document))
