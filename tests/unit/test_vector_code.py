"""The loop over contacts is vector code: a change that makes it scalar costs more than half of its speed."""

from __future__ import annotations

import platform
import re

import numba
import pytest
from numba import types

from pdem.contact.pair_kernels import evaluate_pairs


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
    reals, wide = types.Array(types.float64, 1, "C"), types.Array(types.float64, 2, "C")
    rows, places = types.Array(types.int32, 1, "C"), types.Array(types.int64, 1, "C")
    flags, runs = types.Array(types.int8, 1, "C"), types.Array(types.int64, 2, "C")
    real, whole = types.float64, types.int64
    code = assembly(
        evaluate_pairs, runs, whole, real, real, real, rows, rows, reals, reals, reals, real, reals, whole, whole,
        places, rows, rows, flags, rows, wide, types.boolean, places, rows, places, rows, rows, places, rows, reals,
        reals, reals, types.boolean, wide, real, reals, reals, reals, rows, reals, wide, wide, wide, wide,
    )  # fmt: skip
    assert len(re.findall(r"v?sqrtpd", code)) >= 8
    assert len(re.findall(r"v?divpd", code)) >= 7
    assert not re.findall(r"gather|scatter[dq]pd", code)
