"""Response surface from noisy observations at a few locations: a plane plus a smooth deviation (Gaussian process).

Deviations have a Matern covariance (5/2). Its lengths and the ratio of chance to deviation are not fixed: many sets of
lengths and ratios are weighted by the likelihood of the observations (plane and scale integrated out), so that the
errors are valid with few runs as well (Rasmussen, Williams, Gaussian Processes for Machine Learning, 2006, sections 2.7
and 5.4).
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import gammaln, ndtri, stdtr
from scipy.stats import qmc

from pdem.sweeps.fitting.observations import relative_variances

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.foundation.array_types import Floats
    from pdem.sweeps.fitting.observations import Observations

SETS, KEPT = 256, 8
"""Number of sets of lengths and ratios, and number of equally probable sets that represent all of them."""

_LENGTH, _SPREAD = 0.8, 0.6
"""Prior of the lengths: their median in units of the ranges, and the standard deviation of their logarithm."""

_RATIOS = -10.0, 2.0
"""Decimal logarithms of the smallest and largest ratio of the variances of chance and deviation."""

_ROUNDING = 1e-10


class Prediction(NamedTuple):
    """Predicted values of a response at several locations, as Student's t distributions.

    Attributes
    ----------
    mean, variance : (n,) arrays
        Expected value, and squared scale of its error.
    freedom : float
        Degrees of freedom.
    """

    mean: Floats
    variance: Floats
    freedom: float


@cache
def _sets(dimension: int) -> tuple[Floats, Floats]:
    """Return sets of lengths (h, k) and ratios (h,), drawn from their priors."""
    shares = qmc.Sobol(dimension + 1, rng=1).random(SETS)
    inside = np.clip(shares[:, :dimension], 1e-6, 1.0 - 1e-6)
    lengths = np.exp(math.log(_LENGTH) + _SPREAD * ndtri(inside))
    return lengths, 10.0 ** (_RATIOS[0] + (_RATIOS[1] - _RATIOS[0]) * shares[:, dimension])


def _covariance(first: Floats, second: Floats, lengths: Floats) -> Floats:
    """Return the covariances (h, n, m) of deviations at locations (n, k) and (m, k)."""
    squares = (first[:, None, :] - second[None, :, :]) ** 2
    distance = np.sqrt(5.0 * np.einsum("nmk,hk->hnm", squares, 1.0 / lengths**2))
    found: Floats = (1.0 + distance + distance**2 / 3.0) * np.exp(-distance)
    return found


def _plane(locations: Floats) -> Floats:
    return np.column_stack([np.ones(len(locations)), locations - 0.5])


class Response:
    """A response fitted to observations.

    Parameters
    ----------
    some : Observations
        Observations; the total number of runs must exceed the number of parameters plus one.

    Attributes
    ----------
    freedom : int
        Degrees of freedom: number of runs minus number of coefficients of the plane.
    """

    def __init__(self, some: Observations) -> None:
        self._locations = some.locations
        self._middle, self._scale = float(some.means.mean()), float(some.means.std()) or 1.0
        weights, self._steepness = relative_variances(some)
        lengths, ratios = _sets(some.locations.shape[1])
        count = len(some.means)
        covariance = _covariance(some.locations, some.locations, lengths)
        covariance[:, range(count), range(count)] += ratios[:, None] * (weights / some.counts) + _ROUNDING
        lower = np.linalg.cholesky(covariance)
        plane, data = _plane(some.locations), (some.means - self._middle) / self._scale
        both = np.broadcast_to(np.column_stack([plane, data]), (len(ratios), count, plane.shape[1] + 1))
        white = np.linalg.solve(lower, both)
        columns, values = white[..., :-1], white[..., -1]
        gram: Floats = np.swapaxes(columns, 1, 2) @ columns
        slopes = np.linalg.solve(gram, np.swapaxes(columns, 1, 2) @ values[..., None])[..., 0]
        rest = values - (columns @ slopes[..., None])[..., 0]
        runs = float(some.counts.sum())
        self.freedom = int(runs) - plane.shape[1]
        within = float((some.squares / weights).sum()) / self._scale**2
        squares = (rest**2).sum(axis=1) + within / ratios + _ROUNDING**2
        score = -_half_logarithm(lower) - _half_logarithm(np.linalg.cholesky(gram))
        score -= 0.5 * (runs - count) * np.log(ratios) + 0.5 * self.freedom * np.log(squares)
        chosen, self._weights = _represented(score)
        self._lengths, self._columns = lengths[chosen], columns[chosen]
        self._white = np.linalg.inv(lower[chosen])
        self._alpha = (rest[chosen, None, :] @ self._white)[:, 0, :]
        self._slopes, self._gram = slopes[chosen], np.linalg.inv(gram[chosen])
        self._variances = squares[chosen] / max(self.freedom, 1)
        self._chance = float(self._weights @ (self._variances * ratios[chosen])) * self._scale**2

    def chance(self, locations: Floats) -> Floats:
        """Return the variance (n,) of a single run by chance at locations (n, k)."""
        found: Floats = self._chance * np.exp((locations - 0.5) @ self._steepness)
        return found

    def __call__(self, locations: Floats) -> Prediction:
        """Return the predicted response at locations (n, k)."""
        across, white, rest = self._parts(locations)
        means = (across @ self._alpha[..., None])[..., 0] + (_plane(locations) @ self._slopes[..., None])[..., 0]
        variance = 1.0 - (white**2).sum(axis=2) + ((rest @ self._gram) * rest).sum(axis=2)
        variance = self._variances[:, None] * np.maximum(variance, 0.0)
        mean = self._weights @ means
        spread = self._weights @ (variance + (means - mean) ** 2)
        return Prediction(self._middle + self._scale * mean, self._scale**2 * spread, float(max(self.freedom, 1)))

    def covariance(self, locations: Floats) -> Floats:
        """Return the covariance matrix (n, n) of the errors of the response at locations (n, k)."""
        _, white, rest = self._parts(locations)
        found = _covariance(locations, locations, self._lengths) - white @ np.swapaxes(white, 1, 2)
        found += rest @ self._gram @ np.swapaxes(rest, 1, 2)
        whole: Floats = self._scale**2 * np.tensordot(self._weights * self._variances, found, axes=1)
        return whole

    def _parts(self, locations: Floats) -> tuple[Floats, Floats, Floats]:
        across = _covariance(locations, self._locations, self._lengths)
        white = across @ np.swapaxes(self._white, 1, 2)
        return across, white, _plane(locations) - white @ self._columns


def _half_logarithm(lower: NDArray[Any]) -> Floats:
    """Return half the logarithms of the determinants of matrices, from their triangular factors."""
    found: Floats = np.log(np.diagonal(lower, axis1=1, axis2=2)).sum(axis=1)
    return found


def _represented(score: Floats) -> tuple[NDArray[np.intp], Floats]:
    """Return the indices and weights of a few sets that represent all sets according to their probabilities."""
    weights = np.exp(score - score.max())
    order = np.argsort(-weights, kind="stable")
    sums = np.cumsum(weights[order]) / weights.sum()
    middles = (np.arange(KEPT) + 0.5) / KEPT
    chosen, counts = np.unique(order[np.searchsorted(sums, middles).clip(0, len(sums) - 1)], return_counts=True)
    return chosen, counts / KEPT


def deviations(found: Prediction, target: float, uncertainty: float) -> tuple[Floats, Floats, Floats]:
    """Return the deviation (n,) of a response in errors of target and response, these errors, and their freedom."""
    total = found.variance + uncertainty**2
    freedom = np.minimum(total**2 / np.maximum(found.variance**2, 1e-300) * found.freedom, 1e6)
    error = np.sqrt(total)
    return (found.mean - target) / error, error, freedom


def log_density(found: Prediction, target: float, uncertainty: float) -> Floats:
    """Return the logarithm of the probability density (n,) of a target for a predicted response."""
    off, error, freedom = deviations(found, target, uncertainty)
    norm = gammaln(0.5 * (freedom + 1.0)) - gammaln(0.5 * freedom) - 0.5 * np.log(freedom * math.pi)
    density: Floats = norm - 0.5 * (freedom + 1.0) * np.log1p(off**2 / freedom) - np.log(error)
    return density


def normal_scores(found: Prediction, target: float, uncertainty: float) -> Floats:
    """Return the deviation (n,) of a response in standard errors of a normal distribution with equal probability."""
    off, _, freedom = deviations(found, target, uncertainty)
    tail = np.clip(stdtr(freedom, -np.abs(off)), 1e-300, 0.5)
    scores: Floats = -np.sign(off) * ndtri(tail)
    return scores
