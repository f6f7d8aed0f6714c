"""What has been measured at places of a space of parameters, and how it scatters by chance."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.optimize import minimize

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pdem.foundation.array_types import Floats

_STEEP = 1.5
"""Standard deviation of the prior of how much the logarithm of the variance changes over a range."""

_ENOUGH = 4
"""Replicas beyond the first ones of their places with which a change of the variance is looked for."""

_LEAST = 1e-12


class Observations(NamedTuple):
    """A number measured at several places, in some runs at each.

    Attributes
    ----------
    places : (n, k) array
        Shares of the ranges of the parameters.
    means : (n,) array
        Means over the runs of each place.
    counts : (n,) array
        Number of runs of each place.
    squares : (n,) array
        Sums of the squares of the deviations from these means.
    """

    places: Floats
    means: Floats
    counts: Floats
    squares: Floats

    @property
    def freedom(self) -> int:
        """Number of runs beyond the first of each place."""
        return int((self.counts - 1.0).sum())


def observed(places: Sequence[Floats], values: Sequence[Floats]) -> Observations:
    """Return what was measured at places (k,): values in some runs of each; what is not finite does not count."""
    finite = [one[np.isfinite(one)] for one in values]
    kept = [number for number, some in enumerate(finite) if len(some)]
    means = np.array([finite[number].mean() for number in kept])
    squares = np.array([((finite[number] - finite[number].mean()) ** 2).sum() for number in kept])
    counts = np.array([len(finite[number]) for number in kept], np.float64)
    return Observations(np.array([places[number] for number in kept]), means, counts, squares)


def relative_variances(some: Observations) -> tuple[Floats, Floats]:
    """Return the variance by chance at each place over the mean one (n,), and by how much its logarithm changes (k,).

    The logarithm is taken to be linear in the parameters: sums of squares of a few replicas are gamma distributed, and
    a prior keeps the change near 0 unless they tell otherwise. Without replicas it is 0.
    """
    none = np.ones(len(some.means)), np.zeros(some.places.shape[1])
    free = some.counts - 1.0
    if some.freedom < _ENOUGH or not some.squares.any():
        return none
    pooled = float(some.squares.sum() / free.sum())
    squares = np.maximum(some.squares / pooled, _LEAST)
    across = some.places - 0.5

    def misfit(values: Floats) -> float:
        logarithm = values[0] + across @ values[1:]
        loss = 0.5 * float(free @ logarithm + (squares * np.exp(-logarithm))[free > 0.0].sum())
        return loss + 0.5 * float((values[1:] ** 2).sum()) / _STEEP**2

    steepness = minimize(misfit, np.zeros(1 + across.shape[1]), method="BFGS").x[1:]
    return np.exp(across @ steepness), steepness
