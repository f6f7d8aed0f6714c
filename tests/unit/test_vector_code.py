"""The loop over contacts is vector code: a change that makes it scalar costs more than half of its speed."""

from __future__ import annotations

import platform
import re

import numba
import numpy as np
import pytest
from numba import types

from pdem.contact.law import HISTORY
from pdem.contact.pair_kernels import FORCES, mark_touching, pair_forces

REALS = types.Array(types.float64, 1, "C")
ROWS = types.Array(types.int32, 1, "C")


def assembly(kernel, *signature):
    """Return the machine code of a kernel, compiled anew with the options it has."""
    options = {
        name: value for name, value in kernel.targetoptions.items() if name not in ("nopython", "cache")
    }
    fresh = numba.njit(**options)(kernel.py_func)
    fresh.compile(signature)
    return next(iter(fresh.inspect_asm().values()))


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="reads x86 instructions")
def test_contact_loops_are_vector_code_without_gathers():
    table = types.Array(types.float64, 2, "C")
    columns = (REALS,) * (HISTORY + FORCES)
    law = assembly(
        pair_forces, types.int64, types.float64, types.float64, ROWS, ROWS, ROWS, REALS, REALS, REALS, types.int64,
        REALS, ROWS, table, *columns,
    )  # fmt: skip
    assert len(re.findall(r"v?sqrtpd", law)) >= 9
    assert len(re.findall(r"v?divpd", law)) >= 12
    assert not re.findall("gather|scatter", law)
    marks = types.Array(types.int8, 1, "C")
    touch = assembly(mark_touching, types.int64, ROWS, ROWS, REALS, REALS, REALS, types.float64, marks)
    assert len(re.findall(r"v?mulpd|vfn?m(?:add|sub)\d+pd", touch)) >= 6
    assert not re.findall("gather|scatter", touch)


def test_a_contact_has_the_same_bits_wherever_it_stands_in_the_loop():
    """Vector and scalar parts of the loop round alike: no result depends on how many contacts come with it."""
    rng = np.random.default_rng(3)
    count = 61
    packed = rng.uniform(0.5, 1.5, (2 * count, 12))
    packed[:, 3] = 1.0
    packed[count:, :3] = packed[:count, :3] + rng.normal(size=(count, 3))
    packed[:, 11] = 0.0
    pairs = np.arange(count, dtype=np.int32)
    arguments = (pairs, (pairs + count).astype(np.int32), packed.reshape(-1), np.zeros(3), np.zeros(3), 1)
    coefficient = np.array([1.0, 1e5, 0.8, 0.2, 0.5, 0.01])
    old = rng.uniform(-1.0, 1.0, (HISTORY, count + 1))
    slots = np.arange(1, count + 1, dtype=np.int32)

    def evaluate(touching):
        new, force = np.zeros((HISTORY, len(touching))), np.zeros((FORCES, len(touching)))
        pair_forces(len(touching), 1e-4, 1e-4, touching, *arguments, coefficient, slots, old, *new, *force)
        return np.vstack((new, force))

    together = evaluate(pairs)
    assert np.isfinite(together).all()
    assert np.abs(together).max(axis=1).min() > 0.0
    for first, last in ((0, 1), (1, 4), (7, 20), (58, 61)):
        np.testing.assert_array_equal(evaluate(pairs[first:last].copy()), together[:, first:last])
