"""Poses of rigid bodies: their positions and velocities, rotation about an axis, and composition of two poses.

The arithmetic is done once per wall and step, on 18 numbers. It is compiled, and has the same bits on every processor,
which the library that multiplies numpy's matrices does not promise.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pdem.foundation.fused import fused
from pdem.foundation.geometry_kernels import geometry_kernel, inlined_geometry

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]

ROTATION, SHIFT, SPIN, FLOW, NUMBERS = 0, 9, 12, 15, 18
"""Where the parts of a pose begin among its numbers, and how many these are."""


def cross(a: Floats, b: Floats) -> Floats:
    """Return the vector product of two vectors (3,), ten times as fast as numpy's for arrays."""
    (ax, ay, az), (bx, by, bz) = a.tolist(), b.tolist()
    return np.array((ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx))


def dot(a: Floats, b: Floats) -> float:
    """Return the scalar product of two vectors (3,), added up in this order."""
    (ax, ay, az), (bx, by, bz) = a.tolist(), b.tolist()
    return float(ax * bx + ay * by + az * bz)


@inlined_geometry
def product(a: Floats, row: int, b: Floats, column: int, over: int) -> float:
    """Return row times column of two matrices: numbers from `row` on, and from `column` on every `over`."""
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
        pose[SHIFT + axis] = centre[axis] - rotated(pose, axis, centre[0], centre[1], centre[2])
        pose[SPIN + axis] = rate * direction[axis]
    for axis in range(3):
        b, c = (axis + 1) % 3, (axis + 2) % 3
        pose[FLOW + axis] = -(pose[SPIN + b] * centre[c] - pose[SPIN + c] * centre[b])


@geometry_kernel
def _write_composition(carrier: Floats, carried: Floats, pose: Floats) -> None:
    """Write the pose of a body that moves relative to another one."""
    for row in range(3):
        for column in range(3):
            pose[ROTATION + 3 * row + column] = product(carrier, 3 * row, carried, column, 3)
    for axis in range(3):
        shift = rotated(carrier, axis, carried[SHIFT], carried[SHIFT + 1], carried[SHIFT + 2])
        pose[SHIFT + axis] = shift + carrier[SHIFT + axis]
        pose[SPIN + axis] = rotated(carrier, axis, carried[SPIN], carried[SPIN + 1], carried[SPIN + 2])
    for axis in range(3):
        b, c = (axis + 1) % 3, (axis + 2) % 3
        flow = rotated(carrier, axis, carried[FLOW], carried[FLOW + 1], carried[FLOW + 2])
        back = pose[SPIN + b] * carrier[SHIFT + c] - pose[SPIN + c] * carrier[SHIFT + b]
        pose[FLOW + axis] = carrier[FLOW + axis] + flow - back
    for axis in range(3):
        pose[SPIN + axis] = carrier[SPIN + axis] + pose[SPIN + axis]


class Pose:
    """Where a rigid body is, and how it moves.

    Parameters
    ----------
    numbers : (18,) array
        One after the other: `rotation`, `shift`, `spin` and `flow`. Nobody writes into it.
    """

    def __init__(self, numbers: Floats) -> None:
        self.numbers = numbers

    @classmethod
    def of(cls, rotation: Floats, shift: Floats, spin: Floats, flow: Floats) -> Pose:
        """Return a pose given by its parts."""
        return cls(np.concatenate((rotation.reshape(-1), shift, spin, flow)))

    @classmethod
    def shifted(cls, shift: tuple[float, ...], flow: tuple[float, ...]) -> Pose:
        """Return the pose of a body that has moved along [m], at a velocity [m/s]."""
        return cls(np.array((1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, *shift, 0.0, 0.0, 0.0, *flow)))

    @property
    def rotation(self) -> Floats:
        """Turns places of time 0 to their present directions, (3, 3)."""
        return self.numbers[ROTATION:SHIFT].reshape(3, 3)

    @property
    def shift(self) -> Floats:
        """Then added to them, (3,) [m]."""
        return self.numbers[SHIFT:SPIN]

    @property
    def spin(self) -> Floats:
        """Angular velocity, (3,) [rad/s]."""
        return self.numbers[SPIN:FLOW]

    @property
    def flow(self) -> Floats:
        """Velocity of the body at the origin of space, (3,): at x it is ``flow + spin x x`` [m/s]."""
        return self.numbers[FLOW:]

    def place(self, points: Floats) -> Floats:
        """Return the present places of points (n, 3) of time 0 [m]."""
        return points @ self.rotation.T + self.shift

    def velocity(self, place: Floats) -> Floats:
        """Return the velocity of the body at places (..., 3) in space [m/s]."""
        return self.flow + (cross(self.spin, place) if place.ndim == 1 else np.cross(self.spin, place))

    def carrying(self, carried: Pose) -> Pose:
        """Return the pose of a body that moves so relative to this one."""
        numbers = np.empty(NUMBERS)
        _write_composition(self.numbers, carried.numbers, numbers)
        return Pose(numbers)


REST = Pose.shifted((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
"""The pose of what does not move."""


class Axis:
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
        """Return the pose of what has turned by a right-handed angle that grows at a rate [rad, rad/s]."""
        angle = math.remainder(angle, 2.0 * math.pi)
        numbers = np.empty(NUMBERS)
        _write_rotation(
            self.direction, self.centre, self._skew, self._square, math.sin(angle), 1.0 - math.cos(angle), rate,
            numbers,
        )  # fmt: skip
        return Pose(numbers)
