"""What is checked of particles, with the same words wherever they come from.

Those of a case (`pdem.case.preflight`), those given to a simulation in their place (`pdem.case.given_particles`), and
those that come in later (`pdem.simulation.insertion_checks`).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.case.checks import AXES, BEYOND_REASON, LARGEST, SMALLEST
from pdem.case.findings import STEP_ERROR, STEP_WARNING, Finding, Level
from pdem.case.messages import shown_key
from pdem.case.sections import Time
from pdem.case.timestep import (
    HEAVY_DAMPING,
    HEAVY_DAMPING_STEP,
    automatic_fraction,
    heavily_damped,
    step_limits,
    step_scale,
)
from pdem.case.unit_checks import impact_findings, radius_doubts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

    from pdem.case.model import Case
    from pdem.case.timestep import Crowd

    Particles = Mapping[str, NDArray[Any]]
    Name = Callable[[int], str]

OVERLAP_WARNING = 0.05
"""Initial overlap, over the smaller radius, from which on particles fly apart noticeably."""

TRAVEL_WARNING, TRAVEL_ERROR = 0.1, 1.0
"""Way per step over radius from which on particles may pass thin obstacles or one another, and surely do."""


def particle_findings(
    case: Case, particles: Particles, step: float, crowd: Crowd, name: Name
) -> Iterator[Finding]:
    """Yield what can be said of particles by themselves, without their neighbours and without walls.

    Parameters
    ----------
    case : Case
        The case.
    particles : mapping of str to ndarray
        ``radius``, ``position``, ``velocity`` and ``angular_velocity`` of each.
    step : float
        Time step [s].
    crowd : Crowd
        Of them, with what they can meet.
    name : callable
        Returns what the particle of a row is called: ``particle 7``, ``position[7]``.
    """
    beyond_reason = list(_sizes(particles["radius"], name))
    yield from beyond_reason
    if beyond_reason:  # masses may be beyond all numbers then
        return
    yield from step_findings(case, step, crowd)
    yield from _travel(particles, step, name)
    yield from _outside(case, particles, name)
    if case.domain.dimension == 2:
        yield from _plane(particles, name)
    yield from radius_doubts(case, particles["radius"])
    yield from impact_findings(case, crowd, particles["radius"])


def particle_name(particles: Particles, row: int) -> str:
    """Return what the particle of a row is called."""
    return f"particle {particles['id'][row]}"


def level_of(value: float, warning: float, error: float) -> Level:
    """Return how bad a value is by the limits above which there is a warning or an error."""
    if value > error:
        return "error"
    return "warning" if value > warning else "info"


def share(value: float) -> str:
    """Return a part as users read it: 0.12 is ``12 %``."""
    return f"{100.0 * value:.3g} %"


def step_findings(case: Case, step: float, crowd: Crowd) -> Iterator[Finding]:
    """Compare the time step [s] with every kind of limit, and with that of heavy damping."""
    limits = step_limits(case, crowd)
    worst = {limit.name: limit for limit in reversed(limits)}
    automatic = ' or step = "auto"' if crowd.of_case and case.time.step != "auto" else ""
    for name, limit in worst.items():
        part = step / limit.time
        level = level_of(part, STEP_WARNING[name], STEP_ERROR[name])
        what = "time" if name == "Rayleigh" else "contact time"
        text = f"{step:.4g} s is {share(part)} of the {name} {what} {limit.time:.4g} s of {limit.subject}"
        if level != "info":
            text += f"; use at most {STEP_WARNING[name] * limit.time:.3g} s{automatic}"
        yield Finding(level, "time step", text)
    if limits:
        yield from _heavy_damping(case, step, crowd, step_scale(limits))


def _heavy_damping(case: Case, step: float, crowd: Crowd, scale: float) -> Iterator[Finding]:
    """Say that the automatic step is finer for heavy damping, or that a chosen one should be."""
    keys = heavily_damped(case, crowd.pairs)
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
    text += ', or step = "auto"' if crowd.of_case and case.time.step != "auto" else ""
    for key, law in keys.items():
        where = shown_key(["interactions", key, "restitution"])
        reason = f"up to {HEAVY_DAMPING:g} a rebound is the first to suffer from a coarse step"
        yield Finding("warning", "time step", f"{where} = {law.restitution:g}: {reason}, and {text}")


def _rounded_down(value: float) -> float:
    """Return a positive number cut to three digits, so that it still is below the limit when shown."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 2)
    return math.floor(value / unit) * unit


def _travel(particles: Particles, step: float, name: Name) -> Iterator[Finding]:
    if len(particles["radius"]) == 0:
        return
    ways = np.linalg.norm(particles["velocity"], axis=1) * step / particles["radius"]
    fastest = int(np.argmax(ways))
    level = level_of(ways[fastest], TRAVEL_WARNING, TRAVEL_ERROR)
    if level != "info":
        text = f"{name(fastest)} moves {share(ways[fastest])} of its radius in one step"
        yield Finding(
            level, "time step", f"{text}; more than {share(TRAVEL_WARNING)} is not safe: shorten it"
        )


def _outside(case: Case, particles: Particles, name: Name) -> Iterator[Finding]:
    position = particles["position"]
    for axis in range(3):
        if case.domain.periodic[axis]:
            continue
        beyond = (position[:, axis] < case.domain.lower[axis]) | (position[:, axis] > case.domain.upper[axis])
        if beyond.any():
            first = int(np.argmax(beyond))
            limits = f"[{case.domain.lower[axis]:g}, {case.domain.upper[axis]:g}]"
            where = f"{name(first)} at {AXES[axis]} = {position[first, axis]:g} m"
            text = f"{int(beyond.sum())} particles are outside {limits} m, the first is {where}"
            yield Finding("error", "domain", f"{text}; move them or widen domain.lower and domain.upper")


def _plane(particles: Particles, name: Name) -> Iterator[Finding]:
    """Require that particles of a case in the plane move in it, and doubt that they lie in several planes."""
    for key, axes in (("velocity", [2]), ("angular_velocity", [0, 1])):
        out = (particles[key][:, axes] != 0.0).any(axis=1)
        if out.any():
            row = int(np.argmax(out))
            text = f"{name(row)} has {key} {particles[key][row].tolist()}; in a case of dimension 2, which lies in the "
            yield Finding("error", "domain", f"{text}x-y plane, component {'xyz'[axes[-1]]} must be 0")
    height = particles["position"][:, 2]
    if len(height) and height.min() != height.max():
        text = f"centres of a case of dimension 2 are at z = {height.min():g} to {height.max():g} m: spheres touch "
        yield Finding("warning", "domain", f"{text}less than their discs; give all the same z")


def _sizes(radius: NDArray[np.float64], name: Name) -> Iterator[Finding]:
    wrong = ~((radius >= SMALLEST) & (radius <= LARGEST))
    if wrong.any():
        row = int(np.argmax(wrong))
        yield Finding("error", "particles", f"radius {radius[row]:g} m of {name(row)} {BEYOND_REASON}")
