"""Stiffness and damping of bonds by their sections: springs spread over the section, and two theories of beams.

A bond of length l has a round section of radius R, hollow if it has an inner radius R_i: area A = pi (R^2 - R_i^2),
second moment of area I = pi (R^4 - R_i^4) / 4, polar moment J = 2 I. With Young's modulus E and shear modulus
G = E / (2 (1 + nu)) all families have k_n = E A / l, k_b = E I / l, k_t = G J / l, and differ only in the shear:

* springs over the section (D. Potyondy, P. Cundall, Int. J. Rock Mech. Min. Sci. 41 (2004) 1329): k_s = G A / l;
* Euler-Bernoulli beam: k_s = 12 E I / l^3;
* Timoshenko beam: k_s = 12 E I / (l^3 (1 + Phi)), Phi = 12 E I / (kappa G A l^2).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from pdem.numerics.geometry_kernels import SPHERE_INERTIA

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pdem.foundation.array_types import Floats

Family = Literal["springs", "euler-bernoulli", "timoshenko"]

SOLID_SHEAR_COEFFICIENT = 0.9
"""Shear coefficient of a solid round section, if a case does not give one."""


class RoundSection(NamedTuple):
    """Sections of n bonds, solid or hollow.

    Attributes
    ----------
    outer, inner : (n,) arrays
        Radii [m]; `inner` is 0 for a solid section.
    """

    outer: Floats
    inner: Floats

    @property
    def area(self) -> Floats:
        """Area of the section [m^2]."""
        return math.pi * (self.outer * self.outer - self.inner * self.inner)

    @property
    def second_moment(self) -> Floats:
        """Second moment of area about a diameter [m^4]; the polar moment is twice this."""
        outer, inner = self.outer * self.outer, self.inner * self.inner
        return 0.25 * math.pi * (outer * outer - inner * inner)


class Elasticity(NamedTuple):
    """Elastic material of a bond and the law of its shear.

    Attributes
    ----------
    youngs_modulus : float
        Young's modulus [Pa].
    poisson_ratio : float
        Poisson's ratio, between -1 and 0.5.
    family : {"springs", "euler-bernoulli", "timoshenko"}
        Law of the shear.
    shear_coefficient : float or None
        Kappa of a Timoshenko beam; None: the value of the function `shear_coefficient`.
    """

    youngs_modulus: float
    poisson_ratio: float
    family: Family = "timoshenko"
    shear_coefficient: float | None = None

    @property
    def shear_modulus(self) -> float:
        """Shear modulus G [Pa]."""
        return self.youngs_modulus / (2.0 * (1.0 + self.poisson_ratio))


def shear_coefficient(section: RoundSection, poisson_ratio: float) -> Floats:
    """Return kappa (n,) of round sections: 0.9 for solid sections, the formula of Cowper for tubes.

    A tube with the ratio m of its inner to its outer radius, and s = 1 + m^2, has kappa =
    6 (1 + nu) s^2 / ((7 + 6 nu) s^2 + (20 + 12 nu) m^2) (G. Cowper, J. Appl. Mech. 33 (1966) 335).
    """
    ratio = section.inner / section.outer
    ratio = ratio * ratio
    square = (1.0 + ratio) * (1.0 + ratio)
    tube = 6.0 * (1.0 + poisson_ratio) * square
    tube = tube / ((7.0 + 6.0 * poisson_ratio) * square + (20.0 + 12.0 * poisson_ratio) * ratio)
    return np.where(ratio > 0.0, tube, SOLID_SHEAR_COEFFICIENT)


def shear_stiffness(section: RoundSection, length: ArrayLike, elasticity: Elasticity) -> Floats:
    """Return the shear stiffness k_s (n,) [N/m] of bonds of given lengths (n,) [m]."""
    long = np.asarray(length, dtype=np.float64)
    shear = elasticity.shear_modulus * section.area
    if elasticity.family == "springs":
        return shear / long
    bending = 12.0 * elasticity.youngs_modulus * section.second_moment
    if elasticity.family == "euler-bernoulli":
        return bending / (long * long * long)
    given = elasticity.shear_coefficient
    kappa = shear_coefficient(section, elasticity.poisson_ratio) if given is None else given
    return bending / (long * long * long * (1.0 + bending / (kappa * shear * (long * long))))


def stiffnesses(section: RoundSection, length: ArrayLike, elasticity: Elasticity) -> Floats:
    """Return the four stiffnesses of bonds.

    Parameters
    ----------
    section : RoundSection
        Sections of the bonds.
    length : (n,) array_like
        Distances of the centres at rest [m].
    elasticity : Elasticity
        Material and family of the bonds.

    Returns
    -------
    (n, 4) array
        Axial k_n [N/m], shear k_s [N/m], bending k_b [N m], twisting k_t [N m].
    """
    long = np.asarray(length, dtype=np.float64)
    axial = elasticity.youngs_modulus * section.area / long
    bending = elasticity.youngs_modulus * section.second_moment / long
    twisting = elasticity.shear_modulus * 2.0 * section.second_moment / long
    return np.stack([axial, shear_stiffness(section, long, elasticity), bending, twisting], axis=-1)


def inverse_inertias(inverse_mass: Floats, radius: Floats) -> Floats:
    """Return one over the moments of inertia of spheres [1/(kg m^2)]."""
    return inverse_mass / (SPHERE_INERTIA * (radius * radius))


def damping_coefficients(
    stiffness: Floats, length: Floats, inverse_mass: Floats, inverse_inertia: Floats, ratio: float
) -> Floats:
    """Return the damping of the four modes, 2 zeta sqrt(k m) with the mass m that moves in each mode of a free pair.

    The mass is m_i m_j / (m_i + m_j) along the bond, the same with moments of inertia for bending and twisting, and for
    the shear 1 / (1/m_i + 1/m_j + l^2/4 (1/I_i + 1/I_j)), since spheres turn when they shear. A mode in which nothing
    can move has no damping.

    Parameters
    ----------
    stiffness : (n, 4) array
        See `stiffnesses`.
    length : (n,) array
        Distances of the centres at rest [m].
    inverse_mass, inverse_inertia : (n, 2) arrays
        One over mass and moment of inertia of both ends [1/kg, 1/(kg m^2)], 0 for fixed particles.
    ratio : float
        Damping ratio zeta of each mode, 0 or more.

    Returns
    -------
    (n, 4) array
        Damping coefficients in the order of `stiffness` [kg/s, kg/s, N m s, N m s].
    """
    mass, inertia = (one[:, 0] + one[:, 1] for one in (inverse_mass, inverse_inertia))
    inverse = np.stack([mass, mass + 0.25 * (length * length) * inertia, inertia, inertia], axis=-1)
    moves = inverse > 0.0
    return np.where(moves, 2.0 * ratio * np.sqrt(stiffness / np.where(moves, inverse, 1.0)), 0.0)
