"""Forces and torques of a particle's contacts, added up as vectors, against the same sum one number at a time."""

from __future__ import annotations

import numba
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pdem.contact.pairs.arguments import Candidates
from pdem.contact.pairs.due_candidates import PATHS
from pdem.contact.pairs.force_sums import order_row
from pdem.contact.pairs.layout import FORCE_AND_RESISTANCE_ROW, FORCE_ROW
from pdem.detection.neighbours import sort_row
from pdem.numerics.kernels import _OPTIONS
from pdem.numerics.simd.prefetch import fetch
from pdem.numerics.simd.row_sums import sum_loads


@numba.njit(**_OPTIONS)
def added(listed, loads, begin, end):
    return sum_loads(listed, loads, begin, end)


@numba.njit(**_OPTIONS)
def added_one_by_one(listed, rows, begin, end):
    """Return force, torque of forces, and the rest of the torque, one number at a time."""
    force, torque, resistance = np.zeros(3), np.zeros(3), np.zeros(3)
    for load in listed[begin:end]:
        row, side = rows[load >> 1], load & 1
        sign = 1.0 if side == 1 else -1.0
        for axis in range(3):
            force[axis] += sign * row[axis]
            torque[axis] += row[6 + side] * row[3 + axis]
            if len(row) > FORCE_ROW:
                resistance[axis] += sign * row[FORCE_ROW + axis]
    return force, torque, resistance


@numba.njit(**_OPTIONS)
def ordered(begin, end, entry, candidates):
    return order_row(begin, end, entry, candidates)


@numba.njit(**_OPTIONS)
def in_order(begin, end, lower, higher, ids, entry):
    sort_row(begin, end, lower, higher, ids, entry)


@numba.njit(**_OPTIONS)
def fetched(numbers, place):
    fetch(numbers, place)


@given(st.integers(0, 2**32), st.integers(0, 40), st.sampled_from((FORCE_ROW, FORCE_AND_RESISTANCE_ROW)))
@settings(max_examples=60, deadline=None)
def test_vectors_add_up_to_the_same_bits(seed, count, width):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(30, width)) * 10.0 ** rng.integers(-8, 8, (30, width))
    listed = rng.integers(0, 2 * len(rows), count + 6).astype(np.int32)
    force, torque, resistance = added_one_by_one(listed, rows, 3, 3 + count)
    np.testing.assert_array_equal(added(listed, rows, 3, 3 + count), [*force, *(torque + resistance)])


def row_of(rng, count):
    """Return the row of particle 0, which has all others as partners, some as the lower and some as the higher one."""
    ids, is_higher = rng.permutation(3 * count + 3)[: count + 1], rng.integers(0, 2, count)
    other = 1 + rng.permutation(count)
    lower, higher = (np.where(is_higher, other, 0).astype(np.int32), np.where(is_higher, 0, other).astype(np.int32))
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
    due, listed, path = np.zeros(count, np.float32), np.zeros(count, np.int32), np.zeros(PATHS)
    candidates = Candidates(lower, higher, due, listed, path, index, ids, count + 1, count, count)
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
