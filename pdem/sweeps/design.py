"""Points of a design: combinations of values of the varied quantities."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import qmc

from pdem.case.sections.base import flat_keys
from pdem.foundation.errors import CaseError
from pdem.sweeps.sections import MOST_RUNS

if TYPE_CHECKING:
    from pdem.case.model import Case
    from pdem.sweeps.sections import SweepPlan, Varied

    Point = dict[str, Any]
    """Values of the varied quantities, by name."""


def points_of(plan: SweepPlan, case: Case) -> list[Point]:
    """Return the points of a plan for a case: values of the varied quantities, by name.

    Raises
    ------
    CaseError
        If the grid has too many points.
    """
    whole = {name: _is_whole(one, one.keys_of(name)[0], case) for name, one in plan.vary.items()}
    if plan.design == "grid":
        axes = [_levels(one, whole[name]) for name, one in plan.vary.items()]
        count = math.prod(map(len, axes))
        if count * plan.replicas > MOST_RUNS:
            raise CaseError(f"the grid has {count} points and {plan.replicas} replicas, more than {MOST_RUNS} runs")
        return [dict(zip(plan.vary, values, strict=True)) for values in itertools.product(*axes)]
    if not plan.vary:
        return [{}]
    return [_point(plan, row.tolist(), whole) for row in _shares(plan)]


def _point(plan: SweepPlan, shares: list[float], whole: dict[str, bool]) -> Point:
    both = zip(plan.vary.items(), shares, strict=True)
    return {name: value_at(one, share, whole[name]) for (name, one), share in both}


def _shares(plan: SweepPlan) -> np.ndarray[Any, Any]:
    assert plan.points is not None
    count = len(plan.vary)
    if plan.design == "sobol":
        return qmc.Sobol(count, rng=plan.seed).random(plan.points)
    return qmc.LatinHypercube(count, rng=plan.seed).random(plan.points)


def _is_whole(varied: Varied, key: str, case: Case) -> bool:
    """Return whether a range is of whole numbers: both its ends and the value in the case are whole."""
    if varied.min is None or varied.max is None:
        return False
    present = flat_keys("", case.model_dump(mode="python", exclude_none=True)).get(_with_brackets(key))
    ends = float(varied.min).is_integer() and float(varied.max).is_integer()
    return ends and isinstance(present, int) and not isinstance(present, bool)


def _with_brackets(key: str) -> str:
    """Return a key with indices in brackets: ``particles.0.radius`` as ``particles[0].radius``."""
    parts = key.replace("[", ".").replace("]", "").split(".")
    return "".join(f"[{one}]" if one.isdecimal() else f".{one}" for one in parts).removeprefix(".")


def _levels(varied: Varied, is_whole: bool) -> list[Any]:
    """Return the values of a grid along one axis."""
    if varied.values is not None:
        return list(varied.values)
    assert varied.count is not None
    return [value_at(varied, share, is_whole) for share in np.linspace(0.0, 1.0, varied.count).tolist()]


def value_at(varied: Varied, share: float, is_whole: bool = False) -> Any:
    """Return the value at a share in [0, 1] of a range, or the listed value at this share of the list."""
    if varied.values is not None:
        return varied.values[min(int(share * len(varied.values)), len(varied.values) - 1)]
    low, high = ends_of(varied)
    if varied.scale == "log":
        value = math.exp(math.log(low) + share * (math.log(high) - math.log(low)))
    else:
        value = low + share * (high - low)
    value = min(max(value, low), high)
    return round(value) if is_whole else value


def share_of(varied: Varied, value: float) -> float:
    """Return the share in [0, 1] of a range that corresponds to a value."""
    low, high = ends_of(varied)
    if varied.scale == "log":
        return (math.log(value) - math.log(low)) / (math.log(high) - math.log(low))
    return (value - low) / (high - low)


def ends_of(varied: Varied) -> tuple[float, float]:
    """Return both ends of a range."""
    assert varied.min is not None
    assert varied.max is not None
    return varied.min, varied.max
