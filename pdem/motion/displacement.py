"""The drift of a sphere: its displacement, periodic sides, and whether lists still hold for where it is then."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.numerics.box_images import in_frame, own_velocity, power, squared_from_reference, wrapped
from pdem.numerics.geometry_kernels import inlined_geometry, nearest_image

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats
    from pdem.numerics.box_images import Frame
    from pdem.numerics.vectors import Vector

LOWER, PERIOD, FREQUENCY = range(3)
"""Rows of the sides of a box, shape (3, 3): its corner [m]; the length of periodic axes [m], 0 on open ones, and its
inverse or 0 [1/m]."""


@inlined_geometry
def move_along(
    axis: int, displacement: float, before: float, reference: float, sides: Floats
) -> tuple[float, float, float]:
    """Displace the centre of a sphere along one axis of the box.

    Returns its new coordinate, wrapped on a periodic axis; the number of periods that were taken off it; and its
    distance from the reference.
    """
    x = before + displacement
    periods = np.floor((x - sides[LOWER, axis]) * sides[FREQUENCY, axis])
    x -= sides[PERIOD, axis] * periods
    away = nearest_image(x - reference, sides[PERIOD, axis], sides[FREQUENCY, axis])
    return x, periods, away


@inlined_geometry
def drifted(
    way: Vector, place: Vector, velocity: Vector, reference: Vector, sides: Floats, box: Any
) -> tuple[Vector, Vector, Vector, float]:
    """Displace the centre of a sphere, and wrap it where axes are periodic.

    Returns its new place, its velocity, which another image of a box that deforms may have, the numbers of lengths that
    were taken off, and the square of its distance from the reference. `box` are the
    `pdem.numerics.box_images.Images` of one that deforms, else None.
    """
    if box is None:
        x, tx, dx = move_along(0, way[0], place[0], reference[0], sides)
        y, ty, dy = move_along(1, way[1], place[1], reference[1], sides)
        z, tz, dz = move_along(2, way[2], place[2], reference[2], sides)
        return (x, y, z), velocity, (tx, ty, tz), dx * dx + dy * dy + dz * dz
    there = place[0] + way[0], place[1] + way[1], place[2] + way[2]
    lower = sides[LOWER, 0], sides[LOWER, 1], sides[LOWER, 2]
    x, v, turns = wrapped(there, velocity, lower, box)
    squared = squared_from_reference(in_frame(x, box.frame), in_frame(reference, box.frame), box.frame)
    return x, v, turns, squared


@inlined_geometry
def box_work_of(x: Vector, v: Vector, inverse_mass: float, dt: float, box: Any) -> float:
    """Return what the deformation of the box does in a step on the motion of a sphere relative to it [J].

    That loses momentum as the box grows, as a gas does that drives its walls.
    """
    if box is None:
        return 0.0
    return box_work_in_frame(in_frame(x, box.frame), in_frame(v, box.frame), inverse_mass, dt, box.frame)


@inlined_geometry
def box_work_in_frame(x: Vector, v: Vector, inverse_mass: float, dt: float, frame: Frame) -> float:
    """Return `box_work_of` a place and a velocity in the frame of the box [J]."""
    own = own_velocity(x, v, frame)
    return dt * power(own, own, frame) / inverse_mass


@inlined_geometry
def went_too_far(a: float, b: float, c: float, away: float, radius: float) -> bool:
    """Tell whether the displacement (a, b, c) of a sphere is longer than its radius, or its new position is not finite.

    `away` is the square of the distance of the new position from the reference. Times zero it adds nothing if it is
    finite; else the sum is NaN, and the comparison says that the sphere went too far.
    """
    return not (a * a + b * b + c * c + 0.0 * away <= radius * radius)
