"""Elementary functions, sums and products of numbers with the same bits on every machine.

The functions of a C library and of numpy differ by version and by processor. Every number that belongs to the state of
a run, or that the run writes, is computed by the functions here. An elementary function returns the number nearest to
its exact value (correct rounding, by MPFR), so that only one result is possible. A sum over many numbers is rounded
once (`total`); a sum over the few components of a vector is added up from the first to the last.

Addition, subtraction, multiplication, division and the square root are exact to rounding everywhere (IEEE 754), also
those of numpy for arrays, and can be used as they are. Powers are products: ``x * x * x`` and not ``x**3``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import gmpy2
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import ArrayLike

    from pdem.foundation.array_types import Floats

_DOUBLE, _WIDE = gmpy2.ieee(64), gmpy2.ieee(128)
_NEWTON_STEPS = 2
"""Each step doubles the number of valid bits, about 50 of the first guess; the result is rounded from 113 bits."""


def _rounded(function: Callable[..., Any], text: str) -> Callable[..., Any]:
    """Return a function of MPFR for numbers, and for arrays element by element (broadcast to a common shape)."""

    def function_of(*arguments: ArrayLike) -> Any:
        if all(isinstance(one, (float, int)) for one in arguments):
            return float(function(*map(float, arguments)))  # type: ignore[arg-type]
        common = np.broadcast_arrays(*(np.asarray(one, np.float64) for one in arguments))
        rows = zip(*(one.ravel().tolist() for one in common), strict=True)
        return np.array([float(function(*row)) for row in rows], np.float64).reshape(common[0].shape)

    function_of.__doc__ = f"Return {text}, correctly rounded: float64, or an array of it."
    return function_of


def _quantile(share: float) -> Any:
    """Return the number of standard deviations, by Newton's method in 113 bits from a guess in 53."""
    from scipy.special import ndtri  # imported here: the import takes longer than the rest of a case

    guess = float(ndtri(share))
    if not math.isfinite(guess):
        return guess
    root, value = _WIDE.sqrt(2), gmpy2.mpfr(guess, 113)
    for _ in range(_NEWTON_STEPS):
        density = _WIDE.div(
            _WIDE.exp(_WIDE.div(_WIDE.minus(_WIDE.square(value)), 2)), _WIDE.sqrt(_WIDE.mul(2, _WIDE.const_pi()))
        )
        below = _WIDE.div(_WIDE.erfc(_WIDE.div(_WIDE.minus(value), root)), 2)
        value = _WIDE.sub(value, _WIDE.div(_WIDE.sub(below, share), density))
    return value


def _below(deviations: float) -> Any:
    return _WIDE.div(_WIDE.erfc(_WIDE.div(-deviations, _WIDE.sqrt(2))), 2)


sin = _rounded(_DOUBLE.sin, "the sine of an angle [rad]")
cos = _rounded(_DOUBLE.cos, "the cosine of an angle [rad]")
tan = _rounded(_DOUBLE.tan, "the tangent of an angle [rad]")
asin = _rounded(_DOUBLE.asin, "the angle with a sine [rad]")
acos = _rounded(_DOUBLE.acos, "the angle with a cosine [rad]")
atan2 = _rounded(_DOUBLE.atan2, "the angle [rad] of a point with the coordinates (y, x)")
exp = _rounded(_DOUBLE.exp, "e to the power of a number")
expm1 = _rounded(_DOUBLE.expm1, "e to the power of a number, less 1")
log = _rounded(_DOUBLE.log, "the natural logarithm")
log1p = _rounded(_DOUBLE.log1p, "the natural logarithm of 1 plus a number")
log2 = _rounded(_DOUBLE.log2, "the logarithm to base 2")
log10 = _rounded(_DOUBLE.log10, "the logarithm to base 10")
cbrt = _rounded(_DOUBLE.cbrt, "the cube root")
gamma = _rounded(_DOUBLE.gamma, "the gamma function")
power = _rounded(_DOUBLE.pow, "a base to the power of an exponent")
erf = _rounded(_DOUBLE.erf, "the error function")
erfc = _rounded(_DOUBLE.erfc, "the complementary error function")
normal_share = _rounded(_below, "the share of a standard normal distribution below a number of deviations")
normal_quantile = _rounded(_quantile, "the number of deviations with a share of a standard normal distribution below")


def total(values: Iterable[float]) -> float:
    """Return the sum of numbers, rounded once, so that their order makes no difference."""
    return math.fsum(values.ravel().tolist() if isinstance(values, np.ndarray) else values)


def totals(rows: ArrayLike) -> Floats:
    """Return the sums over the first axis of an array, each rounded once."""
    array = np.asarray(rows, np.float64)
    columns = array.reshape(len(array), math.prod(array.shape[1:])).T.tolist()
    return np.array([math.fsum(column) for column in columns]).reshape(array.shape[1:])


def added_up(arrays: Iterable[Floats]) -> Floats:
    """Return the sum of arrays of one shape, added up from the first to the last; there must be one."""
    first, *others = arrays
    found = first.copy()
    for one in others:
        found += one
    return found


def inner(one: ArrayLike, other: ArrayLike) -> Any:
    """Return scalar products along the last axis, added up from the first component to the last."""
    products = np.asarray(one, np.float64) * np.asarray(other, np.float64)
    result = products[..., 0]
    for component in range(1, products.shape[-1]):
        result = result + products[..., component]
    return result


def norm(vectors: ArrayLike) -> Any:
    """Return the lengths of vectors along the last axis; their squares must not overflow."""
    return np.sqrt(inner(vectors, vectors))


def hypot(*components: float) -> float:
    """Return the length of one vector of floats, which may be as large or small as floats are."""
    square = gmpy2.mpfr(0, 113)
    for one in components:
        square = _WIDE.add(square, _WIDE.square(float(one)))
    return float(_WIDE.sqrt(square))


def matmul(one: ArrayLike, other: ArrayLike) -> Floats:
    """Return matrix products like ``numpy.matmul`` of two matrices or stacks of them, or of matrices and a vector.

    The products are added up along the inner axis from the first to the last; for short inner axes.
    """
    left, right = np.asarray(one, np.float64), np.asarray(other, np.float64)
    if right.ndim == 1:
        return np.asarray(inner(left, right))
    if left.ndim == 1:
        return np.asarray(inner(left, np.swapaxes(right, -1, -2)))
    return np.asarray(inner(left[..., :, None, :], np.swapaxes(right, -1, -2)[..., None, :, :]))
