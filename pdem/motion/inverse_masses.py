"""The effective mass of a particle in a contact, where particles may be members of rigid clusters.

The damping of a contact depends on the effective mass of a member. A force along n at a sphere with its centre at d
from the centre of mass accelerates that sphere along n by n . A n per force. Here A = 1 / M + D^T I^-1 D, and
D n = d x n. The point of contact may be anywhere on the normal. A is stored for every particle; it is 1 / m for single
spheres.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.numerics.geometry_kernels import inlined_geometry
from pdem.numerics.simd.unsigned_index import ROW
from pdem.numerics.vectors import exact_dot3

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats
    from pdem.numerics.vectors import Vector

    Tensor = tuple[float, float, float, float, float, float]

TENSOR = 6
"""Numbers of an inverse mass tensor: xx, yy, zz, xy, xz, yz [1/kg]."""


@inlined_geometry
def tensor_of(arm: Vector, inverse_mass: float, inertia: Tensor) -> Tensor:
    """Return the inverse mass tensor of a member: 1 / M + D^T J D, where D n = arm x n and J is `inertia` in space."""
    (x, y, z), (xx, yy, zz, xy, xz, yz) = arm, inertia
    # J times the columns of D: (0, z, -y), (-z, 0, x), (y, -x, 0)
    ay, az = yy * z - yz * y, yz * z - zz * y
    bx, by, bz = xz * x - xx * z, yz * x - xy * z, zz * x - xz * z
    cx, cy, cz = xx * y - xy * x, xy * y - yy * x, xz * y - yz * x
    return (
        inverse_mass + (z * ay - y * az), inverse_mass + (x * bz - z * bx), inverse_mass + (y * cx - x * cy),
        z * by - y * bz, z * cy - y * cz, x * cz - z * cx,
    )  # fmt: skip


@inlined_geometry
def write_tensor(p: int, arm: Vector, inverse_mass: float, inertia: Tensor, tensor: Floats) -> None:
    """Write the inverse mass tensor of a member, see `tensor_of`."""
    at = TENSOR * (p & ROW)
    xx, yy, zz, xy, xz, yz = tensor_of(arm, inverse_mass, inertia)
    tensor[at], tensor[at + 1], tensor[at + 2] = xx, yy, zz
    tensor[at + 3], tensor[at + 4], tensor[at + 5] = xy, xz, yz


@inlined_geometry
def write_sphere_tensor(p: int, inverse_mass: float, tensor: Floats) -> None:
    """Write the inverse mass tensor of a single sphere."""
    at = TENSOR * (p & ROW)
    for part in range(3):
        tensor[at + part], tensor[at + 3 + part] = inverse_mass, 0.0


@inlined_geometry
def inverse_mass_along(p: int, n: Vector, tensor: Floats) -> float:
    """Return the inverse effective mass of particle p in a contact with the normal n [1/kg]."""
    at = TENSOR * (p & ROW)
    xx, yy, zz = tensor[at], tensor[at + 1], tensor[at + 2]
    xy, xz, yz = tensor[at + 3], tensor[at + 4], tensor[at + 5]
    return exact_dot3(
        n, (xx * n[0] + xy * n[1] + xz * n[2], xy * n[0] + yy * n[1] + yz * n[2], xz * n[0] + yz * n[1] + zz * n[2])
    )
