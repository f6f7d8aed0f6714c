"""Surfaces of walls that move while the geometry stays: belts, turning tables.

Such a surface has a velocity and an angular velocity in the frame of its wall, functions of the time alone. Where a
particle touches it, the velocity is turned into the tangent plane of the contact and keeps its length, so that a belt
runs round its pulleys; the velocity of the wall itself is added.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.motion.poses import REST, dot

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pdem.foundation.array_types import Booleans, Floats, Int32s
    from pdem.motion.poses import Pose

VELOCITY, SPIN, CENTRE = range(3)
"""Rows of the state of a surface: velocity [m/s], angular velocity [rad/s], a point on the axis of that [m]."""

LEAST_TANGENT = 1e-12
"""Square of the sine of the angle between velocity and normal up to which a surface is taken to rest."""


class SurfaceCourse(NamedTuple):
    """The motion of a surface as a function of the time, linear between given times, constant before and after.

    Attributes
    ----------
    times : tuple of float
        Rising [s]; one for a constant motion.
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
        """Whether it depends on the time."""
        return len(self.times) > 1

    def at(self, time: float) -> tuple[Floats, Floats]:
        """Return velocity and angular velocity (3,) at a time [s]."""
        if not self.varies:
            return self.velocities[0], self.spins[0]
        pairs = ([float(np.interp(time, self.times, column)) for column in of.T] for of in self[1:3])
        velocity, spin = pairs
        return np.array(velocity), np.array(spin)

    def largest_speed(self, points: Floats) -> float:
        """Return the largest speed at any of some points (n, 3) at any time [m/s]."""
        speeds = [
            np.linalg.norm(velocity + np.cross(spin, points - self.centre), axis=1).max(initial=0.0)
            for velocity, spin in zip(self.velocities, self.spins, strict=True)
        ]
        return float(max(speeds))

    def is_tangent(self, points: Floats, normals: Floats) -> Booleans:
        """Return whether it could move along the surface at points with normals (n, 3): at some time, or it rests."""
        tangent, blocked = np.zeros(len(points), np.bool_), np.zeros(len(points), np.bool_)
        for velocity, spin in zip(self.velocities, self.spins, strict=True):
            wanted = velocity + np.cross(spin, points - self.centre)
            aside = wanted - np.einsum("ij,ij->i", wanted, normals)[:, None] * normals
            squares, whole = (aside**2).sum(axis=1), (wanted**2).sum(axis=1)
            tangent |= squares > LEAST_TANGENT * whole
            blocked |= (squares <= LEAST_TANGENT * whole) & (whole > 0.0)
        return tangent | ~blocked


class SurfaceMotion(NamedTuple):
    """How the surfaces of walls move now, for kernels.

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
        By number, of the walls whose surface moves by itself.

    Attributes
    ----------
    now : SurfaceMotion
        How they move.
    """

    def __init__(self, count: int, courses: Mapping[int, SurfaceCourse]) -> None:
        self.courses = dict(sorted(courses.items()))
        self.now = SurfaceMotion(np.zeros(count, np.int8), np.zeros((count, 3, 3)))
        self.now.moves[list(self.courses)] = 1
        self._poses: dict[int, Pose] = {}

    @property
    def vary(self) -> bool:
        """Whether any depends on the time."""
        return any(course.varies for course in self.courses.values())

    def place(self, time: float, poses: Mapping[int, Pose]) -> None:
        """Write how they move at a time [s], on walls with these poses; others rest."""
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
        aside = wanted - np.einsum("ij,ij->i", wanted, normals)[:, None] * normals
        squares, whole = (aside**2).sum(axis=1), (wanted**2).sum(axis=1)
        runs = squares > LEAST_TANGENT * whole
        return aside * np.sqrt(np.divide(whole, squares, out=np.zeros(len(aside)), where=runs))[:, None]

    def powers(self, walls: Int32s, places: tuple[Floats, Floats], loads: Floats) -> Floats:
        """Return the power (n,) that surfaces give to particles, besides that of their walls [W].

        Parameters
        ----------
        walls : ndarray, shape (n,)
            Of each contact.
        places : tuple of ndarray, each of shape (n, 3)
            Points [m] and normals.
        loads : ndarray, shape (n, 6)
            Forces and moments of the walls on the particles [N, N m].
        """
        if not self.courses:
            return np.zeros(len(walls))
        rates = np.hstack((self._velocities(walls, *places), self.now.state[walls, SPIN]))
        return np.asarray(np.einsum("ij,ij->i", loads, rates))


def constant_course(velocity: tuple[float, ...], spin: tuple[float, ...], centre: tuple[float, ...]) -> SurfaceCourse:
    """Return the course of a surface that moves steadily."""
    return SurfaceCourse((-math.inf,), np.array([velocity]), np.array([spin]), np.array(centre))
