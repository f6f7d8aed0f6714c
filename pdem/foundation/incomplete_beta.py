"""The regularised incomplete beta function with the same bits on every machine.

Libraries evaluate it by several series, and round differently by version. Here it is one continued fraction, which
needs the four basic operations alone, times a factor of the correctly rounded functions of `exact_math`.
"""

from __future__ import annotations

from pdem.foundation import exact_math
from pdem.foundation.errors import InputError

LARGEST_SUM = 170.0
"""Largest sum of the two parameters, up to which the gamma function is a float."""

_MOST_TERMS, _SMALL, _DIFFERENCE = 500, 1e-300, 2e-16


def incomplete_beta(alpha: float, beta: float, share: float) -> float:
    r"""Return the share of a beta distribution below a number.

    $$I_x(\alpha, \beta) = \frac{1}{B(\alpha, \beta)} \int_0^x t^{\alpha - 1} (1 - t)^{\beta - 1} dt$$

    Parameters
    ----------
    alpha, beta : float
        Positive parameters; their sum must be at most `LARGEST_SUM`.
    share : float
        The number x, from 0 to 1.

    Returns
    -------
    float
        From 0 to 1, with an error of some 1e-14.

    Raises
    ------
    InputError
        If a parameter or the number is out of range.
    """
    if not (alpha > 0.0 and beta > 0.0 and alpha + beta <= LARGEST_SUM):
        raise InputError(
            f"parameters {alpha!r} and {beta!r} of a beta distribution: give positive ones with a sum of at most "
            f"{LARGEST_SUM:g}"
        )
    if not 0.0 <= share <= 1.0:
        raise InputError(f"share {share!r} of a beta distribution: give a number from 0 to 1")
    if share in (0.0, 1.0):
        return share
    # The fraction converges fast on this side of the mean only.
    if share < (alpha + 1.0) / (alpha + beta + 2.0):
        return min(_lower_share(alpha, beta, share, 1.0 - share), 1.0)
    return max(1.0 - _lower_share(beta, alpha, 1.0 - share, share), 0.0)


def _lower_share(alpha: float, beta: float, share: float, other: float) -> float:
    """Return the function for a number and 1 less this number, which are below and above the mean."""
    powers = exact_math.power(share, alpha) * exact_math.power(other, beta)
    ratio = exact_math.gamma(alpha + beta) / (exact_math.gamma(alpha) * exact_math.gamma(beta))
    return powers * ratio / alpha * _fraction(alpha, beta, share)


def _fraction(alpha: float, beta: float, share: float) -> float:
    """Return the continued fraction of the function, by the method of Lentz (Appl. Opt. 15 (1976) 668)."""
    result, above, below = 1.0, 1.0, 0.0
    for order in range(1, _MOST_TERMS):
        numerator = _numerator(order, alpha, beta, share)
        below = 1.0 + numerator * below
        below = 1.0 / (below if abs(below) > _SMALL else _SMALL)
        above = 1.0 + numerator / above
        above = above if abs(above) > _SMALL else _SMALL
        step = above * below
        result *= step
        if abs(step - 1.0) < _DIFFERENCE:
            break
    return 1.0 / result


def _numerator(order: int, alpha: float, beta: float, share: float) -> float:
    """Return a partial numerator of the continued fraction; the first has the order 1."""
    half = float(order // 2)
    double = alpha + 2.0 * half
    if order % 2:
        return -(alpha + half) * (alpha + beta + half) * share / (double * (double + 1.0))
    return half * (beta - half) * share / ((double - 1.0) * double)
