"""A solitary wave in a chain of touching spheres, beside Nesterenko's theory and the discrete chain."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.verification.study import FindingTable, Study, StudyFinding
from validation.gallery.few import Ball, Material, mass_of, simulate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.foundation.array_types import Floats
    from pdem.verification.study import Notebook

SPHERES, FIRST, LAST = 100, 30, 80
"""Number of spheres in the chain, and the spheres between which the wave is measured."""

RADIUS, STEEL = 0.005, Material(2e11, 0.3, 7800.0)
SPEEDS = (0.01, 0.1, 1.0)
"""Speeds of the first sphere [m/s]."""

CONTINUUM = math.sqrt(0.8)
"""Speed of a long wave in grains, in units of sqrt(k / m) times the fourth root of the largest overlap."""

_STEPS = 150
"""Time steps in the time in which the wave passes one grain."""


class Wave(NamedTuple):
    """Properties of a wave between two spheres: speed in grains per unit of time, largest overlap, width in grains.

    The width is the full width of the velocity at half maximum.
    """

    speed: float
    overlap: float
    width: float


def stiffness() -> float:
    """Return k of the force k d^1.5 between two spheres [N/m^1.5]."""
    return STEEL.modulus * math.sqrt(2.0 * RADIUS) / (3.0 * (1.0 - STEEL.poisson**2))


def run(notebook: Notebook) -> Iterator[FindingTable]:
    """Yield speeds of waves of several amplitudes, and their dependence on the force."""
    mass, k = mass_of(STEEL.density, RADIUS), stiffness()
    waves = [simulated(speed) for speed in SPEEDS]
    exact = discrete()
    scaled = [wave.speed / math.sqrt(k / mass) / wave.overlap**0.25 for wave in waves]
    forces = np.array([k * wave.overlap**1.5 for wave in waves])
    slope = float(np.polyfit(np.log(forces), np.log([wave.speed for wave in waves]), 1)[0])
    with notebook.plot("speed") as axes:
        metres = [2.0 * RADIUS * wave.speed for wave in waves]
        axes.loglog(forces, metres, "o", label="pdem")
        line = np.geomspace(forces[0] / 2.0, 2.0 * forces[-1], 50)
        unit = 2.0 * RADIUS * math.sqrt(k / mass) * (line / k) ** (1.0 / 6.0)
        axes.loglog(line, exact.speed * unit, "k", label="discrete chain")
        axes.loglog(line, CONTINUUM * unit, "k:", label="Nesterenko, long waves")
        axes.set(xlabel="largest force [N]", ylabel="speed of the wave [m/s]")
        axes.legend()
    findings = [StudyFinding("speed grows with the force to the power", slope, 1.0 / 6.0, 1e-3)]
    for force, one, wave in zip(forces, scaled, waves, strict=True):
        name = f"{force:.3g} N"
        findings.append(StudyFinding(f"{name}: speed, beside the discrete chain", one, exact.speed, 1e-3))
        findings.append(StudyFinding(f"{name}: speed, beside long waves", one, CONTINUUM, 0.02))
        findings.append(StudyFinding(f"{name}: width [grains]", wave.width, exact.width, 0.01))
    yield FindingTable("Solitary wave in a chain of 100 spheres", "theory", findings, _REMARK)


_REMARK = (
    "Speeds are in units of 2 R sqrt(k / m) d^(1/4) with the largest overlap d: sqrt(4/5) for long waves. The discrete "
    "chain is its equations of motion, integrated to ten digits."
)


def simulated(speed: float) -> Wave:
    """Return the wave that starts with a speed [m/s] of the first sphere; lengths in m, times in s."""
    k, mass = stiffness(), mass_of(STEEL.density, RADIUS)
    unit = (mass / k) ** 0.4 * speed ** (-0.2)
    balls = [
        Ball("steel", RADIUS, (2.0 * RADIUS * n, 0.0, 0.0), (speed if n == 0 else 0.0, 0.0, 0.0))
        for n in range(SPHERES)
    ]
    law = {"default": {"friction": 0.0, "restitution": 1.0}}
    simulation = simulate({"steel": STEEL}, law, balls, unit / _STEPS, walls=())
    times, places, speeds = [], [], []
    for _ in range(math.ceil(1.4 * SPHERES * _STEPS / 2)):
        simulation.advance(2)
        order = np.argsort(simulation.particles.id)
        times.append(simulation.time)
        places.append(simulation.particles.position[order, 0])
        speeds.append(simulation.particles.velocity[order, 0])
    return _wave_of(np.array(times), np.array(places) - 2.0 * RADIUS * np.arange(SPHERES), np.array(speeds))


def discrete() -> Wave:
    """Return the wave of the discrete chain in natural units: d for lengths, sqrt(m / k) d^(-1/4) for times."""
    from scipy.integrate import solve_ivp  # late, as every pdem verify imports all studies

    count = SPHERES

    def motion(_: float, state: Floats) -> Floats:
        place, speed = state[:count], state[count:]
        force = np.maximum(place[:-1] - place[1:], 0.0) ** 1.5
        push = np.zeros(count)
        push[:-1] -= force
        push[1:] += force
        return np.concatenate((speed, push))

    begin = np.zeros(2 * count)
    begin[count] = 1.0
    times = np.linspace(0.0, 1.6 * count, 32001)
    found = solve_ivp(
        motion, (0.0, times[-1]), begin, "DOP853", times, rtol=1e-10, atol=1e-13, max_step=0.1
    )  # fmt: skip
    wave = _wave_of(times, found.y[:count].T, found.y[count:].T)
    return Wave(wave.speed / wave.overlap**0.25, 1.0, wave.width)


def _wave_of(times: Floats, places: Floats, speeds: Floats) -> Wave:
    """Return the wave from displacements (t, n) and velocities (t, n) of spheres."""
    passed = [_peak(times, speeds[:, n])[0] for n in (FIRST, LAST)]
    overlaps = [_peak(times, places[:, n] - places[:, n + 1])[1] for n in range(FIRST, LAST)]
    rate = (LAST - FIRST) / (passed[1] - passed[0])
    middle = speeds[:, (FIRST + LAST) // 2]
    high = np.flatnonzero(middle > 0.5 * middle.max())
    ends = [_crossing(times, middle, int(high[0]) - 1), _crossing(times, middle, int(high[-1]))]
    return Wave(rate, float(np.mean(overlaps)), rate * (ends[1] - ends[0]))


def _peak(times: Floats, values: Floats) -> tuple[float, float]:
    """Return time and height of the maximum, by a parabola through the five highest values."""
    top = int(values.argmax())
    a, b, c = np.polyfit(times[top - 2 : top + 3] - times[top], values[top - 2 : top + 3], 2).tolist()
    return float(times[top]) - 0.5 * b / a, c - 0.25 * b * b / a


def _crossing(times: Floats, values: Floats, before: int) -> float:
    """Return the time at which values pass half of their maximum, between two samples."""
    half, one, other = 0.5 * values.max(), values[before], values[before + 1]
    return float(times[before] + (times[before + 1] - times[before]) * (half - one) / (other - one))


STUDY = Study(
    "chain", "Nesterenko's solitary wave in a chain of spheres", run, "rheology",
    "Nesterenko, J. Appl. Mech. Tech. Phys. 24 (1983) 733; Coste, Falcon, Fauve, Phys. Rev. E 56 (1997) 6104",
    {"spheres": "100 of steel, radius 5 mm, no friction, restitution 1", "first sphere": "0.01, 0.1, 1 m/s"},
)  # fmt: skip
