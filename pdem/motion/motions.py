"""Rigid motions as functions of the time alone: turning, moving along, to and fro, by tables, one carried by another.

A `Motion` maps the places x that points have at time 0 to ``rotation(t) x + shift(t)``; at time 0 it changes nothing.
Motions are composed: a motion that is carried by another is described in the frame of that one, and since at time
0 all frames are the same, all axes and centres are those of time 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Vector: TypeAlias = tuple[float, float, float]
    Floats: TypeAlias = NDArray[np.float64]


def cross(a: Floats, b: Floats) -> Floats:
    """Return the vector product of two vectors (3,), ten times as fast as numpy's for arrays."""
    (ax, ay, az), (bx, by, bz) = a.tolist(), b.tolist()
    return np.array((ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx))


def dot(a: Floats, b: Floats) -> float:
    """Return the scalar product of two vectors (3,), added up in this order."""
    (ax, ay, az), (bx, by, bz) = a.tolist(), b.tolist()
    return float(ax * bx + ay * by + az * bz)


@dataclass(frozen=True)
class Pose:
    """Where a rigid body is, and how it moves.

    Attributes
    ----------
    rotation : (3, 3) array
        Turns places of time 0 to their present directions.
    shift : (3,) array
        Then added to them [m].
    spin : (3,) array
        Angular velocity [rad/s].
    flow : (3,) array
        Velocity the body has at the origin of space: at x it is ``flow + spin x x`` [m/s].
    """

    rotation: Floats
    shift: Floats
    spin: Floats
    flow: Floats

    def place(self, points: Floats) -> Floats:
        """Return the present places of points (n, 3) of time 0 [m]."""
        return points @ self.rotation.T + self.shift

    def velocity(self, place: Floats) -> Floats:
        """Return the velocity of the body at places (..., 3) in space [m/s]."""
        return self.flow + (cross(self.spin, place) if place.ndim == 1 else np.cross(self.spin, place))

    def carrying(self, carried: Pose) -> Pose:
        """Return the pose of a body that moves so relative to this one."""
        spin = self.rotation @ carried.spin
        return Pose(
            self.rotation @ carried.rotation,
            self.rotation @ carried.shift + self.shift,
            self.spin + spin,
            self.flow + self.rotation @ carried.flow - cross(spin, self.shift),
        )


REST = Pose(np.eye(3), np.zeros(3), np.zeros(3), np.zeros(3))
"""The pose of what does not move."""


def turned(direction: Floats, centre: Floats, angle: float, rate: float) -> Pose:
    """Return the pose of what has turned about an axis, by Rodrigues' formula.

    Parameters
    ----------
    direction, centre : (3,) arrays
        Unit vector, and a point on the axis [m].
    angle, rate : float
        Right-handed [rad], and how it grows [rad/s].
    """
    angle = math.remainder(angle, 2.0 * math.pi)
    x, y, z = direction
    skew = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    rotation = np.eye(3) + math.sin(angle) * skew + (1.0 - math.cos(angle)) * (skew @ skew)
    spin = rate * direction
    return Pose(rotation, centre - rotation @ centre, spin, -cross(spin, centre))


class Course(Protocol):
    """A quantity as a function of the time, 0 at time 0."""

    def __call__(self, time: float) -> tuple[float, float]:
        """Return the value and its rate at a time [s]."""
        ...

    @property
    def largest_rate(self) -> float:
        """Largest absolute rate at any time."""
        ...


@dataclass(frozen=True)
class Steady:
    """Growing at a constant rate.

    Attributes
    ----------
    rate : float
        Per second.
    """

    rate: float

    def __call__(self, time: float) -> tuple[float, float]:
        """Return the value and its rate at a time [s]."""
        return self.rate * time, self.rate

    @property
    def largest_rate(self) -> float:
        """Absolute rate."""
        return abs(self.rate)


@dataclass(frozen=True)
class Oscillating:
    """``amplitude (sin(2 pi frequency t + phase) - sin phase)``.

    Attributes
    ----------
    amplitude, frequency, phase : float
        Of the quantity, in Hz, in rad.
    """

    amplitude: float
    frequency: float
    phase: float = 0.0

    def __call__(self, time: float) -> tuple[float, float]:
        """Return the value and its rate at a time [s]."""
        rate = 2.0 * math.pi * self.frequency
        turn = 2.0 * math.pi * math.remainder(self.frequency * time, 1.0) + self.phase
        value = self.amplitude * (math.sin(turn) - math.sin(self.phase))
        return value, self.amplitude * rate * math.cos(turn)

    @property
    def largest_rate(self) -> float:
        """Largest absolute rate at any time."""
        return abs(self.amplitude) * 2.0 * math.pi * self.frequency


@dataclass(frozen=True)
class Tabulated:
    """Straight lines between given values; before the first and after the last time nothing moves.

    Attributes
    ----------
    times, values : tuple of float
        Rising times [s], and the quantity then. What it is at time 0 is subtracted.
    """

    times: tuple[float, ...]
    values: tuple[float, ...]

    def __call__(self, time: float) -> tuple[float, float]:
        """Return the value and its rate at a time [s]; at a bend the rate of the way that begins there."""
        value = float(np.interp(time, self.times, self.values) - np.interp(0.0, self.times, self.values))
        after = int(np.searchsorted(self.times, time, side="right"))
        if after in (0, len(self.times)):
            return value, 0.0
        rise = self.values[after] - self.values[after - 1]
        return value, rise / (self.times[after] - self.times[after - 1])

    @property
    def largest_rate(self) -> float:
        """Absolute rate of the steepest way."""
        return float(np.abs(np.diff(self.values) / np.diff(self.times)).max())


@dataclass(frozen=True)
class Turn:
    """Turning about an axis.

    Attributes
    ----------
    axis, centre : tuple of 3 float
        Direction of any length but zero, and a point on the axis [m].
    angle : Course
        [rad], right-handed.
    """

    axis: Vector
    centre: Vector
    angle: Course

    def pose(self, time: float) -> Pose:
        """Return the pose at a time [s]."""
        angle, rate = self.angle(time)
        return turned(np.array(self.axis) / math.hypot(*self.axis), np.array(self.centre), angle, rate)

    def largest_speed(self, points: Floats) -> float:
        """Return the largest speed of any of some points (n, 3) [m/s]."""
        direction = np.array(self.axis) / math.hypot(*self.axis)
        arms = np.linalg.norm(np.cross(points - np.array(self.centre), direction), axis=1)
        return self.angle.largest_rate * float(arms.max(initial=0.0))


@dataclass(frozen=True)
class Shift:
    """Moving along.

    Attributes
    ----------
    courses : tuple of 3 Course
        Displacement along x, y and z [m].
    """

    courses: tuple[Course, ...]

    def pose(self, time: float) -> Pose:
        """Return the pose at a time [s]."""
        values = np.array([course(time) for course in self.courses])
        return Pose(np.eye(3), values[:, 0], np.zeros(3), values[:, 1])

    def largest_speed(self, points: Floats) -> float:
        """Return the largest speed of any point [m/s], or more."""
        return math.hypot(*(course.largest_rate for course in self.courses))


class Motion:
    """Parts carried by one another.

    Parameters
    ----------
    parts : sequence of Turn and Shift
        The first carries the second, and so on; the last carries the body. Without any it rests.
    centre : tuple of 3 float
        The point, at time 0, about which torques on the body are reported [m].
    """

    def __init__(self, parts: Sequence[Turn | Shift] = (), centre: Vector = (0.0, 0.0, 0.0)) -> None:
        self.parts = tuple(parts)
        self.centre = np.array(centre, np.float64)

    @property
    def moves(self) -> bool:
        """Whether there is any motion."""
        return bool(self.parts)

    def pose(self, time: float) -> Pose:
        """Return the pose at a time [s]."""
        pose = REST
        for part in self.parts:
            pose = pose.carrying(part.pose(time))
        return pose

    def largest_speed(self, points: Floats) -> float:
        """Return a bound of the speed that any part can have at some points (n, 3) [m/s].

        Each part's own, all added; axes are taken where they lie at time 0.
        """
        return sum(part.largest_speed(points) for part in self.parts)
