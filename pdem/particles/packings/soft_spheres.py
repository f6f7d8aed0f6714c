"""Relaxation of overlapping spheres by the FIRE method: overlaps become small, or forces balance.

Without a law the energy is half of the sum of the squares of all overlaps: between spheres, between spheres and
triangles of walls, and between spheres and the sides of their regions. FIRE (Bitzek and others, Phys. Rev. Lett. 97
(2006) 170201; with the restart of Guenole and others, Comput. Mater. Sci. 175 (2020) 109584) is a motion with
velocities that are turned towards the forces, and set to zero when the energy increases. Bodies have a mass
proportional to the square of their size: a large body among many small ones has correspondingly more contacts, so that
one time step suits all bodies. Spheres of a rigid body move with it: their pushes and torques are summed. The
rotational variable is the body's size times an angle, so that rotations have the unit of displacements.

The loops run in a fixed order, without threads and contraction: positions have the same bits on any machine.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from pdem.numerics.geometry_kernels import geometry_kernel, inlined_geometry
from pdem.numerics.vectors import exact_dot3
from pdem.particles.packings.soft_contacts import DOWNHILL, FORCES, LARGEST, MIXING, TIME_STEP, push_all

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats, Integers
    from pdem.particles.packings.soft_contacts import Crowd, SoftContactLists

SLOWEST, LONGEST, FIRST = 1e-3, 0.35, 0.1
"""Smallest, largest and first time step, for contacts of stiffness 1 and for the smallest spheres with mass 1."""

TURNED, _CALMING, _WAITED, _FASTER, _SLOWER = 0.25, 0.99, 20, 1.1, 0.5

DONE, JAMMED, MOVED, LIMIT = range(4)
"""Reasons for the end: overlaps are small; forces are balanced; lists are out of date; the limit of steps."""


class SoftBodies(NamedTuple):
    """Rigid bodies of spheres.

    Attributes
    ----------
    begin : (b + 1,) int64 array
        First sphere of each body; a single number for single spheres, which are not bodies.
    place : (m, 3) array
        Positions of the spheres of bodies relative to the centre, in the coordinates of the shapes [m].
    reach : (b,) array
        Largest distance of each body's surface from its centre [m].
    mass : (rows,) array
        Mass of each row, without unit; a row is a sphere, or the translation and then the rotation of a body.
    most : (rows,) array
        Largest displacement in a step [m].
    """

    begin: Integers
    place: Floats
    reach: Floats
    mass: Floats
    most: Floats


class SoftMotion(NamedTuple):
    """Positions of spheres and bodies, and the state of the method; all written.

    Attributes
    ----------
    position : (n, 3) array
        Positions of spheres [m].
    push : (m, 3) array
        Forces on moving spheres; without bodies the same array as `force`.
    velocity, force : (rows, 3) arrays
        Velocities and forces of rows, see `SoftBodies`.
    centre, turn : (b, 3) and (b, 4) arrays
        Centres of bodies [m], and unit quaternions, w first, that rotate from the coordinates of the shapes.
    arm, shift : (m, 3) arrays
        For spheres of bodies, the vector from the centre of the rotated body, and the periods that are added [m].
    state : (`pdem.particles.packings.soft_contacts.STATE`,) array
        State of the method, and statistics of contacts.
    """

    position: Floats
    push: Floats
    velocity: Floats
    force: Floats
    centre: Floats
    turn: Floats
    arm: Floats
    shift: Floats
    state: Floats


@inlined_geometry
def _gather(bodies: SoftBodies, motion: SoftMotion) -> None:
    """Sum pushes on spheres, and their torques over the body's size, for each body."""
    push, arm, force = motion.push, motion.arm, motion.force
    for b in range(len(bodies.reach)):
        force[2 * b : 2 * b + 2] = 0.0
        for i in range(bodies.begin[b], bodies.begin[b + 1]):
            for axis in range(3):
                j, k = (axis + 1) % 3, (axis + 2) % 3
                force[2 * b, axis] += push[i, axis]
                force[2 * b + 1, axis] += (arm[i, j] * push[i, k] - arm[i, k] * push[i, j]) / bodies.reach[b]


@inlined_geometry
def _place(b: int, bodies: SoftBodies, motion: SoftMotion) -> None:
    """Write the positions of the spheres of a body."""
    turn, arm = motion.turn, motion.arm
    w, x, y, z = turn[b, 0], turn[b, 1], turn[b, 2], turn[b, 3]
    for i in range(bodies.begin[b], bodies.begin[b + 1]):
        a, c, e = bodies.place[i, 0], bodies.place[i, 1], bodies.place[i, 2]
        p, q, r = 2.0 * (y * e - z * c), 2.0 * (z * a - x * e), 2.0 * (x * c - y * a)
        arm[i, 0] = a + w * p + (y * r - z * q)
        arm[i, 1] = c + w * q + (z * p - x * r)
        arm[i, 2] = e + w * r + (x * q - y * p)
        for axis in range(3):
            motion.position[i, axis] = motion.centre[b, axis] + arm[i, axis] + motion.shift[i, axis]


@inlined_geometry
def _move(bodies: SoftBodies, motion: SoftMotion, dt: float) -> None:
    """Move all rows by their velocities for a time."""
    velocity, centre, turn = motion.velocity, motion.centre, motion.turn
    if not len(bodies.reach):
        for i in range(len(velocity)):
            for axis in range(3):
                motion.position[i, axis] += dt * velocity[i, axis]
    for b in range(len(bodies.reach)):
        for axis in range(3):
            centre[b, axis] += dt * velocity[2 * b, axis]
        half = 0.5 * dt / bodies.reach[b]
        x, y, z = half * velocity[2 * b + 1, 0], half * velocity[2 * b + 1, 1], half * velocity[2 * b + 1, 2]
        e, f, g, h = turn[b, 0], turn[b, 1], turn[b, 2], turn[b, 3]
        p, q = e - x * f - y * g - z * h, f + x * e + y * h - z * g
        r, s = g + y * e + z * f - x * h, h + z * e + x * g - y * f
        scale = 1.0 / math.sqrt(p * p + q * q + r * r + s * s)
        turn[b, 0], turn[b, 1], turn[b, 2], turn[b, 3] = scale * p, scale * q, scale * r, scale * s
        _place(b, bodies, motion)


@inlined_geometry
def _turn(bodies: SoftBodies, motion: SoftMotion) -> float:
    """Turn velocities towards forces, or set them to 0; return the sum of the squares of the forces."""
    velocity, force, state = motion.velocity, motion.force, motion.state
    power = speeds = forces = balance = 0.0
    for i in range(len(velocity)):
        f, v = (force[i, 0], force[i, 1], force[i, 2]), (velocity[i, 0], velocity[i, 1], velocity[i, 2])
        power += exact_dot3(f, v)
        speeds += bodies.mass[i] * exact_dot3(v, v)
        forces += exact_dot3(f, f) / bodies.mass[i]
        balance += exact_dot3(f, f)
    if power > 0.0:
        state[DOWNHILL] += 1.0
        if state[DOWNHILL] > _WAITED:
            state[TIME_STEP] = min(_FASTER * state[TIME_STEP], LONGEST)
            state[MIXING] *= _CALMING
    else:
        _move(bodies, motion, -0.5 * state[TIME_STEP])
        velocity[:] = 0.0
        state[DOWNHILL], state[MIXING] = 0.0, TURNED
        state[TIME_STEP] = max(_SLOWER * state[TIME_STEP], SLOWEST)
        speeds = 0.0
    dt, mixing = state[TIME_STEP], state[MIXING]
    share = mixing * math.sqrt(speeds / forces) if forces > 0.0 else 0.0
    for i in range(len(velocity)):
        for axis in range(3):
            rate = force[i, axis] / bodies.mass[i]
            velocity[i, axis] = (1.0 - mixing) * (velocity[i, axis] + dt * rate) + share * rate
    return balance


@inlined_geometry
def _limit(bodies: SoftBodies, motion: SoftMotion) -> None:
    """Limit displacements to the largest permitted ones."""
    for i in range(len(motion.velocity)):
        v = motion.velocity[i, 0], motion.velocity[i, 1], motion.velocity[i, 2]
        way = motion.state[TIME_STEP] * math.sqrt(exact_dot3(v, v))
        if way > bodies.most[i]:
            for axis in range(3):
                motion.velocity[i, axis] *= bodies.most[i] / way


@inlined_geometry
def _is_gone(lists: SoftContactLists, position: Floats) -> bool:
    """Return whether the displacement of a sphere exceeds its skin."""
    gone = False
    for i in range(len(lists.skin)):
        away = 0.0
        for axis in range(3):
            away += (position[i, axis] - lists.begin[i, axis]) ** 2
        gone = gone or away > lists.skin[i] * lists.skin[i]
    return gone


@geometry_kernel
def relax(
    crowd: Crowd,
    bodies: SoftBodies,
    lists: SoftContactLists,
    motion: SoftMotion,
    most: int,
    small: float,
    balanced: float,
) -> tuple[int, int]:
    """Move spheres until no overlap is larger than `small` of the diameter, or forces are balanced.

    Parameters
    ----------
    crowd, bodies, lists, motion : Crowd, SoftBodies, SoftContactLists, SoftMotion
        As in their classes; motion is written. Forces are computed first.
    most : int
        Largest number of steps.
    small : float
        Overlap over the diameter that is negligible.
    balanced : float
        Limit for balanced forces: mean square of the total force on a sphere or body, over the mean square force of a
        contact.

    Returns
    -------
    tuple of int
        `DONE`, `JAMMED`, `MOVED` or `LIMIT`, and the number of steps.
    """
    state, rows = motion.state, max(len(motion.velocity), 1)
    for step in range(most):
        push_all(crowd, lists, motion.position, motion.arm, motion.push, state)
        if len(bodies.reach):
            _gather(bodies, motion)
        if state[LARGEST] <= small:
            return DONE, step
        squares = _turn(bodies, motion)
        if squares / rows < balanced * state[FORCES] * state[FORCES]:
            return JAMMED, step
        _limit(bodies, motion)
        _move(bodies, motion, state[TIME_STEP])
        if _is_gone(lists, motion.position):
            return MOVED, step + 1
    return LIMIT, most


@geometry_kernel
def place_spheres(bodies: SoftBodies, motion: SoftMotion) -> None:
    """Write the positions of the spheres of all bodies, from the centres and rotations of the bodies."""
    for b in range(len(bodies.reach)):
        _place(b, bodies, motion)
