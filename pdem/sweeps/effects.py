"""Statistical significance of the effects in a sweep: main effects compared with the scatter of replicas.

Replicas differ only by a tiny perturbation; their scatter measures the random error of one run. The main effect of a
quantity is the change that it causes in the mean over all other quantities. An F test (analysis of variance) decides
whether chance alone could explain this change.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import f as f_distribution

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pdem.foundation.array_types import Floats, Integers

SIGNIFICANCE = 0.05
"""Significance level: chance alone explains a larger effect with a probability below this value."""

ROUNDING = 1e-12
"""Threshold for rounding errors, relative to the largest mean."""

_FEW = 6
"""Largest number of distinct values that are treated as levels; for more values a parabola is fitted."""


@dataclass(frozen=True)
class Effect:
    """The effect of one quantity on a measure.

    Attributes
    ----------
    name : str
        Name of the quantity; empty for the residual of the main effects (interactions, higher-order terms).
    size : float
        Largest minus smallest mean of the measure over the values of the quantity.
    error : float
        Standard error of `size` by chance; NaN without replicas.
    probability : float
        Probability that chance alone gives an effect of at least this size, NaN without replicas.
    """

    name: str
    size: float
    error: float
    probability: float

    @property
    def is_larger(self) -> bool | None:
        """Whether the effect is larger than chance; None without replicas."""
        return None if math.isnan(self.probability) else self.probability < SIGNIFICANCE

    def verdict(self) -> str:
        """Return whether the effect is larger than chance, in words."""
        if self.is_larger is None:
            return "not known: give replicas"
        text = f"(p = {self.probability:.2g})"
        return f"larger than chance {text}" if self.is_larger else f"may be chance {text}"


@dataclass(frozen=True)
class Analysis:
    """The effects of all quantities on one measure.

    Attributes
    ----------
    measure, unit : str
        Name and unit of the measure.
    mean : float
        Mean over all points.
    chance : float
        Standard deviation of single runs among replicas; NaN without replicas.
    freedom : int
        Number of replicas beyond the first run of each point.
    effects : tuple of Effect
        Effect of each quantity, then the residual.
    """

    measure: str
    unit: str
    mean: float
    chance: float
    freedom: int
    effects: tuple[Effect, ...]


def analysed(
    measure: str,
    unit: str,
    points: Sequence[Mapping[str, Any]],
    values: Sequence[Sequence[float]],
    logarithmic: Sequence[str] = (),
) -> Analysis | None:
    """Return the main effects on a measure.

    Parameters
    ----------
    measure, unit : str
        Name and unit of the measure.
    points : sequence of mapping
        Values of the quantities of each point, by name.
    values : sequence of sequence of float
        The measure in the runs of each point; values that are not finite are ignored.
    logarithmic : sequence of str
        Quantities that are varied over decades.

    Returns
    -------
    Analysis or None
        None if fewer than two points have a value.
    """
    finite = [[one for one in some if math.isfinite(one)] for some in values]
    kept = [number for number, some in enumerate(finite) if some]
    if len(kept) < 2:
        return None
    points, finite = [points[number] for number in kept], [finite[number] for number in kept]
    means, counts = np.array([np.mean(some) for some in finite]), np.array([len(some) for some in finite])
    freedom = int((counts - 1).sum())
    squares = sum(float(((np.array(some) - np.mean(some)) ** 2).sum()) for some in finite)
    chance = math.sqrt(squares / freedom) if freedom else math.nan
    columns = {name: _columns_of([point[name] for point in points], is_log=name in logarithmic) for name in points[0]}
    effects = _effects(columns, means, counts, chance, freedom)
    return Analysis(measure, unit, float(means.mean()), chance, freedom, tuple(effects))


def _columns_of(values: Sequence[Any], *, is_log: bool) -> Floats:
    """Return the columns (n, k) of a quantity in a linear model: a column per level, or the terms of a parabola."""
    keys = list(dict.fromkeys(map(repr, values)))
    is_number = all(isinstance(one, (int, float)) and not isinstance(one, bool) for one in values)
    if is_number and len(keys) > _FEW:
        x = np.array(values, np.float64)
        x = np.log(x) if is_log else x
        x = (x - x.mean()) / (np.ptp(x) or 1.0)
        return np.column_stack((x, x**2 - (x**2).mean()))
    levels = np.array([keys.index(repr(one)) for one in values])
    dummies = (levels[:, None] == np.arange(1, len(keys))[None, :]).astype(np.float64)
    found: Floats = dummies - dummies.mean(axis=0)
    return found


def _effects(
    columns: Mapping[str, Floats], means: Floats, counts: Integers, chance: float, freedom: int
) -> list[Effect]:
    """Return the effects from a weighted least-squares fit of all quantities together, and the residual."""
    design = np.column_stack([np.ones(len(means)), *columns.values()])
    weight = np.sqrt(counts)
    solution, _, rank, _ = np.linalg.lstsq(design * weight[:, None], means * weight, rcond=None)
    covariance = np.linalg.pinv((design * counts[:, None]).T @ design)
    noise = chance, freedom, float(np.abs(means).max())
    found, first = [], 1
    for name, some in columns.items():
        mine = slice(first, first + some.shape[1])
        first += some.shape[1]
        found.append(_effect(name, some, solution[mine], covariance[mine, mine], noise))
    left = means - design @ solution
    left[np.abs(left) < ROUNDING * np.abs(means).max()] = 0.0
    spare = len(means) - int(rank)
    if spare > 0:
        ratio = _ratio(float((counts * left**2).sum()) / spare, chance)
        found.append(Effect("", float(np.sqrt((left**2).mean())), math.nan, _probability(ratio, spare, freedom)))
    return found


def _effect(
    name: str, columns: Floats, solution: Floats, covariance: Floats, noise: tuple[float, int, float]
) -> Effect:
    """Return the effect of a quantity; `noise`: deviation by chance, its degrees of freedom, largest mean."""
    chance, freedom, scale = noise
    if not columns.shape[1] or not columns.any():
        return Effect(name, 0.0, math.nan, math.nan)
    fitted = columns @ solution
    if np.ptp(fitted) < ROUNDING * scale:
        solution, fitted = np.zeros(len(solution)), np.zeros(len(fitted))
    high, low = int(np.argmax(fitted)), int(np.argmin(fitted))
    if high == low:  # no effect at all: between any two values
        low = int(np.argmax(np.abs(columns - columns[high]).sum(axis=1)))
    way = columns[high] - columns[low]
    error = chance * math.sqrt(max(float(way @ covariance @ way), 0.0))
    sum_of_squares = float(solution @ np.linalg.pinv(covariance) @ solution)
    ratio = _ratio(sum_of_squares / columns.shape[1], chance)
    return Effect(name, float(fitted[high] - fitted[low]), error, _probability(ratio, columns.shape[1], freedom))


def _ratio(mean_square: float, chance: float) -> float:
    """Return a mean square divided by the variance by chance; infinite if chance is 0 and the mean square is not."""
    if math.isnan(chance):
        return math.nan
    if chance == 0.0:
        return math.inf if mean_square > 0.0 else 0.0
    return mean_square / chance**2


def _probability(ratio: float, first: int, second: int) -> float:
    """Return the probability that chance alone gives a ratio of at least this size."""
    if math.isnan(ratio) or second < 1:
        return math.nan
    return 0.0 if math.isinf(ratio) else float(f_distribution.sf(ratio, first, second))
