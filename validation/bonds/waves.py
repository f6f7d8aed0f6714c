"""Waves along rods of bonds: dispersion, the impact of two rods, and the place at which a pulse spalls a rod."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.verification.study import FindingTable, Study, StudyFinding
from validation.bonds.rods import (
    AREA,
    AXIAL,
    LENGTH,
    MASS,
    PARAMETERS,
    RATE,
    SPEED,
    Rod,
    beside,
    bonds_of,
    by_rod,
    simulate,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pdem.foundation.array_types import Floats
    from pdem.verification.study import Notebook

_STEP = 1e-7
_RISE = 20
"""Length over which a pulse grows, in bonds."""

_WAVES = (1, 4, 10, 20, 40)
"""Half waves on the rod whose frequencies are measured."""


def frequencies(bonds: int, waves: Sequence[int] = _WAVES) -> Floats:
    """Return angular frequencies of standing waves in a free rod over the root of k / m.

    All waves are in one motion; the velocity of one sphere is the sum of its waves, which are separated by their shapes
    cos(k l (i + 1/2)). Zero crossings of each share give its frequency, corrected for the error of the step.
    """
    rod = Rod(bonds, held=False)
    simulation = simulate([rod], _STEP)
    shapes = np.cos(np.outer(np.pi * np.array(waves) / (bonds + 1), np.arange(bonds + 1) + 0.5))
    order = np.argsort(simulation.particles.id)
    simulation.particles.velocity[order, 0] = 1e-6 * RATE * LENGTH * shapes.sum(axis=0)
    shares, lowest = [], 2.0 * math.sin(0.5 * math.pi * waves[0] / (bonds + 1)) * RATE
    every = max(1, round(0.05 * math.pi / RATE / _STEP))
    for _ in range(math.ceil(2.6 * math.pi / lowest / _STEP / every)):
        simulation.advance(every)
        shares.append(shapes @ by_rod(simulation, [rod], "velocity")[0][:, 0])
    step = every * _STEP
    found = np.array([_frequency(np.array(one), step) for one in np.transpose(shares)])
    return 2.0 / _STEP * np.sin(0.5 * found * _STEP) / RATE


def _frequency(values: Floats, step: float) -> float:
    """Return the angular frequency of a cosine from its first and its last zero, in samples at equal times."""
    zeros = np.flatnonzero(np.diff(np.sign(values)) != 0)
    parts = values[zeros] / (values[zeros] - values[zeros + 1])
    times = step * (zeros + parts)
    return float(math.pi * (len(zeros) - 1) / (times[-1] - times[0]))


class Blow(NamedTuple):
    """The impact of two rods of the length L; c is the speed of long waves.

    Attributes
    ----------
    force : float
        Mean force of the middle bond while it is loaded, over v sqrt(k m).
    duration : float
        Time between its half loads over L / c.
    separation : float
        Time in which the rods touch over 2 L / c.
    times, forces : (n,) array
        Times over 2 L / c, and forces of the middle bond over v sqrt(k m).
    """

    force: float
    duration: float
    separation: float
    times: Floats
    forces: Floats


def impact(bonds: int, speed: float = 0.1) -> Blow:
    """Return the impact of a rod on an equal one, each with a speed [m/s]."""
    span = (bonds + 1) * LENGTH
    rods = [Rod(bonds, False), Rod(bonds, False, (span, 0.0))]
    simulation = simulate(rods, _STEP)
    first = simulation.particles.id <= bonds
    simulation.particles.velocity[:, 0] = np.where(first, speed, -speed)
    unit, plateau = 2.0 * span / SPEED, speed * MASS * RATE
    times, forces, gaps = [], [], []
    for _ in range(math.ceil(1.3 * unit / _STEP / 10)):
        simulation.advance(10)
        places = by_rod(simulation, rods)
        times.append(simulation.time / unit)
        forces.append(float(bonds_of(simulation)["normal_force"][bonds // 2]) / plateau)
        gaps.append(places[1][0, 0] - places[0][-1, 0] - LENGTH)
    time, force = np.array(times), np.array(forces)
    high, touching = np.flatnonzero(force > 0.5), np.flatnonzero(np.array(gaps) < 0.0)
    mean = float(force[(time > 0.35) & (time < 0.65)].mean())
    return Blow(mean, 2.0 * float(time[high[-1]] - time[high[0]]), float(time[touching[-1]]), time, force)


def pulse(ahead: Floats, fall: int) -> Floats:
    """Return the stress of a pulse over its largest one, at distances behind its front, in bonds."""
    growing = 0.5 - 0.5 * np.cos(np.pi * np.maximum(ahead, 0.0) / _RISE)
    return np.where(ahead < _RISE, growing, np.maximum(0.0, 1.0 - (ahead - _RISE) / fall))


def reflected(fall: int, share: float) -> float:
    """Return the distance from a free end, in bonds, at which tension first reaches a share of the pulse's stress.

    At the distance x and the time t after the arrival of the front, the tension is p(c t - x) - p(c t + x).
    """
    x = np.arange(0.0, _RISE + fall, 0.25)
    for way in np.arange(0.0, _RISE + fall, 0.25):
        tension = pulse(way - x, fall) - pulse(way + x, fall)
        if tension.max() >= share:
            return float(x[tension.argmax()])
    return math.nan


def spall(bonds: int, fall: int, shares: Sequence[float]) -> Floats:
    """Return the distances of the first break from the free end, in bonds.

    A compressive pulse moves to the free end: its stress grows smoothly to its largest value and then falls linearly
    to 0 over a number of bonds. The strengths are `shares` of the largest stress.
    """
    stress = 1e-4 * AXIAL / AREA
    rods = beside([Rod(bonds, False, keys={"tensile_strength": share * stress}) for share in shares])
    simulation = simulate(rods, _STEP)
    strain = 1e-4 * pulse(bonds - np.arange(bonds + 1.0), fall)
    order = np.argsort(simulation.particles.id)
    simulation.particles.position[order, 0] += np.tile(np.cumsum(LENGTH * strain[::-1])[::-1], len(rods))
    simulation.particles.velocity[order, 0] = np.tile(SPEED * strain, len(rods))
    simulation.rebuild_lists()
    simulation.advance(math.ceil(1.2 * (_RISE + fall) * LENGTH / SPEED / _STEP))
    rod, first = np.divmod(np.asarray(bonds_of(simulation)["ids"])[:, 0], bonds + 1)
    when = np.asarray(bonds_of(simulation)["broken_at"])
    earliest = [np.flatnonzero(when == np.nanmin(when[rod == number])) for number in range(len(rods))]
    return np.array([bonds - float(first[rows].mean()) for rows in earliest])


def run(notebook: Notebook) -> Iterator[FindingTable]:
    """Yield frequencies of standing waves, the impact of two rods, and places of spall."""
    bonds = 49
    found = frequencies(bonds)
    exact = 2.0 * np.sin(0.5 * np.pi * np.array(_WAVES) / (bonds + 1))
    findings = [
        StudyFinding(f"half waves on 50 spheres: {count}; frequency over sqrt(k/m)", float(one), float(other), 1e-4)
        for count, one, other in zip(_WAVES, found, exact, strict=True)
    ]
    yield FindingTable("Dispersion", "2 sin(k l / 2)", findings)
    count = 320 if notebook.full else 80
    blow = impact(count)
    yield FindingTable(f"Impact of two rods of {count + 1} spheres", "long waves", impact_findings(blow), _IMPACT)
    yield FindingTable("Spall at a free end", "reflected pulse", spall_findings(260, 160), _SPALL)
    with notebook.plot("waves", 2) as axes:
        k = np.linspace(0.0, np.pi, 100)
        axes[0].plot(k, 2.0 * np.sin(0.5 * k), "k", label="2 sin(k l / 2)")
        axes[0].plot(np.pi * np.array(_WAVES) / (bonds + 1), found, "o", label="pdem")
        axes[0].set(xlabel="wave number times the length of a bond", ylabel="frequency over sqrt(k/m)")
        axes[1].plot(blow.times, blow.forces, label="middle bond")
        axes[1].plot([0, 0.25, 0.25, 0.75, 0.75, 1.3], [0, 0, 1, 1, 0, 0], "k:", label="long waves")
        axes[1].set(xlabel="time over 2 L / c", ylabel="force over v sqrt(k m)")
        for one in axes:
            one.legend()


def impact_findings(blow: Blow) -> list[StudyFinding]:
    """Return the findings of an impact."""
    return [
        StudyFinding("force of the middle bond over v sqrt(k m)", blow.force, 1.0, 0.005),
        StudyFinding("duration of its load over L / c", blow.duration, 1.0, 0.03),
        StudyFinding("rods touch for, over 2 L / c", blow.separation, 1.0, 0.08),
    ]


def spall_findings(bonds: int, fall: int, shares: Sequence[float] = (0.3, 0.5, 0.7)) -> list[StudyFinding]:
    """Return the findings of spall for strengths in shares of the largest stress of a pulse."""
    return [
        StudyFinding(
            f"strength {share:g} of the stress: first break [bonds]", float(x), reflected(fall, share), 0.0, margin=1.5
        )
        for share, x in zip(shares, spall(bonds, fall, shares), strict=True)
    ]


_IMPACT = (
    "Behind the fronts of a chain waves of its spheres follow: they lengthen the contact by a share that falls with L."
)
_SPALL = (
    "Distance of the bond that breaks first from the free end. A pulse that jumps to its stress s and falls linearly "
    "to 0 over the length b gives b / 2 times the strength over s: 24, 40 and 56 bonds."
)

STUDY = Study(
    "rod-waves", "Waves along rods of bonds: dispersion, impact, spall", run, "bonds",
    "closed forms of chains and bars",
    {**PARAMETERS, "spall": "a pulse that grows over 20 bonds and falls over 160"},
)  # fmt: skip
