"""Quantiles of the standard normal distribution for many numbers, with the same bits on every machine.

The rational functions of M. J. Wichura, algorithm AS 241, Applied Statistics 37 (1988) 477, have relative errors of
about 1e-16. They need the four basic operations alone, and in the tails a square root and a logarithm, which is
correctly rounded: the result is not, but it is the same everywhere, at a small part of the time that
`exact_math.normal_quantile` takes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.foundation import exact_math

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pdem.foundation.array_types import Floats

QUANTILE_MIDDLE = (
    (2.5090809287301226727e3, 3.3430575583588128105e4, 6.7265770927008700853e4, 4.5921953931549871457e4,
     1.3731693765509461125e4, 1.9715909503065514427e3, 1.3314166789178437745e2, 3.3871328727963666080e0),
    (5.2264952788528545610e3, 2.8729085735721942674e4, 3.9307895800092710610e4, 2.1213794301586595867e4,
     5.3941960214247511077e3, 6.8718700749205790830e2, 4.2313330701600911252e1, 1.0),
)  # fmt: skip
QUANTILE_TAIL = (
    (7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1, 1.27045825245236838258e0,
     3.64784832476320460504e0, 5.76949722146069140550e0, 4.63033784615654529590e0, 1.42343711074968357734e0),
    (1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2, 1.48103976427480074590e-1,
     6.89767334985100004550e-1, 1.67638483018380384940e0, 2.05319162663775882187e0, 1.0),
)  # fmt: skip
QUANTILE_FAR_TAIL = (
    (2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3, 2.65321895265761230930e-2,
     2.96560571828504891230e-1, 1.78482653991729133580e0, 5.46378491116411436990e0, 6.65790464350110377720e0),
    (2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5, 7.86869131145613259100e-4,
     1.48753612908506148525e-2, 1.36929880922735805310e-1, 5.99832206555887937690e-1, 1.0),
)  # fmt: skip
"""Coefficients of numerator and denominator, from the highest power on; kernels use them as well."""


def normal_quantiles(shares: ArrayLike) -> Floats:
    """Return the numbers of standard deviations with some shares of the distribution below, infinite for 0 and 1."""
    share = np.asarray(shares, np.float64)
    offset = share - 0.5
    result = np.asarray(offset * _ratio(QUANTILE_MIDDLE, 0.180625 - offset * offset))
    outside = np.abs(offset) > 0.425
    if outside.any():
        result[outside] = np.where(offset[outside] < 0.0, -1.0, 1.0) * _of_tail(
            np.minimum(share[outside], 1.0 - share[outside])
        )
    return result


def _of_tail(share: Floats) -> Floats:
    """Return the positive number of deviations beyond which a share up to 0.075 is."""
    some = np.maximum(share, np.finfo(np.float64).tiny)
    root = np.sqrt(-exact_math.log(some))
    quantile = np.where(root <= 5.0, _ratio(QUANTILE_TAIL, root - 1.6), _ratio(QUANTILE_FAR_TAIL, root - 5.0))
    return np.where(share > 0.0, quantile, np.inf)


def _ratio(coefficients: tuple[tuple[float, ...], tuple[float, ...]], place: Floats) -> Floats:
    """Return the ratio of two polynomials."""
    above, below = (np.full(place.shape, one[0]) for one in coefficients)
    for upper, lower in zip(coefficients[0][1:], coefficients[1][1:], strict=True):
        above, below = above * place + upper, below * place + lower
    return np.asarray(above / below)
