"""Small cases for tests of the physics: a few particles, walls given as meshes, everything in one call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import tomli_w

from pdem.case.model import Case
from pdem.containers.meshes.mesh import Mesh
from pdem.engine.state import gather_groups, local_groups
from pdem.run.simulation import Simulation

if TYPE_CHECKING:
    from pathlib import Path

GRAIN = {"density": 1000.0, "youngs_modulus": 1e7, "poisson_ratio": 0.2}
RIGID: dict[str, Any] = {}
ELASTIC = {"friction": 0.0, "restitution": 1.0}
USUAL = {"friction": 0.5, "restitution": 0.5}


@dataclass
class Grains:
    """One group of particles; vectors may be given once for all."""

    position: Any
    radius: Any
    velocity: Any = (0.0, 0.0, 0.0)
    spin: Any = (0.0, 0.0, 0.0)
    material: str = "grain"
    liquid: float = 0.0

    def columns(self) -> dict[str, np.ndarray]:
        position = np.array(self.position, dtype=np.float64).reshape(-1, 3)
        count = len(position)
        return {
            "position": position,
            "radius": np.broadcast_to(np.asarray(self.radius, dtype=np.float64), count).copy(),
            "velocity": np.broadcast_to(np.asarray(self.velocity, dtype=np.float64), (count, 3)).copy(),
            "angular_velocity": np.broadcast_to(np.asarray(self.spin, dtype=np.float64), (count, 3)).copy(),
        }


def make_case(
    folder: Path,
    *groups: Grains,
    law: dict[str, Any] | None = None,
    interactions: dict[str, dict[str, Any]] | None = None,
    materials: dict[str, dict[str, Any]] | None = None,
    walls: tuple[dict[str, Any], ...] = (),
    step: float | str = "auto",
    end: float = 1e6,
    lower: Any = (-1e3, -1e3, -1e3),
    upper: Any = (1e3, 1e3, 1e3),
    gravity: Any = (0.0, 0.0, 0.0),
    outside: str = "keep",
    periodic: Any = (False, False, False),
    dimension: int = 3,
    detection: dict[str, Any] | None = None,
    largest_overlap: float = 0.5,
    step_fraction: float = 0.1,
    more: dict[str, Any] | None = None,
) -> Case:
    """Write what the case needs into a folder and return it.

    Every two materials interact by `law` unless `interactions` holds them (beside linear springs there are Hertzian
    ones with friction between walls, so that tests of them share kernels); walls are ``dict(mesh=Mesh, ...)`` or
    ``dict(shape=..., ...)`` with the keys of a case, made of rigid "steel" unless they say otherwise. `more` are
    further sections, or further keys of one.
    """
    materials = materials or {"grain": GRAIN, "steel": RIGID}
    names = list(materials)
    pairs = {f"{a}-{b}": dict(law or ELASTIC) for i, a in enumerate(names) for b in names[i:]}
    if law and law.get("law") == "linear":  # one law, which tests share: walls do not touch each other
        pairs["steel-steel"] = dict(USUAL)
    pairs.update(interactions or {})
    particles = []
    for number, group in enumerate(groups):
        np.savez(folder / f"group{number}.npz", **group.columns())
        table = {"material": group.material, "file": f"group{number}.npz"}
        particles.append(table | ({"liquid": group.liquid} if group.liquid else {}))
    tables = []
    for number, wall in enumerate(walls):
        given = {"mesh": "given"} if "mesh" in wall else {}
        tables.append({"material": "steel", "name": f"wall{number}", **wall, **given})
    document = {
        "title": "test",
        "time": {"step": step, "end": end, "step_fraction": step_fraction},
        "domain": {
            "lower": [float(x) for x in lower], "upper": [float(x) for x in upper],
            "gravity": [float(x) for x in gravity], "outside": outside, "periodic": list(periodic),
            "dimension": dimension,
        },
        "materials": materials, "interactions": pairs, "particles": particles, "walls": tables,
        "detection": detection or {}, "limits": {"largest_overlap": largest_overlap},
    }  # fmt: skip
    for key, section in (more or {}).items():
        document[key] = {**document[key], **section} if isinstance(document.get(key), dict) else section
    return Case.from_text(tomli_w.dumps(document), folder)


def simulate(folder: Path, *groups: Grains, threads: int = 1, **options: Any) -> Simulation:
    """Return a simulation of `make_case`; `state` continues one. Its walls are all meshes, or all shapes."""
    state = options.pop("state", None)
    walls = options.get("walls", ())
    meshes = [wall["mesh"] for wall in walls] if all("mesh" in wall for wall in walls) else None
    return Simulation(make_case(folder, *groups, **options), threads=threads, meshes=meshes, state=state)


def state_of(simulation: Simulation) -> dict[str, dict[str, np.ndarray]]:
    """Return the whole state, as a checkpoint would hold it."""
    groups = gather_groups(simulation.system, local_groups(simulation.system))
    assert groups is not None
    return groups


def quad(half: float = 1.0, height: float = 0.0) -> Mesh:
    """Return one horizontal square."""
    corners = [(-half, -half), (half, -half), (half, half), (-half, half)]
    return Mesh([[x, y, height] for x, y in corners], [[0, 1, 2, 3]])


def box(lower: Any, upper: Any) -> Mesh:
    """Return the closed surface of a box, six quads."""
    (x, y, z), (X, Y, Z) = lower, upper
    corners = [[a, b, c] for a in (x, X) for b in (y, Y) for c in (z, Z)]
    return Mesh(corners, [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]])


def total_energy(energies: dict[str, float]) -> float:
    """Return what is stored and not lost."""
    return sum(energies[name] for name in ("translation", "rotation", "gravity", "elastic", "tangential"))
