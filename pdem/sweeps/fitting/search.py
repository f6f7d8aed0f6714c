"""Search for parameters that meet targets: selects locations for further runs, and evaluates all runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.stats import chi2

from pdem.sweeps.fitting.next_locations import next_locations, scan, scan_size
from pdem.sweeps.fitting.observations import observed
from pdem.sweeps.fitting.posterior import Samples, sampled
from pdem.sweeps.fitting.response import Response, log_density, normal_scores

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pdem.foundation.array_types import Booleans, Floats
    from pdem.sweeps.fitting.response import Prediction

ENOUGH = 0.12
"""Runs are sufficient when the error of the response adds at most this share to the variance of a target."""

MISSED = 0.05
"""Targets count as not reached if the probability of so large a misfit by chance is below this value."""

_HOPELESS = 1e-3
_NONE = -1e30
_MORE = 8
_SEARCH, _FINAL, _DOWNHILL, _CORNER = 300, 6000, 60, 0.2


class Point(NamedTuple):
    """Runs at one location of the parameter space.

    Attributes
    ----------
    location : (k,) array
        Shares of the ranges of the parameters.
    values : (m, r) array
        Measured value of each target in each run, not finite where a run has no value.
    """

    location: Floats
    values: Floats


@dataclass(frozen=True)
class FitProblem:
    """A calibration as a fit problem.

    Attributes
    ----------
    targets, uncertainties : (m,) arrays
        Target values, and their standard errors.
    start : (k,) array
        Place of the first runs, as shares of the ranges of the parameters.
    replicas : int
        Number of runs per location.
    runs : int or None
        Largest number of runs; by default the runs of the scan plus 8 for each parameter and 8 more.
    """

    targets: Floats
    uncertainties: Floats
    start: Floats
    replicas: int = 1
    runs: int | None = None

    @property
    def dimension(self) -> int:
        """Number of parameters."""
        return len(self.start)

    @property
    def least(self) -> int:
        """Number of runs of the scan."""
        return scan_size(self.dimension) * self.replicas

    @property
    def most(self) -> int:
        """Largest number of runs."""
        return self.least + _MORE * (self.dimension + 1) if self.runs is None else self.runs


@dataclass(frozen=True)
class Solution:
    """The probable parameters according to the runs so far.

    Attributes
    ----------
    points : tuple of Point
        All runs.
    responses : tuple of Response
        Response of each target.
    samples : Samples
        Places at which all targets are met within their errors, weighted by probability.
    best : (k,) array
        The most probable location.
    misfit : float
        Smallest sum of squared deviations from the targets, in standard errors.
    shares : (m,) array
        Share that the error of each response adds to the variance of its target.
    """

    points: tuple[Point, ...]
    responses: tuple[Response, ...]
    samples: Samples
    best: Floats
    misfit: float
    shares: Floats

    @property
    def probability(self) -> float:
        """Probability that correct targets are missed by at least the smallest misfit in the ranges."""
        return float(chi2.sf(self.misfit, max(len(self.responses) - len(self.best), 1)))

    @property
    def is_reached(self) -> bool:
        """Whether the targets can be met."""
        return self.probability >= MISSED

    @property
    def is_precise(self) -> bool:
        """Whether further runs would hardly reduce the errors."""
        return bool(self.shares.max() <= ENOUGH)


class FitSearch:
    """A search for the parameters. The next locations depend only on the points measured so far.

    Therefore an interrupted search continues identically, and a search with other targets reuses all measured points.

    Parameters
    ----------
    problem : FitProblem
        Targets and limits of the search.
    known : sequence of Point
        Points measured earlier.
    """

    def __init__(self, problem: FitProblem, known: Sequence[Point] = ()) -> None:
        self.problem, self.points = problem, list(known)
        self.found: Solution | None = None

    def wanted(self) -> Floats:
        """Return the next locations (n, k) to run; empty if the runs suffice, or too few of the scan have numbers."""
        missing = [location for location in scan(self.problem.start) if not _is_there(location, self.points)]
        if missing:
            return np.array(
                missing if self.points else missing[:1]
            )  # the first location alone: a wrong case fails here
        self.found = found = solution(self.problem, self.points, _SEARCH)
        if found is None or _is_done(self.problem, found):
            return np.zeros((0, self.problem.dimension))
        count, errors = self.problem.dimension + 1, self.problem.uncertainties
        return next_locations(found.responses, errors, found.samples, count, self.problem.replicas)

    def solution(self) -> Solution | None:
        """Return the solution from all points; None unless more of them have numbers than a plane has coefficients."""
        return solution(self.problem, self.points, _FINAL)


def _is_there(location: Floats, points: Sequence[Point]) -> bool:
    return any(np.abs(one.location - location).max() < 1e-3 for one in points)


def _is_done(problem: FitProblem, found: Solution) -> bool:
    """Return whether the search is complete: precise, without prospect of reaching the targets, or out of runs."""
    step = problem.dimension + 1
    steps = (len(found.points) - scan_size(problem.dimension)) / step
    if (len(found.points) + step) * problem.replicas > problem.most:
        return True
    return steps >= 1.0 and (found.is_precise or (steps >= 2.0 and found.probability < _HOPELESS))


def solution(problem: FitProblem, points: Sequence[Point], count: int) -> Solution | None:
    """Return the solution from the given points with `count` samples; None if too few locations have numbers."""
    locations = [one.location for one in points]
    numbers = [observed(locations, [one.values[row] for one in points]) for row in range(len(problem.targets))]
    if any(len(some.means) <= problem.dimension + 1 for some in numbers):
        return None
    state = _State(problem, tuple(map(Response, numbers)), points)
    samples = sampled(state.density, problem.dimension, count)
    there = state.at(samples.locations)
    steps = _DOWNHILL * problem.dimension if count == _FINAL else 0
    best = _lowest(lambda some: -some.logarithm(1.0), state, samples, there, steps)
    nearest = _lowest(_Predicted.misfit, state, samples, there, steps)
    variances = np.array([samples.weights @ one.variance for one in there.responses])
    return Solution(
        tuple(points), state.responses, samples, best, float(state.at(nearest[None]).misfit()[0]),
        variances / problem.uncertainties**2,
    )  # fmt: skip


class _State:
    """The fitted responses, and the points without measured values."""

    def __init__(self, problem: FitProblem, responses: tuple[Response, ...], points: Sequence[Point]) -> None:
        self.responses = responses
        self._targets = list(zip(problem.targets.tolist(), problem.uncertainties.tolist(), strict=True))
        self._locations = np.array([one.location for one in points])
        self._barren = np.array([not np.isfinite(one.values).any(axis=1).all() for one in points])

    def at(self, locations: Floats) -> _Predicted:
        """Return the responses at locations (n, k); locations nearest to a point without numbers are excluded."""
        outside = ~np.all((locations >= 0.0) & (locations <= 1.0), axis=1)
        if self._barren.any():
            squares = ((locations[:, None, :] - self._locations[None, :, :]) ** 2).sum(axis=2)
            outside |= self._barren[squares.argmin(axis=1)]
        return _Predicted([one(locations) for one in self.responses], self._targets, outside)

    def density(self, locations: Floats) -> Callable[[float], Floats]:
        """Return the logarithm of the probability density at locations, as a function of the widening factor."""
        return self.at(locations).logarithm


class _Predicted(NamedTuple):
    """Responses at several locations.

    Attributes
    ----------
    responses : list of Prediction
        Prediction for each target.
    targets : list of (float, float)
        Value and uncertainty of each target.
    outside : (n,) array
        Whether a location is excluded for the parameters.
    """

    responses: list[Prediction]
    targets: list[tuple[float, float]]
    outside: Booleans

    def logarithm(self, factor: float) -> Floats:
        """Return the logarithm of the density (n,), with the uncertainties multiplied by a factor."""
        each = zip(self.responses, self.targets, strict=True)
        whole = np.sum([log_density(one, value, factor * error) for one, (value, error) in each], axis=0)
        return np.where(self.outside, _NONE, whole)

    def misfit(self) -> Floats:
        """Return the sum (n,) of the squared deviations from the targets, in standard errors."""
        scores = [normal_scores(one, *target) for one, target in zip(self.responses, self.targets, strict=True)]
        return np.where(self.outside, -_NONE, np.sum(np.square(scores), axis=0))


def _lowest(
    function: Callable[[_Predicted], Floats], state: _State, samples: Samples, there: _Predicted, steps: int
) -> Floats:
    """Return the minimum (k,) of a function of the responses: the best sample, improved by simplex steps."""
    start: Floats = samples.locations[int(np.argmin(function(there)))]
    if not steps:
        return start
    width = np.sqrt(np.diag(samples.covariance)) + 1e-12
    simplex = _CORNER * np.vstack([np.zeros(len(start)), np.eye(len(start))])

    def downhill(step: Floats) -> float:
        return float(function(state.at(np.clip(start + width * step, 0.0, 1.0)[None]))[0])

    options = {"maxfev": steps, "xatol": 1e-3, "fatol": 1e-4, "initial_simplex": simplex}
    found = minimize(downhill, np.zeros(len(start)), method="Nelder-Mead", options=options)
    location: Floats = np.clip(start + width * found.x, 0.0, 1.0)
    return location
