"""Multiplication and addition with one rounding, requested by name.

Kernels that must give the same bits on every processor are compiled without contraction, and specify themselves where
a product and a sum are rounded once.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from pdem.numerics.numba_private import intrinsic_or_plain, types


def _generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return builder.fma(*arguments)


def _typed(context: Any, a: Any, b: Any, c: Any) -> Any:
    return types.float64(types.float64, types.float64, types.float64), _generate


def _exact(a: float, b: float, c: float) -> float:
    """Return ``a b + c``, rounded once, without machine code."""
    if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)):
        return a * b + c
    return float(Fraction(a) * Fraction(b) + Fraction(c))


fused = intrinsic_or_plain(_typed, _exact)
"""Return ``a b + c`` of three float64, rounded once. For kernels."""
