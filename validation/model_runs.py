"""Small runs of single contacts for the study of contact models: pulling, impacts, slopes, rolling resistance."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import tomli_w

from pdem.case.model import Case
from pdem.run.simulation import Simulation
from pdem.verification.law_pairs import State
from pdem.verification.law_subjects import Subject, subjects_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pdem.foundation.array_types import Booleans, Floats

GRAVITY = 9.81
RADIUS = 1e-3
"""Radius of all spheres of the study [m]."""

DENSITY, MODULUS, POISSON = 2500.0, 1e7, 0.25
"""Density [kg/m^3] and modulus [Pa] of the spheres; walls are rigid."""

MASS = DENSITY * 4.0 / 3.0 * math.pi * RADIUS**3
EFFECTIVE = 0.5 * MODULUS / (1.0 - POISSON**2)
"""Effective modulus of two spheres [Pa]; at a wall it is twice as large."""

SPEED = 0.1
"""Speed of impacts [m/s]."""


def case_of(
    interaction: Mapping[str, Any], places: Sequence[Sequence[float]], gravity: Sequence[float], **more: Any
) -> Case:
    """Return a case of spheres with one interaction for each other and for a plane at height 0.

    Parameters
    ----------
    interaction : mapping
        Section ``[interactions.default]``.
    places : sequence of 3 float
        Positions of the spheres [m].
    gravity : 3 float
        Gravity [m/s^2].
    **more
        ``velocity`` and ``angular_velocity`` of all spheres, ``step`` [s].
    """
    step = more.pop("step", "auto")
    document = {
        "time": {"end": 1e3, "step": step},
        "domain": {
            "lower": [-5.0, -5.0, -0.1], "upper": [5.0, 5.0, 0.1], "outside": "keep", "gravity": list(gravity),
        },
        "materials": {
            "grain": {"density": DENSITY, "youngs_modulus": MODULUS, "poisson_ratio": POISSON}, "steel": {},
        },
        "interactions": {"default": dict(interaction)},
        "particles": [{"material": "grain", "radius": RADIUS, "positions": [list(one) for one in places], **more}],
        "walls": [{"shape": "plane", "normal": [0.0, 0.0, 1.0], "point": [0.0, 0.0, 0.0], "material": "steel"}],
    }  # fmt: skip
    return Case.from_text(tomli_w.dumps(document))


def pair_of(interaction: Mapping[str, Any], speed: float = SPEED) -> Subject:
    """Return two spheres with an interaction, for impacts up to a speed [m/s]."""
    case = case_of(interaction, [[0.0, 0.0, 0.05]], (0.0, 0.0, 0.0), velocity=[speed, 0.0, 0.0])
    return next(subjects_of(case, ["grain-grain"]))


def force_curve(subject: Subject, overlaps: Floats) -> Floats:
    """Return the normal force [N] between two spheres that are slowly brought to overlaps [m], in this order."""
    radius = np.full((1, 2), RADIUS)
    pairs, zero, found = subject.pairs(radius, subject.step), np.zeros((1, 2, 3)), []
    for overlap in overlaps:
        position = zero.copy()
        position[0, 1, 2] = 2.0 * RADIUS - overlap
        found.append(pairs.evaluate(State(position, zero, zero), at_rest=True).force[0, 1, 2])
    return np.array(found)


def rebounds(subject: Subject, speeds: Floats, step: float, time: float) -> tuple[Floats, Booleans]:
    """Return rebound over impact speed of two spheres at some speeds [m/s], and which stick after a time [s]."""
    radius = np.full((len(speeds), 2), RADIUS)
    pairs = subject.pairs(radius, step)
    position, velocity, spin = np.zeros((3, len(speeds), 2, 3))
    position[:, 1, 2], velocity[:, 1, 2] = 2.0 * RADIUS + 0.5 * step * speeds, -speeds
    end = pairs.fly(State(position, velocity, spin), math.ceil(time / step))
    away = (end.velocity[:, 1, 2] - end.velocity[:, 0, 2]) / speeds
    return np.where(pairs.touching, 0.0, away), pairs.touching


class Rolled(NamedTuple):
    """The motion of a sphere on a plane.

    Attributes
    ----------
    time, place, speed : (n,) arrays
        Times [s], positions [m] and speeds [m/s] along the slope.
    """

    time: Floats
    place: Floats
    speed: Floats


def weight_overlap() -> float:
    """Return the overlap of a sphere that rests on a plane [m]."""
    return float((MASS * GRAVITY / (8.0 / 3.0 * EFFECTIVE * math.sqrt(RADIUS))) ** (2.0 / 3.0))


def on_plane(interaction: Mapping[str, Any], slope: float, speed: float, time: float) -> Rolled:
    """Return the motion of a sphere on a plane with a slope [rad], with an initial rolling speed [m/s]."""
    gravity = GRAVITY * math.sin(slope), 0.0, -GRAVITY * math.cos(slope)
    case = case_of(
        interaction, [[0.0, 0.0, RADIUS - weight_overlap()]], gravity, velocity=[speed, 0.0, 0.0],
        angular_velocity=[0.0, speed / RADIUS, 0.0], step=1e-5,
    )  # fmt: skip
    simulation, rows, samples = Simulation(case, threads=1), [], 100
    for _ in range(samples):
        simulation.advance(round(time / 1e-5 / samples))
        found = simulation.gather()
        assert found is not None
        rows.append((simulation.time, found["position"][0, 0], found["velocity"][0, 0]))
    return Rolled(*np.array(rows).T)


def spinning(interaction: Mapping[str, Any], spin: float, time: float) -> tuple[Floats, Floats]:
    """Return times [s] and rates [rad/s] of a sphere at rest on a plane with an initial spin about its normal."""
    case = case_of(
        interaction, [[0.0, 0.0, RADIUS - weight_overlap()]], (0.0, 0.0, -GRAVITY), angular_velocity=[0.0, 0.0, spin],
        step=1e-5,
    )  # fmt: skip
    simulation, rows, samples = Simulation(case, threads=1), [], 100
    for _ in range(samples):
        simulation.advance(max(1, round(time / 1e-5 / samples)))
        found = simulation.gather()
        assert found is not None
        rows.append((simulation.time, found["angular_velocity"][0, 2]))
    times, rates = np.array(rows).T
    return times, rates


def heap(interaction: Mapping[str, Any], time: float) -> tuple[Floats, Floats]:
    """Return time [s] and kinetic energy [J] of four spheres heaped on a plane, three below and one on top."""
    apart = 2.0 * RADIUS - 1e-7
    below = [[apart / math.sqrt(3.0) * math.cos(a), apart / math.sqrt(3.0) * math.sin(a), RADIUS] for a in _THIRDS]
    top = [0.0, 0.0, RADIUS + apart * math.sqrt(2.0 / 3.0)]
    simulation = Simulation(case_of(interaction, [*below, top], (0.0, 0.0, -GRAVITY), step=1e-5), threads=1)
    rows, samples = [], 100
    for _ in range(samples):
        simulation.advance(round(time / 1e-5 / samples))
        energies = simulation.energies()
        rows.append((simulation.time, energies["translation"] + energies["rotation"]))
    found = np.array(rows).T
    return found[0], found[1]


_THIRDS = (0.0, 2.0 * math.pi / 3.0, 4.0 * math.pi / 3.0)
