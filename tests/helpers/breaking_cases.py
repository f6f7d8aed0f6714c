"""Small cases of particles that break: drops on a plane, a press, clouds and heaps whose particles break."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import tomli_w

import pdem
from pdem.features.breakage.feature import Breakage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

RADIUS, DENSITY = 0.005, 2700.0
"""Radius [m] and density [kg/m^3] of the spheres of one size."""

MASS = DENSITY * 4.0 / 3.0 * math.pi * RADIUS**3

COPPER = {
    "model": "tavares", "fracture_energy": 213.5, "size": 8.07e-3, "exponent": 1.22, "spread": 0.8,
    "smallest": RADIUS / 8.0,
}  # fmt: skip
"""The copper ore of the theory."""

MEDIAN = 213.5 * (1.0 + (8.07e-3 / (2.0 * RADIUS)) ** 1.22)
"""Median fracture energy of these spheres [J/kg]."""

GRAIN = {"density": DENSITY, "youngs_modulus": 1e9, "poisson_ratio": 0.25}
FLOOR = {"name": "floor", "shape": "plane", "material": "steel", "point": [0.0] * 3, "normal": [0.0, 0.0, 1.0]}


def document(
    breakage: Mapping[str, Any] | None = None, *, material: Mapping[str, Any] | None = None,
    law: Mapping[str, Any] | None = None, particles: Sequence[Mapping[str, Any]] = (),
    walls: Sequence[Mapping[str, Any]] = (), domain: Mapping[str, Any] | None = None, step: float = 2e-7,
    more: Mapping[str, Any] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Return a case with the material ``ore``, which breaks if `breakage` is given, and rigid ``steel``."""
    ore = {**GRAIN, **(material or {})}
    if breakage is not None:
        ore["breakage"] = dict(breakage)
    return {
        "time": {"step": step, "end": 1e5},
        "domain": {"lower": [-10.0] * 3, "upper": [10.0] * 3, "outside": "keep", **(domain or {})},
        "materials": {"ore": ore, "steel": {}},
        "interactions": {"default": {"friction": 0.4, "restitution": 1.0, **(law or {})}},
        "particles": [dict(one) for one in particles], "walls": [dict(one) for one in walls], **(more or {}),
    }  # fmt: skip


def case_of(folder: Path | str = ".", **options: Any) -> pdem.Case:
    """Return the case of `document`."""
    return pdem.Case.from_text(tomli_w.dumps(document(**options)), folder)


def group(positions: Any, radius: float = RADIUS, velocity: Any = (0.0, 0.0, 0.0), **more: Any) -> dict[str, Any]:
    """Return a group of spheres of ore."""
    places = np.asarray(positions, np.float64).reshape(-1, 3).tolist()
    return {"material": "ore", "radius": radius, "positions": places, "velocity": list(velocity), **more}


def speed_of(energy: float) -> float:
    """Return the speed of an impact on a rigid wall with a specific energy [J/kg]."""
    return math.sqrt(2.0 * energy)


def feature_of(run: pdem.Simulation) -> Breakage:
    """Return the breakage of a simulation."""
    return run.system.features.get(Breakage)


def events_of(run: pdem.Simulation) -> dict[str, np.ndarray]:
    """Return the particles that have broken, in the order of time and id."""
    found = feature_of(run).events.collected(run.system.exchange)
    assert found is not None
    return found


def by_id(run: pdem.Simulation) -> dict[str, np.ndarray]:
    """Return the columns of the particles in the order of their ids."""
    columns = run.gather()
    order = np.argsort(columns["id"])
    return {name: column[order] for name, column in columns.items()}


def dropped(count: int, energy: float, breakage: Mapping[str, Any] = COPPER, **options: Any) -> pdem.Simulation:
    """Return spheres just above a floor that move down with a specific energy [J/kg], each alone."""
    side = math.ceil(math.sqrt(count))
    n = np.arange(count)
    apart = 4.0 * RADIUS
    places = np.column_stack([apart * (n % side), apart * (n // side), np.full(count, 1.001 * RADIUS)])
    grains = group(places, velocity=(0.0, 0.0, -speed_of(energy)))
    return pdem.Simulation(case_of(breakage=breakage, particles=[grains], walls=[FLOOR], **options), threads=1)


def exact_totals(columns: Mapping[str, np.ndarray], density: float = DENSITY) -> dict[str, Any]:
    """Return exact sums of cubes of radii, and momentum, angular momentum and first moment over pi density 4 / 3."""
    cubes = [Fraction(one) ** 3 for one in columns["radius"].tolist()]
    inertia = [
        Fraction(2, 5) * cube * Fraction(r) ** 2 for cube, r in zip(cubes, columns["radius"].tolist(), strict=True)
    ]

    def vectors(name):
        return [[Fraction(x) for x in row] for row in columns[name].tolist()]

    place, speed, spin = vectors("position"), vectors("velocity"), vectors("angular_velocity")
    moment = [sum(m * x[a] for m, x in zip(cubes, place, strict=True)) for a in range(3)]
    momentum = [sum(m * v[a] for m, v in zip(cubes, speed, strict=True)) for a in range(3)]
    turning = []
    for a in range(3):
        b, c = (a + 1) % 3, (a + 2) % 3
        turning.append(
            sum(
                m * (x[b] * v[c] - x[c] * v[b]) + i * w[a]
                for m, i, x, v, w in zip(cubes, inertia, place, speed, spin, strict=True)
            )
        )
    return {"volume": sum(cubes), "moment": moment, "momentum": momentum, "turning": turning}


def oedometer(count: int = 4, layers: int = 5, seed: int = 3, **options: Any) -> pdem.Simulation:
    """Return weak spheres in a periodic cell between a floor and a plate that moves down."""
    return pdem.Simulation(oedometer_case(count, layers, seed, **options), threads=1)


def oedometer_case(count: int = 4, layers: int = 5, seed: int = 3, **options: Any) -> pdem.Case:
    """Return the case of `oedometer`; a fifth of the spheres break within 15,000 steps."""
    cells = np.stack(np.meshgrid(*[np.arange(count)] * 2, np.arange(layers), indexing="ij"), -1).reshape(-1, 3)
    shake = np.random.default_rng(seed).uniform(-0.015, 0.015, cells.shape)
    side = 2.0 * RADIUS * count
    plate = {
        "name": "plate", "shape": "plane", "material": "steel", "point": [0.0, 0.0, 2.0 * RADIUS * layers],
        "normal": [0.0, 0.0, -1.0], "translation": {"velocity": [0.0, 0.0, -5.0]},
    }  # fmt: skip
    weak = {**COPPER, "fracture_energy": 40.0, "smallest": RADIUS / 6.0, "damage": 5.0}
    given: dict[str, Any] = {
        "breakage": weak, "walls": [FLOOR, plate], "step": 5e-8, "law": {"restitution": 0.5},
        "particles": [group((2.0 * cells + 1.0 + shake) * RADIUS, 0.98 * RADIUS)], "material": {"youngs_modulus": 2e10},
        "domain": {"lower": [0.0, 0.0, -1.0], "upper": [side, side, 1.0], "periodic": [True, True, False]},
    }  # fmt: skip
    return case_of(**{**given, **options})
