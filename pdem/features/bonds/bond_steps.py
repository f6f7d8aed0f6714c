r"""The longest stable time step of bonded particles, with their rotation.

A step of central differences is stable up to 2 / omega of the highest natural frequency of the bonded particles. With
dashpots of coefficients c, which act by the velocities of half a step before, a mode of the stiffness k and the mass m
is stable if k dt^2 + 2 c dt < 4 m. This is the undamped criterion with the stiffness k + 2 c / dt.

The frequency is the largest singular value of the strains of all bonds, times the root of their stiffness, as a
function of displacements and rotations times the root of mass and inertia. Lanczos' method computes it
(`pdem.foundation.largest_eigenvalues`). For many bonds it is bounded: the square of a natural frequency is at most
twice the largest one of a particle that moves alone between neighbours at rest, because
\|a - b\|^2 <= 2 \|a\|^2 + 2 \|b\|^2.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.foundation import exact_math
from pdem.foundation.largest_eigenvalues import bound_of_eigenvalues, gram, largest_eigenvalue
from pdem.numerics.random import keyed_uniform

if TYPE_CHECKING:
    from collections.abc import Callable

    from pdem.foundation.array_types import Floats, Integers

STRAINS, END_DEGREES = 6, 12
"""Strains of a bond: elongation, two of shear, two of bending, twist; degrees of freedom of its two ends."""

_ROUNDS = 60
_MODES = np.array([0, 1, 1, 2, 2, 3])
"""Index of the stiffness (axial, shear, bending, twisting) of each strain."""

CLOSE_NEIGHBOURS = 12
"""Number of neighbours of a sphere in the densest packing of equal spheres."""


class BondNetwork(NamedTuple):
    """Bonds among particles without strain.

    Attributes
    ----------
    rows : (n, 2) array
        Particles at both ends.
    branch : (n, 3) array
        From the first to the second end [m].
    stiffness, damping : (n, 4) arrays
        Axial, shear, bending, twisting [N/m, N/m, N m, N m], [kg/s, kg/s, N m s, N m s].
    inverse_mass, inverse_inertia : (N,) arrays
        One over mass and moment of inertia of the particles [1/kg, 1/(kg m^2)], 0 for fixed particles.
    dimension : int
        2 for motion in the x-y plane.
    """

    rows: Integers
    branch: Floats
    stiffness: Floats
    damping: Floats
    inverse_mass: Floats
    inverse_inertia: Floats
    dimension: int = 3


def strain_rows(branch: Floats) -> Floats:
    """Return the matrices from the displacements and rotations of the ends of bonds to their small strains.

    Parameters
    ----------
    branch : (n, 3) array
        From the first to the second end [m].

    Returns
    -------
    (n, `STRAINS`, `END_DEGREES`) array
        Strains per displacement and per rotation of the first end, then of the second end [1, m, 1].
    """
    length = exact_math.norm(branch)[:, None]
    axis = branch / length
    least = np.eye(3)[np.abs(axis).argmin(axis=1)]
    first = np.cross(axis, least)
    first /= exact_math.norm(first)[:, None]
    second = np.cross(axis, first)
    rows = np.zeros((len(branch), STRAINS, END_DEGREES))
    for strain, way in ((0, axis), (1, first), (2, second)):
        rows[:, strain, 0:3], rows[:, strain, 6:9] = -way, way
    for strain, way in ((1, first), (2, second)):
        lever = -0.5 * length * np.cross(axis, way)
        rows[:, strain, 3:6], rows[:, strain, 9:12] = lever, lever
    for strain, way in ((3, first), (4, second), (5, axis)):
        rows[:, strain, 3:6], rows[:, strain, 9:12] = -way, way
    return rows


def _scales(network: BondNetwork) -> Floats:
    """Return one over the root of mass and inertia by particle and degree of freedom (N, 6)."""
    scales = np.empty((len(network.inverse_mass), 6))
    scales[:, :3] = np.sqrt(network.inverse_mass)[:, None]
    scales[:, 3:] = np.sqrt(network.inverse_inertia)[:, None]
    if network.dimension == 2:
        scales[:, 2:5] = 0.0
    return scales


def weighted_strains(network: BondNetwork, stiffness: Floats) -> Floats:
    """Return the matrices of `strain_rows`, scaled by the root of stiffness over mass or inertia.

    Their shape is (n, `STRAINS`, `END_DEGREES`), in 1/s.
    """
    both = _scales(network)[network.rows].reshape(-1, 1, END_DEGREES)
    return strain_rows(network.branch) * both * np.sqrt(stiffness[:, _MODES])[:, :, None]


def highest_frequency(network: BondNetwork, stiffness: Floats | None = None) -> float:
    """Return the highest natural frequency of bonded particles [rad/s], 0 without bonds.

    Parameters
    ----------
    network : BondNetwork
        The bonds.
    stiffness : (n, 4) array, optional
        Replaces the stiffness of the network.
    """
    if not len(network.rows):
        return 0.0
    strains = weighted_strains(network, network.stiffness if stiffness is None else stiffness)
    # any start vector is good that has no symmetry of the sample
    start = 0.5 + keyed_uniform(0, 0, np.arange(6 * len(network.inverse_mass)))
    return math.sqrt(largest_eigenvalue(_forces(network, strains), start))


def _forces(network: BondNetwork, strains: Floats) -> Callable[[Floats], Floats]:
    """Return the function that multiplies weighted displacements by weighted strains and by their transpose."""
    degrees = (6 * network.rows[:, :, None] + np.arange(6)).reshape(len(network.rows), END_DEGREES).T
    parts, count = np.ascontiguousarray(strains.transpose(2, 1, 0)), 6 * len(network.inverse_mass)

    def forces(displacement: Floats) -> Floats:
        strain = exact_math.added_up(part * displacement[degree] for part, degree in zip(parts, degrees, strict=True))
        force = exact_math.added_up(parts[:, mode] * strain[mode] for mode in range(STRAINS))
        return np.bincount(degrees.ravel(), weights=force.ravel(), minlength=count).astype(np.float64, copy=False)

    return forces


def stable_step(network: BondNetwork) -> float:
    """Return the largest stable step [s] of bonded particles, dashpots included; infinite without bonds."""
    return _stable_step(network, lambda stiffness: highest_frequency(network, stiffness))


def bounded_step(network: BondNetwork) -> float:
    """Return a lower bound [s] of `stable_step`, computed from each particle and its bonds alone."""
    return _stable_step(network, lambda stiffness: _bound(network, stiffness))


def _bound(network: BondNetwork, stiffness: Floats) -> float:
    """Return an upper bound of the highest frequency [rad/s]."""
    if not len(network.rows):
        return 0.0
    strains = weighted_strains(network, stiffness)
    blocks = np.zeros((len(network.inverse_mass), 6, 6))
    for end in range(2):
        part = strains[:, :, 6 * end : 6 * end + 6]
        np.add.at(blocks, network.rows[:, end], gram(part))
    return math.sqrt(2.0 * bound_of_eigenvalues(blocks))


def _stable_step(network: BondNetwork, frequency: Callable[[Floats], float]) -> float:
    """Return the step dt with dt omega(k + 2 c / dt) = 2, by bisection, since the product grows with dt."""
    undamped = frequency(network.stiffness)
    if undamped == 0.0:
        return math.inf
    high = 2.0 / undamped
    if not network.damping.any():
        return high
    low = 0.0
    for _ in range(_ROUNDS):
        step = 0.5 * (low + high)
        if step * frequency(network.stiffness + 2.0 * network.damping / step) < 2.0:
            low = step
        else:
            high = step
        if high - low < 1e-6 * high:
            break
    return low


def close_packed_step(stiffness: Floats, damping: Floats, length: float, mass: float, inertia: float) -> float:
    """Return the bound of the step of equal spheres in closest packing, each bonded to all twelve neighbours [s].

    Parameters
    ----------
    stiffness, damping : (4,) arrays
        Coefficients of a bond.
    length, mass, inertia : float
        Length of a bond [m], mass and moment of inertia of a sphere [kg, kg m^2].
    """
    # twelve evenly spread directions act on each axis as four bonds along it and eight bonds across it
    along, across = CLOSE_NEIGHBOURS / 3.0, CLOSE_NEIGHBOURS * 2.0 / 3.0
    step = math.inf
    for parts in (
        ((along / mass, 0), (across / mass, 1)),
        ((across / inertia, 2), (0.25 * (length * length) * across / inertia, 1), (along / inertia, 3)),
    ):
        square = 2.0 * exact_math.total(share * stiffness[mode] for share, mode in parts)
        loss = 2.0 * exact_math.total(share * damping[mode] for share, mode in parts)
        # square dt^2 + 2 loss dt = 4
        step = min(step, 4.0 / (loss + math.sqrt(loss * loss + 4.0 * square)))
    return float(step)
