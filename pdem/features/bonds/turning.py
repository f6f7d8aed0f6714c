"""Rotation of the spheres of cases with bonds. Only bonds need the orientations of spheres."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.foundation.fields import Field, Ghosted
from pdem.numerics.geometry_kernels import inlined_geometry
from pdem.numerics.kernels import prange, uncounted_kernel
from pdem.numerics.vectors import square_root

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats
    from pdem.motion.rigid_rotation import Quaternion
    from pdem.numerics.vectors import Vector

SPHERE_ORIENTATION = Field(
    "orientation", np.float64, (4,), "1", "orientation since time 0: unit quaternion w, x, y, z", Ghosted.EVERY_STEP
)


@inlined_geometry
def turned_sphere(orientation: Quaternion, spin: Vector, dt: float) -> Quaternion:
    """Return the orientation of a sphere after a rotation at a constant angular velocity [rad/s] for a time [s].

    A rotation by the angle p is computed with p / 4 for ``tan(p / 4)``, as in `pdem.motion.rigid_rotation`. This
    changes the angle in third order, and the result is a unit quaternion for any angle.
    """
    quarter = 0.25 * dt
    x, y, z = quarter * spin[0], quarter * spin[1], quarter * spin[2]
    square = x * x + y * y + z * z
    scale = 1.0 / (1.0 + square)
    cosine, sine = (1.0 - square) * scale, 2.0 * scale
    x, y, z = sine * x, sine * y, sine * z
    w, a, b, c = orientation
    nw, na = cosine * w - (x * a + y * b + z * c), cosine * a + x * w + (y * c - z * b)
    nb, nc = cosine * b + y * w + (z * a - x * c), cosine * c + z * w + (x * b - y * a)
    inverse = 1.0 / square_root(nw * nw + na * na + nb * nb + nc * nc)
    return nw * inverse, na * inverse, nb * inverse, nc * inverse


@uncounted_kernel
def turn_spheres(count: int, dt: float, spin: Floats, orientation: Floats) -> None:
    """Rotate the first `count` spheres by their angular velocities.

    Parameters
    ----------
    count : int
        Number of spheres.
    dt : float
        Time of the rotation [s].
    spin : (n, 3) array
        Angular velocities in the middle of this time [rad/s].
    orientation : (n, 4) array
        Written: unit quaternions w, x, y, z.
    """
    for p in prange(count):
        w, x, y, z = turned_sphere(
            (orientation[p, 0], orientation[p, 1], orientation[p, 2], orientation[p, 3]),
            (spin[p, 0], spin[p, 1], spin[p, 2]), dt,
        )  # fmt: skip
        orientation[p, 0], orientation[p, 1], orientation[p, 2], orientation[p, 3] = w, x, y, z


def fill_orientations(orientation: Floats) -> None:
    """Set orientations (n, 4) that are still zeros to the orientation at time 0."""
    orientation[~orientation.any(axis=1), 0] = 1.0
