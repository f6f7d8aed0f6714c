"""The mass that a particle shows to a contact, where particles may be members of rigid clusters.

Contacts are damped by the mass that a member shows them. A force along n at a sphere whose centre is d away from the
centre of mass accelerates that sphere along n by n . A n per force, with A = 1 / M + D^T I^-1 D and D n = d x n; the
point of the contact lies on the normal, and changes nothing. A is kept for every particle, 1 / m for single spheres.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.foundation.geometry_kernels import inlined_geometry
from pdem.foundation.vectors import exact_dot3
from pdem.motion.rigid_rotation import to_space
from pdem.simd.places import ROW

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pdem.foundation.vectors import Vector
    from pdem.motion.rigid_rotation import Quaternion

    Floats = NDArray[np.float64]

TENSOR = 6
"""Numbers of an inverse mass tensor: xx, yy, zz, xy, xz, yz [1/kg]."""


@inlined_geometry
def write_tensor(
    p: int, offset: Vector, inverse_mass: float, inverse_inertia: Vector, q: Quaternion, tensor: Floats
) -> None:
    """Write the inverse mass tensor of a member at `offset` along the principal axes: R (1 / M + D^T I^-1 D) R^T."""
    (x, y, z), (a, b, c), own = offset, inverse_inertia, inverse_mass
    xy, xz, yz = -x * y * c, -x * z * b, -y * z * a
    r0 = to_space(q, (own + z * z * b + y * y * c, xy, xz))
    r1 = to_space(q, (xy, own + z * z * a + x * x * c, yz))
    r2 = to_space(q, (xz, yz, own + y * y * a + x * x * b))
    t0, t1, t2 = (
        to_space(q, (r0[0], r1[0], r2[0])),
        to_space(q, (r0[1], r1[1], r2[1])),
        to_space(q, (r0[2], r1[2], r2[2])),
    )
    at = TENSOR * (p & ROW)
    tensor[at], tensor[at + 1], tensor[at + 2] = t0[0], t1[1], t2[2]
    tensor[at + 3], tensor[at + 4], tensor[at + 5] = t0[1], t0[2], t1[2]


@inlined_geometry
def write_sphere_tensor(p: int, inverse_mass: float, tensor: Floats) -> None:
    """Write the inverse mass tensor of a single sphere."""
    at = TENSOR * (p & ROW)
    for part in range(3):
        tensor[at + part], tensor[at + 3 + part] = inverse_mass, 0.0


@inlined_geometry
def inverse_mass_along(p: int, n: Vector, tensor: Floats) -> float:
    """Return one over the mass that particle p shows to a contact with the normal n [1/kg]."""
    at = TENSOR * (p & ROW)
    xx, yy, zz = tensor[at], tensor[at + 1], tensor[at + 2]
    xy, xz, yz = tensor[at + 3], tensor[at + 4], tensor[at + 5]
    return exact_dot3(
        n,
        (
            xx * n[0] + xy * n[1] + xz * n[2],
            xy * n[0] + yy * n[1] + yz * n[2],
            xz * n[0] + yz * n[1] + zz * n[2],
        ),
    )
