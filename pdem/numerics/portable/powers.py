"""Powers of floats in kernels, with the same bits on every machine: of additions, products and quotients alone.

A power is the exponential of a product with a logarithm. The logarithm is the series of the inverse hyperbolic tangent
of a number next to 1, the exponential its Taylor series about 0; both are evaluated to the last bit of a float. The
relative error of a power ``x**y`` is some 1e-16 times ``1 + |y log(x)|``. Outside kernels
`pdem.foundation.exact_math.power` is rounded correctly.
"""

from __future__ import annotations

import math

from pdem.numerics.geometry_kernels import inlined_geometry

LN2_HIGH = 0.6931471803691238
"""The logarithm of 2 to 32 bits, so that products with exponents are exact."""

LN2_LOW = 1.9082149292705877e-10
_INVERSE_LN2 = 1.4426950408889634
_SQUARE_ROOT = 0.7071067811865476
_LARGEST = 709.0
"""Largest exponent of e; beyond it a power is infinite, or 0."""


@inlined_geometry
def logarithm_parts(number: float) -> tuple[float, float]:
    """Return the exponent of 2, and the logarithm of the factor before it, which is next to 1."""
    factor, exponent = math.frexp(number)
    if factor < _SQUARE_ROOT:
        factor, exponent = 2.0 * factor, exponent - 1
    ratio = (factor - 1.0) / (factor + 1.0)
    square, series = ratio * ratio, 0.0
    for order in range(21, 1, -2):
        series = square * (1.0 / order + series)
    return float(exponent), 2.0 * ratio + 2.0 * ratio * series


@inlined_geometry
def _exponential(number: float) -> float:
    """Return e to the power of a number between -`_LARGEST` and `_LARGEST`."""
    doublings = math.floor(number * _INVERSE_LN2 + 0.5)
    rest = (number - doublings * LN2_HIGH) - doublings * LN2_LOW
    series = 0.0
    for order in range(14, 0, -1):
        series = rest / order * (1.0 + series)
    return math.ldexp(1.0 + series, int(doublings))


@inlined_geometry
def power(base: float, exponent: float) -> float:
    """Return a number of at least 0 to the power of a positive exponent."""
    if base <= 0.0:
        return 0.0
    doublings, logarithm = logarithm_parts(base)
    result = exponent * (doublings * LN2_HIGH + (doublings * LN2_LOW + logarithm))
    if result > _LARGEST:
        return math.inf
    return _exponential(result) if result >= -_LARGEST else 0.0
