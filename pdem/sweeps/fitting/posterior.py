"""Probable values of parameters: samples of a probability density in the unit cube, and their densest regions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.ndimage import gaussian_filter1d
from scipy.stats import qmc

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from pdem.foundation.array_types import Floats

    Density = Callable[[Floats], Callable[[float], Floats]]

_FIRST, _ROUNDS, _KERNELS = 256, 30, 150
_EVEN, _GOOD = 0.25, 0.4
"""Effective shares of samples: the limit for narrowing the density, and the share at which sampling is complete."""

_WIDEST, _STRIDE, _HALVINGS = 25.0, 2.0, 5
"""Logarithm of the first widening factor, decrement between two factors, and number of bisections at the end."""

_NEAR = 5
"""The nearest ``1 / _NEAR`` of the samples of each sample determine the width of the next steps."""

_GRID, _SMOOTH = 4000, 0.4
_VALLEY = 0.5
"""Two maxima are separate if the density between them falls below this share of the lower maximum."""


class Samples(NamedTuple):
    """Weighted samples.

    Attributes
    ----------
    locations : (n, k) array
        Places in the unit cube.
    weights : (n,) array
        Weights with sum 1.
    """

    locations: Floats
    weights: Floats

    @property
    def mean(self) -> Floats:
        """Mean location (k,)."""
        found: Floats = self.weights @ self.locations
        return found

    @property
    def covariance(self) -> Floats:
        """Covariance (k, k) of the locations."""
        off = self.locations - self.mean
        found: Floats = (off * self.weights[:, None]).T @ off
        return found

    def drawn(self, count: int) -> Floats:
        """Return locations (count, k) of equal weight, evenly along the samples."""
        return self.locations[_chosen(self.weights, (np.arange(count) + 0.5) / count)]


def sampled(density: Density, dimension: int, count: int) -> Samples:
    """Return samples of a density in the unit cube, by population Monte Carlo.

    The first rounds sample a strongly widened density. Each round spreads kernels around the samples and weights the
    new samples for a less widened density, down to the density itself. This finds narrow maxima and several maxima.

    Parameters
    ----------
    density : callable
        Called with locations (n, k), returns a function of a widening factor (1 or more). The function returns the
        logarithm (n,) of the widened density at the locations, up to a constant.
    dimension : int
        Number of parameters.
    count : int
        Number of samples in each round.
    """
    random = np.random.default_rng(5)
    locations, logarithm = qmc.Sobol(dimension, rng=3).random(_FIRST), _WIDEST
    wanted, drawn_by = density(locations), np.zeros(_FIRST)
    for _ in range(_ROUNDS):
        logarithm = _narrower(wanted, drawn_by, logarithm)
        weights = _weights(wanted(math.exp(logarithm)) - drawn_by)
        if not logarithm and _effective(weights) >= _GOOD:
            break
        locations, drawn_by = _spread(locations, weights, count, random)
        wanted = density(locations)
    return Samples(locations, _weights(wanted(1.0) - drawn_by))


def _weights(logarithms: Floats) -> Floats:
    found = np.exp(logarithms - logarithms.max())
    whole: Floats = found / found.sum()
    return whole


def _effective(weights: Floats) -> float:
    """Return the effective sample size of weights as a share of their number."""
    return float(1.0 / (weights @ weights) / len(weights))


def _narrower(wanted: Callable[[float], Floats], drawn_by: Floats, logarithm: float) -> float:
    """Return the logarithm of a smaller widening factor, the smallest that keeps the weights of samples even enough."""

    def is_even(some: float) -> bool:
        return _effective(_weights(wanted(math.exp(some)) - drawn_by)) >= _EVEN

    high, low = logarithm, max(logarithm - _STRIDE, 0.0)
    while low > 0.0 and is_even(low):
        high, low = low, max(low - _STRIDE, 0.0)
    if not low and is_even(0.0):
        return 0.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if is_even(middle) else (middle, high)
    return high


def _spread(locations: Floats, weights: Floats, count: int, random: np.random.Generator) -> tuple[Floats, Floats]:
    """Return locations drawn around weighted locations, and the logarithm of the density from which they are drawn."""
    locations = locations[_chosen(weights, (np.arange(_KERNELS) + random.random(_KERNELS)) / _KERNELS)]
    weights = np.full(_KERNELS, 1.0 / _KERNELS)
    factor = _local_width(locations, weights)
    starts = locations[(np.arange(count) * _KERNELS) // count]
    found = starts + random.normal(size=starts.shape) @ factor.T
    found = found[np.all((found >= 0.0) & (found <= 1.0), axis=1)]
    scaled = np.linalg.inv(factor)
    one, other = found @ scaled.T, locations @ scaled.T
    squares = (one**2).sum(axis=1)[:, None] + (other**2).sum(axis=1)[None, :] - 2.0 * one @ other.T
    density = np.exp(-0.5 * np.maximum(squares, 0.0)) @ weights
    return found, np.log(density + 1e-300)


def _local_width(locations: Floats, weights: Floats) -> Floats:
    """Return the triangular factor of the covariance of nearest samples, that is, of a single maximum."""
    off = locations - weights @ locations
    whole = (off * weights[:, None]).T @ off + 1e-24 * np.eye(locations.shape[1])
    even: Floats = np.asarray(np.linalg.solve(np.linalg.cholesky(whole), locations.T).T, np.float64)
    squares: Floats = ((even[:, None, :] - even[None, :, :]) ** 2).sum(axis=2)
    near = np.argsort(squares, axis=1, kind="stable")[:, : len(even) // _NEAR]
    differences = (even[near] - even[near].mean(axis=1, keepdims=True)).reshape(-1, even.shape[1])
    local = differences.T @ differences / len(differences) + 1e-6 * np.eye(even.shape[1])
    return np.asarray(np.linalg.cholesky(whole) @ np.linalg.cholesky(local), np.float64)


def _chosen(weights: Floats, shares: Floats) -> NDArray[np.intp]:
    return np.searchsorted(np.cumsum(weights), shares).clip(0, len(weights) - 1)


def densest(values: Floats, weights: Floats, share: float) -> tuple[tuple[float, float], ...]:
    """Return the densest intervals in [0, 1] that contain a share of a density; several intervals for several maxima.

    Parameters
    ----------
    values, weights : (n,) arrays
        Weighted samples of the density.
    share : float
        Probability of all intervals together.
    """
    edges, density = smooth_density(values, weights)
    order = np.argsort(-density, kind="stable")
    sums = np.cumsum(density[order]) / density.sum()
    inside = np.zeros(len(density) + 2, np.int8)
    inside[1 + order[: int(np.searchsorted(sums, share)) + 1]] = 1
    begins, ends = np.flatnonzero(np.diff(inside) == 1), np.flatnonzero(np.diff(inside) == -1) - 1
    both = _with_valleys(density, begins.tolist(), ends.tolist())
    return tuple((float(edges[begin]), float(edges[end + 1])) for begin, end in both)


def _with_valleys(density: Floats, begins: list[int], ends: list[int]) -> list[tuple[int, int]]:
    """Return intervals of cells, merged where the density in between falls so little that it may be chance."""
    found = [(begins[0], ends[0])]
    for begin, end in zip(begins[1:], ends[1:], strict=True):
        before = found[-1]
        peaks = density[before[0] : before[1] + 1].max(), density[begin : end + 1].max()
        if density[before[1] : begin + 1].min() < _VALLEY * min(peaks):
            found.append((begin, end))
        else:
            found[-1] = before[0], end
    return found


def smooth_density(values: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return the edges (n + 1,) of cells over the range of samples, and a smooth density (n,) in the cells."""
    order = np.argsort(values, kind="stable")
    values, weights = values[order], weights[order]
    near = weights > 1e-6 / len(weights)
    width = _local_spread(values, weights)
    low, high = max(float(values[near][0]) - width, 0.0), min(float(values[near][-1]) + width, 1.0)
    edges = np.linspace(low, high, _GRID + 1)
    counts, _ = np.histogram(values, edges, weights=weights)
    cells = _SMOOTH * width / float(edges[1] - edges[0])
    density: Floats = gaussian_filter1d(counts, max(cells, 1.0), mode="reflect")
    return edges, density


def _local_spread(values: Floats, weights: Floats) -> float:
    """Return the median width of windows that each contain a fifth of the sorted samples."""
    sums = np.cumsum(weights) - 0.5 * weights
    middles = np.linspace(0.1, 0.9, 81)
    windows = np.interp(middles + 0.1, sums, values) - np.interp(middles - 0.1, sums, values)
    return float(np.median(windows)) + 1e-15
