"""Rows into columns and back, against numpy; and what stands beside them is left alone."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdem.numerics.kernels import _OPTIONS
from pdem.numerics.simd.transposition import ROWS, columns_to_rows, rows_to_columns

LENGTH, STRIDE = 14, 9
BRING = {count: rows_to_columns(count, STRIDE) for count in (2, 4, 12)}
TAKE = {count: columns_to_rows(count, STRIDE) for count in (1, 2, 9)}


def caller(function, arguments):
    """Return a kernel that calls a function which only kernels can call."""
    names = ", ".join(f"a{number}" for number in range(arguments))
    space = {"function": function}
    exec(f"def call({names}):\n    function({names})\n", space)
    return numba.njit(**_OPTIONS)(space["call"])


CALL = {function: caller(function, 7) for function in BRING.values()}
CALL |= {function: caller(function, 7) for function in TAKE.values()}


@pytest.mark.parametrize("count", BRING)
@given(seed=st.integers(0, 2**32), at=st.integers(0, STRIDE - ROWS))
@settings(max_examples=20, deadline=None)
def test_rows_become_columns(count, seed, at):
    rng = np.random.default_rng(seed)
    rows, begins = rng.random(20 * LENGTH), LENGTH * rng.integers(0, 20, ROWS) + rng.integers(0, 3, ROWS)
    columns = rng.random(count * STRIDE + 5)
    expected = columns.copy()
    for column in range(count):
        expected[at + column * STRIDE : at + column * STRIDE + ROWS] = rows[begins + column]
    CALL[BRING[count]](rows, *begins, columns, at)
    np.testing.assert_array_equal(columns, expected)


@pytest.mark.parametrize("count", TAKE)
@given(seed=st.integers(0, 2**32), at=st.integers(0, STRIDE - ROWS))
@settings(max_examples=20, deadline=None)
def test_columns_become_rows(count, seed, at):
    rng = np.random.default_rng(seed)
    columns, rows = rng.random(count * STRIDE + 5), rng.random(20 * LENGTH)
    begins = LENGTH * rng.permutation(20)[:ROWS] + rng.integers(0, 3, ROWS)
    expected = rows.copy()
    for column in range(count):
        expected[begins + column] = columns[at + column * STRIDE : at + column * STRIDE + ROWS]
    CALL[TAKE[count]](columns, at, rows, *begins)
    np.testing.assert_array_equal(rows, expected)
