"""Part of the study of heat: energy that contacts lose in motion and bodies receive as heat."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.numerics.random import keyed_vectors
from pdem.verification.study import FindingTable, StudyFinding
from validation.heat_runs import CAPACITY, COLD, MASS, RADIUS, moving, temperatures

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


SPEED = 1.0
"""Speed of sliding and of impacts [m/s]."""

_GAS = 200
_SPRING = {"law": "linear", "normal_stiffness": 1e5, "tangential_ratio": 0.2857}


def from_motion() -> Iterator[FindingTable]:
    """Yield tables of a sphere that slides until it rolls, of impacts, and of grains in an insulated box."""
    yield FindingTable("A sphere slides until it rolls", "exact", list(_sliding()), _SLIDING)
    yield FindingTable("Impact of two spheres", "exact", list(_impacts()), _IMPACTS)
    yield FindingTable("Grains in an insulated box", "exact", list(_box()), _BOX)


_SLIDING = (
    "All heat is m v^2 / 7. The plane has twice the effusivity of the sphere, and two thirds of the heat if it has a "
    "temperature. The accounts miss the work of friction in half of the first time step, 2.6e-5 of the heat."
)
_IMPACTS = "The heat is (1 - e^2) m v^2 / 4 of two spheres with the relative speed v."
_BOX = "200 spheres collide with each other and with the walls of a box. Rounding is a quantum for each contact."


def _sliding() -> Iterator[StudyFinding]:
    exact, law = MASS * SPEED**2 / 7.0, {**_SPRING, "friction": 0.3, "restitution": 0.5}
    down = MASS * 9.81 / 1e5
    ball = [{"positions": [[0.0, 0.0, RADIUS - down]], "velocity": [SPEED, 0.0, 0.0]}]
    for name, plane, share in (("insulated", {}, 1.0), ("held", {"temperature": COLD}, 1.0 / 3.0)):
        simulation = moving(ball, law, 2.5e-6, gravity=9.81, plane=plane, size=2.0)
        simulation.advance(80_000)
        energies = simulation.energies()
        yield StudyFinding(f"plane {name}: heat from motion [J]", energies["heat_from_motion"], exact, 5e-5)
        if not plane:
            warmer = float(temperatures(simulation)[0]) - COLD
            yield StudyFinding("plane insulated: rise of temperature [K]", warmer, SPEED**2 / (7.0 * CAPACITY), 5e-5)
        else:
            part = energies["heat_walls"] / energies["heat_from_motion"]
            yield StudyFinding("plane held: its share", part, 1.0 - share, 1e-3)


def _impacts() -> Iterator[StudyFinding]:
    groups = [
        {"positions": [[side * 1.001 * RADIUS, 0.0, 0.0]], "velocity": [-0.5 * side * SPEED, 0.0, 0.0]}
        for side in (1.0, -1.0)
    ]  # fmt: skip
    for restitution in (0.9, 0.5, 0.2):
        simulation = moving(groups, {**_SPRING, "friction": 0.3, "restitution": restitution}, 1e-6)
        simulation.advance(3000)
        found = simulation.energies()["heat_from_motion"]
        exact = 0.25 * (1.0 - restitution**2) * MASS * SPEED**2
        yield StudyFinding(f"restitution {restitution:g}: heat [J]", found, exact, 1e-3)


def _box() -> Iterator[StudyFinding]:
    simulation = moving(_gas(), {**_SPRING, "friction": 0.3, "restitution": 0.8}, 1e-5, size=0.03, box=True)
    before = simulation.energies()
    simulation.advance(50_000)
    after = simulation.energies()
    losses = _lost(after) - _lost(before)
    gained = after["heat"] - before["heat"]
    received = after["heat_from_motion"] - before["heat_from_motion"]
    yield StudyFinding("energy that contacts lost [J]", losses, None)
    yield StudyFinding("heat from motion, less the heat of the spheres [J]", received - gained, 0.0, 0.0, margin=1e-11)
    waiting = (_lost(after) - after["heat_from_motion"]) / losses
    yield StudyFinding("losses that are not heat yet, over all losses", waiting, 0.0, 0.0, margin=1e-8)


def _gas() -> list[Mapping[str, object]]:
    """Return spheres on a grid with random velocities."""
    grid = np.stack(np.meshgrid(*[np.arange(-3, 3) + 0.5] * 3), -1).reshape(-1, 3)[:_GAS] * 0.0085
    speeds = SPEED * (2.0 * keyed_vectors(1, 5, np.arange(_GAS), 3) - 1.0)
    return [
        {"positions": [place], "velocity": speed} for place, speed in zip(grid.tolist(), speeds.tolist(), strict=True)
    ]


def _lost(energies: Mapping[str, float]) -> float:
    return energies["normal_damping"] + energies["sliding"]
