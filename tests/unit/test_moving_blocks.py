"""Particles that are moved in blocks go where they go one by one, to the bit, and are found out in the same way."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdem.foundation.packed_row import PACKED
from pdem.motion import moving_blocks as blocks
from pdem.motion.integration import FINE, LOST, STALE, FixedColumns, Motion, Travel, move
from pdem.motion.moving_box import MovingBox, Rates
from pdem.numerics.kernels import kernel

FREE = np.array([1.0, 1.0, 0.0, 1.0, 1.0, 1.0])
GRAVITY = np.array([0.1, 0.0, -9.81])
SIDES = np.array([[-1, -2, -1], [2, 0, 2.5], [0.5, 0, 0.4]], dtype=float)
CORNERS = np.array([[-1, -1.9, -1], [1, 2.1, 1.5]])
"""Periodic along x and z, open along y."""


@kernel
def in_blocks(order, dt, motion, fixed, travel, packed, loads, work):
    """Move particles in blocks; `loads` (n, 6) are force and torque."""
    code = FINE
    for first in range(0, len(order), blocks.BLOCK):
        count = min(blocks.BLOCK, len(order) - first)
        for c in range(count):
            p, w = order[first + c], np.uint64(c)
            work[w + blocks.FX], work[w + blocks.FY], work[w + blocks.FZ] = (loads[p, 0], loads[p, 1], loads[p, 2])
            work[w + blocks.TX], work[w + blocks.TY], work[w + blocks.TZ] = (loads[p, 3], loads[p, 4], loads[p, 5])
            work[w + blocks.X0], work[w + blocks.Y0] = fixed.reference[p, 0], fixed.reference[p, 1]
            work[w + blocks.Z0], work[w + blocks.SKIN] = fixed.reference[p, 2], fixed.skin[p]
            work[w + blocks.INVERSE_INERTIA] = fixed.inverse_inertia[p]
        moved = blocks.move_block(0, first, count, order, dt, motion, travel, packed, work)
        code = max(code, moved)
    return code


@kernel
def one_by_one(order, dt, motion, fixed, travel, packed, loads):
    """Move particles one after the other."""
    code = FINE
    for p in order:
        moved = move(
            p, dt, motion, fixed, travel, packed, (loads[p, 0], loads[p, 1], loads[p, 2]),
            (loads[p, 3], loads[p, 4], loads[p, 5]), 2, True,
        )  # fmt: skip
        code = max(code, moved)
    return code


def moving_sides():
    """Return what moves particles in a box that gets shorter along x and shears along z, open along y."""
    box = MovingBox([-1.0, -2.0, -1.0], [1.0, 2.0, 1.5], (True, False, True), 1e-3, 2, 0)
    box.change(0, Rates((-2.0, 0.0, 0.5), 3.0))
    return Motion(GRAVITY, FREE, box.sides(1), box.images(1))


def crowd(seed, count, dt, speed, motion=None):
    """Return what both kernels take, of particles some of which cross a side, and the rows of those moved."""
    rng = np.random.default_rng(seed)
    packed = rng.normal(size=(count, PACKED))
    packed[:, :3] = CORNERS[0] + rng.random((count, 3)) * (CORNERS[1] - CORNERS[0])
    packed[:, 3], packed[:, 7] = rng.uniform(0.01, 0.1, count), rng.uniform(1, 1e3, count)
    packed[:, 4:7] *= speed
    packed[:, 8:11] *= 10.0 ** rng.integers(-310, 3, (count, 3))  # some are so slow that they are at rest
    reference = packed[:, :3] + rng.normal(size=(count, 3)) * 1e-3
    skin = rng.uniform(1e-3, 0.02, count)
    order = rng.permutation(count)[: rng.integers(1, count + 1)].astype(np.int32)
    loads = rng.normal(size=(count, 6))
    inverse_inertia = packed[:, 7] * rng.uniform(1e2, 1e5, count)
    return (
        order,
        dt,
        motion or Motion(GRAVITY, FREE, SIDES),
        FixedColumns(reference, skin, inverse_inertia),
        packed,
        loads,
    )


@given(st.integers(0, 2**32), st.integers(1, 3 * blocks.BLOCK), st.sampled_from([0.0, 0.1, 10.0]))
@pytest.mark.parametrize("deforms", [False, True])
@settings(max_examples=150, deadline=None)
def test_blocks_go_where_particles_go_one_by_one(deforms, seed, count, speed):
    moving = moving_sides() if deforms else None
    order, dt, motion, fixed, packed, loads = crowd(seed, count, 1e-3, speed, moving)
    seen = []
    for whole in (True, False):
        rows, travel = packed.copy(), Travel(np.zeros((count, 3), np.int32), np.zeros(count))
        given_now = (order, dt, motion, fixed, travel, rows.reshape(-1), loads)
        work = (np.full(blocks.COLUMNS, np.nan),) if whole else ()
        code = (in_blocks if whole else one_by_one)(*given_now, *work)
        seen.append((code, rows, travel))
    (code, rows, travel), (expected_code, expected_rows, expected) = seen
    assert code == expected_code
    np.testing.assert_array_equal(rows.view(np.int64), expected_rows.view(np.int64))
    np.testing.assert_array_equal(travel.image, expected.image)
    np.testing.assert_array_equal(travel.box_work, expected.box_work)
    assert travel.box_work[order].all() if deforms and speed else not travel.box_work.any() or deforms


@pytest.mark.parametrize("place", [0, 3, 8, 31, 32, 69])
@pytest.mark.parametrize(
    ("column", "value", "code"), [(0, 0.5, STALE), (4, np.nan, None), (2, np.inf, None), (5, 1e9, None)]
)
def test_who_goes_astray_is_found_in_any_place(place, column, value, code):
    order, dt, motion, fixed, packed, loads = crowd(5, 70, 1e-6, 0.1)
    order = np.random.default_rng(3).permutation(70).astype(np.int32)
    packed[:, 1] = 0.0
    travel = Travel(np.zeros((70, 3), np.int32), np.zeros(70))
    fixed = FixedColumns(packed[:, :3].copy(), np.full(70, 0.1), fixed.inverse_inertia)
    arguments = (motion, fixed, travel)
    assert in_blocks(order, dt, *arguments, packed.copy().reshape(-1), loads, np.zeros(blocks.COLUMNS)) == FINE
    packed[order[place], column] += value
    found = in_blocks(order, dt, *arguments, packed.reshape(-1), loads, np.zeros(blocks.COLUMNS))
    assert found == (code if code is not None else LOST + order[place])
