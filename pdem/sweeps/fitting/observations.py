"""Measured values at locations in a space of parameters, and their random scatter."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.optimize import minimize

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pdem.foundation.array_types import Floats

_STEEP = 1.5
"""Standard deviation of the prior for the change of the logarithm of the variance over a range."""

_ENOUGH = 4
"""Number of replicas beyond the first runs of all locations from which on a change of the variance is fitted."""

_LEAST = 1e-12


class Observations(NamedTuple):
    """A quantity measured at several locations, in one or more runs per location.

    Attributes
    ----------
    locations : (n, k) array
        Shares of the ranges of the parameters.
    means : (n,) array
        Means over the runs of each location.
    counts : (n,) array
        Number of runs of each location.
    squares : (n,) array
        Sums of squared deviations from the mean of each location.
    """

    locations: Floats
    means: Floats
    counts: Floats
    squares: Floats

    @property
    def freedom(self) -> int:
        """Number of runs beyond the first run of each location."""
        return int((self.counts - 1.0).sum())


def observed(locations: Sequence[Floats], values: Sequence[Floats]) -> Observations:
    """Return the observations at locations (k,) from the values of all runs; values that are not finite are ignored."""
    finite = [one[np.isfinite(one)] for one in values]
    kept = [number for number, some in enumerate(finite) if len(some)]
    means = np.array([finite[number].mean() for number in kept])
    squares = np.array([((finite[number] - finite[number].mean()) ** 2).sum() for number in kept])
    counts = np.array([len(finite[number]) for number in kept], np.float64)
    return Observations(np.array([locations[number] for number in kept]), means, counts, squares)


def relative_variances(some: Observations) -> tuple[Floats, Floats]:
    """Return the variance by chance at each location over its mean (n,), and the slope of its logarithm (k,).

    The logarithm is assumed linear in the parameters. Sums of squares of a few replicas are gamma distributed; a prior
    keeps the slope near 0 unless the data contradict. Without replicas the slope is 0.
    """
    none = np.ones(len(some.means)), np.zeros(some.locations.shape[1])
    free = some.counts - 1.0
    if some.freedom < _ENOUGH or not some.squares.any():
        return none
    pooled = float(some.squares.sum() / free.sum())
    squares = np.maximum(some.squares / pooled, _LEAST)
    across = some.locations - 0.5

    def misfit(values: Floats) -> float:
        logarithm = values[0] + across @ values[1:]
        loss = 0.5 * float(free @ logarithm + (squares * np.exp(-logarithm))[free > 0.0].sum())
        return loss + 0.5 * float((values[1:] ** 2).sum()) / _STEEP**2

    steepness = minimize(misfit, np.zeros(1 + across.shape[1]), method="BFGS").x[1:]
    return np.exp(across @ steepness), steepness
