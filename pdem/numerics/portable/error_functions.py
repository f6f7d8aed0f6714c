"""The inverse of the complementary error function in kernels, with the same bits on every machine.

The rational functions of M. J. Wichura, algorithm AS 241, Applied Statistics 37 (1988) 477, have relative errors of
about 1e-16; arithmetic adds a few. The four basic operations, a square root and the logarithm of `logarithms` suffice.
"""

from __future__ import annotations

import math

from pdem.foundation.normal_quantiles import QUANTILE_FAR_TAIL, QUANTILE_MIDDLE, QUANTILE_TAIL
from pdem.numerics.geometry_kernels import inlined_geometry
from pdem.numerics.portable.logarithms import natural_logarithm

_LEAST = 5e-324
"""Smallest float, of which half is not a float."""

_PER_DEVIATION = math.sqrt(0.5)
_MIDDLE_ABOVE, _MIDDLE_BELOW = QUANTILE_MIDDLE
_TAIL_ABOVE, _TAIL_BELOW = QUANTILE_TAIL
_FAR_ABOVE, _FAR_BELOW = QUANTILE_FAR_TAIL


@inlined_geometry
def _polynomial(coefficients: tuple[float, ...], x: float) -> float:
    a, b, c, d, e, f, g, h = coefficients
    return ((((((a * x + b) * x + c) * x + d) * x + e) * x + f) * x + g) * x + h


@inlined_geometry
def _tail(share: float) -> float:
    """Return the number of standard deviations beyond which a share up to 0.075 is."""
    root = math.sqrt(-natural_logarithm(share))
    if root <= 5.0:
        return _polynomial(_TAIL_ABOVE, root - 1.6) / _polynomial(_TAIL_BELOW, root - 1.6)
    return _polynomial(_FAR_ABOVE, root - 5.0) / _polynomial(_FAR_BELOW, root - 5.0)


@inlined_geometry
def inverse_erfc(value: float) -> float:
    """Return the number with a complementary error function, which is between 0 and 2; at these ends it is infinite."""
    if value <= 0.0:
        return math.inf
    if value >= 2.0:
        return -math.inf
    offset = 0.5 * (1.0 - value)
    if abs(offset) <= 0.425:
        x = 0.180625 - offset * offset
        return _PER_DEVIATION * offset * (_polynomial(_MIDDLE_ABOVE, x) / _polynomial(_MIDDLE_BELOW, x))
    if value < 1.0:
        return _PER_DEVIATION * _tail(max(0.5 * value, _LEAST))
    return -_PER_DEVIATION * _tail(0.5 * (2.0 - value))
