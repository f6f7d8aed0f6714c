"""Rotation of a rigid body: none, about one axis, or free.

The state has the angular momentum in space, to which torques are added and which nothing else changes: without torque
it stays the same, to the bit (`pdem.motion.rigid_rotation`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from pdem.containers.principal_axes import principal_axes
from pdem.foundation import exact_math
from pdem.foundation.rotations import quaternion_of
from pdem.motion.drives import NOTHING
from pdem.motion.poses import RotationAxis, dot
from pdem.motion.rigid_rotation import turned

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats


class Spin(Protocol):
    """Rotation of a body.

    Attributes
    ----------
    rotation : (3, 3) array
        Rotation matrix from directions at time 0 to present directions.
    """

    rotation: Floats

    def kick(self, torque: Floats, time: float) -> None:
        """Apply a torque (3,) for a time [N m, s]."""
        ...

    def drift(self, time: float) -> None:
        """Turn without torque for a time [s]."""
        ...

    def velocity(self) -> Floats:
        """Return the angular velocity (3,) [rad/s]."""
        ...

    def inverse_inertia(self) -> Floats:
        """Return the matrix from angular momentum to angular velocity, (3, 3) [1/(kg m^2)]."""
        ...

    def energy(self) -> float:
        """Return the energy of rotation [J]."""
        ...

    def state(self) -> Floats:
        """Return attitude (4), angular momentum (3), travel and its rate, (9,)."""
        ...

    def load_state(self, state: Floats) -> None:
        """Restore a saved state."""
        ...


class NoSpin:
    """A body that does not turn."""

    def __init__(self) -> None:
        self.rotation = np.eye(3)

    def kick(self, torque: Floats, time: float) -> None:
        """Ignore the torque."""

    def drift(self, time: float) -> None:
        """Do nothing: the body keeps its attitude."""

    def velocity(self) -> Floats:
        """Return zeros."""
        return NOTHING

    def inverse_inertia(self) -> Floats:
        """Return zeros."""
        return np.zeros((3, 3))

    def energy(self) -> float:
        """Return 0."""
        return 0.0

    def state(self) -> Floats:
        """Return zeros."""
        return np.zeros(9)

    def load_state(self, state: Floats) -> None:
        """Ignore the state."""


class AxisSpin:
    """Rotation about one fixed axis.

    Parameters
    ----------
    axis : (3,) array
        Unit vector.
    inertia : float
        Moment of inertia about the axis [kg m^2].
    rate : float
        Angular velocity at time 0 [rad/s].
    """

    def __init__(self, axis: Floats, inertia: float, rate: float) -> None:
        self.axis, self.inertia, self.rate, self.angle = axis, inertia, rate, 0.0
        self.rotation = np.eye(3)
        self._line = RotationAxis(axis, NOTHING)

    def kick(self, torque: Floats, time: float) -> None:
        """Apply the component of the torque along the axis for a time."""
        self.rate += time * dot(self.axis, torque) / self.inertia

    def drift(self, time: float) -> None:
        """Turn for a time."""
        self.angle += time * self.rate
        self.rotation = self._line.turned(self.angle, 0.0).rotation

    def velocity(self) -> Floats:
        """Return the angular velocity."""
        return self.rate * self.axis

    def inverse_inertia(self) -> Floats:
        """Return the inverse inertia about the axis; zero about other directions."""
        return self.axis[:, None] * self.axis / self.inertia

    def energy(self) -> float:
        """Return half of inertia times rate squared."""
        return 0.5 * self.inertia * self.rate * self.rate

    def state(self) -> Floats:
        """Return angle and rate."""
        return np.array((0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, self.angle, self.rate))

    def load_state(self, state: Floats) -> None:
        """Restore angle and rate."""
        self.angle, self.rate = state[7:].tolist()
        self.rotation = self._line.turned(self.angle, 0.0).rotation


class TopSpin:
    """Free rotation.

    Parameters
    ----------
    inertia : (3, 3) array
        Inertia about the centre of mass at time 0 [kg m^2], symmetric and positive.
    velocity : (3,) array
        Angular velocity at time 0 [rad/s].
    """

    def __init__(self, inertia: Floats, velocity: Floats) -> None:
        moments, self.axes = principal_axes(inertia)
        self.principal: list[float] = moments.tolist()
        one, two, three = self.principal
        self._answers = 1.0 / one, 1.0 / two, 1.0 / three
        self._frame = quaternion_of(self.axes)
        self._stand((1.0, 0.0, 0.0, 0.0))
        self.momentum = np.asarray(exact_math.inner(inertia, velocity))

    def _stand(self, attitude: tuple[float, float, float, float]) -> None:
        """Set the attitude, and update the numbers that follow from it."""
        self.attitude = attitude
        self.rotation = _matrix(attitude)
        axes = exact_math.matmul(self.rotation, self.axes)
        self._inverse: Floats = exact_math.matmul(axes / np.array(self.principal), axes.T)

    def kick(self, torque: Floats, time: float) -> None:
        """Apply a torque for a time."""
        self.momentum = self.momentum + time * torque

    def drift(self, time: float) -> None:
        """Turn without torque for a time."""
        one, two, three = self.momentum.tolist()
        there = turned(_product(self.attitude, self._frame), (one, two, three), self._answers, time)
        w, x, y, z = self._frame
        self._stand(_product(there, (w, -x, -y, -z)))

    def velocity(self) -> Floats:
        """Return the angular velocity."""
        return np.asarray(exact_math.inner(self._inverse, self.momentum))

    def inverse_inertia(self) -> Floats:
        """Return the inverse of the present tensor of inertia."""
        return self._inverse

    def energy(self) -> float:
        """Return half of angular momentum times angular velocity."""
        return 0.5 * dot(self.momentum, self.velocity())

    def state(self) -> Floats:
        """Return attitude and angular momentum."""
        return np.array((*self.attitude, *self.momentum, 0.0, 0.0))

    def load_state(self, state: Floats) -> None:
        """Restore attitude and angular momentum."""
        w, x, y, z = state[:4].tolist()
        self._stand((w, x, y, z))
        self.momentum = state[4:7].copy()


def _product(
    a: tuple[float, float, float, float], b: tuple[float, float, float, float]
) -> tuple[float, float, float, float]:
    """Return the product of two quaternions."""
    return (
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    )


def _matrix(q: tuple[float, float, float, float]) -> Floats:
    """Return the rotation matrix of a unit quaternion."""
    w, x, y, z = q
    return np.array(
        (
            (1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)),
            (2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)),
            (2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)),
        )
    )
