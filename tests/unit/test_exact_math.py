"""Elementary functions are the number nearest to the exact value, and sums do not depend on their order."""

from __future__ import annotations

import math
from fractions import Fraction

import gmpy2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdem.foundation import exact_math

NUMBERS = st.floats(-1e3, 1e3)
POSITIVE = st.floats(1e-300, 1e300)
SHARES = st.floats(1e-300, 1.0, exclude_max=True)
ARGUMENTS = {
    "sin": (NUMBERS,), "cos": (NUMBERS,), "tan": (NUMBERS,), "asin": (st.floats(-1.0, 1.0),),
    "acos": (st.floats(-1.0, 1.0),), "atan2": (NUMBERS, NUMBERS), "exp": (st.floats(-700.0, 700.0),),
    "expm1": (st.floats(-700.0, 700.0),), "log": (POSITIVE,), "log1p": (st.floats(-0.999, 1e300),), "log2": (POSITIVE,),
    "log10": (POSITIVE,), "cbrt": (NUMBERS,), "power": (st.floats(1e-3, 1e3), st.floats(-90.0, 90.0)),
    "erfc": (st.floats(-10.0, 25.0),),
}  # fmt: skip


@pytest.mark.parametrize("name", ARGUMENTS)
@given(data=st.data())
def test_a_function_is_the_number_nearest_to_its_value(name, data):
    numbers = [data.draw(one) for one in ARGUMENTS[name]]
    with gmpy2.context(precision=300):
        exact = gmpy2.get_context().pow if name == "power" else getattr(gmpy2, name)
        nearest = float(exact(*map(gmpy2.mpfr, numbers)))
    assert getattr(exact_math, name)(*numbers) == nearest
    arrays = [np.array([[one, one]]) for one in numbers]
    np.testing.assert_array_equal(getattr(exact_math, name)(*arrays), [[nearest, nearest]])


@pytest.mark.parametrize("name", ARGUMENTS)
@given(data=st.data())
def test_the_c_library_agrees_to_a_few_units(name, data):
    """Not the same function under a different name."""
    numbers = [data.draw(one) for one in ARGUMENTS[name]]
    theirs = getattr(math, {"power": "pow"}.get(name, name))(*numbers)
    assert exact_math.__dict__[name](*numbers) == pytest.approx(theirs, rel=1e-13, abs=1e-300)


@given(SHARES)
def test_the_quantile_is_the_inverse_of_the_share(share):
    value = exact_math.normal_quantile(share)
    with gmpy2.context(precision=200):
        below = [gmpy2.erfc(-gmpy2.mpfr(one) / gmpy2.sqrt(gmpy2.mpfr(2))) / 2 for one in neighbours(value)]
    assert below[0] <= share <= below[1]
    assert exact_math.normal_share(value) == pytest.approx(share, rel=1e-12)


def neighbours(value):
    """Return the middles between a number and the ones next to it."""
    return [(gmpy2.mpfr(value) + gmpy2.mpfr(math.nextafter(value, end))) / 2 for end in (-math.inf, math.inf)]


def test_the_ends_of_the_normal_distribution():
    np.testing.assert_array_equal(exact_math.normal_quantile(np.array([0.0, 0.5, 1.0])), [-math.inf, 0.0, math.inf])
    assert exact_math.log(0.0) == -math.inf
    assert math.isnan(exact_math.log(-1.0))


@given(st.lists(st.floats(-1e100, 1e100), max_size=30), st.randoms())
def test_a_sum_is_rounded_once_in_any_order(values, random):
    exact = float(sum((Fraction(one) for one in values), Fraction(0)))
    random.shuffle(values)
    assert exact_math.total(values) == exact_math.total(np.array(values)) == exact
    rows = np.array([values, values, values])
    np.testing.assert_array_equal(exact_math.totals(rows.T.reshape(len(values), 3)), [exact] * 3)


@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=4))
def test_a_length_does_not_overflow_on_the_way(components):
    with gmpy2.context(precision=300):
        exact = float(gmpy2.sqrt(sum((gmpy2.mpfr(one) ** 2 for one in components), gmpy2.mpfr(0))))
    assert exact_math.hypot(*components) == pytest.approx(exact, rel=2.3e-16)


def test_products_of_vectors_and_matrices():
    generator = np.random.default_rng(5)
    one, other, vectors = generator.normal(size=(3, 3)), generator.normal(size=(7, 3, 3)), generator.normal(size=(7, 3))
    np.testing.assert_allclose(exact_math.matmul(one, other), one @ other, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(exact_math.matmul(vectors, one), vectors @ one, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(exact_math.matmul(one, vectors[0]), one @ vectors[0], rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(exact_math.matmul(vectors[0], one), vectors[0] @ one, rtol=1e-13, atol=1e-15)
    x, y, z = vectors.T
    np.testing.assert_array_equal(exact_math.inner(vectors, vectors), x * x + y * y + z * z)
    np.testing.assert_array_equal(exact_math.norm(vectors), np.sqrt(x * x + y * y + z * z))
