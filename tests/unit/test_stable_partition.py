"""Numbers that are marked come before the others, in their order, and nothing else changes."""

from __future__ import annotations

import numba
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pdem.numerics.kernels import _OPTIONS
from pdem.numerics.simd.stable_partition import MOST, _plain, stable_partition


@numba.njit(**_OPTIONS)
def put_first(numbers, first, count, marks):
    return stable_partition(numbers, np.uint64(first), count, marks)


@given(st.integers(0, 2**32 - 1), st.integers(0, 20), st.integers(0, MOST), st.integers(1, 40))
@settings(max_examples=200, deadline=None)
def test_marked_numbers_come_first_in_their_order(seed, first, count, places):
    rng = np.random.default_rng(seed)
    marks = rng.integers(-1, 2, places).astype(np.int32)
    numbers = rng.integers(0, 2 * places, first + count + MOST).astype(np.int32)
    one, other = numbers.copy(), numbers.copy()
    marked = put_first(one, first, count, marks)
    assert marked == _plain(other, first, count, marks)
    np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(one[:first], numbers[:first])
    np.testing.assert_array_equal(one[first + count :], numbers[first + count :])
    part = numbers[first : first + count]
    assert one[first : first + marked].tolist() == [n for n in part.tolist() if marks[n >> 1] > 0]
