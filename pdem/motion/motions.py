"""Rigid motions as functions of the time alone: rotations and translations, steady, oscillating or tabulated.

A `RigidMotion` maps the positions x of points at time 0 to ``rotation(t) x + shift(t)``; at time 0 it is the identity.
Motions are composed: a motion that another motion carries is described in the frame of its carrier. At time 0 all
frames coincide, so all axes and centres are given at time 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np

from pdem.foundation import exact_math
from pdem.motion.poses import REST, Pose, RotationAxis

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pdem.foundation.array_types import Floats
    from pdem.motion.courses import Course

    Vector: TypeAlias = tuple[float, float, float]


class MotionPart(Protocol):
    """One part of a motion: a pose that depends on a few numbers, which are functions of the time."""

    def state(self, time: float) -> tuple[float, ...]:
        """Return the numbers at a time [s]; equal numbers mean an equal pose."""
        ...

    def pose(self, state: tuple[float, ...]) -> Pose:
        """Return the pose for these numbers."""
        ...

    def largest_speed(self, points: Floats) -> float:
        """Return an upper bound of the speed of some points (n, 3) [m/s]."""
        ...

    def fastest(self, step: float) -> tuple[float, ...]:
        """Return a few times [s] from which on a step of length `step` [s] changes the pose most."""
        ...


@dataclass(frozen=True)
class MotionTurn:
    """Rotation about an axis.

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

    @cached_property
    def _line(self) -> RotationAxis:
        return RotationAxis(np.array(self.axis) / exact_math.hypot(*self.axis), np.array(self.centre))

    def state(self, time: float) -> tuple[float, ...]:
        """Return the angle and its rate."""
        return self.angle(time)

    def pose(self, state: tuple[float, ...]) -> Pose:
        """Return the pose at an angle that grows at a rate [rad, rad/s]."""
        return self._line.turned(state[0], state[1])

    def largest_speed(self, points: Floats) -> float:
        """Return the largest speed of some points (n, 3) [m/s]."""
        direction = np.array(self.axis) / exact_math.hypot(*self.axis)
        arms = exact_math.norm(np.cross(points - np.array(self.centre), direction))
        return self.angle.largest_rate * float(arms.max(initial=0.0))

    def fastest(self, step: float) -> tuple[float, ...]:
        """Return times [s] from which on a step of length `step` [s] has the largest rotation."""
        return self.angle.fastest(step)


@dataclass(frozen=True)
class Shift:
    """Translation.

    Attributes
    ----------
    courses : tuple of 3 Course
        Displacement along x, y and z [m].
    """

    courses: tuple[Course, ...]

    def state(self, time: float) -> tuple[float, ...]:
        """Return displacement and velocity."""
        (x, u), (y, v), (z, w) = [course(time) for course in self.courses]
        return x, y, z, u, v, w

    def pose(self, state: tuple[float, ...]) -> Pose:
        """Return the pose for a displacement and a velocity [m, m/s]."""
        return Pose.translated(state[:3], state[3:])

    def largest_speed(self, points: Floats) -> float:
        """Return an upper bound of the speed of any point [m/s]."""
        return exact_math.hypot(*(course.largest_rate for course in self.courses))

    def fastest(self, step: float) -> tuple[float, ...]:
        """Return times [s] from which on a step of length `step` [s] has the largest displacement."""
        return tuple(time for course in self.courses for time in course.fastest(step))


class RigidMotion:
    """A chain of motion parts, each carried by the part before it.

    Parameters
    ----------
    parts : sequence of MotionPart
        The first carries the second, and so on; the last carries the body. Without parts the body rests.
    centre : tuple of 3 float
        Reference point of torques on the body, at time 0 [m].
    frame : int, optional
        Number of the parts that carry that point: 0 if it is fixed in space. By default all parts carry it.
    """

    def __init__(
        self, parts: Sequence[MotionPart] = (), centre: Vector = (0.0, 0.0, 0.0), frame: int | None = None
    ) -> None:
        self.parts = tuple(parts)
        self.centre = np.array(centre, np.float64)
        self._carriers = len(self.parts) if frame is None else frame
        self._time = math.nan
        self._state: list[tuple[float, ...]] | None = None
        self._pose = self._frame = REST

    @property
    def moves(self) -> bool:
        """Whether there is any motion."""
        return bool(self.parts)

    @property
    def fixed(self) -> bool:
        """Whether the reference point of torques is fixed in space."""
        return self._carriers == 0

    def pose(self, time: float) -> Pose:
        """Return the pose at a time [s]; if the pose has not changed since the last call, the same object."""
        state = [part.state(time) for part in self.parts]
        self._time = time
        if state != self._state:
            self._state, pose = state, REST
            self._frame = REST
            for number, (part, numbers) in enumerate(zip(self.parts, state, strict=True), start=1):
                pose = pose.carrying(part.pose(numbers))
                self._frame = pose if number == self._carriers else self._frame
            self._pose = pose
        return self._pose

    def frame(self, time: float) -> Pose:
        """Return the pose at a time [s] of the frame in which the reference point of torques rests."""
        if time != self._time:
            self.pose(time)
        return self._frame

    def largest_speed(self, points: Floats) -> float:
        """Return an upper bound of the speed of some points (n, 3) at any time [m/s].

        It is the sum over the speeds of the parts, with axes at their positions of time 0.
        """
        return exact_math.total(part.largest_speed(points) for part in self.parts)

    def fastest(self, step: float) -> tuple[float, ...]:
        """Return times [s] from which on a step of length `step` [s] has the largest displacement by some part."""
        return tuple(time for part in self.parts for time in part.fastest(step))
