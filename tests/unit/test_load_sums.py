"""Forces and torques of a particle's contacts, added up as vectors, against the same sum one number at a time."""

from __future__ import annotations

import numba
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pdem.contact.pairs.arguments import Candidates
from pdem.contact.pairs.force_sums import order_row, sum_row
from pdem.contact.pairs.layout import LOAD_ROW
from pdem.detection.neighbours import sort_row
from pdem.foundation.kernels import _OPTIONS
from pdem.simd.prefetch import fetch


@numba.njit(**_OPTIONS)
def added(listed, loads, begin, end):
    return sum_row(listed, loads, begin, end)


@numba.njit(**_OPTIONS)
def ordered(begin, end, entry, candidates):
    return order_row(begin, end, entry, candidates)


@numba.njit(**_OPTIONS)
def in_order(begin, end, lower, higher, ids, entry):
    sort_row(begin, end, lower, higher, ids, entry)


@numba.njit(**_OPTIONS)
def fetched(numbers, place):
    fetch(numbers, place)


@given(st.integers(0, 2**32), st.integers(0, 40))
@settings(max_examples=60, deadline=None)
def test_vectors_add_up_to_the_same_bits(seed, count):
    rng = np.random.default_rng(seed)
    rows = 30
    numbers = rng.normal(size=LOAD_ROW * rows) * 10.0 ** rng.integers(-8, 8, LOAD_ROW * rows)
    loads = np.append(numbers, np.nan)
    listed = rng.integers(0, rows, count + 6).astype(np.int32)
    total = np.zeros(LOAD_ROW)
    for row in listed[3 : 3 + count]:
        total += loads[LOAD_ROW * row : LOAD_ROW * (row + 1)]
    np.testing.assert_array_equal(added(listed, loads, 3, 3 + count), total)


def row_of(rng, count):
    """Return the row of particle 0, which has all others as partners, some as the lower and some as the higher one."""
    ids, is_higher = rng.permutation(3 * count + 3)[: count + 1], rng.integers(0, 2, count)
    other = 1 + rng.permutation(count)
    lower, higher = (
        np.where(is_higher, other, 0).astype(np.int32),
        np.where(is_higher, 0, other).astype(np.int32),
    )
    entry = (2 * np.arange(count) + is_higher).astype(np.int32)
    return lower, higher, ids, rng.permutation(entry), lambda entries: ids[other[entries >> 1]]


@given(st.integers(0, 2**32), st.integers(5, 200))
@settings(max_examples=60, deadline=None)
def test_rows_of_any_length_are_sorted(seed, count):
    lower, higher, ids, entry, partners = row_of(np.random.default_rng(seed), count)
    before = entry.copy()
    in_order(2, count - 3, lower, higher, ids, entry)
    inside = before[2 : count - 3]
    expected = [*before[:2], *inside[np.argsort(partners(inside))], *before[count - 3 :]]
    np.testing.assert_array_equal(entry, expected)


@given(st.integers(0, 2**32), st.integers(2, 120))
@settings(max_examples=60, deadline=None)
def test_contacts_come_first_in_the_order_of_partners(seed, count):
    rng = np.random.default_rng(seed)
    lower, higher, ids, entry, partners = row_of(rng, count)
    index = rng.integers(-3, 3, count).clip(0).astype(np.int32)
    before = entry.copy()
    mark = np.zeros(count, np.int8)
    apart = np.zeros(count, np.int32)
    candidates = Candidates(lower, higher, apart, mark, index, ids, count + 1, count, count)
    touching = ordered(1, count, entry, candidates)
    assert sorted(entry) == sorted(before)
    first, rest = entry[1 : 1 + touching], entry[1 + touching :]
    assert (index[first >> 1] > 0).all()
    assert (index[rest >> 1] == 0).all()
    assert (np.diff(partners(first)) > 0).all()


def test_what_is_fetched_is_left_alone():
    numbers = np.arange(20.0)
    for place in (0, 19, 10**6):  # far behind the end too
        fetched(numbers, place)
    np.testing.assert_array_equal(numbers, np.arange(20.0))
