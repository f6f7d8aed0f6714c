"""Surfaces of walls that move while the geometry stays: belts, turning tables.

Such a surface has a velocity and an angular velocity in the frame of its wall, which are functions of the time alone.
Where a particle touches it, the velocity is turned into the tangent plane of the contact and keeps its magnitude, so
that a belt runs round its pulleys. The velocity of the wall itself is added.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.foundation import exact_math
from pdem.foundation.interpolation import interpolated
from pdem.motion.poses import REST, dot

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pdem.foundation.array_types import Booleans, Floats, Int32s
    from pdem.motion.poses import Pose

VELOCITY, SPIN, CENTRE = range(3)
"""Rows of the state of a surface: velocity [m/s], angular velocity [rad/s], a point on the rotation axis [m]."""

LEAST_TANGENT = 1e-12
"""Square of the sine of the angle between velocity and normal below which a surface counts as resting."""


class SurfaceCourse(NamedTuple):
    """The motion of a surface as a function of the time: linear between tabulated times, constant before and after.

    Attributes
    ----------
    times : tuple of float
        Increasing times [s]; a single one for a constant motion.
    velocities, spins : ndarray, shapes (n, 3)
        At these times, in the frame of the wall at time 0 [m/s, rad/s].
    centre : ndarray, shape (3,)
        A point on the axis of rotation at time 0 [m].
    """

    times: tuple[float, ...]
    velocities: Floats
    spins: Floats
    centre: Floats

    @property
    def varies(self) -> bool:
        """Whether the motion depends on the time."""
        return len(self.times) > 1

    def at(self, time: float) -> tuple[Floats, Floats]:
        """Return velocity and angular velocity (3,) at a time [s]."""
        if not self.varies:
            return self.velocities[0], self.spins[0]
        return interpolated(time, self.times, self.velocities), interpolated(time, self.times, self.spins)

    def largest_speed(self, points: Floats) -> float:
        """Return the largest speed at some points (n, 3) over all times [m/s]."""
        speeds = [
            exact_math.norm(velocity + np.cross(spin, points - self.centre)).max(initial=0.0)
            for velocity, spin in zip(self.velocities, self.spins, strict=True)
        ]
        return float(max(speeds))

    def is_tangent(self, points: Floats, normals: Floats) -> Booleans:
        """Return whether the surface can move tangentially at points with normals (n, 3), at some time, or rests."""
        tangent, blocked = np.zeros(len(points), np.bool_), np.zeros(len(points), np.bool_)
        for velocity, spin in zip(self.velocities, self.spins, strict=True):
            wanted = velocity + np.cross(spin, points - self.centre)
            aside = wanted - exact_math.inner(wanted, normals)[:, None] * normals
            squares, whole = exact_math.inner(aside, aside), exact_math.inner(wanted, wanted)
            tangent |= squares > LEAST_TANGENT * whole
            blocked |= (squares <= LEAST_TANGENT * whole) & (whole > 0.0)
        return tangent | ~blocked


class SurfaceMotion(NamedTuple):
    """Present motion of the surfaces of walls, for kernels.

    Attributes
    ----------
    moves : (W,) int8 array
        1 for walls whose surface moves by itself.
    state : (W, 3, 3) array
        Velocity [m/s], angular velocity [rad/s] and a point on its axis [m].
    """

    moves: NDArray[np.int8]
    state: Floats


class MovingSurfaces:
    """The surfaces of all walls at the present time.

    Parameters
    ----------
    count : int
        Number of walls.
    courses : mapping of int to SurfaceCourse
        Courses by wall index, for walls with a moving surface.

    Attributes
    ----------
    now : SurfaceMotion
        The present motion.
    """

    def __init__(self, count: int, courses: Mapping[int, SurfaceCourse]) -> None:
        self.courses = dict(sorted(courses.items()))
        self.now = SurfaceMotion(np.zeros(count, np.int8), np.zeros((count, 3, 3)))
        self.now.moves[list(self.courses)] = 1
        self._poses: dict[int, Pose] = {}

    @property
    def vary(self) -> bool:
        """Whether any surface motion depends on the time."""
        return any(course.varies for course in self.courses.values())

    def place(self, time: float, poses: Mapping[int, Pose]) -> None:
        """Write the motion of the surfaces at a time [s], for walls with these poses; other surfaces rest."""
        for wall, course in self.courses.items():
            pose = poses.get(wall, REST)
            if self._poses.get(wall) is pose and not course.varies:
                continue
            self._poses[wall] = pose
            velocity, spin = course.at(time)
            for row, vector in ((VELOCITY, velocity), (SPIN, spin), (CENTRE, course.centre)):
                self.now.state[wall, row] = [dot(line, vector) for line in pose.rotation]
            self.now.state[wall, CENTRE] += pose.translation

    def _velocities(self, walls: Int32s, points: Floats, normals: Floats) -> Floats:
        """Return the velocity (n, 3) of surfaces relative to their walls at points with normals (n, 3) [m/s]."""
        state = self.now.state[walls]
        wanted = state[:, VELOCITY] + np.cross(state[:, SPIN], points - state[:, CENTRE])
        aside = wanted - exact_math.inner(wanted, normals)[:, None] * normals
        squares, whole = exact_math.inner(aside, aside), exact_math.inner(wanted, wanted)
        runs = squares > LEAST_TANGENT * whole
        return aside * np.sqrt(np.divide(whole, squares, out=np.zeros(len(aside)), where=runs))[:, None]

    def powers(self, walls: Int32s, places: tuple[Floats, Floats], loads: Floats) -> Floats:
        """Return the power (n,) from surfaces to particles, in addition to the power of their walls [W].

        Parameters
        ----------
        walls : ndarray, shape (n,)
            Wall of each contact.
        places : tuple of ndarray, each of shape (n, 3)
            Points of contact [m] and normals.
        loads : ndarray, shape (n, 6)
            Forces and moments of the walls on the particles [N, N m].
        """
        if not self.courses:
            return np.zeros(len(walls))
        rates = np.hstack((self._velocities(walls, *places), self.now.state[walls, SPIN]))
        return np.asarray(exact_math.inner(loads, rates))


def constant_course(velocity: tuple[float, ...], spin: tuple[float, ...], centre: tuple[float, ...]) -> SurfaceCourse:
    """Return the course of a surface with a constant motion."""
    return SurfaceCourse((-math.inf,), np.array([velocity]), np.array([spin]), np.array(centre))
