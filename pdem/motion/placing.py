"""Kernels for moving walls: positions and velocities of their points, and displacements of their corners."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pdem.motion.poses import ORIGIN_VELOCITY, ROTATION, SPIN, TRANSLATION, product, rotated
from pdem.numerics.geometry_kernels import geometry_kernel, inlined_geometry

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats, Integers

ANCHOR, ANCHOR_VELOCITY, CENTRE, VELOCITY, ANGULAR_VELOCITY, CORNERS = range(6)
"""State of each wall, rows of an array (13, walls, 3): positions of anchor and centre [m] and their velocities
[m/s], angular velocity [rad/s], and from `CORNERS` on the positions of the eight corners of its bounding box [m]."""

ROWS = CORNERS + 8


@geometry_kernel
def place_rows(rows: Integers, pose: Floats, shifted: bool, reference: Floats, result: Floats) -> None:
    """Write the present positions of some points, or directions unless they are `shifted`.

    Every row is computed independently: its bits do not depend on other rows.
    """
    for place in range(len(rows)):
        row = rows[place]
        x, y, z = reference[row, 0], reference[row, 1], reference[row, 2]
        for axis in range(3):
            k = ROTATION + 3 * axis
            shift = pose[TRANSLATION + axis] if shifted else 0.0
            result[row, axis] = pose[k] * x + pose[k + 1] * y + pose[k + 2] * z + shift


@inlined_geometry
def _write_velocity(pose: Floats, state: Floats, wall: int, place: int, row: int) -> None:
    """Write the velocity of a wall at one of its points."""
    for axis in range(3):
        b, c = (axis + 1) % 3, (axis + 2) % 3
        turning = pose[SPIN + b] * state[place, wall, c] - pose[SPIN + c] * state[place, wall, b]
        state[row, wall, axis] = pose[ORIGIN_VELOCITY + axis] + turning


@geometry_kernel
def write_state(now: Floats, frame: Floats, centre: Floats, corners: Floats, wall: int, state: Floats) -> None:
    """Write the state of a wall.

    Parameters
    ----------
    now, frame : (18,) arrays
        Present poses of the wall, and of the frame in which its centre rests.
    centre : (3,) array
        Centre at time 0 [m]; the point of the wall that was there at time 0 is the anchor.
    corners : (24,) array
        Corners of a box around the wall at time 0 [m].
    wall : int
        Index of the wall.
    state : (13, walls, 3) array
        State of all walls; written.
    """
    x, y, z = centre[0], centre[1], centre[2]
    for axis in range(3):
        state[ANCHOR, wall, axis] = rotated(now, axis, x, y, z) + now[TRANSLATION + axis]
        state[CENTRE, wall, axis] = rotated(frame, axis, x, y, z) + frame[TRANSLATION + axis]
        state[ANGULAR_VELOCITY, wall, axis] = now[SPIN + axis]
        for corner in range(8):
            turned = product(corners, 3 * corner, now, ROTATION + 3 * axis, 1)
            state[CORNERS + corner, wall, axis] = turned + now[TRANSLATION + axis]
    _write_velocity(now, state, wall, ANCHOR, ANCHOR_VELOCITY)
    _write_velocity(now, state, wall, CENTRE, VELOCITY)


@geometry_kernel
def write_mean_velocity(
    now: Floats, then: Floats, centre: Floats, step: float, wall: int, state: Floats, gradient: Floats, mean: Floats
) -> bool:
    """Write the mean velocities of a wall over a step, or the present ones if `step` is 0; return whether all are 0.

    A point of the body that is now at x has moved at ``mean + gradient (x - anchor)``, rows of (walls, 3)
    and (walls, 3, 3).
    """
    x, y, z = centre[0], centre[1], centre[2]
    rests = True
    for axis in range(3):
        b, c = (axis + 1) % 3, (axis + 2) % 3
        if step == 0.0:
            gradient[wall, axis, axis], gradient[wall, axis, b], gradient[wall, axis, c] = (
                0.0,
                -state[ANGULAR_VELOCITY, wall, c],
                state[ANGULAR_VELOCITY, wall, b],
            )
            mean[wall, axis] = state[ANCHOR_VELOCITY, wall, axis]
        else:
            for k in range(3):
                same = product(then, ROTATION + 3 * axis, now, ROTATION + 3 * k, 1)
                gradient[wall, axis, k] = ((1.0 if k == axis else 0.0) - same) / step
            before = rotated(then, axis, x, y, z) + then[TRANSLATION + axis]
            mean[wall, axis] = (state[ANCHOR, wall, axis] - before) / step
        rests &= (
            (gradient[wall, axis, 0] == 0.0)
            & (gradient[wall, axis, 1] == 0.0)
            & (gradient[wall, axis, 2] == 0.0)
            & (mean[wall, axis] == 0.0)
        )
    return rests


@geometry_kernel
def largest_displacement(then: Floats, corners: Floats, wall: int, state: Floats) -> float:
    """Return the largest displacement of a corner of a wall's box since a pose [m]; NaN if one is NaN."""
    worst = 0.0
    for corner in range(8):
        square = 0.0
        for axis in range(3):
            before = product(corners, 3 * corner, then, ROTATION + 3 * axis, 1) + then[TRANSLATION + axis]
            square += (state[CORNERS + corner, wall, axis] - before) ** 2
        worst = worst if square <= worst else square if worst == worst else worst
    return math.sqrt(worst)


@geometry_kernel
def largest_distance(state: Floats, listed: Floats) -> float:
    """Return the largest distance of a corner of any wall from its old position, (8, walls, 3) [m]."""
    worst = 0.0
    for corner in range(8):
        for wall in range(state.shape[1]):
            square = 0.0
            for axis in range(3):
                square += (state[CORNERS + corner, wall, axis] - listed[corner, wall, axis]) ** 2
            worst = max(worst, square)
    return math.sqrt(worst)
