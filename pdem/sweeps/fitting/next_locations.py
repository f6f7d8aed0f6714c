"""Choice of locations for runs: a scan of the whole range first, then locations that reduce the errors most."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import qmc

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pdem.foundation.array_types import Booleans, Floats
    from pdem.sweeps.fitting.posterior import Samples
    from pdem.sweeps.fitting.response import Response

_PER_PARAMETER = 4
_DESIGNS = 200
_DRAWN, _WIDER, _EVERYWHERE = 24, 2.5, 16
"""Number of samples of the parameters, their widening factor for a second set, and number over the whole range."""


def scan_size(dimension: int) -> int:
    """Return the number of locations in a scan of the whole range."""
    return 1 + _PER_PARAMETER * dimension


def scan(start: Floats) -> Floats:
    """Return the locations (n, k) of a scan: the start (k,), then values evenly over each range, both ends included.

    Every parameter has each value once (a Latin hypercube). Among many such designs, the function chooses the design
    with the largest minimum distance between locations.
    """
    count, dimension = _PER_PARAMETER * len(start), len(start)
    levels = np.linspace(0.0, 1.0, count)
    if dimension == 1:  # about a start in the middle
        levels = np.array([0.0, 1.0, 0.25, 0.75])
    designs = []
    for seed in range(_DESIGNS if dimension > 1 else 1):
        random = np.random.default_rng(seed)
        order = [random.permutation(count) for _ in range(dimension)] if dimension > 1 else [np.arange(count)]
        design = np.vstack([start, np.column_stack([levels[one] for one in order])])
        apart = np.linalg.norm(design[:, None, :] - design[None, :, :], axis=2) + 9.0 * np.eye(len(design))
        designs.append((float(apart.min()), design))
    return max(designs, key=lambda one: one[0])[1]


def next_locations(
    responses: Sequence[Response], uncertainties: Floats, samples: Samples, count: int, replicas: int
) -> Floats:
    """Return the locations (count, k) where runs reduce the errors of the predicted targets most.

    The locations are chosen one by one. Each choice maximises the reduction of the variance of the responses, relative
    to the squared errors and averaged over samples of the parameters. Where possible, two locations are never so near
    to each other that chance hides the difference of their responses.

    Parameters
    ----------
    responses : sequence of Response
        Response of each target.
    uncertainties : (m,) array
        Errors of the targets.
    samples : Samples
        Samples of the parameters.
    count, replicas : int
        Number of locations, and number of runs per location.
    """
    drawn = samples.drawn(_DRAWN)
    middle = samples.mean
    wider = np.clip(middle + _WIDER * (drawn - middle), 0.0, 1.0)
    everywhere = qmc.Sobol(len(middle), rng=9).random(_EVERYWHERE)
    candidates = np.concatenate([drawn, wider, everywhere])
    states = [_State(one, error, candidates, replicas) for one, error in zip(responses, uncertainties, strict=True)]
    found: list[int] = []
    for _ in range(count):
        gain = np.sum([one.gain() for one in states], axis=0)
        hidden = np.all([one.hidden(found) for one in states], axis=0)
        gain[hidden] = -1.0 if not hidden.all() else gain[hidden]
        found.append(int(np.argmax(gain)))
        for one in states:
            one.add(found[-1])
    return candidates[found]


class _State:
    """Mean and covariance of a response at the candidates; the first candidates are samples of the parameters."""

    def __init__(self, response: Response, uncertainty: float, candidates: Floats, replicas: int) -> None:
        self._covariance = response.covariance(candidates)
        self._chance = response.chance(candidates) / replicas
        self._means, self._uncertainty = response(candidates).mean, uncertainty

    def gain(self) -> Floats:
        """Return the reduction of the variance at the samples by runs at each candidate, relative to the errors."""
        variance = np.diag(self._covariance)
        lowered = self._covariance[:, :_DRAWN] ** 2 / (variance + self._chance + 1e-300)[:, None]
        whole: Floats = (lowered / (self._uncertainty**2 + variance[:_DRAWN])).sum(axis=1)
        return whole

    def hidden(self, chosen: Sequence[int]) -> Booleans:
        """Return which candidates differ by less than chance from a candidate already chosen."""
        found = np.zeros(len(self._means), np.bool_)
        for one in chosen:
            apart = np.abs(self._means - self._means[one])
            found |= apart < np.sqrt(self._chance + self._chance[one])
        return found

    def add(self, number: int) -> None:
        """Update the covariance for runs at a candidate."""
        column = self._covariance[:, number].copy()
        self._covariance -= np.outer(column, column) / (column[number] + self._chance[number] + 1e-300)
