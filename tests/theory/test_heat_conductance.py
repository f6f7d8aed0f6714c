"""Conductance of contacts, convection and radiation: closed forms, and a second implementation with scipy."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import erfcinv

from pdem.features.heat import conductance, surroundings
from pdem.features.heat.conductance import COLUMNS, PairRow, pair_row
from pdem.features.heat.surroundings import STEFAN_BOLTZMANN, FluidRow
from pdem.foundation.errors import InputError
from pdem.numerics.kernels import kernel

RADIUS = 3.2e-3
CAPACITY = 7747.0 * 4.0 / 3.0 * math.pi * RADIUS**3 * 464.0


@dataclass(frozen=True)
class Material:
    conductivity: float = 42.0
    contact_modulus: float = 200e9
    poisson_ratio: float = 0.29
    roughness: float | None = 19e-9
    slope: float | None = 0.056
    microhardness: float | None = 3e9
    accommodation: float | None = 0.7


@dataclass(frozen=True)
class Gas:
    conductivity: float = 0.027
    prandtl: float = 0.7
    heat_capacity_ratio: float = 1.4
    mean_free_path: float | None = 68e-9


STEEL, AIR = Material(), Gas()
RIGID = replace(STEEL, contact_modulus=math.inf)
BARE = Material(roughness=None, slope=None, microhardness=None, accommodation=None)


@kernel
def _of_contact(force, radius, other, k):
    return (
        conductance.solid(force, radius, other, k),
        conductance.solid_gas(force, radius, other, k),
        conductance.contact_radius(force, radius, other, k),
    )


@kernel
def _around(radius, speed, porosity, fluid):
    return surroundings.convection(radius, speed, fluid), surroundings.convection_in_bed(radius, speed, porosity, fluid)


@kernel
def _nusselt(reynolds, prandtl, porosity):
    return (
        surroundings.nusselt_ranz_marshall(reynolds, prandtl),
        surroundings.nusselt_gunn(reynolds, prandtl, porosity),
    )


@kernel
def _radiated(temperature, other, factor):
    return surroundings.radiated(temperature, other, factor)


def solid(*arguments):
    return _of_contact(*arguments)[0]


def solid_gas(*arguments):
    return _of_contact(*arguments)[1]


def resistances(force, radius, other, k):
    """Return the five resistances as the literature has them, in long doubles: R_L, R_s, R_g, R_c, R_G."""
    force, r1 = np.longdouble(force), np.longdouble(radius)
    r2 = np.longdouble(other) if other else np.longdouble("inf")
    effective = 1.0 / (1.0 / r1 + 1.0 / r2)
    a = np.cbrt(3.0 * force * effective / (4.0 * np.longdouble(k.modulus)))
    overlap = a * a / effective
    pressure = 2.0 * k.modulus * overlap / (math.pi * a)
    share = min(float(pressure / k.microhardness), 0.5)
    a1 = erfcinv(2.0 * share)
    a2 = erfcinv(0.03 * share) - a1
    width = 2.0 * math.sqrt(2.0) * k.roughness
    spots = 1.48 / (1.25 * math.pi * a * a * k.conductivity) * (k.roughness / k.slope)
    narrow = width * a2 / (math.pi * k.gas * a * a * math.log1p(a2 / (a1 + k.jump / width)))
    r = 2.0 * effective
    across, height = 2.0 * np.sqrt(r * r - a * a), 2.0 * (r - a * a / (2.0 * r)) + k.jump
    beside = sum(
        (math.pi * one / 4.0) / (conductivity * math.pi * (one * one - a * a))
        for one, conductivity in ((r1, k.first), (r2, k.second))
        if np.isfinite(one)
    )
    wide = 2.0 / (math.pi * k.gas * (height * np.log(height / (height - across)) - across))
    return 1.0 / (2.0 * k.conductivity * a), spots * (k.microhardness / pressure) ** 0.96, narrow, beside, wide


def expected(force, radius, other, k):
    constriction, spots, narrow, beside, wide = resistances(force, radius, other, k)
    return float(1.0 / (constriction + 1.0 / (1.0 / spots + 1.0 / narrow)) + 1.0 / (beside + wide))


def logarithmic(low, high):
    return st.floats(math.log10(low), math.log10(high)).map(lambda exponent: 10.0**exponent)


MATERIALS = st.builds(
    Material,
    conductivity=logarithmic(0.2, 400.0),
    contact_modulus=logarithmic(1e8, 4e11),
    poisson_ratio=st.floats(0.0, 0.49),
    roughness=logarithmic(1e-9, 1e-6),
    slope=st.floats(0.01, 0.3),
    microhardness=logarithmic(1e8, 1e10),
    accommodation=st.floats(0.1, 1.0),
)
GASES = st.builds(Gas, conductivity=st.floats(0.01, 0.2), mean_free_path=logarithmic(1e-8, 1e-4))
RADII = logarithmic(4e-4, 5e-2)
FORCES = logarithmic(1e-7, 1e3)


def test_the_steel_spheres_of_the_theory():
    h, _, a = _of_contact(1.0, RADIUS, RADIUS, pair_row(BARE, BARE))
    assert a == pytest.approx(2.22336e-5, rel=3e-6)
    assert h == pytest.approx(1.867622e-3, rel=3e-7)
    assert CAPACITY / (2.0 * h) == pytest.approx(132.0903, rel=1e-6)
    assert h / (42.0 * math.pi * RADIUS) == pytest.approx(4.42e-3, rel=1e-3)


def test_a_flat_wall_has_the_radius_of_the_sphere():
    k = pair_row(STEEL, STEEL)
    assert solid(1.0, RADIUS, 0.0, k) == pytest.approx(2.0 ** (1.0 / 3.0) * solid(1.0, RADIUS, RADIUS, k))


def test_a_wall_is_the_limit_of_a_large_sphere():
    k = pair_row(STEEL, Material(contact_modulus=1e9), AIR)
    for one in (solid, solid_gas):
        assert one(1.0, RADIUS, 0.0, k) == pytest.approx(one(1.0, RADIUS, 1e9 * RADIUS, k), rel=1e-8)


def test_coefficients_of_a_pair():
    one, other = Material(), Material(100.0, math.inf, 0.3, 4e-9, 0.1, 1e9, 1.0)
    k = pair_row(one, other, AIR)
    assert k._fields == COLUMNS
    assert k == pytest.approx(
        PairRow(
            2.0 * 42.0 * 100.0 / 142.0, 200e9 / (1.0 - 0.29**2), 42.0, 100.0, math.hypot(19e-9, 4e-9),
            math.hypot(0.056, 0.1), 1.5e9, 0.027, (1.3 / 0.7 + 1.0) * 2.8 / 2.4 * 68e-9 / 0.7,
        )
    )  # fmt: skip


@given(MATERIALS, MATERIALS, GASES, RADII, st.one_of(st.just(0.0), RADII), FORCES)
def test_the_conductance_is_that_of_a_second_implementation(one, other, gas, radius, other_radius, force):
    k = pair_row(one, other, gas)
    h, through_gas, a = _of_contact(force, radius, other_radius, k)
    assume(a < 0.4 * min(radius, other_radius or radius))
    assert h == pytest.approx(float(1.0 / resistances(force, radius, other_radius, k)[0]), rel=1e-13)
    assert through_gas == pytest.approx(expected(force, radius, other_radius, k), rel=1e-9)


@given(MATERIALS, MATERIALS, GASES, RADII, st.one_of(st.just(0.0), RADII), FORCES)
def test_bodies_may_change_places(one, other, gas, radius, other_radius, force):
    here = _of_contact(force, radius, other_radius, pair_row(one, other, gas))
    assert here == _of_contact(force, other_radius, radius, pair_row(other, one, gas))


@given(MATERIALS, MATERIALS, GASES, RADII, st.one_of(st.just(0.0), RADII), FORCES, FORCES)
def test_a_force_helps(one, other, gas, radius, other_radius, force, more):
    """Within the limits that the module states: smooth surfaces, and a gas that conducts little."""
    gas = replace(gas, conductivity=0.01 * min(one.conductivity, other.conductivity))
    k = pair_row(one, other, gas)
    assume(k.roughness < 0.003 * min(radius, other_radius or radius))
    lower, higher = (_of_contact(load, radius, other_radius, k) for load in (force, force + more))
    assume(higher[2] < 0.3 * min(radius, other_radius or radius))
    assert lower[0] <= higher[0]
    assert _of_contact(0.0, radius, other_radius, k)[1] <= lower[1] * (1.0 + 1e-13)
    assert lower[1] <= higher[1] * (1.0 + 1e-13)


def force_of_pressure(pressure, k):
    """Return the force between two spheres with a largest pressure (Hertz)."""
    return math.pi**3 * (0.5 * RADIUS) ** 2 * pressure**3 / (6.0 * k.modulus**2)


@pytest.mark.parametrize("share", [1e-6, 0.01, 0.499999999, 0.5, 0.500000001, 5.0])
def test_the_conductance_has_no_steps(share):
    """Also where the pressure is half the hardness, a limit of the gas between the spots."""
    k = pair_row(STEEL, STEEL, AIR)
    force = force_of_pressure(share * k.microhardness, k)
    here, beyond = (_of_contact(load, RADIUS, RADIUS, k) for load in (force, force * (1.0 + 1e-8)))
    assert beyond == pytest.approx(here, rel=1e-8)


@pytest.mark.parametrize("force", [0.0, -1.0, 1e-30])
@pytest.mark.parametrize("other", [RADIUS, 0.0])
def test_without_a_force_only_the_gas_around_spheres_that_touch_conducts(force, other):
    k = pair_row(STEEL, STEEL, AIR)
    assert solid(force, RADIUS, other, k) < 1e-12
    r, bodies = (RADIUS, 2.0) if other else (2.0 * RADIUS, 1.0)
    gap = quad(lambda u: 2.0 * math.pi * AIR.conductivity * u / (2.0 * (r - u) + k.jump), 0.0, r, epsabs=0.0, limit=500)
    beside = bodies / (4.0 * 42.0 * RADIUS)
    assert solid_gas(force, RADIUS, other, k) == pytest.approx(1.0 / (beside + 1.0 / gap[0]), rel=1e-6)


def test_the_gas_around_a_contact_is_the_integral_over_its_gap():
    """In rings between a and r, of the gap between spheres that were moved together until they cut each other at a."""
    k = pair_row(STEEL, STEEL, AIR)
    a = _of_contact(100.0, RADIUS, RADIUS, k)[2]
    half = RADIUS - a * a / (2.0 * RADIUS)
    outside = math.sqrt(RADIUS**2 - a**2)
    rings = quad(lambda u: 2.0 * math.pi * 0.027 * u / (2.0 * (half - u) + k.jump), 0.0, outside, epsabs=0.0, limit=500)
    assert float(resistances(100.0, RADIUS, RADIUS, k)[4]) == pytest.approx(1.0 / rings[0], rel=1e-6)


@pytest.mark.parametrize("gas", [None, Gas(conductivity=0.0)])
def test_smooth_spheres_in_a_vacuum_conduct_like_solids(gas):
    material = replace(STEEL, roughness=0.0)
    k = pair_row(material, material, gas)
    for force in (0.0, 1e-9, 1.0, 1e5):
        assert solid_gas(force, RADIUS, RADIUS, k) == solid(force, RADIUS, RADIUS, k)


def test_perfectly_smooth_surfaces_have_no_resistance_of_spots():
    smooth, nearly = (replace(STEEL, roughness=sigma) for sigma in (0.0, 1e-18))
    none, little = pair_row(smooth, smooth, AIR), pair_row(nearly, nearly, AIR)
    assert solid_gas(1.0, RADIUS, RADIUS, none) == pytest.approx(solid_gas(1.0, RADIUS, RADIUS, little), rel=1e-8)
    gap = solid_gas(1.0, RADIUS, RADIUS, none) - solid(1.0, RADIUS, RADIUS, none)
    *_, beside, wide = resistances(1.0, RADIUS, RADIUS, little)
    assert gap == pytest.approx(float(1.0 / (beside + wide)), rel=1e-9)


def test_rough_hard_spheres_do_not_conduct_in_a_vacuum():
    hard = replace(STEEL, microhardness=1e40)
    assert solid_gas(1.0, RADIUS, RADIUS, pair_row(hard, hard, Gas(conductivity=0.0))) < 1e-25


@pytest.mark.parametrize("gas", [None, AIR, Gas(mean_free_path=None), Gas(conductivity=0.0)])
@pytest.mark.parametrize("force", [-1.0, 0.0, 1.0, 1e12])
@pytest.mark.parametrize("material", [STEEL, RIGID, replace(STEEL, roughness=0.0, slope=0.0)])
def test_all_values_are_finite(material, force, gas):
    h = _of_contact(force, RADIUS, 0.0, pair_row(material, material, gas))
    assert all(math.isfinite(one) and one >= 0.0 for one in h)


def test_rigid_bodies_touch_in_a_point():
    assert solid(1.0, RADIUS, RADIUS, pair_row(RIGID, RIGID)) == 0.0
    one, other = pair_row(STEEL, RIGID), pair_row(STEEL, STEEL)
    assert one.modulus == pytest.approx(2.0 * other.modulus)


def test_a_gas_needs_the_properties_of_both_surfaces():
    with pytest.raises(InputError, match="roughness, slope, microhardness, accommodation"):
        pair_row(STEEL, BARE, AIR)


def test_the_bits_of_a_contact():
    """The same on every processor; written again only by a change that is meant to change bits."""
    k = pair_row(STEEL, STEEL, AIR)
    assert [one.hex() for one in _of_contact(1.0, RADIUS, RADIUS, k)] == [
        "0x1.e996030f0a44ap-10",
        "0x1.0e8c0b1f307e1p-8",
        "0x1.7504949dbeae3p-16",
    ]


@given(st.floats(0.0, 1e5), st.floats(0.5, 1000.0), st.floats(0.35, 1.0))
def test_nusselt_numbers(reynolds, prandtl, porosity):
    single, bed = _nusselt(reynolds, prandtl, porosity)
    root = np.cbrt(prandtl)
    assert single == pytest.approx(2.0 + 0.6 * np.sqrt(reynolds) * root, rel=1e-13)
    at_rest, flowing = np.polyval([5.0, -10.0, 7.0], porosity), np.polyval([1.2, -2.4, 1.33], porosity)
    sums = at_rest * (1.0 + 0.7 * reynolds**0.2 * root) + flowing * reynolds**0.7 * root
    assert bed == pytest.approx(sums, rel=1e-13)


@pytest.mark.parametrize(("porosity", "expected"), [(1.0, 2.0), (0.4, 3.8)])
def test_a_fluid_at_rest(porosity, expected):
    single, bed = _nusselt(0.0, 0.7, porosity)
    assert single == 2.0
    assert bed == pytest.approx(expected, rel=1e-14)


def test_gunn_without_a_bed():
    for reynolds in (1.0, 100.0, 1e4):
        expected = 2.0 * (1.0 + 0.7 * reynolds**0.2) + 0.13 * reynolds**0.7
        assert _nusselt(reynolds, 1.0, 1.0)[1] == pytest.approx(expected, rel=1e-13)


def test_a_sphere_in_a_fluid():
    air = FluidRow(conductivity=0.026, density=1.2, viscosity=1.8e-5, prandtl=0.7)
    reynolds = 1.2 * 2.0 * RADIUS * 3.0 / 1.8e-5
    area_over_diameter = math.pi * 2.0 * RADIUS
    single, bed = _around(RADIUS, 3.0, 0.4, air)
    assert single == pytest.approx(area_over_diameter * 0.026 * _nusselt(reynolds, 0.7, 0.4)[0], rel=1e-13)
    assert bed == pytest.approx(area_over_diameter * 0.026 * _nusselt(0.4 * reynolds, 0.7, 0.4)[1], rel=1e-13)
    assert _around(RADIUS, -3.0, 0.4, air) == (single, bed)
    assert _around(RADIUS, 0.0, 1.0, air)[0] == pytest.approx(4.0 * math.pi * RADIUS * 0.026)


@given(st.floats(1.0, 5000.0), st.floats(-0.5, 0.5), st.integers(0, 50))
def test_radiation_has_all_digits(temperature, share, halvings):
    other = temperature * (1.0 + math.ldexp(share, -halvings))
    exact = Fraction(STEFAN_BOLTZMANN) * (Fraction(temperature) ** 4 - Fraction(other) ** 4)
    assert _radiated(temperature, other, STEFAN_BOLTZMANN) == pytest.approx(float(exact), rel=2e-15)
    assert _radiated(temperature, other, 0.3) == -_radiated(other, temperature, 0.3)


def test_a_black_square_metre_in_the_cold():
    assert _radiated(300.0, 0.0, STEFAN_BOLTZMANN) == pytest.approx(459.3, rel=1e-4)
