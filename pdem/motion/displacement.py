"""The drift of a sphere: its displacement, periodic wrapping, and the displacement since lists were made."""

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
"""Rows of the sides of a box, shape (3, 3): its corner [m]; the length of periodic axes [m], 0 on open axes; and the
inverse of the length, or 0 [1/m]."""


@inlined_geometry
def move_along(
    axis: int, displacement: float, before: float, reference: float, sides: Floats
) -> tuple[float, float, float]:
    """Displace the centre of a sphere along one axis of the box.

    Returns its new coordinate, wrapped on a periodic axis; the number of periods that were subtracted; and the distance
    from the reference along this axis.
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

    Returns its new position; its velocity, which differs between images of a deforming box; the numbers of periods that
    were subtracted; and the square of its distance from the reference. `box` are the `pdem.numerics.box_images.Images`
    of a deforming box, else None.
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
    """Return the work of the deformation of the box in a step on the motion of a sphere relative to the box [J].

    As the box grows, the relative motion loses momentum, like a gas that pushes moving walls.
    """
    if box is None:
        return 0.0
    return box_work_in_frame(in_frame(x, box.frame), in_frame(v, box.frame), inverse_mass, dt, box.frame)


@inlined_geometry
def box_work_in_frame(x: Vector, v: Vector, inverse_mass: float, dt: float, frame: Frame) -> float:
    """Return `box_work_of` for a position and a velocity in the frame of the box [J]."""
    own = own_velocity(x, v, frame)
    return dt * power(own, own, frame) / inverse_mass


@inlined_geometry
def went_too_far(a: float, b: float, c: float, away: float, radius: float) -> bool:
    """Return whether a sphere moved too far: its displacement (a, b, c) exceeds its radius, or is not finite.

    `away` is the square of the distance of the new position from the reference. Zero times a finite `away` adds
    nothing; otherwise the sum is NaN, and the comparison reports that the sphere went too far.
    """
    return not (a * a + b * b + c * c + 0.0 * away <= radius * radius)
