"""Runs of the study of heat: spheres that touch with a given force and do not move, and spheres that slide or collide.

Values are those of a steel sphere: radius 3.2 mm, 0.493 J/K, 1.868 mW/K through a contact under 1 N.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import tomli_w

from pdem.case.model import Case
from pdem.run.simulation import Simulation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pdem.foundation.array_types import Floats

RADIUS, DENSITY = 3.2e-3, 7747.0
"""Radius [m] and density [kg/m^3] of all spheres."""

CONDUCTIVITY, CAPACITY = 42.0, 464.0
"""Conductivity [W/(m K)] and specific heat capacity [J/(kg K)]."""

MODULUS, POISSON = 200e9, 0.29
"""Real Young's modulus [Pa] and Poisson's ratio."""

FORCE, STIFFNESS = 1.0, 1e6
"""Normal force of each contact [N], and stiffness of the linear springs that exert it [N/m]."""

DIAMETER = 2.0 * RADIUS
APART = DIAMETER - FORCE / STIFFNESS
"""Distance of the centres of spheres that touch [m]."""

MASS = DENSITY * 4.0 / 3.0 * math.pi * RADIUS**3
HEAT_CAPACITY = MASS * CAPACITY
"""Heat capacity of a sphere [J/K]."""

COLD, HOT = 300.0, 400.0
"""Temperatures [K]."""

HELD = 1e6
"""Heat capacity of spheres that keep their temperature, over that of others."""


def area_radius(force: float, *, wall: bool = False) -> float:
    """Return the radius of the area of a contact [m] between two spheres, or a sphere and a wall of its material."""
    modulus = 0.5 * MODULUS / (1.0 - POISSON**2)
    return (3.0 * force * RADIUS * (1.0 if wall else 0.5) / (4.0 * modulus)) ** (1.0 / 3.0)


CONDUCTANCE = 2.0 * CONDUCTIVITY * area_radius(FORCE)
"""Conductance of a contact between spheres [W/K]."""


def resting(
    places: Floats, temperatures: Sequence[float] | Floats, heat: Mapping[str, Any] | None = None, *,
    held: Sequence[int] = (), step: float = 1.0, **more: Any,
) -> Simulation:  # fmt: skip
    """Return spheres that do not move, in a frozen stage.

    Parameters
    ----------
    places : (n, 3) array
        Positions [m].
    temperatures : (n,) array
        Temperatures at the beginning [K].
    heat : mapping, optional
        Section ``[heat]``; conduction through solid contacts by default.
    held : sequence of int
        Spheres that keep their temperatures, with a very large heat capacity; they come first in the result.
    step : float
        Length of the steps of heat [s].
    **more
        Further keys of the domain, and ``walls``.
    """
    walls = list(more.pop("walls", ()))
    kept = np.isin(np.arange(len(places)), list(held))
    groups = [
        {"material": name, "radius": RADIUS, "positions": np.asarray(places)[which].tolist()}
        for name, which in (("held", kept), ("steel", ~kept)) if which.any()
    ]  # fmt: skip
    document = {
        "time": {"step": step, "end": 1e9},
        "domain": {"lower": [-1.0] * 3, "upper": [1.0] * 3, **more},
        "heat": {"every": step, "from_motion": False, **(heat or {})},
        "materials": {"steel": _STEEL, "held": {**_STEEL, "heat_capacity": HELD * CAPACITY}},
        "interactions": {"default": _SPRINGS},
        "particles": groups, "walls": walls,
        "stages": [{"name": "heat", "motion": "frozen"}],
    }  # fmt: skip
    simulation = Simulation(Case.from_text(tomli_w.dumps(document)), threads=1)
    order = np.concatenate([np.flatnonzero(kept), np.flatnonzero(~kept)])
    simulation.particles.temperature[:] = np.asarray(temperatures, np.float64)[order][simulation.particles.id]
    return simulation


_SPRINGS = {"law": "linear", "normal_stiffness": STIFFNESS, "restitution": 1.0, "friction": 0.0}
_STEEL = {
    "density": DENSITY, "youngs_modulus": 1e7, "poisson_ratio": POISSON, "contact_modulus": MODULUS,
    "conductivity": CONDUCTIVITY, "heat_capacity": CAPACITY, "emissivity": 0.8,
}  # fmt: skip


def temperatures(simulation: Simulation) -> Floats:
    """Return the temperatures of all spheres in the order of their ids [K]."""
    own = simulation.particles
    return np.array(own.temperature[np.argsort(own.id)])


def moving(
    groups: Sequence[Mapping[str, Any]], law: Mapping[str, Any], step: float, *,
    gravity: float = 0.0, plane: Mapping[str, Any] | None = None, size: float = 1.0, box: bool = False,
) -> Simulation:  # fmt: skip
    """Return moving spheres whose contacts turn what they lose into heat.

    Parameters
    ----------
    groups : sequence of mapping
        Entries of ``[[particles]]`` without material and radius.
    law : mapping
        Section ``[interactions.default]``.
    step : float
        Time step [s].
    gravity : float
        Acceleration towards the plane [m/s^2].
    plane : mapping, optional
        Keys of a plane at height 0; without it there is none.
    size : float
        Half of the size of the domain [m].
    box : bool
        Whether the domain is an insulated box.
    """
    walls: list[dict[str, Any]] = []
    if plane is not None:
        walls.append({"shape": "plane", "point": [0.0] * 3, "normal": [0.0, 0.0, 1.0], "material": "wall", **plane})
    if box:
        walls.append({"shape": "box", "lower": [-size] * 3, "upper": [size] * 3, "material": "wall"})
    document = {
        "time": {"step": step, "end": 1e3},
        "domain": {"lower": [-size] * 3, "upper": [size] * 3, "outside": "keep", "gravity": [0.0, 0.0, -gravity]},
        "heat": {"temperature": COLD},
        "materials": {
            "steel": _STEEL,
            "wall": {"density": 2.0 * DENSITY, "conductivity": 2.0 * CONDUCTIVITY, "heat_capacity": CAPACITY},
        },
        "interactions": {"default": dict(law)},
        "particles": [{"material": "steel", "radius": RADIUS, **one} for one in groups],
        "walls": walls,
    }  # fmt: skip
    return Simulation(Case.from_text(tomli_w.dumps(document)), threads=1)
