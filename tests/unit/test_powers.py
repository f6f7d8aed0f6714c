"""Powers in kernels are those of exact arithmetic to a few units of the last place."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdem.foundation import exact_math
from pdem.numerics.kernels import kernel
from pdem.numerics.portable.powers import power


@kernel
def _power(base, exponent):
    return power(base, exponent)


@given(st.floats(1e-300, 1e300), st.floats(1e-3, 3.0))
def test_a_power_is_the_exact_one(base, exponent):
    expected = exact_math.power(base, exponent)
    if 1e-300 < expected < 1e300:
        error = 4e-16 * (1.0 + abs(exponent * math.log(base)))
        assert _power(base, exponent) == pytest.approx(expected, rel=error)


@pytest.mark.parametrize("exponent", [0.4, 2.0 / 3.0, 0.687, 1.5])
@given(base=st.floats(1e-12, 1e6))
def test_in_the_range_of_forces_it_is_right_to_some_units(exponent, base):
    assert _power(base, exponent) == pytest.approx(exact_math.power(base, exponent), rel=2e-14)


@pytest.mark.parametrize(("base", "exponent", "expected"), [(0.0, 0.4, 0.0), (1.0, 0.7, 1.0), (1e300, 2.0, math.inf)])
def test_ends(base, exponent, expected):
    assert _power(base, exponent) == expected


@given(st.floats(1e-6, 1e6), st.floats(0.1, 3.0))
def test_powers_grow(base, exponent):
    assert _power(base, exponent) <= _power(math.nextafter(base, math.inf) * (1.0 + 1e-14), exponent)
