"""Rigid clusters on meshed walls: their motion does not depend on the division of a floor into facets.

The paper shows this for a sphere (sect. 6.1.4). A cluster touches the wall with several spheres, and each sphere
crosses edges independently. The sum of their effects on the cluster must be equal on all meshes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.spatial import Delaunay

from pdem.containers.meshes.mesh import Mesh
from pdem.verification.study import FindingTable, StudyFinding, at_most
from validation.cluster_checks import spin_of_fallen
from validation.cluster_runs import GRAVITY, HALF, RADIUS, ROD, cluster, own_spins, simulate
from validation.h2_runs import METHODS

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats
    from pdem.run.simulation import Simulation
    from pdem.verification.study import Notebook

WIDTH = 0.2
"""Width of the floor [m]."""

MESHES = {"one quad": 0, "600 triangles": 280}
"""Floors, by the number of points between their corners."""

_START, _END = math.radians(20.0), math.radians(80.0)
_SAMPLES, _EVERY = 40, 1000


def floor_of(points: int) -> Mesh:
    """Return a square floor at height 0: one quad, or triangles between its corners and points at random positions.

    Parameters
    ----------
    points : int
        Number of points.
    """
    corners = 0.5 * WIDTH * np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
    if not points:
        return Mesh(np.column_stack((corners, np.zeros(4))), [[0, 1, 2, 3]])
    inside = np.random.default_rng(3).uniform(-0.05 * WIDTH, 0.05 * WIDTH, (points, 2))
    places = np.concatenate((corners, inside))
    return Mesh(np.column_stack((places, np.zeros(len(places)))), Delaunay(places).simplices.tolist())


def thrown(points: int, method: str, samples: int | None = None) -> tuple[Floats, Simulation]:
    """Return positions, velocities and spins of a rod that is thrown on a rough floor, and rolls and slides over it."""
    motion = {"velocity": [0.3, 0.2, -0.5], "angular_velocity": [20.0, -30.0, 10.0]}
    rod = cluster("rod", (-5e-3, -3e-3, 3.0 * RADIUS), orientation={"axis": [0.0, 1.0, 0.2], "angle": 20.0})
    simulation = simulate(
        [{**rod, **motion}], {"rod": ROD}, 1e-6, {"friction": 0.4, "restitution": 0.6}, mesh=floor_of(points),
        method=method, gravity=[0.0, 0.0, -GRAVITY],
    )  # fmt: skip
    rows = []
    for _ in range(_SAMPLES if samples is None else samples):
        simulation.advance(_EVERY)
        own = simulation.clusters
        spin = RADIUS * own_spins(simulation)[1][0]
        rows.append(np.concatenate((own.position[0] / RADIUS, own.velocity[0], spin)))
    return np.array(rows), simulation


def on_meshes(notebook: Notebook) -> FindingTable:
    """Return the differences between motions of a rod thrown on various meshes of the floor; plot them."""
    findings = []
    for method in METHODS:
        tracks = [thrown(points, method) for points in MESHES.values()]
        one, other = (track for track, _ in tracks)
        apart = np.abs(other - one).max(axis=0)
        findings += differences(method, apart)
    _plot(notebook, one, other)
    remark = (
        "A rod of nine spheres is thrown on a rough floor (friction 0.4, restitution 0.6), turns, rolls and slides "
        f"over {_SAMPLES * _EVERY / 1000:g} thousand steps; lengths in radii, speeds in m/s, spins times the radius."
    )
    return FindingTable("clusters on meshes: a rod that is thrown", "the other mesh", findings, remark, 3)


def differences(method: str, apart: Floats) -> list[StudyFinding]:
    """Return the largest differences (9,) of positions, velocities and spins with their limit."""
    names = ("place [radii]", "velocity [m/s]", "spin times radius [m/s]")
    return [
        at_most(f"{method}: {name}", float(apart[3 * number : 3 * number + 3].max()), 1e-9)
        for number, name in enumerate(names)
    ]


def sliding_down_meshes(notebook: Notebook) -> FindingTable:
    """Return the spin of a slender rod that slides down on smooth meshes, beside its closed form."""
    findings: list[StudyFinding] = []
    for method in METHODS:
        for name, points in MESHES.items():
            tilts, spins, drift = slid(points, method)
            theory = spin_of_fallen(_START, tilts)
            for wanted in (40.0, 70.0):
                k = int(np.searchsorted(tilts, math.radians(wanted)))
                text = f"{method}, {name}: spin at {math.degrees(tilts[k]):.1f} deg [rad/s]"
                findings.append(StudyFinding(text, float(spins[k]), float(theory[k]), 5e-3))
            findings.append(at_most(f"{method}, {name}: its centre aside [m]", drift, 1e-10))
    remark = "w^2 = 6 g (cos t0 - cos t) / (a (1 + 3 sin^2 t)) from 20 degrees; a smooth floor pushes upwards alone."
    return FindingTable("clusters on meshes: a rod that slides down", "closed form", findings, remark)


def slid(points: int, method: str) -> tuple[Floats, Floats, float]:
    """Return tilts to the vertical [rad], spins [rad/s], and the lateral displacement of the centre [m]."""
    place = (0.0, 0.0, HALF * math.cos(_START) + RADIUS)
    turned: dict[str, Any] = {"axis": [0.0, 1.0, 0.0], "angle": 90.0 - math.degrees(_START)}
    simulation = simulate(
        [cluster("rod", place, orientation=turned)], {"rod": ROD}, 1e-6, mesh=floor_of(points), method=method,
        gravity=[0.0, 0.0, -GRAVITY],
    )  # fmt: skip
    rows, drift = [], 0.0
    while simulation.clusters.position[0, 2] > RADIUS + HALF * math.cos(_END):
        simulation.advance(_EVERY)
        own = simulation.clusters
        rows.append((math.acos((own.position[0, 2] - RADIUS) / HALF), np.linalg.norm(own_spins(simulation)[1][0])))
        drift = max(drift, float(np.abs(own.position[0, :2]).max()))
    tilts, spins = np.array(rows, np.float64).T
    return tilts, spins, drift


def _plot(notebook: Notebook, one: Floats, other: Floats) -> None:
    time = 1e-3 * np.arange(1, len(one) + 1)
    with notebook.plot("clusters_on_meshes") as axes:
        for column, name in ((2, "height [radii]"), (3, "velocity along x [m/s]"), (6, "spin times radius [m/s]")):
            (line,) = axes.plot(time, one[:, column], label=f"{name}, one quad")
            axes.plot(time, other[:, column], "o", color=line.get_color(), markerfacecolor="none", label="triangles")
        axes.set(xlabel="time [s]")
        axes.legend(fontsize="small")
