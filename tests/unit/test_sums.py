"""Exact sums, and how they are rounded."""

import math
from fractions import Fraction

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from pdem.numerics.sums import ExactSums, exact_values

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
TIE = 2.0**53


def nearest(numbers):
    """Return the double nearest to the sum of some numbers; infinite beyond the largest."""
    total = sum(map(Fraction, numbers), Fraction(0))
    try:
        return float(total)
    except OverflowError:
        return math.inf if total > 0 else -math.inf


@given(st.lists(NUMBERS, max_size=12))
@example([TIE, 1.0])  # of two doubles equally near the even one
@example([TIE + 2.0, 1.0])
@example([-TIE, -1.0, -5e-324])  # the last bit of all decides
@example([5e-324, 5e-324, -5e-324])
@example([1e308, 1e308])
@example([-1e308, -1e308])
@example([1e308, 1e308, -1e308])
def test_a_sum_is_rounded_once(numbers):
    sums = ExactSums(("a", "none"))
    sums.add("a", np.array(numbers))
    assert sums.values() == {"a": nearest(numbers), "none": 0.0}
    assert exact_values(-sums.limbs).tolist() == [-nearest(numbers), 0.0]


@given(st.lists(NUMBERS, max_size=12), st.randoms())
def test_the_order_does_not_matter(numbers, random):
    one, other = ExactSums("a"), ExactSums("a")
    one.add("a", np.array(numbers))
    random.shuffle(numbers)
    for number in numbers:
        other.add("a", np.array([number]))
    for sums in (one, other):
        sums.normalise()
    assert np.array_equal(one.limbs, other.limbs)
