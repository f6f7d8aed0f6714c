"""Parameters at which measured responses meet their targets: runs where they are needed, and what follows from all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.stats import chi2

from pdem.sweeps.fitting.next_places import next_places, scan, scan_size
from pdem.sweeps.fitting.observations import observed
from pdem.sweeps.fitting.posterior import Samples, sampled
from pdem.sweeps.fitting.response import Response, log_density, normal_scores

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pdem.foundation.array_types import Booleans, Floats
    from pdem.sweeps.fitting.response import Prediction

ENOUGH = 0.12
"""Share of the variance of a target by which the error of the response adds to it at most, when runs are enough."""

MISSED = 0.05
"""Probability that right targets are missed by as much, below which they are not reached."""

_HOPELESS = 1e-3
_NONE = -1e30
_MORE = 8
_SEARCH, _FINAL, _DOWNHILL, _CORNER = 300, 6000, 60, 0.2


class Point(NamedTuple):
    """Runs at one place.

    Attributes
    ----------
    place : (k,) array
        Shares of the ranges of the parameters.
    values : (m, r) array
        What was measured for each target in each run, not finite where there is nothing.
    """

    place: Floats
    values: Floats


@dataclass(frozen=True)
class FitProblem:
    """What is looked for.

    Attributes
    ----------
    targets, uncertainties : (m,) arrays
        Values, and their standard errors.
    start : (k,) array
        Place of the first runs; the parameters are shares of their ranges.
    replicas : int
        Runs at each place.
    runs : int or None
        Most runs; by default those of the scan, and 8 for each parameter and one.
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
        """Runs of the scan."""
        return scan_size(self.dimension) * self.replicas

    @property
    def most(self) -> int:
        """Most runs."""
        return self.least + _MORE * (self.dimension + 1) if self.runs is None else self.runs


@dataclass(frozen=True)
class Solution:
    """Where the parameters lie, as far as the runs tell.

    Attributes
    ----------
    points : tuple of Point
        All runs.
    responses : tuple of Response
        Of each target.
    samples : Samples
        Places at which all targets are met within the errors, by their probability.
    best : (k,) array
        The most probable place.
    misfit : float
        Sum of the squares of the standard errors by which targets are missed where that is least.
    shares : (m,) array
        Of the variance of each target, by how much the error of its response adds to it.
    """

    points: tuple[Point, ...]
    responses: tuple[Response, ...]
    samples: Samples
    best: Floats
    misfit: float
    shares: Floats

    @property
    def probability(self) -> float:
        """That right targets would be missed by as much somewhere in the ranges."""
        return float(chi2.sf(self.misfit, max(len(self.responses) - len(self.best), 1)))

    @property
    def is_reached(self) -> bool:
        """Whether the targets can be met."""
        return self.probability >= MISSED

    @property
    def is_precise(self) -> bool:
        """Whether further runs would not make the errors much smaller."""
        return bool(self.shares.max() <= ENOUGH)


class FitSearch:
    """A search for the parameters: which runs are wanted next depends on the points alone that are known by then.

    So a search that is stopped goes on, and one with other targets begins with all that is known.

    Parameters
    ----------
    problem : FitProblem
        What is looked for.
    known : sequence of Point
        What has been measured before.
    """

    def __init__(self, problem: FitProblem, known: Sequence[Point] = ()) -> None:
        self.problem, self.points = problem, list(known)
        self.found: Solution | None = None

    def wanted(self) -> Floats:
        """Return places (n, k) at which to run next; none if runs are enough, or too few of a scan have numbers."""
        missing = [place for place in scan(self.problem.start) if not _is_there(place, self.points)]
        if missing:
            return np.array(missing if self.points else missing[:1])  # the first alone: much may be wrong with it
        self.found = found = solution(self.problem, self.points, _SEARCH)
        if found is None or _is_done(self.problem, found):
            return np.zeros((0, self.problem.dimension))
        count, errors = self.problem.dimension + 1, self.problem.uncertainties
        return next_places(found.responses, errors, found.samples, count, self.problem.replicas)

    def solution(self) -> Solution | None:
        """Return what follows from all points; None if fewer places have numbers than a plane and one more take."""
        return solution(self.problem, self.points, _FINAL)


def _is_there(place: Floats, points: Sequence[Point]) -> bool:
    return any(np.abs(one.place - place).max() < 1e-3 for one in points)


def _is_done(problem: FitProblem, found: Solution) -> bool:
    """Return whether runs are enough: they are precise, cannot reach the targets, or are as many as there may be."""
    step = problem.dimension + 1
    steps = (len(found.points) - scan_size(problem.dimension)) / step
    if (len(found.points) + step) * problem.replicas > problem.most:
        return True
    return steps >= 1.0 and (found.is_precise or (steps >= 2.0 and found.probability < _HOPELESS))


def solution(problem: FitProblem, points: Sequence[Point], count: int) -> Solution | None:
    """Return what follows from some points, by so many samples; None if there are too few numbers."""
    places = [one.place for one in points]
    numbers = [observed(places, [one.values[row] for one in points]) for row in range(len(problem.targets))]
    if any(len(some.means) <= problem.dimension + 1 for some in numbers):
        return None
    state = _State(problem, tuple(map(Response, numbers)), points)
    samples = sampled(state.density, problem.dimension, count)
    there = state.at(samples.places)
    steps = _DOWNHILL * problem.dimension if count == _FINAL else 0
    best = _lowest(lambda some: -some.logarithm(1.0), state, samples, there, steps)
    nearest = _lowest(_Predicted.misfit, state, samples, there, steps)
    variances = np.array([samples.weights @ one.variance for one in there.responses])
    return Solution(
        tuple(points), state.responses, samples, best, float(state.at(nearest[None]).misfit()[0]),
        variances / problem.uncertainties**2,
    )  # fmt: skip


class _State:
    """What points tell: the responses, and where there is nothing to be measured."""

    def __init__(self, problem: FitProblem, responses: tuple[Response, ...], points: Sequence[Point]) -> None:
        self.responses = responses
        self._targets = list(zip(problem.targets.tolist(), problem.uncertainties.tolist(), strict=True))
        self._places = np.array([one.place for one in points])
        self._barren = np.array([not np.isfinite(one.values).any(axis=1).all() for one in points])

    def at(self, places: Floats) -> _Predicted:
        """Return what the responses are at places (n, k); next to a point without numbers there are none."""
        outside = ~np.all((places >= 0.0) & (places <= 1.0), axis=1)
        if self._barren.any():
            squares = ((places[:, None, :] - self._places[None, :, :]) ** 2).sum(axis=2)
            outside |= self._barren[squares.argmin(axis=1)]
        return _Predicted([one(places) for one in self.responses], self._targets, outside)

    def density(self, places: Floats) -> Callable[[float], Floats]:
        """Return the logarithm of the probability density at places as a function of how far it is widened."""
        return self.at(places).logarithm


class _Predicted(NamedTuple):
    """Responses at some places.

    Attributes
    ----------
    responses : list of Prediction
        Of each target.
    targets : list of (float, float)
        Values and uncertainties.
    outside : (n,) array
        Places at which the parameters cannot lie.
    """

    responses: list[Prediction]
    targets: list[tuple[float, float]]
    outside: Booleans

    def logarithm(self, factor: float) -> Floats:
        """Return the logarithm of the density (n,), with uncertainties that are larger by a factor."""
        each = zip(self.responses, self.targets, strict=True)
        whole = np.sum([log_density(one, value, factor * error) for one, (value, error) in each], axis=0)
        return np.where(self.outside, _NONE, whole)

    def misfit(self) -> Floats:
        """Return the sum of the squares (n,) of the standard errors by which targets are missed."""
        scores = [normal_scores(one, *target) for one, target in zip(self.responses, self.targets, strict=True)]
        return np.where(self.outside, -_NONE, np.sum(np.square(scores), axis=0))


def _lowest(
    function: Callable[[_Predicted], Floats], state: _State, samples: Samples, there: _Predicted, steps: int
) -> Floats:
    """Return the place (k,) where a function of the responses is least: of samples, and some steps downhill."""
    start: Floats = samples.places[int(np.argmin(function(there)))]
    if not steps:
        return start
    width = np.sqrt(np.diag(samples.covariance)) + 1e-12
    simplex = _CORNER * np.vstack([np.zeros(len(start)), np.eye(len(start))])

    def downhill(step: Floats) -> float:
        return float(function(state.at(np.clip(start + width * step, 0.0, 1.0)[None]))[0])

    options = {"maxfev": steps, "xatol": 1e-3, "fatol": 1e-4, "initial_simplex": simplex}
    found = minimize(downhill, np.zeros(len(start)), method="Nelder-Mead", options=options)
    place: Floats = np.clip(start + width * found.x, 0.0, 1.0)
    return place
