"""Motion of particles relative to walls, for the contacts of a block, and surfaces that move by themselves.

The motion of the surface of a belt is added in a second pass over the contacts with this wall, so that walls without
such a motion cost nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.contact.law.parts import TINY
from pdem.contact.pairs.layout import CONTACT_X, NORMAL_X, ROLLING_X, SLIP_X, SPIN, STRIDE
from pdem.contact.walls.stages import (
    COUNTED,
    OLD_NORMAL_X,
    POINT_X,
    WALL_SPIN_X,
    WALL_VELOCITY_X,
    row3,
    wall_kinematics,
)
from pdem.motion.surfaces import CENTRE, LEAST_TANGENT, VELOCITY
from pdem.motion.surfaces import SPIN as SURFACE_SPIN
from pdem.numerics.geometry_kernels import inlined_geometry
from pdem.numerics.kernels import inlined
from pdem.numerics.simd.unsigned_index import offset
from pdem.numerics.vectors import exact_cross3, exact_dot3, exact_minus3, get3, put3, square_root

if TYPE_CHECKING:
    from pdem.contact.geometry.surface_arrays import Found
    from pdem.contact.walls.arguments import WallMotion, WallParameters, WallWork
    from pdem.foundation.array_types import Floats, Int32s
    from pdem.numerics.vectors import Vector


@inlined_geometry
def surface_velocity(point: Vector, normal: Vector, state: Floats) -> Vector:
    """Return the velocity of a surface at a point, relative to its wall: rotated into the tangent plane, same speed.

    `state` are the rows of `pdem.motion.surfaces.SurfaceMotion` of its wall.
    """
    arm = exact_minus3(point, row3(state, CENTRE))
    turning, v = exact_cross3(row3(state, SURFACE_SPIN), arm), row3(state, VELOCITY)
    v = v[0] + turning[0], v[1] + turning[1], v[2] + turning[2]
    along = exact_dot3(v, normal)
    t = v[0] - along * normal[0], v[1] - along * normal[1], v[2] - along * normal[2]
    aside, whole = exact_dot3(t, t), exact_dot3(v, v)
    scale = square_root(whole / aside) if aside > LEAST_TANGENT * whole else 0.0
    return scale * t[0], scale * t[1], scale * t[2]


@inlined_geometry
def add_surface_motion(at: int, begin: int, end: int, wall: int, motion: WallMotion, work: WallWork) -> None:
    """Add the velocity of the moving surface of a wall to the motion at its contacts from `begin` to `end` - 1.

    This velocity has no part along the normal of the middle of the step: it does not change overlaps. Its work is
    counted for any kind of wall.
    """
    numbers, state, counts = work.columns, motion.surface_state[wall], float(motion.counted[wall])
    o = row3(state, SURFACE_SPIN)
    for c in range(begin, end):
        w = offset(at, c)
        n, old = get3(numbers, w + NORMAL_X, STRIDE), get3(numbers, w + OLD_NORMAL_X, STRIDE)
        mx, my, mz = n[0] + old[0], n[1] + old[1], n[2] + old[2]
        inverse = 1.0 / max(square_root(mx * mx + my * my + mz * mz), TINY)
        m = mx * inverse, my * inverse, mz * inverse
        q = surface_velocity(get3(numbers, w + POINT_X, STRIDE), m, state)
        put3(numbers, w + CONTACT_X, STRIDE, exact_minus3(get3(numbers, w + CONTACT_X, STRIDE), q))
        put3(numbers, w + SLIP_X, STRIDE, exact_minus3(get3(numbers, w + SLIP_X, STRIDE), q))
        put3(numbers, w + ROLLING_X, STRIDE, exact_minus3(get3(numbers, w + ROLLING_X, STRIDE), o))
        numbers[w + SPIN] += 0.5 * exact_dot3(o, n)
        v, s = get3(numbers, w + WALL_VELOCITY_X, STRIDE), get3(numbers, w + WALL_SPIN_X, STRIDE)
        whole = counts * v[0] + q[0], counts * v[1] + q[1], counts * v[2] + q[2]
        put3(numbers, w + WALL_VELOCITY_X, STRIDE, whole)
        put3(numbers, w + WALL_SPIN_X, STRIDE, (counts * s[0] + o[0], counts * s[1] + o[1], counts * s[2] + o[2]))
        numbers[w + COUNTED] = 1.0


@inlined
def walls_kinematics(
    at: int, block: int, first: int, count: int, materials: float, facet_wall: Int32s,
    found: Found, parameters: WallParameters, motion: WallMotion, work: WallWork,
) -> int:  # fmt: skip
    """Compute the motion at all contacts of a block, wall by wall.

    Returns how many contacts have a pair of materials that differs from `materials`.
    """
    begin = others = 0
    while begin < count:
        wall = facet_wall[found.facet[work.row[first + begin]]]
        end = begin + 1
        while end < count and facet_wall[found.facet[work.row[first + end]]] == wall:
            end += 1
        others += wall_kinematics(at, block, begin, end, wall, materials, parameters, motion, work)
        if motion.surface_moves[wall]:
            add_surface_motion(at, begin, end, wall, motion, work)
        begin = end
    return others
