"""Products and sums are rounded once where the rule says, and nowhere else, whatever the processor."""

from __future__ import annotations

import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from llvmlite import ir

from pdem.numerics.geometry_kernels import geometry_kernel
from pdem.numerics.kernels import inlined, kernel
from pdem.numerics.numba_private import INTERPRETED
from pdem.numerics.portable.contraction import contract
from pdem.numerics.portable.fused import fused

pytestmark = pytest.mark.skipif(INTERPRETED, reason="without a compiler no operation is fused")

NUMBERS = st.floats(-1e6, 1e6)


def exact(a, b, c):
    """Return ``a b + c``, rounded once."""
    return float(Fraction(a) * Fraction(b) + Fraction(c))


@inlined
def _product(a, b):
    return a * b


def _forms(a, b, c, d):
    twice = a * d
    return (
        a * b + c, c + a * b, a * b - c, c - a * b, a * b + c * d, a * b - c * d, a * b + c + d,
        twice + b, twice + c, _product(a, b) + c, -(a * b) + c, a * b * c + d, a * (b + c),
    )  # fmt: skip


_contracted = kernel(_forms)


@geometry_kernel
def _plain(a, b, c):
    return a * b + c, c - a * b


@given(NUMBERS, NUMBERS, NUMBERS, NUMBERS)
def test_the_rule(a, b, c, d):
    """The first product of a sum that is used once, within one function."""
    assert _contracted(a, b, c, d) == (
        exact(a, b, c), exact(a, b, c), exact(a, b, -c), exact(-a, b, c), exact(a, b, c * d), exact(a, b, -(c * d)),
        exact(a, b, c) + d, a * d + b, a * d + c, a * b + c, -(a * b) + c, exact(a * b, c, d), a * (b + c),
    )  # fmt: skip


@given(NUMBERS, NUMBERS, NUMBERS)
def test_geometry_is_not_contracted(a, b, c):
    assert _plain(a, b, c) == (a * b + c, c - a * b)


@kernel
def _sums(values, factor, out):
    total = 0.0
    for k in range(len(values)):
        total += factor * values[k]
        out[k] += factor * values[k]
    return total


@given(st.lists(NUMBERS, max_size=40), NUMBERS)
def test_sums_over_loops(values, factor):
    """Vector code and what is left over at its end have the same operations."""
    out, total = np.ones(len(values)), 0.0
    for one in values:
        total = exact(factor, one, total)
    assert _sums(np.array(values), factor, out) == total
    assert out.tolist() == [exact(factor, one, 1.0) for one in values]


@kernel
def _fused(a, b, c):
    return fused(a, b, c)


@given(NUMBERS, NUMBERS, NUMBERS)
def test_an_operation_that_is_asked_for_by_name(a, b, c):
    assert _fused(a, b, c) == exact(a, b, c)


def _module(kind):
    """Return a function of LLVM of a product, its sum with a number, and the sum times the product's factor."""
    module = ir.Module()
    function = ir.Function(module, ir.FunctionType(kind, [kind] * 3), "function")
    builder = ir.IRBuilder(function.append_basic_block())
    first, second, third = function.args
    product = builder.fmul(first, second, flags=["contract"])
    total = builder.fsub(third, product, name="total", flags=["contract"])
    builder.ret(builder.fmul(total, first, flags=["contract", "nnan"]))
    return module


@pytest.mark.parametrize(
    ("kind", "name"), [(ir.DoubleType(), "f64"), (ir.VectorType(ir.DoubleType(), 8), "v8f64"), (ir.FloatType(), "f32")]
)
def test_the_code_of_a_module(kind, name):
    module = _module(kind)
    contract(module)
    text = str(module)
    assert "contract" not in text
    assert re.search(rf'%"total" = call {re.escape(str(kind))} @"llvm.fma.{name}"\(.*%"\.\d+", .*%"\.3"\)', text)
    assert "fneg" in text
    assert "fmul nnan" in text
    assert "fsub" not in text


CALLED = """
import re, sys, tempfile
from pathlib import Path
sys.path[:0] = {paths!r}
from helpers.digest_cases import CASES
from helpers.state_digests import run_digests
from pdem.numerics.kernel_factory import made
for name in ("laws", "machine-2"):
    with tempfile.TemporaryDirectory() as folder:
        run_digests(CASES[name].make(Path(folder)), (0, 2))
modules = [str(one.library._get_module_for_linking()) for kernel in made for one in kernel.overloads.values()]
assert len(modules) > 10, modules
print(*sorted({{name for text in modules for name in re.findall(r'declare [^@]*@"?([\\w.]+)"?\\(', text)}}))
"""
"""Prints the functions that the kernels of two runs call, those of LLVM among them."""

FUNCTIONS = {
    "sin", "cos", "tan", "sincos", "asin", "acos", "atan", "atan2", "exp", "exp2", "log", "log2", "log10", "pow",
    "cbrt", "hypot", "erf", "erfc",
}  # fmt: skip


def test_no_kernel_calls_functions_that_depend_on_the_c_library():
    root = Path(__file__).resolve().parents[2]
    script = CALLED.format(paths=[str(root), str(root / "tests")])
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=600)
    called = set(done.stdout.split())
    assert "llvm.fma.f64" in called
    assert not {one.removeprefix("llvm.").partition(".")[0] for one in called} & FUNCTIONS
