"""Logarithms and the inverse error function in kernels are exact to some units of the last place."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdem.foundation import exact_math
from pdem.numerics.kernels import kernel
from pdem.numerics.portable.error_functions import inverse_erfc
from pdem.numerics.portable.logarithms import logarithm_of_one_plus, natural_logarithm


@kernel
def _functions(number):
    return natural_logarithm(number), logarithm_of_one_plus(number), inverse_erfc(number)


def logarithm(number):
    return _functions(number)[0]


def of_one_plus(number):
    return _functions(number)[1]


def inverse(number):
    return _functions(number)[2]


def exact_inverse(value):
    sign, share = (1.0, value) if value <= 1.0 else (-1.0, 2.0 - value)
    return -sign * exact_math.normal_quantile(0.5 * share) * math.sqrt(0.5)


@given(st.floats(5e-324, 1.7e308))
def test_a_logarithm_is_the_exact_one(number):
    assert logarithm(number) == pytest.approx(exact_math.log(number), rel=1e-15, abs=0.0)


@given(st.floats(-0.5, 1.0), st.integers(0, 50))
def test_next_to_1_it_has_all_digits(share, halvings):
    number = 1.0 + math.ldexp(share, -halvings)
    assert logarithm(number) == pytest.approx(exact_math.log(number), rel=1e-15, abs=0.0)


@given(st.floats(-0.5, 1.0), st.integers(-60, 300))
def test_the_logarithm_of_one_plus_a_small_number(share, halvings):
    number = max(math.ldexp(share, -halvings), -0.999)
    assert of_one_plus(number) == pytest.approx(exact_math.log1p(number), rel=1e-15, abs=1e-300)


@given(st.floats(1e-300, 1.0))
def test_the_inverse_error_function(value):
    assert inverse(value) == pytest.approx(exact_inverse(value), rel=2e-15, abs=0.0)


@given(st.floats(-1.0, 1.0), st.integers(0, 50))
def test_the_inverse_error_function_around_its_zero(share, halvings):
    value = 1.0 + math.ldexp(share, -halvings)
    assert inverse(value) == pytest.approx(exact_inverse(value), rel=2e-15, abs=0.0)


@given(st.floats(1e-12, 1.0))
def test_the_error_function_of_its_inverse(value):
    assert exact_math.erfc(inverse(value)) == pytest.approx(value, rel=3e-14)


@pytest.mark.parametrize(
    ("function", "number", "expected"),
    [(logarithm, 1.0, 0.0), (logarithm, 0.0, -math.inf), (logarithm, -1.0, -math.inf), (of_one_plus, 0.0, 0.0),
     (of_one_plus, 1e-30, 1e-30), (inverse, 1.0, 0.0), (inverse, 0.0, math.inf), (inverse, 2.0, -math.inf)],
)  # fmt: skip
def test_ends_of_logarithms_and_inverse(function, number, expected):
    assert function(number) == expected


def test_the_inverse_of_the_smallest_number_is_finite():
    assert 27.0 < inverse(5e-324) < 27.3


@given(st.floats(1e-30, 1.99), st.floats(1e-14, 1e-2))
def test_the_inverse_falls(value, part):
    assert inverse(value * (1.0 + part)) <= inverse(value)
