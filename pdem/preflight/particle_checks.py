"""Checks of particles that apply to all their sources.

The sources are the case (`pdem.preflight.preflight`), a script (`pdem.preflight.given_particles`), and insertion during
a run (`pdem.features.insertions.checks`).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pdem.case.messages import shown_key
from pdem.case.rules.checks import AXES
from pdem.case.rules.magnitude_rules import BEYOND_REASON, LARGEST, SMALLEST
from pdem.case.sections.general import Time
from pdem.case.timestep import (
    HEAVY_DAMPING,
    HEAVY_DAMPING_STEP,
    automatic_fraction,
    heavily_damped,
    step_limits,
    step_scale,
)
from pdem.preflight.adhesion_checks import adhesion_findings
from pdem.preflight.findings import STEP_ERROR, STEP_WARNING, Finding, Level
from pdem.preflight.unit_checks import radius_unit_warnings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pdem.case.model import Case
    from pdem.case.timestep import ImpactConditions
    from pdem.preflight.population import Population

    Name = Callable[[int], str]

OVERLAP_WARNING = 0.05
"""Initial overlap, in smaller radii, above which particles fly apart noticeably."""

PARTICLE_DISPLACEMENT_WARNING, PARTICLE_DISPLACEMENT_ERROR = 0.1, 1.0
"""Displacement per step in radii above which particles may pass, or surely pass, thin obstacles or each other."""


def particle_findings(
    case: Case, particles: Population, step: float, conditions: ImpactConditions, name: Name
) -> Iterator[Finding]:
    """Yield the findings on single particles, without neighbours and walls. Collective.

    Parameters
    ----------
    case : Case
        The case.
    particles : Population
        Particles with ``radius``, ``position``, ``velocity`` and ``angular_velocity``.
    step : float
        Time step [s].
    conditions : ImpactConditions
        Impact conditions of the particles.
    name : callable
        Returns the name of a particle by its number: ``particle 7``, ``position[7]``.
    """
    beyond_reason = list(_sizes(particles, name))
    yield from beyond_reason
    if beyond_reason:  # masses may overflow
        return
    yield from step_findings(case, step, conditions)
    yield from _travel(particles, step, name)
    yield from _outside(case, particles, name)
    if case.domain.dimension == 2:
        yield from _plane(particles, name)
    yield from radius_unit_warnings(case, particles.radii)
    yield from adhesion_findings(case, conditions, particles.radii, step)


def particle_name(number: int) -> str:
    """Return the name of the particle with an id."""
    return f"particle {number}"


def level_of(value: float, warning: float, error: float) -> Level:
    """Return the severity of a value, from the limits above which there is a warning or an error."""
    if value > error:
        return "error"
    return "warning" if value > warning else "info"


def share(value: float) -> str:
    """Return a fraction as text: 0.12 is ``12 %``."""
    return f"{100.0 * value:.3g} %"


def step_findings(case: Case, step: float, conditions: ImpactConditions) -> Iterator[Finding]:
    """Compare the time step [s] with every kind of limit, including the limit for heavy damping."""
    limits = step_limits(case, conditions)
    # bonds are compared with those that there are, see `pdem.features.bonds.preflight`
    worst = {limit.name: limit for limit in reversed(limits) if limit.name != "bond"}
    automatic = ' or step = "auto"' if conditions.of_case and case.time.step != "auto" else ""
    for name, limit in worst.items():
        part = step / limit.time if limit.time > 0.0 else math.inf  # the speed may be NaN
        level = level_of(part, STEP_WARNING[name], STEP_ERROR[name])
        what = "time" if name == "Rayleigh" else "contact time"
        text = f"{step:.4g} s is {share(part)} of the {name} {what} {limit.time:.4g} s of {limit.subject}"
        if level != "info":
            text += f"; use at most {STEP_WARNING[name] * limit.time:.3g} s{automatic}"
        yield Finding(level, "time step", text)
    if limits:
        yield from _heavy_damping(case, step, conditions, step_scale(limits))


def _heavy_damping(case: Case, step: float, conditions: ImpactConditions, scale: float) -> Iterator[Finding]:
    """Report that the automatic step is reduced for heavy damping, or that a step in the case should be reduced."""
    keys = heavily_damped(case, conditions.pairs)
    automatic = Time.model_fields["step_fraction"].default * scale
    if not keys:
        return
    if step <= (1.0 + 1e-9) * HEAVY_DAMPING_STEP * automatic:
        if case.time.step == "auto" and automatic_fraction(case) < case.time.step_fraction:
            part = share(automatic_fraction(case) / case.time.step_fraction)
            worst = min(keys, key=lambda key: keys[key].restitution)
            text = f"{step:.4g} s, {part} of the usual one, for restitution {keys[worst].restitution:g} of {worst}"
            yield Finding("info", "time step", text)
        return
    text = f"{step:.4g} s is above a third of {automatic:.4g} s, the automatic step for other contacts; use at most "
    text += f"{_rounded_down(HEAVY_DAMPING_STEP * automatic):.3g} s"
    text += ', or step = "auto"' if conditions.of_case and case.time.step != "auto" else ""
    for key, law in keys.items():
        where = shown_key(["interactions", key, "restitution"])
        reason = f"up to {HEAVY_DAMPING:g} a rebound is the first to suffer from a coarse step"
        yield Finding("warning", "time step", f"{where} = {law.restitution:g}: {reason}, and {text}")


def _rounded_down(value: float) -> float:
    """Return a positive number rounded down to three digits, so that its text is still below the limit."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 2)
    return math.floor(value / unit) * unit


def _travel(particles: Population, step: float, name: Name) -> Iterator[Finding]:
    displacements = np.linalg.norm(particles["velocity"], axis=1) * step / particles["radius"]
    largest, fastest = particles.worst(displacements)
    if fastest is None:
        return
    level = level_of(largest, PARTICLE_DISPLACEMENT_WARNING, PARTICLE_DISPLACEMENT_ERROR)
    if level != "info":
        text = f"{name(fastest.number)} moves {share(largest)} of its radius in one step"
        yield Finding(
            level, "time step", f"{text}; more than {share(PARTICLE_DISPLACEMENT_WARNING)} is not safe: shorten it"
        )


def _outside(case: Case, particles: Population, name: Name) -> Iterator[Finding]:
    position = particles["position"]
    for axis in range(3):
        if case.domain.periodic[axis]:
            continue
        lower, upper = case.domain.lower[axis], case.domain.upper[axis]
        number, first = particles.marked((position[:, axis] < lower) | (position[:, axis] > upper))
        if first is not None:
            where = f"{name(first.number)} at {AXES[axis]} = {first.values['position'][axis]:g} m"
            text = f"{number} particles are outside [{lower:g}, {upper:g}] m, the first is {where}"
            yield Finding("error", "domain", f"{text}; move them or widen domain.lower and domain.upper")


def _plane(particles: Population, name: Name) -> Iterator[Finding]:
    """Report particles of a two-dimensional case with motion out of the plane, or with centres at different z."""
    for key, axes in (("velocity", [2]), ("angular_velocity", [0, 1])):
        _, first = particles.marked((particles[key][:, axes] != 0.0).any(axis=1))
        if first is not None:
            text = f"{name(first.number)} has {key} {first.values[key]}; in a case of dimension 2, which lies in the "
            yield Finding("error", "domain", f"{text}x-y plane, component {'xyz'[axes[-1]]} must be 0")
    highest, one = particles.worst(particles["position"][:, 2])
    lowest = -particles.worst(-particles["position"][:, 2])[0]
    if one is not None and lowest != highest:
        text = f"centres of a case of dimension 2 are at z = {lowest:g} to {highest:g} m: spheres touch "
        yield Finding("warning", "domain", f"{text}less than their discs; give all the same z")


def _sizes(particles: Population, name: Name) -> Iterator[Finding]:
    radius = particles["radius"]
    _, first = particles.marked(~((radius >= SMALLEST) & (radius <= LARGEST)))
    if first is not None:
        text = f"radius {first.values['radius']:g} m of {name(first.number)} {BEYOND_REASON}"
        yield Finding("error", "particles", text)
