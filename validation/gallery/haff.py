"""A gas of inelastic spheres that cools freely, beside Haff's law with the rate of kinetic theory."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pdem.case.groups.initial import initial_particles
from pdem.case.model import Case
from pdem.run.simulation import Simulation
from pdem.verification.study import FindingTable, Study, StudyFinding, at_most

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.foundation.array_types import Floats
    from pdem.verification.study import Notebook

DIAMETER, DENSITY, TEMPERATURE = 2e-3, 2500.0, 1.0
"""Diameter [m] and density [kg/m^3] of the spheres; initial mean square of a velocity component [m^2/s^2]."""

CASES = {0.8: 0.025, 0.9: 0.05, 0.95: 0.1}
"""Volume fraction of the spheres, by restitution.

Vortices grow, and slow the cooling down, in boxes longer than a critical length: 82, 55 and 36 diameters for dilute
gases (where the shear viscosity of kinetic theory damps the longest wave no faster than velocities decay). Boxes of
`QUICK` spheres are shorter than half of it. At 0.94 of it (restitution 0.8, volume fraction 0.1) the rate was 6 %
lower.
"""

QUICK, FULL = 1000, 8000
"""Numbers of spheres."""

HARDNESS = 0.01
"""Duration of an impact over the initial mean time between two impacts of a sphere."""

_STEPS = 20
"""Time steps in an impact."""

_CASE = """
[time]
step = {step!r}
end = 1e3
[domain]
lower = [0.0, 0.0, 0.0]
upper = [{edge!r}, {edge!r}, {edge!r}]
periodic = [true, true, true]
[materials.grain]
density = {density!r}
[interactions.grain-grain]
law = "linear"
normal_stiffness = {stiffness!r}
friction = 0.0
restitution = {restitution!r}
[[particles]]
material = "grain"
radius = {radius!r}
fill = {{count = {count}, seed = 3}}
[output]
energies = false
"""


def run(notebook: Notebook) -> Iterator[FindingTable]:
    """Yield cooling rates of gases of several densities and restitutions."""
    findings, right = [], 0.05 if notebook.full else 0.08  # the temperature of 1,000 spheres is exact to some percent
    with notebook.plot("temperature") as axes:
        for restitution, fraction in CASES.items():
            times, temperatures = cooling(restitution, fraction, FULL if notebook.full else QUICK, notebook.threads)
            scaled = times * rate(restitution, fraction)
            root = 1.0 / np.sqrt(temperatures / TEMPERATURE)
            late = scaled > 0.2
            slope = float(np.polyfit(scaled[late], root[late], 1)[0])
            law = 1.0 / (1.0 + scaled) ** 2
            off = float(np.abs(temperatures / TEMPERATURE / law - 1.0).max())
            name = f"restitution {restitution:g}, {fraction:g} filled"
            findings.append(StudyFinding(f"{name}: rate over that of kinetic theory", slope, 1.0, right))
            findings.append(at_most(f"{name}: largest distance of the temperature from the law", off, 0.1))
            axes.loglog(1.0 + scaled, temperatures / TEMPERATURE, "o", markersize=3, label=name)
        line = np.linspace(0.0, 3.0 if notebook.full else 1.5, 50)
        axes.loglog(1.0 + line, 1.0 / (1.0 + line) ** 2, "k", label="Haff's law")
        axes.set(xlabel="1 + t / tau", ylabel="temperature over that at first")
        axes.legend()
    yield FindingTable("Free cooling", "kinetic theory", findings, _REMARK)


_REMARK = (
    "T = T0 / (1 + t / tau)^2 with 1 / tau = (4 / sqrt(pi)) (1 - e^2) phi g0 sqrt(T0) / d (1 + 3 a2 / 16), T a third "
    "of the mean square of velocities, g0 of Carnahan and Starling, a2 the first Sonine coefficient."
)


def contact_value(fraction: float) -> float:
    """Return the collision rate of dense spheres relative to points: g0 of Carnahan and Starling."""
    return (1.0 - 0.5 * fraction) / (1.0 - fraction) ** 3


def rate(restitution: float, fraction: float) -> float:
    """Return 1 / tau of Haff's law [1/s] by kinetic theory, with the first Sonine correction."""
    e = restitution
    sonine = 16.0 * (1.0 - e) * (1.0 - 2.0 * e**2) / (81.0 - 17.0 * e + 30.0 * e**2 * (1.0 - e))
    simple = 4.0 / math.sqrt(math.pi) * (1.0 - e**2) * fraction * contact_value(fraction)
    return simple * math.sqrt(TEMPERATURE) / DIAMETER * (1.0 + 3.0 * sonine / 16.0)


def cooling(restitution: float, fraction: float, count: int, threads: int) -> tuple[Floats, Floats]:
    """Return times [s] and temperatures [m^2/s^2] of a gas with an initial Maxwell distribution."""
    number = fraction / (math.pi / 6.0 * DIAMETER**3)
    meetings = 4.0 * number * DIAMETER**2 * contact_value(fraction) * math.sqrt(math.pi * TEMPERATURE)
    mass = DENSITY * math.pi / 6.0 * DIAMETER**3
    duration = HARDNESS / meetings
    text = _CASE.format(
        step=duration / _STEPS, edge=(count / number) ** (1.0 / 3.0), density=DENSITY, radius=0.5 * DIAMETER,
        stiffness=0.5 * mass * (math.pi / duration) ** 2, restitution=restitution, count=count,
    )  # fmt: skip
    case = Case.from_text(text)
    particles = initial_particles(case, [])
    velocity = np.random.default_rng(1).normal(size=(count, 3))
    velocity -= velocity.mean(axis=0)
    particles["velocity"] = velocity * math.sqrt(3.0 * TEMPERATURE * count / float((velocity**2).sum()))
    simulation = Simulation(case, threads=threads, particles=particles)
    until = (3.0 if count == FULL else 1.5) / rate(restitution, fraction)
    steps = math.ceil(until / case.resolved_step() / 40)
    times, temperatures = [0.0], [TEMPERATURE]
    for _ in range(40):
        simulation.advance(steps)
        times.append(simulation.time)
        temperatures.append(float((simulation.particles.velocity**2).sum()) / (3.0 * count))
    return np.array(times), np.array(temperatures)


STUDY = Study(
    "haff", "Haff's law of free cooling", run, "rheology",
    "Haff, J. Fluid Mech. 134 (1983) 401; van Noije, Ernst, Granular Matter 1 (1998) 57",
    {
        "spheres": "1,000 (--full: 8,000) of 2 mm in a periodic cube, no friction",
        "law": "linear springs, an impact lasts 1 % of the time between two",
    },
)  # fmt: skip
