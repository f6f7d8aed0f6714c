"""Fit of the fracture energies of particles to drop-weight tests: values, errors, intervals, undetermined keys."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.optimize import brentq, nnls
from scipy.stats import chi2

from pdem.foundation.errors import InputError, name_hint
from pdem.laboratory.drop_weights import DropWeights, drop_weights_of, read_drop_weights
from pdem.laboratory.fracture_model import CURVE, SPREAD, FractureModel, Terms

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike

    from pdem.foundation.array_types import Booleans, Floats

FRACTURE_KEYS = (*CURVE, SPREAD)
"""Keys of the case file that a table may determine."""

USUAL_GREATEST = 4.0
"""Usual largest fracture energy of a size over its median."""

PROBABILITY = 0.95
"""Probability of the intervals."""

_DROP = 0.5 * float(chi2.ppf(PROBABILITY, 1))
"""Difference of log-likelihoods at the ends of an interval (Wilks)."""

_EXPONENTS = 0.6, 1.2, 2.4  # at which searches begin
_SPREADS = 0.3, 0.8
_LARGEST_STEP, _LEAST_STEP, _GROWTH = 2.0, 0.02, 1.6
_AT_END, _EXACT, _STEEP = 1e-6, 1e-4, 0.05


class FittedKey(NamedTuple):
    """A parameter of the fit.

    Attributes
    ----------
    name : str
        Key of the case file, or ``median at 0.005 m``.
    value, error : float
        Most likely value, and its standard error; 0 for a fixed value, infinite if it is unknown.
    low, high : float or None
        Interval with 95 % probability, by the profile of the likelihood; None if it has no end on that side.
    """

    name: str
    value: float
    error: float
    low: float | None
    high: float | None

    @property
    def is_known(self) -> bool:
        """Whether the interval has two ends."""
        return self.low is not None and self.high is not None


@dataclass(frozen=True, eq=False)
class FractureFit:
    """Fracture energies of particles by drop-weight tests.

    Attributes
    ----------
    model : FractureModel
        The likelihood, with the table. Each size has a median of its own if the table has too few sizes for a curve.
    logarithms : (k,) array
        Logarithms of all parameters.
    covariance : (k, k) array
        Their covariance; 0 for fixed ones.
    parameters : tuple of FittedKey
        The parameters.
    fixed : frozenset of str
        Names of the parameters that were given.
    """

    model: FractureModel
    logarithms: Floats
    covariance: Floats
    parameters: tuple[FittedKey, ...]
    fixed: frozenset[str]

    def __getitem__(self, name: str) -> FittedKey:
        names = [one.name for one in self.parameters]
        if name not in names:
            raise InputError(f"the fit has no {name!r}; {name_hint(name, names)}")
        return self.parameters[names.index(name)]

    @property
    def deviance(self) -> float:
        """Twice the difference of the log-likelihoods of the table itself and of the fit."""
        return self.model.deviance(self.logarithms)

    @property
    def freedom(self) -> int:
        """Number of rows less the number of fitted parameters."""
        return len(self.model.table.size) - (len(self.parameters) - len(self.fixed))

    @property
    def p_value(self) -> float:
        """Probability of a larger deviance if the model is right; NaN without degrees of freedom."""
        return float(chi2.sf(self.deviance, self.freedom)) if self.freedom > 0 else math.nan

    @property
    def unknown(self) -> tuple[str, ...]:
        """Keys of the case file that the table does not determine."""
        found = tuple(one.name for one in self.parameters if not one.is_known)
        return found if self.model.is_curve else (*CURVE, *(name for name in found if name in FRACTURE_KEYS))

    def medians(self, size: ArrayLike) -> tuple[Floats, Floats]:
        """Return the median fracture energies of some sizes [m], and their standard errors [J/kg].

        Raises
        ------
        InputError
            If each size has a median of its own, and a size is not in the table.
        """
        sizes = np.atleast_1d(np.asarray(size, np.float64))
        if not self.model.is_curve and not np.isin(sizes, self.model.table.sizes).all():
            raise InputError("the table determines the medians of its own sizes alone; give one of them, or more sizes")
        logarithm, slopes = self.model.log_medians(self.logarithms, sizes)
        median = np.exp(logarithm)
        covariance = np.where(np.isfinite(self.covariance), self.covariance, 0.0)  # at the best undetermined values
        variance = np.maximum(((slopes @ covariance) * slopes).sum(axis=1), 0.0)
        return median, median * np.sqrt(variance)


def fit_drop_weights(
    table: Any, *, greatest: float = USUAL_GREATEST, fixed: Mapping[str, float] | None = None
) -> FractureFit:
    """Fit fracture energies to drop-weight tests by maximum likelihood; no simulation is run.

    The model is ``model = "tavares"`` of ``[materials.NAME.breakage]``. Its parameters are the keys ``fracture_energy``
    [J/kg], ``size`` [m], ``exponent`` and ``spread``. With fewer sizes than unknowns of the median's curve, each size
    has a median of its own.

    Parameters
    ----------
    table : path, mapping of (n,) array_like, or DropWeights
        CSV file, or columns ``size`` [m], ``energy`` [J/kg], ``broken`` and ``tested`` (numbers of particles).
    greatest : float
        Largest fracture energy of a size over its median, above 1.
    fixed : mapping of str to float, optional
        Values of keys from other sources.

    Raises
    ------
    InputError
        If the table cannot be used, has fewer conditions than unknowns, or an argument is out of range.
    """
    tests = _table(table)
    given = _given(fixed, greatest)
    unknown = [name for name in CURVE if name not in given]
    is_curve = len(unknown) <= len(tests.sizes)
    if not is_curve:
        _require_no_curve(given, tests)
    model = FractureModel(tests, greatest, is_curve)
    values = [given.get(name, math.nan) for name in model.names]
    free = np.isnan(values)
    if tests.conditions < (many := int(np.count_nonzero(free))):
        fact = f"{tests.conditions} different pairs of size and energy for {many} unknowns"
        raise InputError(f"{fact}; test more energies, or fix a key")
    ends = _ends(model)
    logarithms, terms = _search(model, np.log(values), free, ends)
    covariance = _covariance(terms, free, (logarithms <= ends[0] + _AT_END) | (logarithms >= ends[1] - _AT_END))
    parameters = tuple(
        _parameter(model, (logarithms, terms), covariance, free, ends, number) for number in range(len(values))
    )
    return FractureFit(model, logarithms, covariance, parameters, frozenset(given))


def _table(table: Any) -> DropWeights:
    if isinstance(table, DropWeights):
        return drop_weights_of(table._asdict())
    return read_drop_weights(Path(table)) if isinstance(table, str | Path) else drop_weights_of(table)


def _given(fixed: Mapping[str, float] | None, greatest: float) -> dict[str, float]:
    """Return the fixed values, after checks."""
    if not 1.0 < greatest < math.inf:
        raise InputError(f"greatest is {greatest:g}; give a number above 1, such as {USUAL_GREATEST:g}")
    given = dict(fixed or {})
    for name, value in given.items():
        if name not in FRACTURE_KEYS:
            raise InputError(f"{name!r} cannot be fixed; {name_hint(name, list(FRACTURE_KEYS))}")
        if not 0.0 < value < math.inf:
            raise InputError(f"{name} is fixed at {value!r}; give a number above 0")
    if len(given) == len(FRACTURE_KEYS):
        raise InputError(f"{', '.join(FRACTURE_KEYS)} are all fixed, so that nothing is left to fit; leave one out")
    return given


def _require_no_curve(given: Mapping[str, float], tests: DropWeights) -> None:
    """Refuse fixed keys of a curve if the table still has too few sizes for it."""
    held = [name for name in CURVE if name in given]
    if held:
        missing = len(CURVE) - len(held) - len(tests.sizes)
        raise InputError(
            f"{', '.join(held)} fixed, and {len(tests.sizes)} size in the table: fix {missing} more of "
            f"{', '.join(CURVE)}, or none for the median of the size alone"
        )


def _ends(model: FractureModel) -> Floats:
    """Return the lower and upper ends (2, k) of the logarithms of the parameters."""
    energy, sizes = model.table.energy, model.table.sizes
    median = 1e-3 * energy.min(), 1e3 * energy.max()
    medians = [median, (1e-6 * sizes[0], 1e6 * sizes[-1]), (0.05, 10.0)] if model.is_curve else [median] * len(sizes)
    return np.log(np.array([*medians, (0.01, 10.0)])).T


def _search(model: FractureModel, start: Floats, free: Booleans, ends: Floats) -> tuple[Floats, Terms]:
    """Return the most likely parameters of several searches; `start` has the fixed ones."""
    best: tuple[Floats, Terms] | None = None
    for guess in _guesses(model):
        found = model.largest(np.where(free, guess, start), free, _wide(ends, start, free))
        if best is None or found[1].value > best[1].value:
            best = found
    assert best is not None
    return best


def _wide(ends: Floats, start: Floats, free: Booleans) -> Floats:
    """Return the ends of a search, at the fixed values where there are some."""
    return np.where(free, ends, start)


def _guesses(model: FractureModel) -> list[Floats]:
    """Return logarithms of parameters at which searches begin."""
    sizes, medians = model.table.sizes, _rough_medians(model.table)
    if not model.is_curve:
        return [np.log([*medians, spread]) for spread in _SPREADS]
    found = []
    for exponent in _EXPONENTS:
        powers = (sizes / sizes[0]) ** -exponent
        columns = np.column_stack((np.ones(len(sizes)), powers)) / medians[:, None]
        constant, rising = np.maximum(nnls(columns, np.ones(len(sizes)))[0], 1e-3 * medians.min())
        scale = sizes[0] * (rising / constant) ** (1.0 / exponent)
        found += [np.log([constant, scale, exponent, spread]) for spread in _SPREADS]
    return found


def _rough_medians(table: DropWeights) -> Floats:
    """Return an energy near the median of each size [J/kg]: between energies that broke less and more than half."""
    found = []
    for size in table.sizes:
        energy, share = table.energy[table.size == size], (table.broken / table.tested)[table.size == size]
        low = energy[share < 0.5].max(initial=0.0) or 0.7 * energy.min()
        high = energy[share >= 0.5].min(initial=math.inf)
        found.append(math.sqrt(low * (high if math.isfinite(high) else 1.5 * energy.max())))
    return np.array(found)


def _covariance(terms: Terms, free: Booleans, at_end: Booleans) -> Floats:
    """Return the covariance of the logarithms: infinite where the table determines nothing, 0 for fixed parameters."""
    found = np.zeros(terms.information.shape)
    found[np.diag_indices(len(free))] = np.where(free, math.inf, 0.0)
    inner = np.flatnonzero(free & ~at_end)
    try:
        inverse = np.linalg.inv(terms.information[np.ix_(inner, inner)])
    except np.linalg.LinAlgError:
        return found
    if np.isfinite(inverse).all() and (inverse.diagonal() >= 0.0).all():
        found[np.ix_(inner, inner)] = inverse
    return found


def _parameter(
    model: FractureModel, best: tuple[Floats, Terms], covariance: Floats, free: Booleans, ends: Floats, number: int
) -> FittedKey:
    """Return a parameter with its error and its interval."""
    logarithm, name = float(best[0][number]), model.names[number]
    value, error = math.exp(logarithm), math.sqrt(covariance[number, number])
    if not free[number]:
        return FittedKey(name, value, 0.0, value, value)
    low, high = (_end(model, best, error, free, ends, number, sign) for sign in (-1, 1))
    return FittedKey(name, value, value * error, low, high)


def _end(
    model: FractureModel, best: tuple[Floats, Terms], error: float, free: Booleans, ends: Floats, number: int, sign: int
) -> float | None:
    """Return the end of the interval of a parameter on one side; None if the likelihood does not fall enough."""
    others, theta = free.copy(), best[0].copy()
    others[number] = False

    def excess(logarithm: float) -> float:
        """Return how far the likelihood is above that at the ends of the interval, if a parameter has a value."""
        nonlocal theta
        theta[number] = logarithm
        limits = ends.copy()
        limits[:, number] = logarithm
        theta, terms = model.largest(theta, others, _wide(limits, theta, others))
        return terms.value - best[1].value + _DROP

    step = min(max(error, _LEAST_STEP), _LARGEST_STEP)
    inner, last = float(best[0][number]), float(ends[int(sign > 0)][number])
    while sign * (last - inner) > _AT_END:
        outer = min(inner + step, last) if sign > 0 else max(inner - step, last)
        if excess(outer) < 0.0:
            found = brentq(excess, inner, outer, xtol=_EXACT) if excess(inner) > 0.0 else inner
            excess(found)
            return None if _is_stopped(model, theta, others, ends) else math.exp(found)
        inner, step = outer, _GROWTH * step
    return None


def _is_stopped(model: FractureModel, theta: Floats, free: Booleans, ends: Floats) -> bool:
    """Return whether a parameter at its end would raise the likelihood beyond it."""
    slope = np.where(free, model.terms(theta).slope, 0.0)
    outward = np.where(theta <= ends[0] + _AT_END, -slope, np.where(theta >= ends[1] - _AT_END, slope, 0.0))
    return bool((outward > _STEEP).any())
