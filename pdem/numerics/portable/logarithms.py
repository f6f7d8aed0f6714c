"""Natural logarithms in kernels, with the same bits on every machine: of additions, products and quotients alone.

They are the series of `powers` and have relative errors of a few 1e-16, also next to 1. Outside kernels
`pdem.foundation.exact_math` rounds correctly.
"""

from __future__ import annotations

import math

from pdem.numerics.geometry_kernels import inlined_geometry
from pdem.numerics.portable.powers import LN2_HIGH, LN2_LOW, logarithm_parts


@inlined_geometry
def natural_logarithm(number: float) -> float:
    """Return the natural logarithm of a finite number; minus infinity for numbers that are not above 0."""
    if number <= 0.0:
        return -math.inf
    doublings, logarithm = logarithm_parts(number)
    return doublings * LN2_HIGH + (doublings * LN2_LOW + logarithm)


@inlined_geometry
def logarithm_of_one_plus(number: float) -> float:
    """Return the natural logarithm of 1 plus a finite number above -1, which may be small.

    The sum is rounded; the quotient of logarithm and rounded summand, which varies slowly, makes up for it.
    """
    total = 1.0 + number
    added = total - 1.0
    return number if added == 0.0 else natural_logarithm(total) * (number / added)
