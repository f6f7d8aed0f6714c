"""Spheres that push each other apart: the overlaps of a crowd are made small, by steps of the FIRE method.

The energy is half of the sum of the squares of all overlaps: of pairs of spheres, of spheres and triangles of walls,
and of spheres and the sides of their regions. FIRE (Bitzek and others, Phys. Rev. Lett. 97 (2006) 170201; with the
start anew of Guenole and others, Comput. Mater. Sci. 175 (2020) 109584) is motion whose velocity is turned towards the
force, and stopped where it goes uphill. Spheres have a mass that grows with the square of their radius: large ones
among many small ones have as many more contacts, so that all move with one time step.

One after the other, without threads and contraction: positions have the same bits on any machine.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from pdem.foundation.geometry_kernels import geometry_kernel, inlined_geometry, nearest_image

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pdem.foundation.vectors import Vector

    Floats = NDArray[np.float64]
    Indices = NDArray[np.int64]

BOX, CYLINDER, BALL = 0, 1, 2
"""Kinds of regions."""

REGION_NUMBERS = 9
"""Numbers of a region.

A box has its corners and 1 for axes with sides; a cylinder its centre, direction, radius, half length, and 1 if it has
ends; a ball its centre and radius.
"""

LARGEST_STEP = 0.1
"""Largest way in a step, over the radius."""

SLOWEST, LONGEST, FIRST = 1e-3, 0.35, 0.1
"""Smallest, largest and first time step, of contacts of stiffness 1 and of the smallest spheres with mass 1."""

TURNED, _CALMING, _WAITED, _FASTER, _SLOWER = 0.25, 0.99, 20, 1.1, 0.5

DONE, JAMMED, MOVED, LIMIT = range(4)
"""Why steps end: overlaps are small; forces are balanced; lists are old; there were as many as allowed."""

(TIME_STEP, MIXING, DOWNHILL, LARGEST, MEAN, CONTACTS) = range(6)
"""Numbers of the state: three of the method; largest and mean overlap over the diameter, and how many there are."""


class Crowd(NamedTuple):
    """Spheres and what they touch.

    Attributes
    ----------
    radius : (n,) array
        In m; the last ones, beyond those that move, rest.
    mass : (m,) array
        Of those that move, without unit.
    region : (m,) int64 array
        Row of the region of each.
    kind : (g,) int64 array
        Of regions.
    numbers : (g, `REGION_NUMBERS`) array
        Of regions [m].
    period, frequency : (3,) arrays
        Of the box [m] and [1/m], 0 for axes that are not periodic.
    corners : (t, 3, 3) array
        Triangles of walls [m].
    dimension : int
        2 or 3.
    """

    radius: Floats
    mass: Floats
    region: Indices
    kind: Indices
    numbers: Floats
    period: Floats
    frequency: Floats
    corners: Floats
    dimension: int


class Lists(NamedTuple):
    """Who may touch whom.

    Attributes
    ----------
    first, second : (k,) int64 arrays
        Pairs of spheres.
    sphere, triangle : (l,) int64 arrays
        Spheres that move, and triangles.
    begin : (m, 3) array
        Positions for which lists were made [m].
    skin : (m,) array
        How far a sphere may move from there [m].
    """

    first: Indices
    second: Indices
    sphere: Indices
    triangle: Indices
    begin: Floats
    skin: Floats


class Motion(NamedTuple):
    """Arrays (n, 3) of positions [m] and (m, 3) of velocities and forces, and the state of the method; all written."""

    position: Floats
    velocity: Floats
    force: Floats
    state: Floats


@inlined_geometry
def _dot(a: Vector, b: Vector) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inlined_geometry
def nearest_on_triangle(x: Vector, corners: Floats, t: int) -> Vector:
    """Return the way from the nearest point of a triangle to a place [m] (Ericson, Real-Time Collision Detection)."""
    a = corners[t, 0, 0], corners[t, 0, 1], corners[t, 0, 2]
    b = corners[t, 1, 0] - a[0], corners[t, 1, 1] - a[1], corners[t, 1, 2] - a[2]
    c = corners[t, 2, 0] - a[0], corners[t, 2, 1] - a[1], corners[t, 2, 2] - a[2]
    p = x[0] - a[0], x[1] - a[1], x[2] - a[2]
    bb, bc, cc, pb, pc = _dot(b, b), _dot(b, c), _dot(c, c), _dot(p, b), _dot(p, c)
    d3, d4, d5, d6 = pb - bb, pc - bc, pb - bc, pc - cc
    va, vb, vc = d3 * d6 - d5 * d4, d5 * pc - pb * d6, pb * d4 - d3 * pc
    if pb <= 0.0 and pc <= 0.0:
        v, w = 0.0, 0.0
    elif d3 >= 0.0 and d4 <= d3:
        v, w = 1.0, 0.0
    elif vc <= 0.0 and pb >= 0.0 and d3 <= 0.0:
        v, w = pb / (pb - d3), 0.0
    elif d6 >= 0.0 and d5 <= d6:
        v, w = 0.0, 1.0
    elif vb <= 0.0 and pc >= 0.0 and d6 <= 0.0:
        v, w = 0.0, pc / (pc - d6)
    elif va <= 0.0 and d4 - d3 >= 0.0 and d5 - d6 >= 0.0:
        w = (d4 - d3) / ((d4 - d3) + (d5 - d6))
        v = 1.0 - w
    else:
        v, w = vb / (va + vb + vc), vc / (va + vb + vc)
    return p[0] - v * b[0] - w * c[0], p[1] - v * b[1] - w * c[1], p[2] - v * b[2] - w * c[2]


@inlined_geometry
def _push(i: int, overlap: float, n: Vector, width: float, motion: Motion) -> None:
    """Push a sphere along a direction, and take note of the overlap."""
    force, state = motion.force, motion.state
    force[i, 0] += overlap * n[0]
    force[i, 1] += overlap * n[1]
    force[i, 2] += overlap * n[2]
    strain = overlap / width
    state[LARGEST] = max(state[LARGEST], strain)
    state[MEAN] += strain
    state[CONTACTS] += 1.0


@inlined_geometry
def _push_pairs(crowd: Crowd, lists: Lists, motion: Motion) -> None:
    position, force, moving = motion.position, motion.force, len(crowd.mass)
    period, frequency = crowd.period, crowd.frequency
    for k in range(len(lists.first)):
        i, j = lists.first[k], lists.second[k]
        x = nearest_image(position[j, 0] - position[i, 0], period[0], frequency[0])
        y = nearest_image(position[j, 1] - position[i, 1], period[1], frequency[1])
        z = nearest_image(position[j, 2] - position[i, 2], period[2], frequency[2])
        reach, squared = crowd.radius[i] + crowd.radius[j], x * x + y * y + z * z
        if squared < reach * reach:
            distance = max(math.sqrt(squared), 1e-12 * reach)
            overlap = reach - distance
            n = x / distance, y / distance, z / distance
            _push(i, overlap, (-n[0], -n[1], -n[2]), reach, motion)
            if j < moving:
                for axis in range(3):
                    force[j, axis] += overlap * n[axis]


@inlined_geometry
def _push_from_walls(crowd: Crowd, lists: Lists, motion: Motion) -> None:
    position = motion.position
    for k in range(len(lists.sphere)):
        i = lists.sphere[k]
        d = nearest_on_triangle(
            (position[i, 0], position[i, 1], position[i, 2]), crowd.corners, lists.triangle[k]
        )
        distance = max(math.sqrt(_dot(d, d)), 1e-12 * crowd.radius[i])
        overlap = crowd.radius[i] - distance
        if overlap > 0.0:
            _push(
                i, overlap, (d[0] / distance, d[1] / distance, d[2] / distance), 2.0 * crowd.radius[i], motion
            )


@inlined_geometry
def _push_into_region(i: int, crowd: Crowd, motion: Motion) -> None:
    position, r, g = motion.position, crowd.radius[i], crowd.region[i]
    kind, numbers = crowd.kind[g], crowd.numbers
    if kind == BOX:
        for axis in range(crowd.dimension):
            if numbers[g, 6 + axis] > 0.0:
                low = numbers[g, axis] + r - position[i, axis]
                high = position[i, axis] + r - numbers[g, 3 + axis]
                n = 1.0 if axis == 0 else 0.0, 1.0 if axis == 1 else 0.0, 1.0 if axis == 2 else 0.0
                if low > 0.0:
                    _push(i, low, n, 2.0 * r, motion)
                if high > 0.0:
                    _push(i, high, (-n[0], -n[1], -n[2]), 2.0 * r, motion)
        return
    z = position[i, 2] - numbers[g, 2] if crowd.dimension == 3 else 0.0
    d = position[i, 0] - numbers[g, 0], position[i, 1] - numbers[g, 1], z
    outer = numbers[g, 3]
    if kind == CYLINDER:
        along = numbers[g, 3], numbers[g, 4], numbers[g, 5]
        outer, height = numbers[g, 6], _dot(d, along)
        beyond = abs(height) + r - numbers[g, 7]
        if numbers[g, 8] > 0.0 and beyond > 0.0:
            inward = -1.0 if height > 0.0 else 1.0
            _push(i, beyond, (inward * along[0], inward * along[1], inward * along[2]), 2.0 * r, motion)
        d = d[0] - height * along[0], d[1] - height * along[1], d[2] - height * along[2]
    distance = math.sqrt(_dot(d, d))
    if distance + r > outer:
        away = max(distance, 1e-12 * r)
        _push(i, distance + r - outer, (-d[0] / away, -d[1] / away, -d[2] / away), 2.0 * r, motion)


@inlined_geometry
def _forces(crowd: Crowd, lists: Lists, motion: Motion) -> None:
    motion.force[:] = 0.0
    motion.state[LARGEST] = motion.state[MEAN] = motion.state[CONTACTS] = 0.0
    _push_pairs(crowd, lists, motion)
    _push_from_walls(crowd, lists, motion)
    for i in range(len(crowd.mass)):
        _push_into_region(i, crowd, motion)
    motion.force[:, crowd.dimension :] = 0.0
    motion.state[MEAN] /= max(motion.state[CONTACTS], 1.0)


@inlined_geometry
def _turn(crowd: Crowd, motion: Motion) -> float:
    """Turn velocities towards forces, or stop; return the sum of the squares of the forces."""
    velocity, force, state = motion.velocity, motion.force, motion.state
    power = speeds = forces = balance = 0.0
    for i in range(len(crowd.mass)):
        f, v = (force[i, 0], force[i, 1], force[i, 2]), (velocity[i, 0], velocity[i, 1], velocity[i, 2])
        power += _dot(f, v)
        speeds += crowd.mass[i] * _dot(v, v)
        forces += _dot(f, f) / crowd.mass[i]
        balance += _dot(f, f)
    if power > 0.0:
        state[DOWNHILL] += 1.0
        if state[DOWNHILL] > _WAITED:
            state[TIME_STEP] = min(_FASTER * state[TIME_STEP], LONGEST)
            state[MIXING] *= _CALMING
    else:
        for i in range(len(crowd.mass)):
            for axis in range(3):
                motion.position[i, axis] -= 0.5 * state[TIME_STEP] * velocity[i, axis]
                velocity[i, axis] = 0.0
        state[DOWNHILL], state[MIXING] = 0.0, TURNED
        state[TIME_STEP] = max(_SLOWER * state[TIME_STEP], SLOWEST)
        speeds = 0.0
    dt, mixing = state[TIME_STEP], state[MIXING]
    share = mixing * math.sqrt(speeds / forces) if forces > 0.0 else 0.0
    for i in range(len(crowd.mass)):
        for axis in range(3):
            rate = force[i, axis] / crowd.mass[i]
            velocity[i, axis] = (1.0 - mixing) * (velocity[i, axis] + dt * rate) + share * rate
    return balance


@geometry_kernel
def relax(
    crowd: Crowd, lists: Lists, motion: Motion, most: int, small: float, balanced: float
) -> tuple[int, int]:
    """Move spheres until no overlap is larger than `small` of the diameter, or forces are balanced.

    Parameters
    ----------
    crowd, lists, motion : Crowd, Lists, Motion
        See there; motion is written. Forces are computed first.
    most : int
        Largest number of steps.
    small : float
        Overlap over the diameter that counts as none.
    balanced : float
        The mean square of the sum of forces on a sphere, over that of the force of a contact, below which forces are
        balanced.

    Returns
    -------
    tuple of int
        `DONE`, `JAMMED`, `MOVED` or `LIMIT`, and the number of steps.
    """
    position, state, count = motion.position, motion.state, len(crowd.mass)
    size = 2.0 * crowd.radius[:count].mean()
    for step in range(most):
        _forces(crowd, lists, motion)
        if state[LARGEST] <= small:
            return DONE, step
        squares = _turn(crowd, motion)
        mean = state[MEAN] * size
        if squares / count < balanced * mean * mean:
            return JAMMED, step
        gone = False
        for i in range(count):
            v = motion.velocity[i, 0], motion.velocity[i, 1], motion.velocity[i, 2]
            way = state[TIME_STEP] * math.sqrt(_dot(v, v))
            limit = LARGEST_STEP * crowd.radius[i]
            share = limit / way if way > limit else 1.0
            away = 0.0
            for axis in range(3):
                motion.velocity[i, axis] *= share
                position[i, axis] += state[TIME_STEP] * motion.velocity[i, axis]
                away += (position[i, axis] - lists.begin[i, axis]) ** 2
            gone = gone or away > lists.skin[i] * lists.skin[i]
        if gone:
            return MOVED, step + 1
    return LIMIT, most
