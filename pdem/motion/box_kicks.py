"""The velocity that particles gain where the gradient of the velocity of their box changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.foundation.geometry_kernels import inlined_geometry
from pdem.foundation.kernels import prange, threaded_kernel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@inlined_geometry
def _kick(p: int, position: Floats, velocity: Floats, centre: Floats, gained: Floats) -> None:
    x, y, z = position[p, 0] - centre[0], position[p, 1] - centre[1], position[p, 2] - centre[2]
    for axis in range(3):
        velocity[p, axis] += gained[axis, 0] * x + gained[axis, 1] * y + gained[axis, 2] * z


@threaded_kernel
def kick_with_box(count: int, position: Floats, velocity: Floats, centre: Floats, gained: Floats) -> None:
    """Add what the box gains at the places of the first `count` particles to their velocities.

    Parameters
    ----------
    count : int
        Number of particles.
    position, velocity : (n, 3) arrays
        In m and m/s; velocities are written.
    centre : (3,) array
        The point of the box that rests [m].
    gained : (3, 3) array
        By what the gradient of its velocity grows [1/s].
    """
    for p in prange(count):
        _kick(p, position, velocity, centre, gained)
