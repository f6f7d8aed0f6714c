"""Properties that distinguish pdem: results do not depend on the mesh of a wall, and the energy balance closes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import tomli_w
from scipy.spatial import Delaunay
from scipy.spatial.transform import Rotation

from pdem.case.model import Case
from pdem.containers.meshes.mesh import Mesh
from pdem.numerics.random import keyed_vectors
from pdem.run.simulation import Simulation
from pdem.verification.study import FindingTable, Study, at_most

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pdem.foundation.array_types import Floats
    from pdem.verification.study import Notebook

    Surface = tuple[list[list[float]], list[list[int]]]

RADIUS = 0.01
"""Radius of the spheres on meshes [m]."""

EDGE = 0.4
"""Half of the width of the floor [m]."""

_POINTS = 300
_TURN = Rotation.from_rotvec([0.4, -0.3, 0.5]).as_matrix()
"""Rotation of all surfaces, so that no coordinate is a round number."""

_GRAIN = {"density": 2500.0, "youngs_modulus": 1e7, "poisson_ratio": 0.25}
_GAS_RADIUS, _GAS = 0.002, 400


def walls(notebook: Notebook) -> Iterator[FindingTable]:
    """Yield the differences between motions on various meshes of a floor and a corner and on the simplest meshes."""
    findings = []
    with notebook.plot("mesh") as axes:
        for name, meshes in _meshes().items():
            plain, *others = (_paths(one) for one in meshes.values())
            for other, path in zip(list(meshes)[1:], others, strict=True):
                off = np.abs(path - plain).max(axis=(0, 2)) / (RADIUS, 1.0, 1.0 / RADIUS)
                for what, one in zip(_KINDS, off, strict=True):
                    findings.append(at_most(f"{name}, {other}: {what}", float(one), 1e-9))
        vertices, facets = _triangles()
        axes.triplot(*np.array(vertices)[:, :2].T, facets, color="0.8", linewidth=0.5)
        path = _paths((vertices, facets))
        axes.plot(path[:, 0, :3], path[:, 0, 3:6])
        axes.set(xlabel="x [m]", ylabel="y [m]", title="paths over 600 triangles", aspect="equal")
    yield FindingTable("Largest differences between meshes of one surface", "at most", findings, _WALLS)


_KINDS = ("place, in radii", "velocity, in m/s", "spin, in m/s over radius")
_WALLS = (
    "Three spheres, with spin, slide and roll over a floor, or run into a corner of floor and wall. The differences "
    "come from the rounding of vertices."
)


def _meshes() -> dict[str, dict[str, Surface]]:
    """Return meshes of a floor and of a corner, the simplest mesh first."""
    e = EDGE
    floor = [[-e, -e, 0.0], [e, -e, 0.0], [e, e, 0.0], [-e, e, 0.0]]
    corner = [*floor, [e / 2, -e, 0.0], [e / 2, e, 0.0], [e / 2, -e, e], [e / 2, e, e]]
    vertices, facets = _triangles()
    flipped = [facet[:: (-1) ** k] for k, facet in enumerate(facets)]
    return {
        "floor": {
            "one quad": (floor, [[0, 1, 2, 3]]),
            "random triangles": (vertices, facets),
            "triangles, every second one turned over": (vertices, flipped),
            "quad and triangles, one on the other": (
                [*floor, *vertices], [[0, 1, 2, 3], *([i + 4 for i in one] for one in facets)]
            ),
        },
        "corner": {
            "two quads": (corner, [[0, 4, 5, 3], [4, 6, 7, 5]]),
            "four triangles": (corner, [[0, 4, 5], [0, 5, 3], [4, 6, 7], [4, 7, 5]]),
            "hanging nodes": (
                [*corner, [e / 2, 0.1, 0.0], [e / 2, -0.05, 0.0]],
                [[0, 9, 8, 3], [0, 4, 9], [8, 5, 3], [4, 6, 7, 5]],
            ),
        },
    }  # fmt: skip


def _triangles() -> Surface:
    """Return vertices and facets of a triangulation of the floor with random points."""
    inner = EDGE * (2.0 * keyed_vectors(1, 5, np.arange(_POINTS), 2) - 1.0)
    rim = [(x, y) for x in (-EDGE, EDGE) for y in (-EDGE, EDGE)]
    flat = np.concatenate([inner, rim])
    facets = [[int(i) for i in one] for one in Delaunay(flat).simplices]
    return np.column_stack([flat, np.zeros(len(flat))]).tolist(), facets


def _paths(surface: Surface) -> Floats:
    """Return positions, velocities and spins (sample, 3, 9) of three spheres on a mesh rotated by `_TURN` and back."""
    mesh = Mesh((np.array(surface[0]) @ _TURN.T).tolist(), surface[1])
    motions = np.array(
        [
            ((-0.02, -0.1 + 0.1 * k, 1.01 * RADIUS), (1.5, 0.3 * k - 0.2, 0.0), (0.0, 50.0 * k - 80.0, 20.0 * k))
            for k in range(3)
        ]
    )
    groups = [
        {"material": "grain", "radius": RADIUS, "positions": [place], "velocity": velocity, "angular_velocity": spin}
        for place, velocity, spin in (motions @ _TURN.T).tolist()
    ]  # fmt: skip
    down = (_TURN @ (0.0, 0.0, -9.81)).tolist()
    simulation = _simulation(groups, {"friction": 0.3, "restitution": 0.5}, 5e-5, [mesh], gravity=down)
    samples = []
    for _ in range(40):
        simulation.advance(100)
        found = simulation.gather()
        assert found is not None
        samples.append([(found[key] @ _TURN).T.ravel() for key in ("position", "velocity", "angular_velocity")])
    return np.array(samples)


def _simulation(
    groups: Sequence[Mapping[str, Any]], law: Mapping[str, float], step: float, meshes: Sequence[Mesh], **domain: Any
) -> Simulation:
    """Return a simulation of groups of grains with meshes as walls."""
    document = {
        "time": {"step": step, "end": 1e3},
        "domain": {"lower": [-1.0] * 3, "upper": [1.0] * 3, "outside": "keep", **domain},
        "materials": {"grain": _GRAIN, "steel": {}},
        "interactions": {"default": dict(law)},
        "particles": list(groups),
        "walls": [{"mesh": "given", "material": "steel", "name": f"wall{k}"} for k in range(len(meshes))],
    }  # fmt: skip
    return Simulation(Case.from_text(tomli_w.dumps(document)), threads=1, meshes=list(meshes))


def energies(notebook: Notebook) -> Iterator[FindingTable]:
    """Yield the energy drift of a gas without losses, and the residual of the energy balance of a gas with friction."""
    findings = []
    with notebook.plot("energies", 2) as (left, right):
        for steps in (25, 50, 100):
            time, energy, _ = _gas(steps, {"friction": 0.0, "restitution": 1.0})
            left.plot(time, energy / energy[0] - 1.0, label=f"{steps} steps in an impact")
            drift = float(np.abs(energy / energy[0] - 1.0).max())
            findings.append(at_most(f"no loss, {steps} steps in an impact: change of the energy", drift, 1e-3))
        residuals = {}
        for steps in (25, 50, 100):
            time, energy, ledger = _gas(steps, {"friction": 0.5, "restitution": 0.8})
            right.plot(time, ledger["residual"] / energy[0], label=f"{steps} steps in an impact")
            residuals[steps] = float(np.abs(ledger["residual"]).max() / energy[0])
            findings.append(
                at_most(
                    f"friction and loss, {steps} steps in an impact: residual of the energy balance",
                    residuals[steps],
                    2e-3,
                )
            )
        left.set(xlabel="time [s]", ylabel="change of the energy", title="no friction, no loss")
        right.set(xlabel="time [s]", ylabel="residual over the energy", title="friction 0.5, restitution 0.8")
        left.legend()
        right.legend()
    fall = residuals[100] / residuals[25]
    findings.append(at_most("residual at 100 over that at 25 steps", fall, 0.3))
    yield FindingTable("A gas of 400 spheres in a box", "at most", findings, _ENERGIES)


_ENERGIES = (
    "All values are relative to the energy at the begin. The residual is the error of the sum of kinetic, stored and "
    "lost energy; it decreases with the step."
)


def _gas(steps: int, law: Mapping[str, float]) -> tuple[Floats, Floats, dict[str, Floats]]:
    """Return times, kinetic and elastic energies, and the energy balance of a gas, for a number of steps per impact."""
    speed, edge = 1.0, 0.04
    mass, modulus = (_GRAIN["density"] * 4.0 / 3.0 * math.pi * _GAS_RADIUS**3, _GRAIN["youngs_modulus"] / 0.9375)
    impact = (
        2.943 * (15.0 / 16.0 * 0.5 * mass * speed**2 / (0.5 * modulus * math.sqrt(0.5 * _GAS_RADIUS))) ** 0.4 / speed
    )
    group = {
        "material": "grain", "radius": _GAS_RADIUS, "velocity": {"random": speed, "seed": 1},
        "fill": {"count": _GAS, "lower": [0.0] * 3, "upper": [edge] * 3},
    }  # fmt: skip
    simulation = _simulation([group], law, impact / steps, [], lower=[0.0] * 3, upper=[edge] * 3, periodic=[True] * 3)
    rows, times = [], []
    for _ in range(60):
        simulation.advance(4 * steps)
        rows.append(simulation.energies())
        times.append(simulation.time)
    ledger = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    return np.array(times), ledger["translation"] + ledger["rotation"] + ledger["elastic"], ledger


STUDIES = (
    Study(
        "walls", "Walls do not depend on their mesh", walls, "promises",
        parameters={
            "spheres": "radius 10 mm, 10 MPa, friction 0.3", "floor": "0.8 m wide: a quad, 600 random triangles, both",
            "corner": "of two quads, of triangles, with hanging nodes", "time step": "50 us, 4000 of them",
        },
    ),
    Study(
        "energies", "Energies: the stored and the lost energy add up", energies, "promises",
        parameters={
            "gas": "400 spheres of radius 2 mm in a periodic box of 40 mm, 10 MPa, up to 1 m/s along each axis",
            "time": "240 impacts long",
        },
    ),
)  # fmt: skip
