"""Forces on soft spheres during packing: from other spheres, triangles of walls, sides of regions, excluded regions.

A push is the overlap, or with a contact law of a case an overlap times roots, which have the same bits on any machine.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from pdem.numerics.geometry_kernels import inlined_geometry, nearest_image
from pdem.numerics.vectors import exact_dot3

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats, Integers
    from pdem.numerics.vectors import Vector

BOX, CYLINDER, BALL = 0, 1, 2
"""Kinds of regions."""

REGION_NUMBERS = 9
"""Number of parameters of a region.

A box has its corners and 1 for axes with sides; a cylinder its centre, direction, radius, half length, and 1 if it has
ends; a ball its centre and radius.
"""

(TIME_STEP, MIXING, DOWNHILL, LARGEST, MEAN, CONTACTS, FORCES, VIRIAL) = range(8)
"""Indices of the state: three numbers of the method, see `pdem.particles.packings.soft_spheres`; and over all
contacts the largest and the mean overlap over the diameter, the number, the mean force, and the sum of forces times
branches."""

STATE = 8
"""Length of the state."""

SAME_PLACE = 1e-6
"""Distance over the radius up to which a point belongs to a triangle that is in contact already."""

SAME_WAY = 0.9
"""Cosine of the angle between normals beyond which a wall supports a sphere in place of its region's side."""


class Crowd(NamedTuple):
    """Spheres and their obstacles.

    Attributes
    ----------
    radius : (n,) array
        In m; the last spheres, after the moving ones, are at rest.
    region : (m,) int64 array
        Row of the region of each moving sphere.
    kind : (g,) int64 array
        Kinds of regions.
    numbers : (g, `REGION_NUMBERS`) array
        Parameters of regions [m].
    excluded : (x, 2) int64 array
        Rows of regions, and of regions that are excluded for their spheres.
    period, frequency : (3,) arrays
        Length of the box [m] and its inverse [1/m], 0 for axes that are not periodic.
    corners : (t, 3, 3) array
        Triangles of walls [m].
    hardness : (t,) array
        Force of triangles over that of spheres; if empty, walls push by overlaps, each triangle separately.
    bend : float
        Inverse of the overlap at which the root of a Hertzian force is 1 [1/m], 0 for linear forces.
    size : float
        Effective radius at which the root of the radius is 1 [m], 0 for forces that do not depend on it.
    dimension : int
        2 or 3.
    """

    radius: Floats
    region: Integers
    kind: Integers
    numbers: Floats
    excluded: Integers
    period: Floats
    frequency: Floats
    corners: Floats
    hardness: Floats
    bend: float
    size: float
    dimension: int


class SoftContactLists(NamedTuple):
    """Lists of possible contacts.

    Attributes
    ----------
    first, second : (k,) int64 arrays
        Pairs of spheres.
    walls : (m + 1,) int64 array
        First triangle of each moving sphere.
    triangle : (l,) int64 array
        Triangles.
    begin : (m, 3) array
        Positions at the list build [m].
    skin : (m,) array
        Allowed displacement of each sphere from there [m].
    """

    first: Integers
    second: Integers
    walls: Integers
    triangle: Integers
    begin: Floats
    skin: Floats


@inlined_geometry
def nearest_on_triangle(x: Vector, corners: Floats, t: int) -> Vector:
    """Return the vector from the nearest point of a triangle to x [m] (Ericson, Real-Time Collision Detection)."""
    a = corners[t, 0, 0], corners[t, 0, 1], corners[t, 0, 2]
    b = corners[t, 1, 0] - a[0], corners[t, 1, 1] - a[1], corners[t, 1, 2] - a[2]
    c = corners[t, 2, 0] - a[0], corners[t, 2, 1] - a[1], corners[t, 2, 2] - a[2]
    p = x[0] - a[0], x[1] - a[1], x[2] - a[2]
    bb, bc, cc, pb, pc = (exact_dot3(b, b), exact_dot3(b, c), exact_dot3(c, c), exact_dot3(p, b), exact_dot3(p, c))
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
def _force(overlap: float, radius: float, crowd: Crowd) -> float:
    """Return the force at an overlap [m] and an effective radius [m], in the unit of an overlap."""
    force = overlap
    if crowd.bend > 0.0:
        force *= math.sqrt(overlap * crowd.bend)
    if crowd.size > 0.0:
        force *= math.sqrt(radius / crowd.size)
    return force


@inlined_geometry
def _note(overlap: float, width: float, force: float, branch: float, state: Floats) -> None:
    """Add a contact to the statistics in `state`."""
    strain = overlap / width
    state[LARGEST] = max(state[LARGEST], strain)
    state[MEAN] += strain
    state[CONTACTS] += 1.0
    state[FORCES] += force
    state[VIRIAL] += force * branch


@inlined_geometry
def _add(i: int, force: float, n: Vector, push: Floats) -> None:
    push[i, 0] += force * n[0]
    push[i, 1] += force * n[1]
    push[i, 2] += force * n[2]


@inlined_geometry
def _push_pairs(
    crowd: Crowd, lists: SoftContactLists, position: Floats, arm: Floats, push: Floats, state: Floats
) -> None:
    moving, period, frequency = len(crowd.region), crowd.period, crowd.frequency
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
            force = _force(overlap, crowd.radius[i] * crowd.radius[j] / reach, crowd)
            branch = distance
            if len(arm):
                branch += exact_dot3((arm[i, 0], arm[i, 1], arm[i, 2]), n)
                if j < moving:
                    branch -= exact_dot3((arm[j, 0], arm[j, 1], arm[j, 2]), n)
            _note(overlap, reach, force, branch, state)
            _add(i, -force, n, push)
            if j < moving:
                _add(j, force, n, push)


@inlined_geometry
def _is_repeated(k: int, i: int, d: Vector, crowd: Crowd, lists: SoftContactLists, position: Floats) -> bool:
    """Return whether the nearest point of a triangle belongs to a nearer triangle, or to an earlier one."""
    x = position[i, 0], position[i, 1], position[i, 2]
    point, squared = (x[0] - d[0], x[1] - d[1], x[2] - d[2]), exact_dot3(d, d)
    close = SAME_PLACE * crowd.radius[i]
    for other in range(lists.walls[i], lists.walls[i + 1]):
        e = nearest_on_triangle(x, crowd.corners, lists.triangle[other])
        nearer = exact_dot3(e, e) < squared or (exact_dot3(e, e) == squared and other < k)
        if nearer:
            gap = nearest_on_triangle(point, crowd.corners, lists.triangle[other])
            if exact_dot3(gap, gap) < close * close:
                return True
    return False


@inlined_geometry
def _push_from_walls(
    crowd: Crowd, lists: SoftContactLists, position: Floats, arm: Floats, push: Floats, state: Floats
) -> None:
    for i in range(len(crowd.region)):
        r = crowd.radius[i]
        for k in range(lists.walls[i], lists.walls[i + 1]):
            t = lists.triangle[k]
            d = nearest_on_triangle((position[i, 0], position[i, 1], position[i, 2]), crowd.corners, t)
            squared = exact_dot3(d, d)
            if squared < r * r:
                distance = max(math.sqrt(squared), 1e-12 * r)
                n = d[0] / distance, d[1] / distance, d[2] / distance
                force = _force(r - distance, r, crowd)
                if len(crowd.hardness):
                    repeated = _is_repeated(k, i, d, crowd, lists, position)
                    force *= 0.0 if repeated else crowd.hardness[t]
                _push_inward(i, r - distance, force, n, crowd, arm, push, state)


@inlined_geometry
def _push_inward(
    i: int, overlap: float, force: float, n: Vector, crowd: Crowd, arm: Floats, push: Floats, state: Floats
) -> None:
    """Push a sphere away from an object at rest."""
    r = crowd.radius[i]
    branch = r - overlap
    if len(arm):
        branch -= exact_dot3((arm[i, 0], arm[i, 1], arm[i, 2]), n)
    if force > 0.0:
        _note(overlap, 2.0 * r, force, branch, state)
        _add(i, force, n, push)


@inlined_geometry
def _is_borne(i: int, n: Vector, crowd: Crowd, lists: SoftContactLists, position: Floats) -> bool:
    """Return whether a wall supports a sphere against a side of its region."""
    if not len(crowd.hardness):
        return False
    x, r = (position[i, 0], position[i, 1], position[i, 2]), crowd.radius[i]
    for k in range(lists.walls[i], lists.walls[i + 1]):
        d = nearest_on_triangle(x, crowd.corners, lists.triangle[k])
        squared = exact_dot3(d, d)
        if squared < r * r and exact_dot3(d, n) > SAME_WAY * math.sqrt(squared):
            return True
    return False


@inlined_geometry
def _push_from_side(
    i: int,
    overlap: float,
    n: Vector,
    crowd: Crowd,
    lists: SoftContactLists,
    position: Floats,
    arm: Floats,
    push: Floats,
    state: Floats,
) -> None:
    if overlap > 0.0 and not _is_borne(i, n, crowd, lists, position):
        _push_inward(i, overlap, _force(overlap, crowd.radius[i], crowd), n, crowd, arm, push, state)


@inlined_geometry
def _axis(axis: int, sign: float) -> Vector:
    return sign if axis == 0 else 0.0, sign if axis == 1 else 0.0, sign if axis == 2 else 0.0


@inlined_geometry
def _from_centre(i: int, g: int, crowd: Crowd, position: Floats) -> Vector:
    """Return the vector from the centre of a region to a sphere [m], in 2D in the plane."""
    z = position[i, 2] - crowd.numbers[g, 2] if crowd.dimension == 3 else 0.0
    return position[i, 0] - crowd.numbers[g, 0], position[i, 1] - crowd.numbers[g, 1], z


@inlined_geometry
def _push_into_region(
    i: int, crowd: Crowd, lists: SoftContactLists, position: Floats, arm: Floats, push: Floats, state: Floats
) -> None:
    r, g = crowd.radius[i], crowd.region[i]
    kind, numbers = crowd.kind[g], crowd.numbers
    if kind == BOX:
        for axis in range(crowd.dimension):
            if numbers[g, 6 + axis] > 0.0:
                low = numbers[g, axis] + r - position[i, axis]
                high = position[i, axis] + r - numbers[g, 3 + axis]
                _push_from_side(i, low, _axis(axis, 1.0), crowd, lists, position, arm, push, state)
                _push_from_side(i, high, _axis(axis, -1.0), crowd, lists, position, arm, push, state)
        return
    d = _from_centre(i, g, crowd, position)
    outer = numbers[g, 3]
    if kind == CYLINDER:
        along = numbers[g, 3], numbers[g, 4], numbers[g, 5]
        outer, height = numbers[g, 6], exact_dot3(d, along)
        if numbers[g, 8] > 0.0:
            s = -1.0 if height > 0.0 else 1.0
            n = s * along[0], s * along[1], s * along[2]
            _push_from_side(i, abs(height) + r - numbers[g, 7], n, crowd, lists, position, arm, push, state)
        d = d[0] - height * along[0], d[1] - height * along[1], d[2] - height * along[2]
    distance = max(math.sqrt(exact_dot3(d, d)), 1e-12 * r)
    n = -d[0] / distance, -d[1] / distance, -d[2] / distance
    _push_from_side(i, distance + r - outer, n, crowd, lists, position, arm, push, state)


@inlined_geometry
def _way_out_of_box(i: int, g: int, crowd: Crowd, position: Floats) -> tuple[float, Vector]:
    """Return the depth of a centre in a box, negative outside [m], and the direction of the shortest way out."""
    numbers, deepest, n = crowd.numbers, -1.0e300, (0.0, 0.0, 0.0)
    x = y = z = 0.0
    for axis in range(crowd.dimension):
        low, high = numbers[g, axis] - position[i, axis], position[i, axis] - numbers[g, 3 + axis]
        beyond, sign = (high, 1.0) if high > low else (low, -1.0)
        if beyond > deepest:
            deepest, n = beyond, _axis(axis, sign)
        out = max(beyond, 0.0) * sign
        x, y, z = (out if axis == 0 else x), (out if axis == 1 else y), (out if axis == 2 else z)
    if deepest > 0.0:
        distance = math.sqrt(x * x + y * y + z * z)
        return -distance, (x / distance, y / distance, z / distance)
    return -deepest, n


@inlined_geometry
def _way_out_of_cylinder(i: int, g: int, crowd: Crowd, position: Floats) -> tuple[float, Vector]:
    numbers, d = crowd.numbers, _from_centre(i, g, crowd, position)
    along = numbers[g, 3], numbers[g, 4], numbers[g, 5]
    height = exact_dot3(d, along)
    across = d[0] - height * along[0], d[1] - height * along[1], d[2] - height * along[2]
    distance, sign = max(math.sqrt(exact_dot3(across, across)), 1e-300), 1.0 if height > 0.0 else -1.0
    outward = across[0] / distance, across[1] / distance, across[2] / distance
    end = sign * along[0], sign * along[1], sign * along[2]
    beside, above = distance - numbers[g, 6], abs(height) - numbers[g, 7]
    if beside > 0.0 and above > 0.0:
        away = math.sqrt(beside * beside + above * above)
        b, a = beside / away, above / away
        return -away, (b * outward[0] + a * end[0], b * outward[1] + a * end[1], b * outward[2] + a * end[2])
    return (-beside, outward) if beside > above else (-above, end)


@inlined_geometry
def _push_out(i: int, g: int, crowd: Crowd, position: Floats, arm: Floats, push: Floats, state: Floats) -> None:
    """Push a sphere out of an excluded region."""
    if crowd.kind[g] == BOX:
        depth, n = _way_out_of_box(i, g, crowd, position)
    elif crowd.kind[g] == CYLINDER:
        depth, n = _way_out_of_cylinder(i, g, crowd, position)
    else:
        d = _from_centre(i, g, crowd, position)
        distance = max(math.sqrt(exact_dot3(d, d)), 1e-300)
        depth, n = crowd.numbers[g, 3] - distance, (d[0] / distance, d[1] / distance, d[2] / distance)
    overlap = depth + crowd.radius[i]
    if overlap > 0.0:
        _push_inward(i, overlap, _force(overlap, crowd.radius[i], crowd), n, crowd, arm, push, state)


@inlined_geometry
def push_all(crowd: Crowd, lists: SoftContactLists, position: Floats, arm: Floats, push: Floats, state: Floats) -> None:
    """Write the sum of the pushes on each moving sphere (m, 3), and add all contacts to the statistics.

    `arm` (m, 3) are the vectors from the centres of bodies to their spheres [m]; empty for single spheres.
    """
    push[:] = 0.0
    state[LARGEST] = state[MEAN] = state[CONTACTS] = state[FORCES] = state[VIRIAL] = 0.0
    _push_pairs(crowd, lists, position, arm, push, state)
    _push_from_walls(crowd, lists, position, arm, push, state)
    for i in range(len(crowd.region)):
        _push_into_region(i, crowd, lists, position, arm, push, state)
        for x in range(len(crowd.excluded)):
            if crowd.excluded[x, 0] == crowd.region[i]:
                _push_out(i, crowd.excluded[x, 1], crowd, position, arm, push, state)
    push[:, crowd.dimension :] = 0.0
    state[MEAN] /= max(state[CONTACTS], 1.0)
    state[FORCES] /= max(state[CONTACTS], 1.0)
