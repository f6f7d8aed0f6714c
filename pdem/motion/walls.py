"""Rigid motion of walls, evaluated from the time and never accumulated."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pdem.foundation.kernels import kernel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pdem.containers.mesh import Mesh


@dataclass(frozen=True)
class RigidMotion:
    """Turning about an axis that moves along at constant velocity.

    Attributes
    ----------
    rate : float
        Angular velocity about `axis` [rad/s].
    axis : tuple of 3 float
        Direction of any length but zero.
    centre : tuple of 3 float
        A point on the axis at time 0 [m].
    velocity : tuple of 3 float
        Of the axis [m/s].
    """

    rate: float = 0.0
    axis: tuple[float, float, float] = (0.0, 0.0, 1.0)
    centre: tuple[float, float, float] = (0.0, 0.0, 0.0)
    velocity: tuple[float, float, float] = (0.0, 0.0, 0.0)

    @property
    def moves(self) -> bool:
        """Whether there is any motion."""
        return self.rate != 0.0 or any(self.velocity)

    def rotation(self, time: float) -> NDArray[np.float64]:
        """Return the rotation matrix (3, 3) at a time, by Rodrigues' formula."""
        direction = np.array(self.axis) / math.hypot(*self.axis)
        angle = math.remainder(self.rate * time, 2.0 * math.pi)
        x, y, z = direction
        cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        return np.eye(3) + math.sin(angle) * cross + (1.0 - math.cos(angle)) * (cross @ cross)


@kernel
def _place(
    first: int,
    last: int,
    rotation: NDArray[np.float64],
    centre: NDArray[np.float64],
    shifted: NDArray[np.float64],
    reference: NDArray[np.float64],
    result: NDArray[np.float64],
) -> None:
    """Write rotation (x - centre) + shifted for the rows first:last."""
    for row in range(first, last):
        x = reference[row, 0] - centre[0]
        y = reference[row, 1] - centre[1]
        z = reference[row, 2] - centre[2]
        for axis in range(3):
            result[row, axis] = (
                rotation[axis, 0] * x + rotation[axis, 1] * y + rotation[axis, 2] * z + shifted[axis]
            )


class MovingWalls:
    """All walls at the present time.

    Parameters
    ----------
    mesh : Mesh
        All walls joined, at time 0.
    facet_wall, vertex_wall : int arrays, shapes (F,) and (V,)
        Wall of each facet and vertex, rising.
    motions : sequence of RigidMotion
        One per wall.

    Attributes
    ----------
    vertices, normals : (V, 3) and (F, 3) arrays
        Present places [m] and unit normals.
    centre, angular_velocity, velocity : (W, 3) arrays
        Present place of each wall's centre [m], its angular velocity [rad/s] and that of its axis [m/s].
    """

    def __init__(
        self,
        mesh: Mesh,
        facet_wall: NDArray[np.int32],
        vertex_wall: NDArray[np.int32],
        motions: Sequence[RigidMotion],
    ) -> None:
        self.mesh = mesh
        self.facet_wall = facet_wall
        self.motions = tuple(motions)
        count = len(self.motions)
        self._vertex_rows = np.searchsorted(vertex_wall, np.arange(count + 1))
        self._facet_rows = np.searchsorted(facet_wall, np.arange(count + 1))
        self._normals = np.array(mesh.facet_normals, dtype=np.float64)
        self._vertices = np.array(mesh.vertices, dtype=np.float64)
        self.vertices, self.normals = self._vertices.copy(), self._normals.copy()
        self.centre = np.zeros((count, 3))
        self.angular_velocity = np.zeros((count, 3))
        self.velocity = np.zeros((count, 3))
        self._speed = np.zeros(count)
        self._zero = np.zeros(3)
        for wall, motion in enumerate(self.motions):
            direction = np.array(motion.axis) / math.hypot(*motion.axis)
            self.angular_velocity[wall] = motion.rate * direction
            self.velocity[wall] = motion.velocity
            own = self._vertices[self._vertex_rows[wall] : self._vertex_rows[wall + 1]]
            arms = np.cross(direction, own - np.array(motion.centre))
            largest = float(np.sqrt((arms**2).sum(axis=1)).max(initial=0.0))
            self._speed[wall] = abs(motion.rate) * largest + math.hypot(*motion.velocity)
        self.time = -math.inf
        self.place(0.0)

    def place(self, time: float) -> None:
        """Put every moving wall where it is at a time [s]."""
        if time == self.time:
            return
        self.time = time
        for wall, motion in enumerate(self.motions):
            centre = np.array(motion.centre)
            self.centre[wall] = centre + time * self.velocity[wall]
            if not motion.moves:
                continue
            rotation = motion.rotation(time)
            rows, facets = self._vertex_rows, self._facet_rows
            _place(
                rows[wall], rows[wall + 1], rotation, centre, self.centre[wall], self._vertices, self.vertices
            )
            _place(
                facets[wall], facets[wall + 1], rotation, self._zero, self._zero, self._normals, self.normals
            )

    @property
    def speed(self) -> float:
        """Largest speed of any point of the walls [m/s]."""
        return float(self._speed.max(initial=0.0))
