"""Spheres near a point, eight at a time, against the same test one by one; and the pairs that are written."""

from __future__ import annotations

import numba
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pdem.numerics.kernels import _OPTIONS
from pdem.numerics.simd.distance_filter import (
    COORDINATES,
    _plain_append,
    _plain_mask,
    append_lanes,
    bit_count,
    distance_filter,
)
from pdem.numerics.simd.transposition import LANES

SEEDS = st.integers(0, 2**32 - 1)
MANY = 40


@numba.njit(**_OPTIONS)
def mask_of(spheres, first, count, centre, reach, slack, span):
    return distance_filter(spheres, np.uint64(first), count, centre, reach, slack, span)


@numba.njit(**_OPTIONS)
def appended(numbers, first, mask, own, one, other, at):
    append_lanes(numbers, np.uint64(first), mask, own, (one, other), np.uint64(at))
    return at + bit_count(mask)


@given(SEEDS, st.integers(0, MANY - LANES), st.integers(0, 12), st.booleans())
@settings(max_examples=80, deadline=None)
def test_bits_are_those_of_the_spheres_that_are_near(seed, first, count, periodic):
    rng = np.random.default_rng(seed)
    room = MANY + LANES
    spheres = np.full(COORDINATES * room, np.nan)
    spheres.reshape(COORDINATES, room)[:, :MANY] = rng.uniform(0.0, 1.0, (COORDINATES, MANY))
    centre, reach = tuple(rng.uniform(0.0, 1.0, 3).tolist()), rng.uniform(-0.3, 0.3)
    span = (1.0, 1.0, 1.0) if periodic else (np.inf, np.inf, np.inf)
    found = mask_of(spheres, first, count, centre, reach, 1.0, span)
    assert found == _plain_mask(spheres, first, count, centre, reach, 1.0, span)
    assert found >> min(count, LANES) == 0


def test_the_factor_widens_the_sum_of_reaches():
    spheres = np.zeros(COORDINATES * (1 + LANES))
    spheres[0], spheres[3 * (1 + LANES)] = 1.5, 1.0
    for slack, near in ((1.0, 0), (1.1, 1)):
        assert mask_of(spheres, 0, 1, (0.0, 0.0, 0.0), 0.4, slack, (np.inf, np.inf, np.inf)) == near


@given(SEEDS, st.integers(0, 2**LANES - 1), st.integers(0, 20))
@settings(max_examples=80, deadline=None)
def test_pairs_are_written_in_order_and_nothing_before_them(seed, mask, at):
    numbers = np.random.default_rng(seed).integers(0, 2**31 - 1, MANY).astype(np.int32)
    first, own = 3, np.int32(77)
    pairs, plain = np.full((2, MANY), -1, np.int32), np.full((2, MANY), -1, np.int32)
    end = appended(numbers, first, mask, own, *pairs, at)
    _plain_append(numbers, first, mask, own, plain, at)
    assert end == at + mask.bit_count()
    np.testing.assert_array_equal(pairs[:, :end], plain[:, :end])
    np.testing.assert_array_equal(pairs[:, at + LANES :], -1)
