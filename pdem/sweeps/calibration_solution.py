"""Conversion of the solution of a fit problem, in shares of ranges, into the result of a calibration."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pdem.foundation.errors import InputError
from pdem.sweeps.calibration_result import Calibration, Fitted, Match
from pdem.sweeps.design import ends_of, value_at
from pdem.sweeps.fitting.posterior import densest
from pdem.sweeps.fitting.search import ENOUGH
from pdem.sweeps.sections import CalibrationPlan

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats
    from pdem.sweeps.fitting.search import FitSearch, Solution
    from pdem.sweeps.sections import Varied
    from pdem.sweeps.setup import Setup
    from pdem.sweeps.table import RunTable

LIKELY, VERY_LIKELY = 0.6827, 0.9545
"""Probabilities of a normal distribution within one and two standard deviations."""

_APART = 0.02


def calibration_of(setup: Setup, search: FitSearch, table: RunTable) -> Calibration:
    """Return the result of a finished search.

    Raises
    ------
    InputError
        If fewer points have numbers than the fit needs.
    """
    plan, found = setup.plan, search.solution()
    assert isinstance(plan, CalibrationPlan)
    if found is None:
        raise InputError(_too_few(plan, table))
    covariance = found.samples.covariance
    deviations = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    parameters = tuple(_fitted(name, one, found, column) for column, (name, one) in enumerate(plan.vary.items()))
    scales = np.array([_slope(one, fitted.value) for one, fitted in zip(plan.vary.values(), parameters, strict=True)])
    runs = len(table.rows)
    needed = max(runs, int(float(f"{runs * max(float(found.shares.max()) / ENOUGH, 1.0):.2g}")))
    return Calibration(
        setup.base, parameters, covariance / np.outer(deviations, deviations), _matches(plan, found, table),
        _slopes(found) / scales, found.probability, found.is_reached, found.is_precise, needed, table, found,
    )  # fmt: skip


def _too_few(plan: CalibrationPlan, table: RunTable) -> str:
    """Return a message for the first target with too few numbers, with the reason at its first empty point."""
    for name in plan.targets:
        some = table.at_points(name)
        empty = [rows[0] for rows, found in zip(table.points, some, strict=True) if not found]
        if len(some) - len(empty) <= len(plan.vary) + 1:
            row = empty[0]
            why = next(iter(row.remarks.get(name, ())), "") or row.message or "nothing is measured"
            where = ", ".join(f"{key} = {value:.6g}" for key, value in row.values.items())
            return (
                f"target {name} has no number at {len(empty)} of {len(some)} points, as at {where} ({row.folder}): "
                f"{why}; give narrower ranges, a longer run, or another measure"
            )
    raise AssertionError("every target has enough numbers")


def _fitted(name: str, varied: Varied, found: Solution, column: int) -> Fitted:
    values, weights = found.samples.locations[:, column], found.samples.weights
    shares = [densest(values, weights, share) for share in (LIKELY, VERY_LIKELY)]
    likely, very = (tuple((_at(varied, low), _at(varied, high)) for low, high in some) for some in shares)
    error = 0.5 * sum(high - low for low, high in likely)
    share = sum(high - low for low, high in shares[0])
    return Fitted(name, _at(varied, float(found.best[column])), error, *ends_of(varied), likely, very, share)


def _at(varied: Varied, share: float) -> float:
    return float(value_at(varied, share))


def _slope(varied: Varied, value: float) -> float:
    """Return the derivative of a value with respect to its share of the range."""
    low, high = ends_of(varied)
    return value * math.log(high / low) if varied.scale == "log" else high - low


def _slopes(found: Solution) -> Floats:
    """Return the derivatives of the responses (m, k) with respect to the shares, at the best location."""
    dimension = len(found.best)
    steps = _APART * np.eye(dimension)
    locations = np.clip(np.concatenate([found.best + steps, found.best - steps]), 0.0, 1.0)
    apart = np.diag(locations[:dimension] - locations[dimension:])
    rows = [one(locations).mean for one in found.responses]
    return np.array([(row[:dimension] - row[dimension:]) / apart for row in rows])


def _matches(plan: CalibrationPlan, found: Solution, table: RunTable) -> tuple[Match, ...]:
    location = found.best[None]
    each = []
    for (name, target), one in zip(plan.targets.items(), found.responses, strict=True):
        there, scatter = one(location), math.sqrt(float(one.chance(location)[0]))
        error = math.sqrt(float(there.variance[0]))
        unit = (table.units | table.details)[name]
        each.append(Match(name, unit, target.value, target.uncertainty, float(there.mean[0]), error, scatter))
    return tuple(each)
