"""Conductance of a contact [W/K]: the heat that flows through it in a second, over the difference of temperatures.

Solid contact (G. K. Batchelor, R. W. O'Brien, Proc. R. Soc. Lond. A 355 (1977) 313): ``h = 2 k_m a`` with
``k_m = 2 k1 k2 / (k1 + k2)``. The radius a of the contact area follows from the force, not from the overlap, since the
moduli of a case are often smaller than the real ones: ``a = (3 F R / (4 E))^(1/3)`` with the real modulus E.

Rough surfaces and gas (M. Bahrami, M. M. Yovanovich, J. R. Culham, Int. J. Heat Mass Transfer 49 (2006) 3691, and the
model of microcontacts by M. M. Yovanovich): ``h = 1/(R_L + 1/(1/R_s + 1/R_g)) + 1/(R_c + R_G)`` of the resistances

* ``R_L = 1 / (2 k_m a)`` of the constriction,
* ``R_s = 1.48 sigma / (1.25 pi a^2 k_m tau) (H/P)^0.96`` of the spots in which the surfaces touch,
* ``R_g = 2 sqrt(2) sigma a2 / (pi k_g a^2 ln(1 + a2 / (a1 + M / (2 sqrt(2) sigma))))`` of the gas between the spots,
  with ``a1 = erfc^-1(2 P/H)`` and ``a2 = erfc^-1(0.03 P/H) - a1``,
* ``R_c = 1/(4 k1 r1 (1 - (a/r1)^2)) + 1/(4 k2 r2 (1 - (a/r2)^2))`` of the solid beside the contact area,
* ``R_G = 2 / (pi k_g (S ln(S / (S - A)) - A))`` of the gas around the contact area, with ``A = 2 sqrt(r^2 - a^2)``,
  ``S = 2 (r - a^2 / (2 r)) + M``.

The largest pressure of the contact is that of Hertz with the same force and radius, ``P = 3 F / (2 pi a^2)``. For
unequal bodies r is the harmonic mean ``2 r1 r2 / (r1 + r2)``, with which the width of the gap next to the contact area
is right. A wall is the limit of a large sphere: r is then twice the radius of the sphere, and the wall has no part in
R_c.

The formulas are evaluated as conductances, so that neither smooth surfaces, nor a rigid pair, nor a gas that does not
conduct divides by 0, and ``S - A`` is computed without loss of digits. Limits keep all values finite:

* ``P/H`` counts as 1/2 at most in a1 and a2, where the mean planes of both surfaces meet, and as 1e-30 at least;
* a counts as half the smaller radius at most in R_c and R_G.

The conductance is continuous, and its slope has a step at these limits. It grows with the force if the roughness is
at most 0.003 of the smaller radius and, unless the radii are equal, the gas conducts at most a hundredth of either
solid. Otherwise it can fall by some per cent in a range of forces: the contact area takes the place of gas, and R_G
neglects the roughness.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from pdem.foundation.errors import InputError
from pdem.numerics.kernel_factory import inlined_exactly
from pdem.numerics.portable.error_functions import inverse_erfc
from pdem.numerics.portable.logarithms import logarithm_of_one_plus
from pdem.numerics.portable.powers import power

_TINY = 1e-200
"""Added to denominators that may be 0; far below all terms, and its inverse is finite."""

_LEAST, _MOST = 1e-30, 0.5
"""Limits of pressure over hardness in the arguments of the inverse error function."""

_SPOTS = 1.25 * math.pi / 1.48
_WIDTH = 2.0 * math.sqrt(2.0)
_SURFACE = "roughness", "slope", "microhardness", "accommodation"


class PairRow(NamedTuple):
    """Coefficients of a pair of materials; `first` and `second` are in the order of the bodies.

    Attributes
    ----------
    conductivity : float
        Harmonic mean of both conductivities, 2 k1 k2 / (k1 + k2) [W/(m K)].
    modulus : float
        Effective modulus of the real materials, 1 / ((1 - nu1^2) / E1 + (1 - nu2^2) / E2) [Pa]; infinite if both are
        rigid.
    first, second : float
        Conductivity of either body [W/(m K)].
    roughness : float
        Root of the sum of the squares of both roughnesses sigma [m]; 0 for smooth surfaces.
    slope : float
        Root of the sum of the squares of both mean slopes tau of asperities.
    microhardness : float
        Harmonic mean of both microhardnesses [Pa]; infinite without a gas.
    gas : float
        Conductivity of the gas [W/(m K)]; 0 without a gas.
    jump : float
        Distance M that a gap has to be wider for the jump of the temperature at both surfaces [m].

    """

    conductivity: float
    modulus: float
    first: float
    second: float
    roughness: float
    slope: float
    microhardness: float
    gas: float
    jump: float


COLUMNS = PairRow._fields
"""Names of the coefficients, in the order of a row."""


def pair_row(first: Any, second: Any, gas: Any = None) -> PairRow:
    """Return the coefficients of two materials, which change places if the bodies do.

    Parameters
    ----------
    first, second : object
        Materials with positive `conductivity` [W/(m K)], `contact_modulus` (Young's modulus [Pa], infinite for a rigid
        body) and `poisson_ratio`; with a gas also `roughness` [m], `slope`, `microhardness` [Pa] and `accommodation`
        (a share of 1), which may be None without a gas.
    gas : object, optional
        Gas with `conductivity` [W/(m K)], `prandtl`, `heat_capacity_ratio`, and `mean_free_path` [m] or None for a gas
        whose molecules do not fly far. Without a gas the surfaces are smooth and nothing surrounds the contact.

    Raises
    ------
    InputError
        If there is a gas, and a material has no value for one of the four properties of its surface.
    """
    compliance = _compliance(first) + _compliance(second)
    modulus = 1.0 / compliance if compliance > 0.0 else math.inf
    solids = _harmonic_mean(first.conductivity, second.conductivity), modulus, first.conductivity, second.conductivity
    if gas is None:
        return PairRow(*solids, roughness=0.0, slope=0.0, microhardness=math.inf, gas=0.0, jump=0.0)
    _require_surfaces(first, second)
    return PairRow(
        *solids,
        roughness=math.sqrt(first.roughness * first.roughness + second.roughness * second.roughness),
        slope=math.sqrt(first.slope * first.slope + second.slope * second.slope),
        microhardness=_harmonic_mean(first.microhardness, second.microhardness),
        gas=gas.conductivity,
        jump=_jump(first.accommodation, second.accommodation, gas),
    )


def _require_surfaces(*materials: Any) -> None:
    for material in materials:
        missing = [name for name in _SURFACE if getattr(material, name) is None]
        if missing:
            raise InputError(
                f"a material has no {', '.join(missing)}, which conduction through gas in gaps needs: give it for each "
                'material that may touch, or take contact = "solid"'
            )


def _compliance(material: Any) -> float:
    return float((1.0 - material.poisson_ratio * material.poisson_ratio) / material.contact_modulus)


def _harmonic_mean(one: float, other: float) -> float:
    return other if math.isinf(one) else one if math.isinf(other) else 2.0 * one * other / (one + other)


def _jump(one: float, other: float, gas: Any) -> float:
    """Return the distance M of two surfaces with accommodation coefficients [m]."""
    path = 0.0 if gas.mean_free_path is None else gas.mean_free_path
    ratio = 2.0 * gas.heat_capacity_ratio / (1.0 + gas.heat_capacity_ratio)
    return float(((2.0 - one) / one + (2.0 - other) / other) * ratio * path / gas.prandtl)


@inlined_exactly
def _curvature(radius: float) -> float:
    return 1.0 / radius if radius > 0.0 else 0.0


@inlined_exactly
def contact_radius(force: float, radius: float, other_radius: float, k: PairRow) -> float:
    """Return the radius of the contact area of the real materials [m], for the arguments of `solid`."""
    curvature = _curvature(radius) + _curvature(other_radius)
    return power(0.75 * max(force, 0.0) / (k.modulus * curvature), 1.0 / 3.0)


@inlined_exactly
def solid(force: float, radius: float, other_radius: float, k: PairRow) -> float:
    """Return the conductance of a contact between smooth bodies in a vacuum [W/K].

    Parameters
    ----------
    force : float
        Normal force [N]; a pull counts as 0.
    radius, other_radius : float
        Radii of the bodies [m]; 0 for a flat wall, which only one of them can be.
    k : PairRow
        Coefficients of the materials, in the order of the bodies.
    """
    return 2.0 * k.conductivity * contact_radius(force, radius, other_radius, k)


@inlined_exactly
def _of_spots(pressure: float, k: PairRow) -> float:
    """Return the conductance of the spots in which rough surfaces touch, times roughness over a^2 [W/(m K)]."""
    return _SPOTS * k.conductivity * k.slope * power(pressure, 0.96)


@inlined_exactly
def _of_narrow_gas(pressure: float, k: PairRow) -> float:
    """Return the conductance of the gas between these spots, times roughness over a^2 [W/(m K)]."""
    share = min(max(pressure, _LEAST), _MOST)
    nearest, width = inverse_erfc(2.0 * share), _WIDTH * k.roughness
    further = inverse_erfc(0.03 * share) - nearest
    ratio = width * further / (width * nearest + k.jump + _TINY)
    return math.pi * k.gas * logarithm_of_one_plus(ratio) / (_WIDTH * further)


@inlined_exactly
def _through_area(load: float, a: float, k: PairRow) -> float:
    """Return the conductance of the contact area, spots and gas between them behind the constriction [W/K]."""
    square, constriction = a * a, 2.0 * k.conductivity * a
    pressure = 1.5 * load / (math.pi * k.microhardness * max(square, _TINY))
    layer = square * (_of_spots(pressure, k) + _of_narrow_gas(pressure, k)) + _TINY
    return constriction * (layer / (k.roughness * constriction + layer))


@inlined_exactly
def _beside(curvature: float, a: float, conductivity: float) -> float:
    """Return the resistance of one body beside the contact area [K/W]; 0 for a wall."""
    share = a * curvature
    return 0.25 * curvature / (conductivity * (1.0 - share * share))


@inlined_exactly
def _wide_gas(a: float, r: float, k: PairRow) -> float:
    """Return the conductance of the gas around the contact area [W/K]."""
    square = a * a / (r * r)
    root = math.sqrt(1.0 - square)
    # S - A, of which the difference of two numbers of the size of r would have few digits
    apart = k.jump + 0.5 * r * square * square / (1.0 - 0.5 * square + root) + _TINY
    height, across = r * (2.0 - square) + k.jump, 2.0 * r * root
    return 0.5 * math.pi * k.gas * (height * logarithm_of_one_plus(across / apart) - across)


@inlined_exactly
def _through_gap(a: float, first: float, second: float, k: PairRow) -> float:
    """Return the conductance of gas and solid around the contact area of bodies with two curvatures [W/K]."""
    inside = min(a, 0.5 / max(first, second))
    gas = _wide_gas(inside, 2.0 / (first + second), k)
    return gas / (1.0 + gas * (_beside(first, inside, k.first) + _beside(second, inside, k.second)))


@inlined_exactly
def solid_gas(force: float, radius: float, other_radius: float, k: PairRow) -> float:
    """Return the conductance of a contact between rough bodies in a gas at rest [W/K].

    Without a force it is that of the gas around spheres that just touch. See `solid` for the arguments.
    """
    a, load = contact_radius(force, radius, other_radius, k), max(force, 0.0)
    return _through_area(load, a, k) + _through_gap(a, _curvature(radius), _curvature(other_radius), k)
