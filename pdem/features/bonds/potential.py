r"""The potential of a bond, its forces and moments, its damping, and the criteria of its break.

The lower end i and the higher end j of a bond, by id, are spheres with centres x_i, x_j and orientations. With
r = x_j - x_i, D = |r|, d = r / D, the unit vector n fixed in sphere i that pointed from i to j when the bond was made,
and the rotation of sphere j relative to sphere i since then, as a unit quaternion (w, v), the strains of a bond are

* elongation u = D - l;
* bending beta = n - n', where n' is n turned by the relative rotation: \|beta\| = 2 sin(angle between both / 2);
* shear s = (l / 2) (n + n' - 2 d): the distance of the middle of the bond from the mean of the two axes;
* twist tau = 2 v . n, which is 2 cos(bending / 2) sin(twist / 2);

and the energy is U = k_n u^2 / 2 + k_s s^2 / 2 + k_b beta^2 / 2 + k_t tau^2 / 2. This is the vector-based potential of
V. Kuzkin and I. Asonov (Phys. Rev. E 86 (2012) 051301) with B1 = k_n, B2 = k_s l^2, B4 = k_t,
B3 = k_b - k_s l^2 / 4 - k_t / 2, written as a sum of squares: it loses no digits where strains are small, and gives the
energy of each mode. For small strains it yields the stiffness matrix of a beam; k_s decides about the theory of beams.
Forces and moments are its exact gradient at any rotation: a pair conserves its energy, its momentum and its angular
momentum, and needs no history beside its reference. The formulas use sums, products, quotients and one square root.

The functions take and return numbers and tuples; kernels inline them without contraction (`.kernel`), so that a bond
has the same bits on every rank that evaluates it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pdem.numerics.geometry_kernels import inlined_geometry
from pdem.numerics.vectors import exact_cross3, exact_dot3, exact_minus3, exact_plus3

if TYPE_CHECKING:
    from pdem.motion.rigid_rotation import Quaternion
    from pdem.numerics.vectors import Vector

    Strains = tuple[float, Vector, Vector, float]
    Four = tuple[float, float, float, float]
    Loads = tuple[Vector, Vector, Vector]

UNBROKEN, IN_TENSION, IN_SHEAR, IN_BENDING, IN_TWIST = range(5)
"""Modes in which a bond breaks; `UNBROKEN` for a bond that does not break."""

BY_STRESS, BY_FORCE, BY_ENERGY = range(3)
"""Criteria: largest stress of the section, sum of four ratios, energy over area."""


@inlined_geometry
def exact_scale3(factor: float, a: Vector) -> Vector:
    """Return a vector times a number, without contraction."""
    return factor * a[0], factor * a[1], factor * a[2]


@inlined_geometry
def quaternion_product(a: Quaternion, b: Quaternion) -> Quaternion:
    """Return the product of two quaternions: first the rotation b, then the rotation a."""
    return (
        a[0] * b[0] - (a[1] * b[1] + a[2] * b[2] + a[3] * b[3]),
        a[0] * b[1] + a[1] * b[0] + (a[2] * b[3] - a[3] * b[2]),
        a[0] * b[2] + a[2] * b[0] + (a[3] * b[1] - a[1] * b[3]),
        a[0] * b[3] + a[3] * b[0] + (a[1] * b[2] - a[2] * b[1]),
    )


@inlined_geometry
def undone(a: Quaternion) -> Quaternion:
    """Return the inverse of a rotation."""
    return a[0], -a[1], -a[2], -a[3]


@inlined_geometry
def turned_by(a: Quaternion, vector: Vector) -> Vector:
    """Return a vector turned by a unit quaternion."""
    v = a[1], a[2], a[3]
    once = exact_cross3(v, vector)
    twice = exact_cross3(v, once)
    return (
        vector[0] + 2.0 * (a[0] * once[0] + twice[0]),
        vector[1] + 2.0 * (a[0] * once[1] + twice[1]),
        vector[2] + 2.0 * (a[0] * once[2] + twice[2]),
    )


@inlined_geometry
def bond_strains(
    direction: Vector, distance: float, axis: Vector, relative: Quaternion, length: float
) -> Strains:  # fmt: skip
    """Return the elongation [m], the shear [m], the bending and the twist of a bond.

    Parameters
    ----------
    direction : tuple of 3 float
        Unit vector d from the lower to the higher end.
    distance, length : float
        Distances of the centres, now and at rest [m].
    axis : tuple of 3 float
        Unit vector n in space.
    relative : tuple of 4 float
        The rotation (w, v) of the higher end relative to the lower end.
    """
    v = relative[1], relative[2], relative[3]
    across = exact_cross3(v, axis)
    twice = exact_cross3(v, across)
    bending = (
        -2.0 * (relative[0] * across[0] + twice[0]),
        -2.0 * (relative[0] * across[1] + twice[1]),
        -2.0 * (relative[0] * across[2] + twice[2]),
    )
    off = exact_minus3(axis, direction)
    shear = (
        length * (off[0] - 0.5 * bending[0]),
        length * (off[1] - 0.5 * bending[1]),
        length * (off[2] - 0.5 * bending[2]),
    )
    return distance - length, shear, bending, 2.0 * exact_dot3(v, axis)


@inlined_geometry
def energies(strain: Strains, stiffness: Four) -> Four:
    """Return the energies of elongation, shear, bending and twist [J]; the stored energy is their sum."""
    return (
        0.5 * stiffness[0] * strain[0] * strain[0],
        0.5 * stiffness[1] * exact_dot3(strain[1], strain[1]),
        0.5 * stiffness[2] * exact_dot3(strain[2], strain[2]),
        0.5 * stiffness[3] * strain[3] * strain[3],
    )


@inlined_geometry
def elastic_loads(
    strain: Strains,
    stiffness: Four,
    direction: Vector,
    distance: float,
    axis: Vector,
    relative: Quaternion,
    length: float,
) -> Loads:
    """Return the force on the higher end [N], and the moments on the lower and on the higher end [N m].

    The force on the lower end is opposite. The moments are minus the gradient of the energy by rotations of the ends;
    they and the moment of the forces add up to zero. Parameters as in `bond_strains`.
    """
    u, shear, bending, twist = strain
    along = exact_dot3(shear, direction)
    pull, side = -stiffness[0] * u, stiffness[1] * length / distance
    force = (
        pull * direction[0] + side * (shear[0] - along * direction[0]),
        pull * direction[1] + side * (shear[1] - along * direction[1]),
        pull * direction[2] + side * (shear[2] - along * direction[2]),
    )
    half = 0.5 * stiffness[1] * length * length
    v = relative[1], relative[2], relative[3]
    across = exact_cross3(v, axis)
    bent = exact_cross3(axis, bending)
    about, bend = stiffness[3] * twist, 0.5 * half - stiffness[2]
    couple = (
        about * (relative[0] * axis[0] + across[0]) + bend * bent[0],
        about * (relative[0] * axis[1] + across[1]) + bend * bent[1],
        about * (relative[0] * axis[2] + across[2]) + bend * bent[2],
    )
    lower_lever = exact_cross3(exact_minus3(axis, direction), direction)
    higher_lever = exact_cross3(exact_minus3(exact_minus3(axis, bending), direction), direction)
    return (
        force,
        exact_plus3(exact_scale3(half, lower_lever), couple),
        exact_minus3(exact_scale3(half, higher_lever), couple),
    )


@inlined_geometry
def strain_rates(
    direction: Vector, distance: float, velocity: Vector, lower_spin: Vector, higher_spin: Vector
) -> Strains:  # fmt: skip
    """Return the rates of elongation [m/s], shear [m/s], bending [rad/s] and twist [rad/s] of a bond.

    They vanish where both ends move as one rigid body. The shear refers to the middle of the bond; shear and bending
    are vectors across the bond.

    Parameters
    ----------
    direction, distance
        As in `bond_strains`.
    velocity : tuple of 3 float
        Velocity of the higher end relative to the lower end [m/s].
    lower_spin, higher_spin : tuple of 3 float
        Angular velocities of the ends [rad/s].
    """
    rate = exact_dot3(velocity, direction)
    arm = 0.5 * distance
    carried = exact_cross3(exact_plus3(lower_spin, higher_spin), direction)
    shear = (
        velocity[0] - rate * direction[0] - arm * carried[0],
        velocity[1] - rate * direction[1] - arm * carried[1],
        velocity[2] - rate * direction[2] - arm * carried[2],
    )
    turn = exact_minus3(higher_spin, lower_spin)
    twist = exact_dot3(turn, direction)
    return rate, shear, exact_minus3(turn, exact_scale3(twist, direction)), twist


@inlined_geometry
def damping_loads(rates: Strains, damping: Four, direction: Vector, distance: float) -> tuple[Loads, float]:
    """Return the loads of damping in the format of `elastic_loads`, and the power that damping dissipates [W].

    In each mode the load is the coefficient times the rate; momentum and angular momentum are conserved. The power is
    the sum of coefficient times square of the rate, which is exactly the negative work rate of these loads.
    """
    rate, shear, bending, twist = rates
    axial, across = -damping[0] * rate, -damping[1]
    force = (
        axial * direction[0] + across * shear[0],
        axial * direction[1] + across * shear[1],
        axial * direction[2] + across * shear[2],
    )
    arm = -0.5 * distance
    lever = exact_scale3(arm, exact_cross3(direction, exact_scale3(across, shear)))
    couple = exact_plus3(exact_scale3(damping[2], bending), exact_scale3(damping[3] * twist, direction))
    power = damping[0] * rate * rate + damping[1] * exact_dot3(shear, shear)
    power += damping[2] * exact_dot3(bending, bending) + damping[3] * twist * twist
    return (force, exact_plus3(lever, couple), exact_minus3(lever, couple)), power


@inlined_geometry
def section_forces(loads: Loads, direction: Vector) -> Four:
    """Return tension [N], shear force [N], the larger bending moment of both ends [N m] and the twisting moment [N m].

    The tension is negative under compression; the remaining three are magnitudes.
    """
    force, lower, higher = loads
    tension, twist = -exact_dot3(force, direction), exact_dot3(higher, direction)
    side = exact_plus3(force, exact_scale3(tension, direction))
    lower_bend = exact_minus3(lower, exact_scale3(exact_dot3(lower, direction), direction))
    higher_bend = exact_minus3(higher, exact_scale3(twist, direction))
    square = max(exact_dot3(lower_bend, lower_bend), exact_dot3(higher_bend, higher_bend))
    return tension, math.sqrt(exact_dot3(side, side)), math.sqrt(square), abs(twist)


@inlined_geometry
def stresses(forces: Four, section: Vector) -> Four:
    """Return the stresses [Pa] of the section by tension, shear force, bending and twist.

    Parameters
    ----------
    forces : tuple of 4 float
        Results of `section_forces`.
    section : tuple of 3 float
        Area A [m^2], beta R / I and beta R / J [1/m^3]; beta is the share of moments that counts.
    """
    area, bending, twisting = section
    return forces[0] / area, forces[1] / area, forces[2] * bending, forces[3] * twisting


@inlined_geometry
def used_by_stress(stress: Four, tensile: float, shear: float, friction: float) -> tuple[float, int]:
    """Return the larger of tensile and shear stress over strength, and the mode in which the bond would break.

    Tension and bending act against the tensile strength, shear and twist against the shear strength, which grows by
    the pressure along the bond times `friction`, the tangent of the angle of friction.
    """
    pressed = shear + friction * max(0.0, -stress[0])
    opened, sheared = (stress[0] + stress[2]) / tensile, (stress[1] + stress[3]) / pressed
    if opened >= sheared:
        return opened, IN_TENSION if stress[0] >= stress[2] else IN_BENDING
    return sheared, IN_SHEAR if stress[1] >= stress[3] else IN_TWIST


@inlined_geometry
def largest_of(a: float, b: float, c: float, d: float) -> int:
    """Return the mode with the largest of four parts; the first mode if parts are equal."""
    if a >= b and a >= c and a >= d:
        return IN_TENSION
    if b >= c and b >= d:
        return IN_SHEAR
    return IN_BENDING if c >= d else IN_TWIST


@inlined_geometry
def used_by_force(stress: Four, tensile: float, shear: float, friction: float) -> tuple[float, int]:
    """Return the sum of all four stresses over their strengths, and the mode with the largest share.

    Pressure along the bond counts as negative. Strengths as in `used_by_stress`.
    """
    pressed = shear + friction * max(0.0, -stress[0])
    a, b, c, d = stress[0] / tensile, stress[1] / pressed, stress[2] / tensile, stress[3] / pressed
    return a + b + c + d, largest_of(a, b, c, d)


@inlined_geometry
def used_by_energy(energy: Four, area: float, limit: float) -> tuple[float, int]:
    """Return the stored energy over area and over a limit [J/m^2], and the mode with the largest energy."""
    stored = energy[0] + energy[1] + (energy[2] + energy[3])
    return stored / area / limit, largest_of(energy[0], energy[1], energy[2], energy[3])
