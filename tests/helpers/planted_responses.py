"""Calibrations of planted responses with planted chance, in place of runs."""

from __future__ import annotations

import numpy as np

from pdem.sweeps.fitting.posterior import densest
from pdem.sweeps.fitting.search import FitProblem, FitSearch, Point

LIKELY, VERY_LIKELY = 0.6827, 0.9545


def planted(response, chance, random, replicas=1):
    """Return a function that measures a response (m,) of a location (k,) with normal errors."""

    def measure(locations):
        found = []
        for location in locations:
            exact = np.atleast_1d(np.asarray(response(location), np.float64))
            errors = np.broadcast_to(chance(location) if callable(chance) else chance, exact.shape)
            values = exact[:, None] + errors[:, None] * random.normal(size=(len(exact), replicas))
            found.append(Point(np.array(location), values))
        return found

    return measure


def searched(problem, measure, known=()):
    """Return the search after all runs that it wants."""
    search = FitSearch(problem, known)
    while len(wanted := search.wanted()):
        search.points += measure(wanted)
    return search


def calibrated(response, chance, truth, uncertainties, seed, **more):
    """Return what is found for targets that are right within their uncertainties."""
    random = np.random.default_rng(seed)
    exact = np.atleast_1d(response(np.array(truth)))
    targets = exact + np.array(uncertainties) * random.normal(size=len(exact))
    problem = FitProblem(targets, np.array(uncertainties), np.full(len(truth), 0.5), **more)
    return searched(problem, planted(response, chance, random, problem.replicas)).solution()


def holds(found, truth):
    """Return whether the stated regions of 68 and 95 % of each parameter hold the truth (k, 2)."""
    return [
        [
            any(low <= true <= high for low, high in densest(values, found.samples.weights, share))
            for share in (LIKELY, VERY_LIKELY)
        ]
        for values, true in zip(found.samples.locations.T, truth, strict=True)
    ]
