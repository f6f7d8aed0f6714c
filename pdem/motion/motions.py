"""Rigid motions as functions of the time alone: rotations and translations, steady, oscillating or tabulated.

A `RigidMotion` maps the places x that points have at time 0 to ``rotation(t) x + shift(t)``; at time 0 it changes
nothing. Motions are composed: a motion that is carried by another is described in the frame of that one, and since at
time 0 all frames are the same, all axes and centres are those of time 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np

from pdem.motion.poses import REST, Pose, RotationAxis

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pdem.foundation.array_types import Floats
    from pdem.motion.courses import Course

    Vector: TypeAlias = tuple[float, float, float]


class MotionPart(Protocol):
    """What a motion is made of: a pose that some numbers say, which change with the time."""

    def state(self, time: float) -> tuple[float, ...]:
        """Return the numbers at a time [s]; where they are the same, the pose is."""
        ...

    def pose(self, state: tuple[float, ...]) -> Pose:
        """Return the pose that the numbers say."""
        ...

    def largest_speed(self, points: Floats) -> float:
        """Return the largest speed of any of some points (n, 3), or more [m/s]."""
        ...

    def fastest(self, step: float) -> tuple[float, ...]:
        """Return times from which on it changes most within a step [s]: a few of the worst."""
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
        return RotationAxis(np.array(self.axis) / math.hypot(*self.axis), np.array(self.centre))

    def state(self, time: float) -> tuple[float, ...]:
        """Return the angle and its rate."""
        return self.angle(time)

    def pose(self, state: tuple[float, ...]) -> Pose:
        """Return the pose at an angle that grows at a rate [rad, rad/s]."""
        return self._line.turned(state[0], state[1])

    def largest_speed(self, points: Floats) -> float:
        """Return the largest speed of any of some points (n, 3) [m/s]."""
        direction = np.array(self.axis) / math.hypot(*self.axis)
        arms = np.linalg.norm(np.cross(points - np.array(self.centre), direction), axis=1)
        return self.angle.largest_rate * float(arms.max(initial=0.0))

    def fastest(self, step: float) -> tuple[float, ...]:
        """Return times from which on it turns most within a step [s]."""
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
        """Return the pose at a displacement, at a velocity [m, m/s]."""
        return Pose.translated(state[:3], state[3:])

    def largest_speed(self, points: Floats) -> float:
        """Return the largest speed of any point [m/s], or more."""
        return math.hypot(*(course.largest_rate for course in self.courses))

    def fastest(self, step: float) -> tuple[float, ...]:
        """Return times from which on it moves most within a step [s]."""
        return tuple(time for course in self.courses for time in course.fastest(step))


class RigidMotion:
    """Parts carried by one another.

    Parameters
    ----------
    parts : sequence of MotionPart
        The first carries the second, and so on; the last carries the body. Without any it rests.
    centre : tuple of 3 float
        The point, at time 0, about which torques on the body are reported [m].
    frame : int, optional
        How many of the parts carry that point: 0 for one that is fixed in space. By default all carry it.
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
        """Whether the point about which torques are reported is fixed in space."""
        return self._carriers == 0

    def pose(self, time: float) -> Pose:
        """Return the pose at a time [s]: the same object as for the time asked last if it is the same pose."""
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
        """Return the pose at a time [s] of what the point rests in about which torques are reported."""
        if time != self._time:
            self.pose(time)
        return self._frame

    def largest_speed(self, points: Floats) -> float:
        """Return a bound of the speed that any part can have at some points (n, 3) [m/s].

        Each part's own, all added; axes are taken where they lie at time 0.
        """
        return sum(part.largest_speed(points) for part in self.parts)

    def fastest(self, step: float) -> tuple[float, ...]:
        """Return times from which on some part moves most within a step [s]."""
        return tuple(time for part in self.parts for time in part.fastest(step))
