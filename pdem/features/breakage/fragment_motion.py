r"""Motion of fragments that carry on the momentum and the angular momentum of their parent.

All fragments turn together, like one rigid body with the angular velocity w':

$$v_f = v + w' \times x_f, \qquad w_f = w', \qquad J w' = L$$

with places x_f relative to the centre of mass and the tensor J of inertia about it. The momentum is then that of the
velocity v, the angular momentum about the centre is L.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pdem.foundation import exact_math
from pdem.numerics.geometry_kernels import SPHERE_INERTIA

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pdem.foundation.array_types import Floats

    Triple: TypeAlias = tuple[float, float, float]


def fragment_motion(
    mass: Floats, radius: Floats, offset: Floats, velocity: ArrayLike, angular_momentum: ArrayLike
) -> tuple[Floats, Floats, float]:
    """Return the motion of fragments that turn together, and their kinetic energy.

    Parameters
    ----------
    mass, radius : ndarray, shape (n,)
        Masses [kg] and radii [m] of the fragments, at least one.
    offset : ndarray, shape (n, 3)
        Positions relative to the centre of mass [m].
    velocity : array_like, shape (3,)
        Velocity of the centre of mass [m/s].
    angular_momentum : array_like, shape (3,)
        Angular momentum of all about the centre of mass, with their spins [kg m2/s].

    Returns
    -------
    ndarray, shape (n, 3)
        Velocities [m/s].
    ndarray, shape (n, 3)
        Angular velocities [1/s], the same for all.
    float
        Kinetic energy with that of the spins [J].
    """
    spin = common_spin(inertia(mass, radius, offset), angular_momentum)
    velocities = np.asarray(velocity, np.float64) + _cross(spin, offset)
    energy = 0.5 * exact_math.total(mass * exact_math.inner(velocities, velocities))
    own = SPHERE_INERTIA * exact_math.total(mass * radius * radius)
    energy += 0.5 * own * float(exact_math.inner(spin, spin))
    return velocities, np.array([spin] * len(mass)), energy


def inertia(mass: Floats, radius: Floats, offset: Floats) -> Floats:
    """Return the tensor of inertia of spheres about the origin, each sphere's own inertia included.

    Parameters
    ----------
    mass, radius : ndarray, shape (n,)
        Masses [kg] and radii [m].
    offset : ndarray, shape (n, 3)
        Positions [m].

    Returns
    -------
    ndarray, shape (3, 3)
        The symmetric tensor [kg m2]; each entry is rounded once after its summands.
    """
    squares = offset * offset
    own = SPHERE_INERTIA * radius * radius
    tensor = np.empty((3, 3))
    for a in range(3):
        b, c = (a + 1) % 3, (a + 2) % 3
        tensor[a, a] = exact_math.total(mass * (squares[:, b] + squares[:, c] + own))
        tensor[a, b] = tensor[b, a] = -exact_math.total(mass * offset[:, a] * offset[:, b])
    return tensor


def common_spin(tensor: Floats, angular_momentum: ArrayLike) -> Triple:
    """Return the angular velocity [1/s] with which a body of a tensor of inertia has an angular momentum.

    Parameters
    ----------
    tensor : ndarray, shape (3, 3)
        Tensor of inertia [kg m2], symmetric and positive definite.
    angular_momentum : array_like, shape (3,)
        Angular momentum [kg m2/s].

    Returns
    -------
    tuple of three float
        The angular velocity, by cofactors, and corrected once by the remaining angular momentum.
    """
    scale = float(tensor[0, 0] + tensor[1, 1] + tensor[2, 2])
    matrix = tensor / scale
    wanted = np.asarray(angular_momentum, np.float64) / scale
    inverse = _inverse(matrix)
    spin = exact_math.matmul(inverse, wanted)
    spin = spin + exact_math.matmul(inverse, wanted - exact_math.matmul(matrix, spin))
    x, y, z = spin.tolist()
    return x, y, z


def _inverse(matrix: Floats) -> Floats:
    """Return the inverse of a matrix (3, 3) by cofactors."""
    rows = matrix.tolist()
    cofactors = [_cross_of(rows[(a + 1) % 3], rows[(a + 2) % 3]) for a in range(3)]
    determinant = exact_math.inner(rows[0], cofactors[0])
    return np.array(cofactors).T / determinant


def _cross_of(one: list[float], other: list[float]) -> list[float]:
    return [one[a] * other[b] - one[b] * other[a] for a, b in ((1, 2), (2, 0), (0, 1))]


def _cross(spin: Triple, offset: Floats) -> Floats:
    """Return vector products (n, 3) of one vector with many."""
    x, y, z = offset.T
    return np.stack((spin[1] * z - spin[2] * y, spin[2] * x - spin[0] * z, spin[0] * y - spin[1] * x), axis=-1)
