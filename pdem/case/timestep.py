"""How long a time step may be: the limits, and the step that ``"auto"`` stands for.

Everything here follows from the case (and the files of particles it names), not from the state of a run,
so that every rank and every restart finds the same step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pdem.case.checks import meeting_pairs
from pdem.case.motions import motion_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.case.materials import Interaction, Material
    from pdem.case.model import Case
    from pdem.case.walls import Wall

_HERTZ_FACTOR = 2.943 * (15.0 / 16.0) ** 0.4


@dataclass(frozen=True)
class StepLimit:
    """One time that a step has to stay well below.

    Attributes
    ----------
    name : {"Rayleigh", "Hertz", "linear"}
        Which of the three times it is.
    time : float
        In s.
    subject : str
        What it was computed for.
    """

    name: str
    time: float
    subject: str


def rayleigh_time(radius: float, density: float, youngs_modulus: float, poisson_ratio: float) -> float:
    """Return the time in s that a Rayleigh wave needs to run around half a particle.

    pi R sqrt(rho / G) / (0.1631 nu + 0.8766) with the shear modulus G = E / (2 (1 + nu)); radius in m,
    density in kg/m^3, modulus in Pa (Li, Xu, Thornton, Powder Technology 160 (2005) 219).
    """
    shear_modulus = youngs_modulus / (2.0 * (1.0 + poisson_ratio))
    return math.pi * radius * math.sqrt(density / shear_modulus) / (0.1631 * poisson_ratio + 0.8766)


def hertz_time(mass: float, radius: float, modulus: float, speed: float) -> float:
    """Return the duration in s of an elastic impact of two spheres.

    2.943 delta / v at the largest overlap delta = (15 m v^2 / (16 sqrt(R) E))^(2/5), with the effective
    mass m (kg), radius R (m) and modulus E (Pa) and the speed v (m/s) at first contact (Johnson, Contact
    Mechanics, 1985, sect. 11.4). Infinite at speed zero.
    """
    if speed <= 0.0:
        return math.inf
    return _HERTZ_FACTOR * (mass**2 / (radius * modulus**2 * speed)) ** 0.2


def linear_time(mass: float, stiffness: float) -> float:
    """Return the duration in s, pi sqrt(m / k), of an impact by a linear spring (effective mass, kg; N/m)."""
    return math.pi * math.sqrt(mass / stiffness)


def reference_speed(case: Case) -> float:
    """Return the speed in m/s that impacts are expected to reach.

    The largest of the initial speeds of particles, the speeds of walls inside the domain, and that of a fall
    through the whole domain, sqrt(2 g H).
    """
    sides = np.subtract(case.domain.upper, case.domain.lower)
    fall = math.sqrt(2.0 * float(np.dot(np.abs(case.domain.gravity), sides)))
    walls = [_wall_speed(case, wall) for wall in case.walls]
    particles = [_initial_speed(case, index) for index in range(len(case.particles))]
    return max([fall, *walls, *particles])


def step_limits(case: Case) -> list[StepLimit]:
    """Return every limit of the time step, the smallest first; none without particles.

    Each is computed for the smallest particles of the materials concerned.

    Raises
    ------
    CaseError
        If a file of particles cannot be read.
    """
    smallest = smallest_radii(case)
    speed = reference_speed(case)
    limits = list(_rayleigh_limits(case, smallest))
    limits += list(_impact_limits(case, smallest, speed))
    return sorted(limits, key=lambda limit: limit.time)


def automatic_step(case: Case, fraction: float | None = None) -> float:
    """Return the step in s that ``step = "auto"`` stands for.

    It is `fraction` of the smallest limit, `case.time.step_fraction` unless given, and without particles the
    interval of the series.
    Linear limits count a third: the damping of that law sets in with a jump, and to keep restitution within 1 %
    an impact has to last thirty steps.
    """
    limits = step_limits(case)
    if not limits:
        return case.output.series_every
    smallest = min(limit.time * (1.0 / 3.0 if limit.name == "linear" else 1.0) for limit in limits)
    return (case.time.step_fraction if fraction is None else fraction) * smallest


def smallest_radii(case: Case) -> dict[str, float]:
    """Return the smallest radius of the particles of each material [m].

    Raises
    ------
    CaseError
        If a file of particles cannot be read.
    """
    smallest: dict[str, float] = {}
    for index, group in enumerate(case.particles):
        sizes = group.sizes()
        radius = (
            sizes.smallest if sizes is not None else _file_column(case, index, "radius").min(initial=math.inf)
        )
        smallest[group.material] = min(float(radius), smallest.get(group.material, math.inf))
    return {name: radius for name, radius in smallest.items() if math.isfinite(radius)}


def _file_column(case: Case, index: int, name: str) -> np.ndarray:
    from pdem.case.particle_files import read_particle_file

    return read_particle_file(case, index)[name]


def _mass(material: Material, radius: float) -> float:
    return (material.density or 0.0) * 4.0 / 3.0 * math.pi * radius**3


def _rayleigh_limits(case: Case, smallest: dict[str, float]) -> Iterator[StepLimit]:
    hertzian = {
        name
        for first, second, _ in meeting_pairs(case)
        for name in (first, second)
        if _law(case, first, second).law == "hertz-mindlin"
    }
    for name, radius in smallest.items():
        material = case.materials[name]
        if name not in hertzian or material.youngs_modulus is None or material.poisson_ratio is None:
            continue
        time = rayleigh_time(radius, material.density or 0.0, material.youngs_modulus, material.poisson_ratio)
        yield StepLimit("Rayleigh", time, f"{name} of radius {radius:g} m")


def _impact_limits(case: Case, smallest: dict[str, float], speed: float) -> Iterator[StepLimit]:
    for first, second, is_wall in meeting_pairs(case):
        if first not in smallest or (second not in smallest and not is_wall):
            continue
        inverse_mass = 1.0 / _mass(case.materials[first], smallest[first])
        inverse_radius = 1.0 / smallest[first]
        if is_wall:
            inverse_mass += _lightest_body(case, second)
        else:
            inverse_mass += 1.0 / _mass(case.materials[second], smallest[second])
            inverse_radius += 1.0 / smallest[second]
        subject = f"{first} on {'wall of ' if is_wall else ''}{second}"
        yield impact_limit(case, (first, second), 1.0 / inverse_mass, 1.0 / inverse_radius, speed, subject)


def impact_limit(
    case: Case, pair: tuple[str, str], mass: float, radius: float, speed: float, subject: str
) -> StepLimit:
    """Return the limit by an impact of two materials, of effective mass [kg] and radius [m], at a speed [m/s]."""
    law = _law(case, *pair)
    if law.normal_stiffness is not None:
        return StepLimit("linear", linear_time(mass, law.normal_stiffness), subject)
    modulus = 1.0 / (_compliance(case.materials[pair[0]]) + _compliance(case.materials[pair[1]]))
    time = hertz_time(mass, radius, modulus, speed)
    return StepLimit("Hertz", time, f"{subject} at {speed:.3g} m/s")


def contact_force(case: Case, pair: tuple[str, str], radius: float, overlap: float) -> float:
    """Return the elastic force of a contact of two materials, of effective radius [m], at an overlap [m], in N."""
    law = _law(case, *pair)
    if law.normal_stiffness is not None:
        return law.normal_stiffness * overlap
    modulus = 1.0 / (_compliance(case.materials[pair[0]]) + _compliance(case.materials[pair[1]]))
    return 4.0 / 3.0 * modulus * math.sqrt(radius * overlap) * overlap


def _lightest_body(case: Case, material: str) -> float:
    """Return one over the smallest mass that a case gives a body of some material [1/kg], 0 without any.

    Those whose mass is that of their volume are left to `pdem.case.driven_preflight`, which knows the meshes.
    """
    bodies = [wall.body for wall in case.walls if wall.material == material and wall.body is not None]
    return max((1.0 / body.mass for body in bodies if body.mass is not None), default=0.0)


def _law(case: Case, first: str, second: str) -> Interaction:
    law = case.interaction(first, second)
    assert law is not None, "a checked case has an interaction for every pair that can meet"
    return law


def _compliance(material: Material) -> float:
    if material.youngs_modulus is None or material.poisson_ratio is None:
        return 0.0
    return (1.0 - material.poisson_ratio**2) / material.youngs_modulus


def _wall_speed(case: Case, wall: Wall) -> float:
    # Particles are inside the domain, so no point of a wall further from an axis than its corners matters.
    corners = np.array(np.meshgrid(*zip(case.domain.lower, case.domain.upper, strict=True))).reshape(3, -1).T
    speed = motion_of(wall, case.motions, case.directory).largest_speed(corners)
    if wall.body is not None:
        speed += math.hypot(*wall.body.velocity)
    if wall.servo is not None:
        servo, arms = wall.servo, np.ones(1)
        if servo.centre is not None:
            axis = np.array(servo.axis) / math.hypot(*servo.axis)
            arms = np.linalg.norm(np.cross(corners - np.array(servo.centre), axis), axis=1)
        speed += servo.largest_rate * float(arms.max())
    return speed


def _initial_speed(case: Case, index: int) -> float:
    group = case.particles[index]
    if group.velocity is None:
        velocity = _file_column(case, index, "velocity") if group.file is not None else np.zeros((0, 3))
        return float(np.sqrt(np.sum(velocity**2, axis=1)).max(initial=0.0))
    if isinstance(group.velocity, tuple):
        return math.hypot(*group.velocity)
    return group.velocity.random * math.sqrt(case.domain.dimension)
