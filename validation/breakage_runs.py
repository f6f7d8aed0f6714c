"""Runs of the study of breakage: spheres of an ore that drop on a floor one by one, and a bed under a plate.

Values are those of a copper ore: median fracture energy 213.5 J/kg of large spheres, 377.9 J/kg at a diameter of 10 mm.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import tomli_w

from pdem.case.model import Case
from pdem.features.breakage.feature import Breakage
from pdem.run.simulation import Simulation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pdem.foundation.array_types import Floats

RADIUS, DENSITY = 5e-3, 2700.0
"""Radius [m] and density [kg/m^3] of the spheres."""

MASS = DENSITY * 4.0 / 3.0 * math.pi * RADIUS**3

LARGE, SIZE, EXPONENT, SPREAD, GREATEST = 213.5, 8.07e-3, 1.22, 0.8, 4.0
"""Median fracture energy of large spheres [J/kg], size of its growth [m], exponent, spread, and greatest ratio."""

MEDIAN = LARGE * (1.0 + (SIZE / (2.0 * RADIUS)) ** EXPONENT)
"""Median fracture energy of the spheres [J/kg]."""

SMALLEST = RADIUS / 8.0
"""Radius of the smallest fragments [m]."""

_ORE = {"density": DENSITY, "youngs_modulus": 7e10, "poisson_ratio": 0.25}
_BREAKAGE = {
    "model": "tavares", "fracture_energy": LARGE, "size": SIZE, "exponent": EXPONENT, "spread": SPREAD,
    "greatest": GREATEST, "smallest": SMALLEST,
}  # fmt: skip
_FLOOR = {"name": "floor", "shape": "plane", "material": "steel", "point": [0.0] * 3, "normal": [0.0, 0.0, 1.0]}

STEP = 4e-8
"""Time step of drops [s]."""

IMPACT = 400
"""Steps from the begin of a drop to the end of its impact, at the speeds of this study."""

COUNT, LAYERS, APPROACH, PRESS_STEP = 6, 6, 5.0, 5e-8
"""Spheres along an edge of the bed, its layers, speed of the plate [m/s], and time step [s]."""


def case_with(
    breakage: Mapping[str, Any], particles: Sequence[Mapping[str, Any]], walls: Sequence[Mapping[str, Any]],
    step: float = STEP, *, ore: Mapping[str, Any] | None = None, law: Mapping[str, Any] | None = None,
    **domain: Any,
) -> Case:  # fmt: skip
    """Return a case with spheres of ore, which break, and rigid walls."""
    document = {
        "time": {"step": step, "end": 1e5},
        "domain": {"lower": [-10.0] * 3, "upper": [10.0] * 3, "outside": "keep", **domain},
        "materials": {"ore": {**_ORE, **(ore or {}), "breakage": {**_BREAKAGE, **breakage}}, "steel": {}},
        "interactions": {"default": {"friction": 0.4, "restitution": 1.0, **(law or {})}},
        "particles": list(particles), "walls": list(walls),
    }  # fmt: skip
    return Case.from_text(tomli_w.dumps(document))


def dropped(count: int, energy: float, **breakage: Any) -> Simulation:
    """Return spheres just above a floor, each alone, that move down with a specific energy [J/kg]."""
    side, n = math.ceil(math.sqrt(count)), np.arange(count)
    apart = 4.0 * RADIUS
    places = np.column_stack([apart * (n % side), apart * (n // side), np.full(count, 1.001 * RADIUS)])
    speed = math.sqrt(2.0 * energy)
    grains = {
        "material": "ore", "radius": RADIUS, "positions": places.tolist(), "velocity": [0.0, 0.0, -speed],
    }  # fmt: skip
    return Simulation(case_with(breakage, [grains], [_FLOOR]), threads=1)


def breakage_of(simulation: Simulation) -> Breakage:
    """Return the breakage of a simulation."""
    return simulation.system.features.get(Breakage)


def impacts_until_broken(exponent: float, ratio: float, most: int = 20) -> int:
    """Return the number of impacts with a ratio of the first strength after which a sphere is broken."""
    simulation = dropped(1, MEDIAN, damage=exponent)
    simulation.particles["fracture_energy"][:] = MEDIAN / ratio
    for number in range(1, most + 1):
        simulation.advance(IMPACT)
        if breakage_of(simulation).broken:
            return number
        simulation.particles.velocity[:, 2] = -math.sqrt(2.0 * MEDIAN)
    return most + 1


def bed() -> Simulation:
    """Return weak spheres with a restitution of 0.5 in a periodic cell, between a floor and a plate that approaches."""
    cells = np.stack(np.meshgrid(*[np.arange(COUNT)] * 2, np.arange(LAYERS), indexing="ij"), -1).reshape(-1, 3)
    shake = np.random.default_rng(3).uniform(-0.015, 0.015, cells.shape)
    side = 2.0 * RADIUS * COUNT
    plate = {
        "name": "plate", "shape": "plane", "material": "steel", "point": [0.0, 0.0, 2.0 * RADIUS * LAYERS],
        "normal": [0.0, 0.0, -1.0], "translation": {"velocity": [0.0, 0.0, -APPROACH]},
    }  # fmt: skip
    places = ((2.0 * cells + 1.0 + shake) * RADIUS).tolist()
    grains = {"material": "ore", "radius": 0.98 * RADIUS, "positions": places}
    weak = {"fracture_energy": 40.0, "smallest": RADIUS / 6.0, "damage": 5.0}
    case = case_with(
        weak, [grains], [_FLOOR, plate], PRESS_STEP, ore={"youngs_modulus": 2e10}, law={"restitution": 0.5},
        lower=[0.0, 0.0, -1.0], upper=[side, side, 1.0], periodic=[True, True, False],
    )  # fmt: skip
    return Simulation(case, threads=1)


def size_index(simulation: Simulation) -> float:
    """Return the mean over the mass of the logarithm of the ratio in which sizes have fallen; fines as the smallest."""
    own = simulation.particles
    mass, fines = DENSITY * 4.0 / 3.0 * math.pi * own.radius**3, float(_fines(simulation))
    lost: Floats = np.log(0.98 * RADIUS / own.radius)
    return float((np.sum(mass * lost) + fines * math.log(0.98 * 6.0)) / (np.sum(mass) + fines))


def _fines(simulation: Simulation) -> float:
    return breakage_of(simulation).quantity(simulation.system, "", "fines_mass")
