"""Poses of rigid bodies: their positions and velocities, rotation about an axis, and composition of two poses.

The arithmetic runs once per wall and step, on 18 numbers. It is compiled and has the same bits on every processor,
which the library behind numpy's matrix products does not guarantee.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pdem.foundation import exact_math
from pdem.numerics.geometry_kernels import geometry_kernel, inlined_geometry
from pdem.numerics.portable.fused import fused

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats

ROTATION, TRANSLATION, SPIN, ORIGIN_VELOCITY, NUMBERS = 0, 9, 12, 15, 18
"""First indices of the parts of a pose, and the total number of its numbers."""


def cross(a: Floats, b: Floats) -> Floats:
    """Return the vector product of two vectors (3,), ten times as fast as numpy's for arrays."""
    (ax, ay, az), (bx, by, bz) = a.tolist(), b.tolist()
    return np.array((ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx))


def dot(a: Floats, b: Floats) -> float:
    """Return the scalar product of two vectors (3,), summed from x to z."""
    (ax, ay, az), (bx, by, bz) = a.tolist(), b.tolist()
    return float(ax * bx + ay * by + az * bz)


@inlined_geometry
def product(a: Floats, row: int, b: Floats, column: int, over: int) -> float:
    """Return row times column of two matrices: elements from `row` on, and every `over`-th element from `column` on."""
    first = a[row] * b[column]
    return fused(a[row + 2], b[column + 2 * over], fused(a[row + 1], b[column + over], first))


@inlined_geometry
def rotated(pose: Floats, axis: int, x: float, y: float, z: float) -> float:
    """Return a component of a vector that turns with a pose."""
    row = ROTATION + 3 * axis
    return fused(pose[row + 2], z, fused(pose[row], x, pose[row + 1] * y))


@geometry_kernel
def _square(skew: Floats, square: Floats) -> None:
    """Write the product of a (3, 3) matrix with itself, flat."""
    for row in range(3):
        for column in range(3):
            square[3 * row + column] = product(skew, 3 * row, skew, column, 3)


@geometry_kernel
def _write_rotation(
    direction: Floats, centre: Floats, skew: Floats, square: Floats, sine: float, versine: float, rate: float,
    pose: Floats,
) -> None:  # fmt: skip
    """Write the pose of a body that has turned about an axis, by Rodrigues' formula."""
    for k in range(9):
        pose[ROTATION + k] = (1.0 if k % 4 == 0 else 0.0) + sine * skew[k] + versine * square[k]
    for axis in range(3):
        pose[TRANSLATION + axis] = centre[axis] - rotated(pose, axis, centre[0], centre[1], centre[2])
        pose[SPIN + axis] = rate * direction[axis]
    for axis in range(3):
        b, c = (axis + 1) % 3, (axis + 2) % 3
        pose[ORIGIN_VELOCITY + axis] = -(pose[SPIN + b] * centre[c] - pose[SPIN + c] * centre[b])


@geometry_kernel
def _write_composition(carrier: Floats, carried: Floats, pose: Floats) -> None:
    """Write the pose of a body that moves relative to its carrier."""
    for row in range(3):
        for column in range(3):
            pose[ROTATION + 3 * row + column] = product(carrier, 3 * row, carried, column, 3)
    for axis in range(3):
        translation = rotated(carrier, axis, carried[TRANSLATION], carried[TRANSLATION + 1], carried[TRANSLATION + 2])
        pose[TRANSLATION + axis] = translation + carrier[TRANSLATION + axis]
        pose[SPIN + axis] = rotated(carrier, axis, carried[SPIN], carried[SPIN + 1], carried[SPIN + 2])
    for axis in range(3):
        b, c = (axis + 1) % 3, (axis + 2) % 3
        velocity = rotated(
            carrier, axis, carried[ORIGIN_VELOCITY], carried[ORIGIN_VELOCITY + 1], carried[ORIGIN_VELOCITY + 2]
        )
        back = pose[SPIN + b] * carrier[TRANSLATION + c] - pose[SPIN + c] * carrier[TRANSLATION + b]
        pose[ORIGIN_VELOCITY + axis] = carrier[ORIGIN_VELOCITY + axis] + velocity - back
    for axis in range(3):
        pose[SPIN + axis] = carrier[SPIN + axis] + pose[SPIN + axis]


class Pose:
    """Position, orientation and velocities of a rigid body.

    Parameters
    ----------
    numbers : (18,) array
        The parts one after the other: `rotation`, `translation`, `spin` and `origin_velocity`. Read-only.
    """

    def __init__(self, numbers: Floats) -> None:
        self.numbers = numbers

    @classmethod
    def of(cls, rotation: Floats, translation: Floats, spin: Floats, origin_velocity: Floats) -> Pose:
        """Return a pose given by its parts."""
        return cls(np.concatenate((rotation.reshape(-1), translation, spin, origin_velocity)))

    @classmethod
    def translated(cls, translation: tuple[float, ...], origin_velocity: tuple[float, ...]) -> Pose:
        """Return the pose of a body after a translation [m], at a velocity [m/s]."""
        return cls(
            np.array((1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, *translation, 0.0, 0.0, 0.0, *origin_velocity))
        )

    @property
    def rotation(self) -> Floats:
        """Rotation matrix from directions at time 0 to present directions, (3, 3)."""
        return self.numbers[ROTATION:TRANSLATION].reshape(3, 3)

    @property
    def translation(self) -> Floats:
        """Translation after the rotation, (3,) [m]."""
        return self.numbers[TRANSLATION:SPIN]

    @property
    def spin(self) -> Floats:
        """Angular velocity, (3,) [rad/s]."""
        return self.numbers[SPIN:ORIGIN_VELOCITY]

    @property
    def origin_velocity(self) -> Floats:
        """Velocity of the body at the origin of space, (3,) [m/s]; at x it is ``origin_velocity + spin x x``."""
        return self.numbers[ORIGIN_VELOCITY:]

    def place(self, points: Floats) -> Floats:
        """Return the present positions of points (n, 3) of time 0 [m]."""
        return exact_math.matmul(points, self.rotation.T) + self.translation

    def velocity_at(self, place: Floats) -> Floats:
        """Return the velocity of the body at positions (..., 3) in space [m/s]."""
        return self.origin_velocity + (cross(self.spin, place) if place.ndim == 1 else np.cross(self.spin, place))

    def carrying(self, carried: Pose) -> Pose:
        """Return the pose of a body that has the pose `carried` relative to this body."""
        numbers = np.empty(NUMBERS)
        _write_composition(self.numbers, carried.numbers, numbers)
        return Pose(numbers)


REST = Pose.translated((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
"""The pose of a body that does not move."""


class RotationAxis:
    """An axis about which bodies turn.

    Parameters
    ----------
    direction, centre : (3,) arrays
        Unit vector, and a point on the axis [m].
    """

    def __init__(self, direction: Floats, centre: Floats) -> None:
        self.direction = np.array(direction, np.float64)
        self.centre = np.array(centre, np.float64)
        x, y, z = self.direction.tolist()
        self._skew, self._square = np.array((0.0, -z, y, z, 0.0, -x, -y, x, 0.0)), np.empty(9)
        _square(self._skew, self._square)

    def turned(self, angle: float, rate: float) -> Pose:
        """Return the pose after a rotation by a right-handed angle that grows at a rate [rad, rad/s]."""
        angle = math.remainder(angle, 2.0 * math.pi)
        numbers = np.empty(NUMBERS)
        _write_rotation(
            self.direction, self.centre, self._skew, self._square, exact_math.sin(angle),
            1.0 - exact_math.cos(angle), rate,
            numbers,
        )  # fmt: skip
        return Pose(numbers)
