"""Least squares with functions that scatter: SciPy's, with differences longer than chance, and errors of what is found.

Quantities are shares in [0, 1] of their ranges.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import least_squares

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_SINGULAR = 1e-6
"""Of the largest singular value: what is less tells nothing of a direction."""

_ROUNDING = 1e-14


@dataclass(frozen=True)
class Minimum:
    """Where the sum of squares is least.

    Attributes
    ----------
    place : (n,) array
        Shares of the ranges.
    residuals : (m,) array
        Deviations there, each over its error.
    slopes : (m, n) array
        Their derivatives by the shares.
    converged : bool
        Whether it ended before its most steps were done.
    """

    place: Floats
    residuals: Floats
    slopes: Floats
    converged: bool

    @property
    def squares(self) -> float:
        """Sum of the squares of the residuals (chi square)."""
        return float(self.residuals @ self.residuals)


def covariance_of(slopes: Floats) -> Floats:
    """Return the inverse of J^T J (n, n) for slopes J of residuals of unit error; infinite where they tell nothing."""
    _, values, ways = np.linalg.svd(slopes, full_matrices=False)
    known = values > _SINGULAR * values.max(initial=0.0)
    found: Floats = (ways[known].T / values[known] ** 2) @ ways[known]
    lost = 1.0 - (ways[known] ** 2).sum(axis=0) > 1e-6
    found[lost, lost] = np.inf
    return found


def minimise(
    evaluate: Callable[[list[Floats]], Floats],
    start: Floats,
    difference: float,
    tolerance: float,
    iterations: int,
) -> Minimum:
    """Return the least sum of squares in the unit cube, by SciPy's trust region method.

    Parameters
    ----------
    evaluate : callable
        Is given several places (n,) at a time and returns the residuals (places, m).
    start : (n,) array
        Where to begin.
    difference : float
        Length of the differences by which slopes are found.
    tolerance : float
        The end: when steps, or relative changes of the sum, are less.
    iterations : int
        Most steps.
    """
    bounds = np.zeros(len(start)), np.ones(len(start))

    def residuals(place: Floats) -> Floats:
        return evaluate([place])[0]

    def slopes(place: Floats) -> Floats:
        steps = np.where(place + difference <= 1.0, difference, -difference)
        found = evaluate([place, *(place + one for one in np.diag(steps))])
        return (found[1:] - found[0]).T / steps

    inside = np.clip(start, 1e-3, 1.0 - 1e-3)  # the method begins within the bounds
    slopes(inside)  # all of the first points at a time
    found: Any = least_squares(
        residuals, inside, jac=slopes, bounds=bounds, xtol=tolerance, ftol=max(tolerance**2, _ROUNDING), gtol=1e-12,
        max_nfev=iterations + 1,
    )  # fmt: skip
    return Minimum(found.x, found.fun, found.jac, bool(found.status > 0))
