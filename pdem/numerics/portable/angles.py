"""Angles, sines and cosines in kernels, with the same bits on every machine: of sums, products, quotients and roots.

Series to the last bit of a float: the arc tangent after its argument has been halved twice, sine and cosine after
quarter turns have been taken off. The errors are some units of the last place. Outside kernels
`pdem.foundation.exact_math` rounds correctly.
"""

from __future__ import annotations

import math

from pdem.numerics.geometry_kernels import inlined_geometry

_QUARTER_HIGH = 1.5707963109016418
"""A quarter of a turn to 26 bits, so that products with small whole numbers are exact."""

_QUARTER_LOW = 1.5893254773528196e-08
_PER_QUARTER = 0.6366197723675814


@inlined_geometry
def _arc_tangent(ratio: float) -> float:
    """Return the angle of a ratio between 0 and 1 [rad]."""
    for _ in range(2):
        ratio = ratio / (1.0 + math.sqrt(1.0 + ratio * ratio))
    square, series = ratio * ratio, 0.0
    for order in range(25, 1, -2):
        series = -square * (1.0 / order + series)
    return 4.0 * (ratio + ratio * series)


@inlined_geometry
def angle_of(y: float, x: float) -> float:
    """Return the angle of a point from the x axis [rad], between -pi and pi; 0 for the origin."""
    high, low = max(abs(x), abs(y)), min(abs(x), abs(y))
    if high == 0.0:
        return 0.0
    angle = _arc_tangent(low / high)
    if abs(y) > abs(x):
        angle = 0.5 * math.pi - angle
    if x < 0.0:
        angle = math.pi - angle
    return -angle if y < 0.0 else angle


@inlined_geometry
def sine_and_cosine(angle: float) -> tuple[float, float]:
    """Return the sine and the cosine of an angle of some turns at most [rad]."""
    quarters = math.floor(angle * _PER_QUARTER + 0.5)
    rest = (angle - quarters * _QUARTER_HIGH) - quarters * _QUARTER_LOW
    square, sine, cosine = rest * rest, 0.0, 0.0
    for order in range(18, 1, -2):
        cosine = -square / (order * (order - 1.0)) * (1.0 + cosine)
        sine = -square / (order * (order + 1.0)) * (1.0 + sine)
    sine, cosine = rest + rest * sine, 1.0 + cosine
    turned = int(quarters) % 4
    if turned == 0:
        return sine, cosine
    if turned == 1:
        return cosine, -sine
    if turned == 2:
        return -sine, -cosine
    return -cosine, sine
