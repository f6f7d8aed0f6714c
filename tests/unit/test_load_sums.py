"""Forces and torques of a particle's contacts, added up as vectors, against the same sum one number at a time."""

from __future__ import annotations

import numba
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pdem.contact.load_sums import _plain, sum_loads
from pdem.contact.pair_stages import LOADS
from pdem.contact.pair_sums import order_row
from pdem.detection.neighbours import sort_row
from pdem.foundation.kernels import _OPTIONS
from pdem.foundation.prefetch import fetch

_EXACT = {**_OPTIONS, "cache": False}


@numba.njit(**_EXACT)
def added(entry, slot, loads, begin, end):
    return sum_loads(entry, slot, loads, begin, end)


@numba.njit(**_EXACT)
def ordered(begin, end, entry, partner, slot):
    return order_row(begin, end, entry, partner, slot)


@numba.njit(**_EXACT)
def in_order(begin, end, key, value):
    sort_row(begin, end, key, value)


@numba.njit(**_EXACT)
def fetched(numbers, place):
    fetch(numbers, place)


@given(st.integers(0, 2**32), st.integers(0, 40))
@settings(max_examples=60, deadline=None)
def test_vectors_add_up_to_the_same_bits(seed, count):
    rng = np.random.default_rng(seed)
    slots = 30
    loads = np.append(rng.normal(size=LOADS * slots) * 10.0 ** rng.integers(-8, 8, LOADS * slots), np.nan)
    slot = rng.integers(0, slots, 50).astype(np.int32)
    entry = rng.integers(0, 100, count + 6).astype(np.int32)
    np.testing.assert_array_equal(
        added(entry, slot, loads, 3, 3 + count), _plain(entry, slot, loads, 3, 3 + count)
    )


@given(st.integers(0, 2**32), st.integers(0, 200))
@settings(max_examples=60, deadline=None)
def test_rows_of_any_length_are_sorted(seed, count):
    rng = np.random.default_rng(seed)
    key, value = rng.permutation(count + 5), rng.integers(0, 99, count + 5).astype(np.int32)
    rows = np.stack((key, value))
    in_order(2, 2 + count, key, value)
    order = 2 + np.argsort(rows[0, 2 : 2 + count])
    expected = np.concatenate((rows[:, :2], rows[:, order], rows[:, 2 + count :]), axis=1)
    np.testing.assert_array_equal((key, value), expected)


@given(st.integers(0, 2**32), st.integers(0, 120))
@settings(max_examples=60, deadline=None)
def test_contacts_come_first_in_the_order_of_partners(seed, count):
    rng = np.random.default_rng(seed)
    entry, partner = rng.permutation(2 * count + 2)[: count + 2].astype(np.int32), rng.permutation(count + 2)
    slot = rng.integers(-3, 3, count + 1).clip(0).astype(np.int32)
    before = dict(zip(partner.tolist(), entry.tolist(), strict=True))
    touching = ordered(1, 1 + count, entry, partner, slot)
    assert dict(zip(partner.tolist(), entry.tolist(), strict=True)) == before
    first, rest = entry[1 : 1 + touching], entry[1 + touching : 1 + count]
    assert (slot[first >> 1] > 0).all()
    assert (slot[rest >> 1] == 0).all()
    assert (np.diff(partner[1 : 1 + touching]) > 0).all()


def test_what_is_fetched_is_left_alone():
    numbers = np.arange(20.0)
    for place in (0, 19, 10**6):  # far behind the end too
        fetched(numbers, place)
    np.testing.assert_array_equal(numbers, np.arange(20.0))
