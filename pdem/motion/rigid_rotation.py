"""Change of the orientation of a rigid body without torque.

The angular momentum of the body in space changes by torques only: without torque it stays the same, to the bit. The
orientation is rotated about one principal axis after the other, by the angles that follow from the components of the
angular momentum (A. Dullweber, B. Leimkuhler, R. McLachlan, J. Chem. Phys. 107 (1997) 5840). This splitting is
symmetric, of second order, and symplectic, so that the energy of a free top oscillates a little and does not drift.

A rotation by the angle p uses p / 4 for ``tan(p / 4)``, which changes the angle in third order. Only sums, products and
quotients remain, which have the same bits on every processor and in vector code.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pdem.numerics.geometry_kernels import inlined_geometry

if TYPE_CHECKING:
    from pdem.numerics.vectors import Vector

    Quaternion = tuple[float, float, float, float]
    Matrix = tuple[float, float, float, float, float, float, float, float, float]


@inlined_geometry
def turned(orientation: Quaternion, momentum: Vector, inverse: Vector, time: float) -> Quaternion:
    """Return the orientation of a free body after a time.

    Parameters
    ----------
    orientation : tuple of 4 float
        Unit quaternion w, x, y, z that rotates principal axes of the body to directions in space.
    momentum : tuple of 3 float
        Angular momentum about the centre of mass, in space [kg m^2/s].
    inverse : tuple of 3 float
        One over the principal moments of inertia [1/(kg m^2)].
    time : float
        Duration [s]; a negative time undoes the rotation of the same positive time.
    """
    (w, x, y, z), (lx, ly, lz), (ix, iy, iz) = orientation, momentum, inverse
    half, whole = 0.125 * time, 0.25 * time
    w, x, y, z = _about_first(w, x, y, z, lx, ly, lz, half * ix)
    w, y, z, x = _about_first(w, y, z, x, ly, lz, lx, half * iy)
    w, z, x, y = _about_first(w, z, x, y, lz, lx, ly, whole * iz)
    w, y, z, x = _about_first(w, y, z, x, ly, lz, lx, half * iy)
    w, x, y, z = _about_first(w, x, y, z, lx, ly, lz, half * ix)
    scale = 1.0 / math.sqrt(w * w + x * x + y * y + z * z)
    return w * scale, x * scale, y * scale, z * scale


@inlined_geometry
def _about_first(
    w: float, a: float, b: float, c: float, la: float, lb: float, lc: float, quarter: float
) -> Quaternion:  # fmt: skip
    """Return an orientation turned about the first of three principal axes, which are in cyclic order.

    `quarter` is a fourth of the time over the moment of inertia about that axis.
    """
    along = (1.0 - 2.0 * (b * b + c * c)) * la + 2.0 * ((a * b + w * c) * lb + (a * c - w * b) * lc)
    t = quarter * along
    scale = 1.0 / (1.0 + t * t)
    cosine, sine = (1.0 - t * t) * scale, 2.0 * t * scale
    return w * cosine - a * sine, a * cosine + w * sine, b * cosine + c * sine, c * cosine - b * sine


@inlined_geometry
def matrix_of(orientation: Quaternion) -> Matrix:
    """Return the rotation matrix of an orientation, row by row: it takes vectors of the body to space."""
    w, x, y, z = orientation
    return (
        1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y),
        2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x),
        2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y),
    )  # fmt: skip


@inlined_geometry
def to_space_by(matrix: Matrix, vector: Vector) -> Vector:
    """Return a vector of the body in space."""
    (a, b, c), (xa, xb, xc, ya, yb, yc, za, zb, zc) = vector, matrix
    return xa * a + (xb * b + xc * c), yb * b + (yc * c + ya * a), zc * c + (za * a + zb * b)


@inlined_geometry
def to_body_by(matrix: Matrix, vector: Vector) -> Vector:
    """Return a vector of space in the frame of the body."""
    (a, b, c), (xa, xb, xc, ya, yb, yc, za, zb, zc) = vector, matrix
    return xa * a + (ya * b + za * c), yb * b + (zb * c + xb * a), zc * c + (xc * a + yc * b)


@inlined_geometry
def to_space(orientation: Quaternion, vector: Vector) -> Vector:
    """Return a vector of the body in space."""
    return to_space_by(matrix_of(orientation), vector)


@inlined_geometry
def to_body(orientation: Quaternion, vector: Vector) -> Vector:
    """Return a vector of space in the frame of the body."""
    return to_body_by(matrix_of(orientation), vector)


@inlined_geometry
def angular_velocity(orientation: Quaternion, momentum: Vector, inverse: Vector) -> Vector:
    """Return the angular velocity in space [rad/s]; parameters as in `turned`."""
    return angular_velocity_by(matrix_of(orientation), momentum, inverse)


@inlined_geometry
def angular_velocity_by(matrix: Matrix, momentum: Vector, inverse: Vector) -> Vector:
    """Return the angular velocity in space [rad/s] of a body with this rotation matrix, like `angular_velocity`."""
    a, b, c = to_body_by(matrix, momentum)
    return to_space_by(matrix, (a * inverse[0], b * inverse[1], c * inverse[2]))
