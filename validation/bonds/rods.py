"""Rods of bonded spheres along x, side by side in one run: their case, their loads, their places by id."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import tomli_w

from pdem.case.model import Case
from pdem.run.simulation import Simulation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from pdem.foundation.array_types import Floats

RADIUS, DENSITY = 1e-3, 2500.0
LENGTH = 2.0 * RADIUS
"""Length of a bond [m]."""

YOUNG, POISSON = 1e9, 0.3
MASS = 4.0 / 3.0 * math.pi * DENSITY * RADIUS**3
AREA, SECOND = math.pi * RADIUS**2, 0.25 * math.pi * RADIUS**4
AXIAL = YOUNG * AREA
BENDING = YOUNG * SECOND
SHEAR = AXIAL / (2.0 * (1.0 + POISSON))
"""Stiffness of a section: E A [N], E I [N m^2], G A [N]."""

RATE = math.sqrt(YOUNG * AREA / LENGTH / MASS)
"""Root of the axial stiffness of a bond over the mass of a sphere [1/s]."""

SPEED = LENGTH * RATE
"""Speed of long waves along a rod [m/s]."""

PARAMETERS = {
    "spheres": "radius 1 mm, 2500 kg/m^3",
    "bonds": "springs over the section, radius 1 mm, 2 mm long, 1 GPa, Poisson's ratio 0.3",
}
"""Of the pages of all studies of rods."""

_APART = 0.02
_CONTACT = {"density": DENSITY, "youngs_modulus": 1e10, "poisson_ratio": POISSON}


class Rod(NamedTuple):
    """A straight rod of bonded spheres.

    Attributes
    ----------
    bonds : int
        Their number: the rod has a sphere more.
    held : bool
        Whether the first sphere is fixed.
    place : 2 float
        Place of the first sphere along x and y [m].
    keys : mapping
        Further keys of ``[bonds]``.
    """

    bonds: int
    held: bool = True
    place: tuple[float, float] = (0.0, 0.0)
    keys: Mapping[str, float] = {}


def beside(rods: Sequence[Rod]) -> list[Rod]:
    """Return rods that are placed side by side."""
    return [rod._replace(place=(0.0, _APART * number)) for number, rod in enumerate(rods)]


def simulate(rods: Sequence[Rod], step: float, folder: str = "unused") -> Simulation:
    """Return a simulation of rods without gravity; ids follow each other from the first end of each rod.

    Parameters
    ----------
    rods : sequence of Rod
        Rods that do not touch each other at first.
    step : float
        Time step [s].
    folder : str
        Output folder, for runs that write.
    """
    groups: list[dict[str, Any]] = []
    for number, rod in enumerate(rods):
        x, y = rod.place
        places = [[x + LENGTH * i, y, 0.0] for i in range(rod.bonds + 1)]
        base = {"material": f"rod{number}", "radius": RADIUS}
        if rod.held:
            groups.append({**base, "positions": places[:1], "fixed": True, "name": f"held{number}"})
        groups.append({**base, "positions": places[rod.held :]})
    size = 2.0 * max(math.hypot(*rod.place) + LENGTH * (rod.bonds + 2) for rod in rods)
    bond = {"gap": 1e-6, "section": "springs", "youngs_modulus": YOUNG, "poisson_ratio": POISSON}
    document = {
        "time": {"step": step, "end": 1.0},
        "domain": {"lower": [-size] * 3, "upper": [size] * 3, "outside": "keep"},
        "materials": {f"rod{number}": _CONTACT for number in range(len(rods))},
        "interactions": {"default": {"friction": 0.0, "restitution": 1.0}},
        "particles": groups,
        "bonds": {f"b{n}": {"between": f"rod{n}-rod{n}", **bond, **rod.keys} for n, rod in enumerate(rods)},
        "forces": [{"kind": "array"}],
        "output": {"folder": folder},
    }
    return Simulation(Case.from_text(tomli_w.dumps(document)), threads=1)


def load(simulation: Simulation, rods: Sequence[Rod], tips: ArrayLike, drags: Sequence[float]) -> None:
    """Set a force on the last sphere of each rod [N], and a drag on all of its spheres [kg/s]."""
    counts = [rod.bonds + 1 for rod in rods]
    force = np.zeros((sum(counts), 3))
    force[np.cumsum(counts) - 1] = tips
    simulation.set_external_force(force, np.repeat(drags, counts), ids=np.arange(len(force)))


def by_rod(simulation: Simulation, rods: Sequence[Rod], name: str = "position") -> list[Floats]:
    """Return a vector of the spheres (n + 1, 3) of each rod, from its first end."""
    own = simulation.gather()
    assert own is not None
    values = own[name][np.argsort(own["id"])]
    return np.split(values, np.cumsum([rod.bonds + 1 for rod in rods])[:-1])


def bonds_of(simulation: Simulation) -> dict[str, NDArray[Any]]:
    """Return the columns of all bonds, broken ones as well."""
    found = simulation.bonds
    assert found is not None
    return found


def lowest(bonds: int) -> float:
    """Return the lowest angular frequency of a slender cantilever with the mass of the spheres [rad/s]."""
    return 1.875104069**2 * math.sqrt(BENDING * LENGTH / MASS) / (bonds * LENGTH) ** 2
