"""Rows whose numbers stand in lists into columns and back, against numpy; what stands beside them is left alone."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdem.numerics.kernels import _OPTIONS
from pdem.numerics.simd.listed_rows import GROUP, columns_to_listed_rows, listed_rows_to_columns
from pdem.numerics.simd.transposition import LANES, ROWS

WIDTH, STRIDE, MANY = 15, 24, 40
GROUPS = ROWS, LANES
COUNTS = 1, 2, 3, 4, 6, 9, 12
BEHIND = 2


def caller(function, arguments, names):
    """Return a kernel that calls a function which only kernels can call, with some arguments in a tuple."""
    given_names = [f"a{number}" for number in range(arguments)]
    (first, many), *_ = names.items()
    listed = "".join(f"{name}, " for name in given_names[first : first + many])
    passed = [*given_names[:first], f"({listed})", *given_names[first + many :]]
    space = {"function": function}
    exec(f"def call({', '.join(given_names)}):\n    function({', '.join(passed)})\n", space)
    return numba.njit(**_OPTIONS)(space["call"])


def test_a_group_has_as_many_rows_as_a_vector_has_numbers():
    assert GROUP in GROUPS


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("count", COUNTS)
def test_listed_rows_become_columns_and_columns_rows(count, group):
    one = caller(listed_rows_to_columns(count, STRIDE, WIDTH, behind=BEHIND, group=group), 5, {1: 1})
    two = caller(listed_rows_to_columns(count, STRIDE, WIDTH, group=group), 6, {1: 2})
    back = caller(columns_to_listed_rows(count, STRIDE, WIDTH, behind=BEHIND, group=group), 5, {3: 1})
    turn = caller(columns_to_listed_rows(count, STRIDE, WIDTH, group=group), 4, {3: 0})

    @given(seed=st.integers(0, 2**32), at=st.integers(0, STRIDE - LANES), place=st.integers(0, MANY - LANES))
    @settings(max_examples=15, deadline=None)
    def holds(seed, at, place):
        rng = np.random.default_rng(seed)
        rows, columns = rng.random(MANY * WIDTH), rng.random(count * STRIDE + 5)
        numbers, through = rng.permutation(MANY), rng.permutation(MANY)
        number, at, place = numbers[place : place + group], np.uint64(at), np.uint64(place)
        lanes = STRIDE * np.arange(count)[:, None] + int(at) + np.arange(group)
        table = rows.reshape(MANY, WIDTH)
        for kind in (np.int32, np.int64):
            expected, found = columns.copy(), columns.copy()
            expected[lanes] = table[number, BEHIND : BEHIND + count].T
            one(rows, numbers.astype(kind), place, found, at)
            np.testing.assert_array_equal(found, expected)
            expected[lanes] = table[numbers[through[int(place) : int(place) + group]], :count].T
            two(rows, numbers.astype(kind), through.astype(np.int32), place, found, at)
            np.testing.assert_array_equal(found, expected)
            written = table.copy()
            written[number, BEHIND : BEHIND + count] = columns[lanes].T
            found = rows.copy()
            back(columns, at, found, numbers.astype(kind), place)
            np.testing.assert_array_equal(found, written.ravel())
        written = table.copy()
        written[int(place) : int(place) + group, :count] = columns[lanes].T
        found = rows.copy()
        turn(columns, at, found, place)
        np.testing.assert_array_equal(found, written.ravel())

    holds()
