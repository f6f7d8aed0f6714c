"""Runs of few spheres for the gallery: all impacts of a test in one simulation, at large distances."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import tomli_w

from pdem.case.model import Case
from pdem.run.simulation import Simulation

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pdem.foundation.array_types import Floats

GRAVITY = 9.81
_HERTZ_TIME = 2.94328
"""Duration of a Hertzian impact times its speed, over its largest overlap."""

PLANE = "plane"
"""The material of all walls, which is rigid."""


class Material(NamedTuple):
    """An elastic material: modulus [Pa], Poisson's ratio, density [kg/m^3]."""

    modulus: float
    poisson: float
    density: float

    def section(self) -> dict[str, float]:
        """Return the section of the material for a case."""
        return {"youngs_modulus": self.modulus, "poisson_ratio": self.poisson, "density": self.density}


class Ball(NamedTuple):
    """A sphere: name of its material, radius [m], position [m], velocity [m/s], angular velocity [rad/s]."""

    material: str
    radius: float
    place: Sequence[float]
    velocity: Sequence[float] = (0.0, 0.0, 0.0)
    spin: Sequence[float] = (0.0, 0.0, 0.0)


class Motion(NamedTuple):
    """Positions, velocities, angular velocities and forces (n, 3) of spheres, in the order of their definition."""

    place: Floats
    velocity: Floats
    spin: Floats
    force: Floats


class Impact(NamedTuple):
    """An elastic impact by Hertz: largest overlap [m], largest force [N], duration [s]."""

    depth: float
    force: float
    time: float


def mass_of(density: float, radius: float) -> float:
    """Return the mass of a sphere [kg]."""
    return density * 4.0 / 3.0 * math.pi * radius**3


def hertz(material: Material, radius: float, speed: float, *, pair: bool) -> Impact:
    """Return the impact of a sphere on a rigid plane, or of a `pair` of equal spheres, at a relative speed [m/s]."""
    half = 0.5 if pair else 1.0
    modulus = half * material.modulus / (1.0 - material.poisson**2)
    factor = 4.0 / 3.0 * modulus * math.sqrt(half * radius)
    mass = half * mass_of(material.density, radius)
    depth = (1.25 * mass * speed**2 / factor) ** 0.4
    return Impact(depth, factor * depth**1.5, _HERTZ_TIME * depth / speed)


def simulate(
    materials: Mapping[str, Material], laws: Mapping[str, Mapping[str, Any]], balls: Iterable[Ball], step: float,
    *, gravity: Sequence[float] = (0.0, 0.0, 0.0), walls: Sequence[Mapping[str, Any]] | None = None,
) -> Simulation:  # fmt: skip
    """Return a simulation of spheres above a rigid plane at height 0, or with other walls.

    Parameters
    ----------
    materials : mapping of str to Material
        Materials by name.
    laws : mapping of str to mapping
        Section ``[interactions]``; ``"default"`` applies to all pairs that are not named.
    balls : iterable of Ball
        Spheres, far from each other unless they are to touch.
    step : float
        Time step [s].
    gravity : 3 float
        Gravity [m/s^2].
    walls : sequence of mapping, optional
        Entries of ``[[walls]]``, without their material.
    """
    balls = list(balls)
    size = 4.0 * max(math.dist(one.place, (0, 0, 0)) + 10.0 * one.radius for one in balls)
    plane = {"shape": "plane", "normal": [0.0, 0.0, 1.0], "point": [0.0, 0.0, 0.0], "size": 4.0 * size}
    document = {
        "time": {"step": step, "end": 1e3},
        "domain": {"lower": [-size] * 3, "upper": [size] * 3, "outside": "keep", "gravity": list(gravity)},
        "materials": {**{name: one.section() for name, one in materials.items()}, PLANE: {}},
        "interactions": {name: dict(law) for name, law in laws.items()},
        "particles": [
            {
                "material": one.material, "radius": one.radius, "positions": [list(map(float, one.place))],
                "velocity": list(map(float, one.velocity)), "angular_velocity": list(map(float, one.spin)),
            }
            for one in balls
        ],
        "walls": [{"material": PLANE, **wall} for wall in ([plane] if walls is None else walls)],
    }  # fmt: skip
    return Simulation(Case.from_text(tomli_w.dumps(document)), threads=1)


def motion(simulation: Simulation) -> Motion:
    """Return the present motion of all spheres."""
    found = simulation.gather()
    assert found is not None
    return Motion(*(found[name] for name in ("position", "velocity", "angular_velocity", "force")))


def after(simulation: Simulation, time: float) -> Motion:
    """Return the motion of all spheres after a time [s]."""
    simulation.advance(math.ceil(time / simulation.system.constants.time_step.dt))
    return motion(simulation)


def record(simulation: Simulation, time: float, every: int = 1) -> tuple[Floats, list[Motion]]:
    """Return times [s] and motions from the beginning to a time [s], sampled every few steps."""
    step = simulation.system.constants.time_step.dt
    found = [motion(simulation)]
    for _ in range(math.ceil(time / (step * every))):
        simulation.advance(every)
        found.append(motion(simulation))
    return np.arange(0.0, len(found)) * (step * every), found


def curve_distance(points: Floats, x: Floats, y: Floats, scale: float | None = None) -> float:
    """Return the mean distance of points (2, n) from a curve, over the largest ordinate of the points or a `scale`.

    The curve is given at abscissae `x` in increasing order, and linear between them.
    """
    off = np.abs(np.interp(points[0], x, y) - points[1])
    return float(off.mean() / (np.abs(points[1]).max() if scale is None else scale))


def end_of_contact(time: Floats, overlap: Floats) -> float:
    """Return the time at which an overlap that begins at time 0 ends [s], between two samples."""
    last = int(np.flatnonzero(overlap > 0.0)[-1])
    return float(time[last] + (time[last + 1] - time[last]) * overlap[last] / (overlap[last] - overlap[last + 1]))
