"""Limits of the time step, and the step of ``"auto"``.

Both follow from the case (and its files of particles), not from the state of a run, so that every rank and every
restart has the same step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pdem.case.gravity import largest_gravity
from pdem.case.groups.fixed_groups import partner_text
from pdem.case.groups.group_sizes import least_mass
from pdem.case.groups.particle_sources import largest_first_speed, smallest_radii
from pdem.case.laws import material_properties, recipe_by_key
from pdem.case.moving_surfaces import surface_course
from pdem.case.rules.checks import contact_pairs
from pdem.case.stage_cases import cases_of_stages
from pdem.case.wall_motions import motion_of
from pdem.contact.law.contact_spring import ContactSpring
from pdem.features.bonds.bond_limits import bond_step_limits
from pdem.foundation import exact_math
from pdem.foundation.errors import CaseError
from pdem.numerics.geometry_kernels import SPHERE_INERTIA

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pdem.case.impact import Impact
    from pdem.case.sections.materials import Interaction, Material
    from pdem.case.sections.schema import CaseData
    from pdem.case.sections.walls import Wall
    from pdem.foundation.array_types import Floats
    from pdem.motion.motions import RigidMotion

_HERTZ_FACTOR = 2.943 * exact_math.power(15.0 / 16.0, 0.4)


@dataclass(frozen=True)
class StepLimit:
    """An upper limit of the time step.

    Attributes
    ----------
    name : {"Rayleigh", "Hertz", "linear", "adhesion", "rolling", "twisting", "bond"}
        Kind of limit; ``"Hertz"`` is the duration of an impact by any law with a nonlinear force, ``"bond"`` is the
        longest stable step of bonded particles.
    time : float
        Limit in s.
    subject : str
        Material or pair of materials to which the limit applies.
    """

    name: str
    time: float
    subject: str


HEAVY_DAMPING = 0.1
"""Restitution up to which damping is heavy: a coarse step distorts the rebound of such contacts first."""

HEAVY_DAMPING_STEP = 1.0 / 3.0
"""Largest step with heavy damping, over the automatic step of the default fraction."""


@dataclass(frozen=True)
class ImpactConditions:
    """Sizes, speeds and partners of particles in impacts, which determine the limits of the time step.

    Attributes
    ----------
    smallest : dict of str to float
        Smallest radius of each material [m].
    speed : float
        Largest impact speed [m/s].
    pairs : tuple of (str, str, bool)
        Materials that can touch: of a particle, of its partner, and whether the partner is a wall.
    of_case : bool
        Whether these are the particles of the case, which determine the automatic step.
    impact : Impact or None
        The expected impact, for overlaps, if there is information about it. It is slower than `speed`, at which an
        impact must be resolved.
    """

    smallest: dict[str, float]
    speed: float
    pairs: tuple[tuple[str, str, bool], ...]
    of_case: bool = False
    impact: Impact | None = None


def impact_conditions(case: CaseData) -> ImpactConditions:
    """Return the impact conditions of the particles of a case.

    Raises
    ------
    CaseError
        If a file of particles cannot be read.
    """
    return ImpactConditions(smallest_radii(case), reference_speed(case), tuple(contact_pairs(case)), of_case=True)


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
    return float(_HERTZ_FACTOR * exact_math.power(mass * mass / (radius * (modulus * modulus) * speed), 0.2))


def linear_time(mass: float, stiffness: float) -> float:
    """Return the duration in s, pi sqrt(m / k), of an impact by a linear spring (effective mass, kg; N/m)."""
    return math.pi * math.sqrt(mass / stiffness)


def reference_speed(case: CaseData) -> float:
    """Return the largest expected impact speed in m/s.

    This is the largest of the speeds of initial and inserted particles, the speeds of walls inside the domain, and the
    speed of a fall through the whole domain, sqrt(2 g H).

    Raises
    ------
    CaseError
        If a file of particles or of a motion cannot be read.
    """
    motions = [motion_of(wall, case.motions, case.directory) for wall in case.walls]
    return max(expected_speed(case, motions), largest_first_speed(case))


def expected_speed(case: CaseData, motions: Sequence[RigidMotion]) -> float:
    """Return the larger of the speed of a fall through the domain and the speed of walls by their motions [m/s].

    The fall is driven by gravity and all uniform accelerations of ``[[forces]]``.
    """
    sides = np.subtract(case.domain.upper, case.domain.lower)
    given = [one.acceleration for one in case.forces if one.acceleration is not None]
    pull = largest_gravity(case) + exact_math.totals(np.abs(np.array(given)).reshape(-1, 3))
    fall = math.sqrt(2.0 * float(exact_math.inner(pull, sides)))
    # Particles are inside the domain: points of a wall farther from an axis than its corners do not matter.
    corners = np.array(np.meshgrid(*zip(case.domain.lower, case.domain.upper, strict=True))).reshape(3, -1).T
    walls = [wall_speed(case, *pair, corners) for pair in zip(case.walls, motions, strict=True)]
    return max([fall, *walls])


def step_limits(case: CaseData, conditions: ImpactConditions | None = None) -> list[StepLimit]:
    """Return every limit of the time step, the smallest first; none without particles.

    Each limit is computed for the smallest particles of its materials: of the case, or of `conditions`.

    Raises
    ------
    CaseError
        If a file of particles cannot be read.
    """
    conditions = impact_conditions(case) if conditions is None else conditions
    limits = list(_rayleigh_limits(case, conditions))
    for one in cases_of_stages(case):
        limits += list(_impact_limits(one, conditions))
    limits += [StepLimit("bond", *limit) for limit in bond_step_limits(case)]
    return sorted(limits, key=lambda limit: limit.time)


def automatic_step(case: CaseData) -> float:
    """Return the step of ``step = "auto"`` in s: `automatic_fraction` of `step_scale`.

    Without particles there is no limit. If no material has a density, no particle can ever be inserted, and the step is
    the interval of the series: it only moves walls.

    Raises
    ------
    CaseError
        Without particles, if some could be inserted later; or if a file of particles cannot be read.
    """
    limits = step_limits(case)
    if not limits:
        return _step_without_particles(case)
    return automatic_fraction(case) * step_scale(limits)


def step_scale(limits: Sequence[StepLimit]) -> float:
    """Return the smallest of some limits, from which the automatic step is computed [s].

    Linear limits count a third: the damping of that law starts with a jump, and an impact must last thirty steps for a
    restitution within 1 %.
    """
    return min(limit.time * (1.0 / 3.0 if limit.name == "linear" else 1.0) for limit in limits)


def automatic_fraction(case: CaseData) -> float:
    """Return the automatic step over the smallest limit.

    It is `case.time.step_fraction`, with heavily damped contacts at most a third of its default.
    """
    wanted, usual = case.time.step_fraction, float(type(case.time).model_fields["step_fraction"].default)
    heavy = any(heavily_damped(one) for one in cases_of_stages(case))
    return min(wanted, HEAVY_DAMPING_STEP * usual) if heavy else wanted


def heavily_damped(case: CaseData, pairs: Sequence[tuple[str, str, bool]] | None = None) -> dict[str, Interaction]:
    """Return by key the heavily damped interactions of pairs of materials that can touch, by default of the case."""
    possible = [case.interaction(*pair[:2]) for pair in (contact_pairs(case) if pairs is None else pairs)]
    return {
        key: law
        for key, law in case.interactions.items()
        if law.restitution <= HEAVY_DAMPING and any(law is one for one in possible)
    }


def _step_without_particles(case: CaseData) -> float:
    particle_materials = [name for name, material in case.materials.items() if material.density is not None]
    if not particle_materials:
        return case.output.series_every
    raise CaseError(
        f'{case.source}: time.step = "auto": there are no particles to take it from, but particles '
        f"of {particle_materials[0]!r} may be inserted later; give time.step in s (auto would use a tenth of the "
        "Rayleigh time of the smallest)"
    )


def _rayleigh_limits(case: CaseData, conditions: ImpactConditions) -> Iterator[StepLimit]:
    hertzian = {
        name
        for first, second, _ in conditions.pairs
        for name in (first, second)
        if _law(case, first, second).from_materials
    }
    for name, radius in conditions.smallest.items():
        material = case.materials[name]
        if name not in hertzian or material.youngs_modulus is None or material.poisson_ratio is None:
            continue
        time = rayleigh_time(radius, material.density or 0.0, material.youngs_modulus, material.poisson_ratio)
        yield StepLimit("Rayleigh", time, f"{name} of radius {radius:g} m")


def _impact_limits(case: CaseData, conditions: ImpactConditions) -> Iterator[StepLimit]:
    for first, second, is_wall in conditions.pairs:
        if first not in conditions.smallest or (second not in conditions.smallest and not is_wall):
            continue
        other = None if is_wall else conditions.smallest[second]
        mass, radius = effective_mass_and_radius(case, (first, second), conditions.smallest[first], other)
        subject = f"{first} on {partner_text(case, second, is_wall=is_wall)}"
        yield impact_limit(case, (first, second), mass, radius, conditions.speed, subject)
        smaller = min(conditions.smallest[first], math.inf if other is None else other)
        yield from rotation_limits(case, (first, second), mass, (radius, smaller), conditions.speed, subject)
        yield from adhesion_limits(case, (first, second), mass, radius, subject)


def effective_mass_and_radius(
    case: CaseData, pair: tuple[str, str], radius: float, other: float | None
) -> tuple[float, float]:
    """Return effective mass [kg] and radius [m] of an impact of two radii [m]; `other` is None for a wall."""
    first, second = pair
    inverse_mass, inverse_radius = 1.0 / least_mass(case, first, radius), 1.0 / radius
    if other is None:
        inverse_mass += _largest_inverse_body_mass(case, second)
    else:
        inverse_mass += 1.0 / least_mass(case, second, other)
        inverse_radius += 1.0 / other
    return 1.0 / inverse_mass, 1.0 / inverse_radius


def impact_limit(
    case: CaseData, pair: tuple[str, str], mass: float, radius: float, speed: float, subject: str
) -> StepLimit:
    """Return the limit from an impact of two materials, of effective mass [kg] and radius [m], at a speed [m/s]."""
    law = _law(case, *pair)
    if law.law == "linear":
        return StepLimit("linear", linear_time(mass, float(law.normal_stiffness or 0.0)), subject)
    if law.law == "hertz-mindlin":
        time = hertz_time(mass, radius, effective_modulus(case, pair), speed)
    else:
        spring = spring_of(case, pair)
        time = spring.duration(mass, radius, speed)
        if spring.is_straight:
            return StepLimit("linear", time, subject)
    return StepLimit("Hertz", time, f"{subject} at {speed:.3g} m/s")


def rotation_limits(
    case: CaseData, pair: tuple[str, str], mass: float, radii: tuple[float, float], speed: float, subject: str
) -> Iterator[StepLimit]:
    """Yield the limits from resistances to rolling and twisting: half a period, pi sqrt(I / k), of a free rotation.

    `radii` are the effective one and the smaller one [m]. I is the moment of inertia of a contact for its resistances,
    k the stiffness of the deepest impact at a speed [m/s].
    """
    law = _law(case, *pair)
    if not (law.rolling or law.twisting):
        return
    spring, inertia = spring_of(case, pair), SPHERE_INERTIA * mass * (radii[1] * radii[1])
    deepest = spring.depth(mass, radii[0], speed) if speed > 0.0 else 0.0
    for role, stiffness in spring.rotational_stiffnesses(deepest, radii[0]).items():
        if stiffness > 0.0:
            yield StepLimit(role, linear_time(inertia, stiffness), subject)


def adhesion_limits(
    case: CaseData, pair: tuple[str, str], mass: float, radius: float, subject: str
) -> Iterator[StepLimit]:
    """Yield the limit from adhesion of two materials, if there is adhesion: half a period about the equilibrium.

    It is pi sqrt(m / k) with the largest stiffness due to adhesion alone.
    """
    stiffness = spring_of(case, pair).adhesive_stiffness(radius) if _law(case, *pair).adhesion else 0.0
    if stiffness > 0.0:
        yield StepLimit("adhesion", linear_time(mass, stiffness), subject)


def spring_of(case: CaseData, pair: tuple[str, str]) -> ContactSpring:
    """Return the elastic contact of two materials of a case.

    Raises
    ------
    CaseError
        If their law is in a file that cannot be used.
    """
    key = case.interaction_key(*pair)
    assert key is not None, "a checked case has an interaction for every pair that can meet"
    materials = dict(zip(case.materials, material_properties(case), strict=True))
    return ContactSpring(recipe_by_key(case, key), materials[pair[0]], materials[pair[1]])


def contact_force(case: CaseData, pair: tuple[str, str], radius: float, overlap: float) -> float:
    """Return the elastic force of a contact of two materials, of effective radius [m], at an overlap [m], in N."""
    law = _law(case, *pair)
    if law.law == "linear":
        return float(law.normal_stiffness or 0.0) * overlap
    if law.law != "hertz-mindlin":
        return spring_of(case, pair).force(overlap, radius)
    modulus = effective_modulus(case, pair)
    return 4.0 / 3.0 * modulus * math.sqrt(radius * overlap) * overlap


def effective_modulus(case: CaseData, pair: tuple[str, str]) -> float:
    """Return the effective modulus E of a contact of two materials [Pa], one over the sum of (1 - nu^2) / E."""
    return 1.0 / (_compliance(case.materials[pair[0]]) + _compliance(case.materials[pair[1]]))


def _largest_inverse_body_mass(case: CaseData, material: str) -> float:
    """Return the inverse of the smallest mass of bodies of a material [1/kg]; 0 without bodies.

    Only masses in the case count; `pdem.preflight.driven_wall_preflight` checks masses that follow from a mesh.
    """
    bodies = [wall.body for wall in case.walls if wall.material == material and wall.body is not None]
    return max((1.0 / body.mass for body in bodies if body.mass is not None), default=0.0)


def _law(case: CaseData, first: str, second: str) -> Interaction:
    law = case.interaction(first, second)
    assert law is not None, "a checked case has an interaction for every pair that can meet"
    return law


def _compliance(material: Material) -> float:
    if material.youngs_modulus is None or material.poisson_ratio is None:
        return 0.0
    return (1.0 - material.poisson_ratio * material.poisson_ratio) / material.youngs_modulus


def wall_speed(case: CaseData, wall: Wall, motion: RigidMotion, points: Floats) -> float:
    """Return the largest speed of points (n, 3) by the motion of a wall, its surface and its drive [m/s]."""
    speed = motion.largest_speed(points)
    if wall.surface is not None:
        speed += surface_course(wall.surface, case.directory).largest_speed(points)
    if wall.body is not None:
        speed += exact_math.hypot(*wall.body.velocity)
    if wall.servo is not None:
        servo, arms = wall.servo, np.ones(1)
        if servo.centre is not None:
            axis = np.array(servo.axis) / exact_math.hypot(*servo.axis)
            arms = exact_math.norm(np.cross(points - np.array(servo.centre), axis))
        speed += servo.largest_rate * float(arms.max())
    return speed
