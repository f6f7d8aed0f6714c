"""The probability that a hit particle breaks, for fits: an upper-truncated log-normal distribution of its strength.

A particle of size d has the median fracture energy E50 = E_inf (1 + (d0 / d)^phi), and breaks by a specific energy E
with the probability P = Phi(eta), eta = ln(E* / E50*) / sigma, where E* = E_max E / (E_max - E), E50* the same of E50,
and E_max = `greatest` E50 (Tavares and King, Int. J. Miner. Process. 54 (1998) 1). E50 therefore stays the median.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import log_ndtr, ndtr, xlogy

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pdem.foundation.array_types import Booleans, Floats, Integers
    from pdem.laboratory.drop_weights import DropWeights

CURVE = "fracture_energy", "size", "exponent"
"""Parameters of the median of all sizes: E_inf [J/kg], d0 [m], phi; keys of the case file."""

SPREAD = "spread"
"""Standard deviation sigma of the logarithm; a key of the case file."""

_NEAR_END = 1e-3
"""Beyond E = (1 - this) E_max the deviations rise linearly with ln E, so that a likelihood has a slope there."""

_LOG_ROOT = 0.5 * math.log(2.0 * math.pi)
_TINY = 1e-300
_TRIALS, _ENOUGH = 200, 1e-9
"""Largest number of steps, and the gain of the log-likelihood at which the search ends."""
_SMALLEST, _FIRST_DAMPING, _LEAST_DAMPING, _MOST_DAMPING = 1e-9, 1e-3, 1e-9, 1e10


class Terms(NamedTuple):
    """Log-likelihood of a table, its slope (k,) by the logarithms of the parameters, and its information (k, k)."""

    value: float
    slope: Floats
    information: Floats


@dataclass(frozen=True, eq=False)
class FractureModel:
    """The likelihood of a table of drop-weight tests as a function of the logarithms of its parameters.

    Parameters
    ----------
    table : DropWeights
        The tests.
    greatest : float
        Largest fracture energy of a size over its median.
    is_curve : bool
        Whether E50 of all sizes is one curve; otherwise each size has a median of its own.
    """

    table: DropWeights
    greatest: float
    is_curve: bool

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters."""
        sizes = CURVE if self.is_curve else tuple(f"median at {one:g} m" for one in self.table.sizes)
        return (*sizes, SPREAD)

    def log_medians(self, theta: Floats, size: Floats) -> tuple[Floats, Floats]:
        """Return ln E50 (m,) of some sizes [m], and its slopes (m, k) by the logarithms of the parameters."""
        slopes = np.zeros((len(size), len(theta)))
        if not self.is_curve:
            place = np.searchsorted(self.table.sizes, size)
            slopes[np.arange(len(size)), place] = 1.0
            return theta[place], slopes
        large, scale, exponent = theta[0], theta[1], math.exp(theta[2])
        power = exponent * (scale - np.log(size))
        rise = np.exp(-np.logaddexp(0.0, -power))
        slopes[:, 0], slopes[:, 1], slopes[:, 2] = 1.0, exponent * rise, power * rise
        return large + np.logaddexp(0.0, power), slopes

    def deviations(self, theta: Floats) -> tuple[Floats, Floats]:
        """Return eta (n,) of each row, and its slopes (n, k) by the logarithms of the parameters."""
        median, slopes = self.log_medians(theta, self.table.size)
        spread = math.exp(theta[-1])
        value, slope = truncated_logarithm(np.log(self.table.energy) - median, self.greatest)
        eta = value / spread
        found = -(slope / spread)[:, None] * slopes
        found[:, -1] = -eta
        return eta, found

    def terms(self, theta: Floats) -> Terms:
        """Return the log-likelihood without the binomial factors, its slope, and Fisher's information."""
        eta, slopes = self.deviations(theta)
        broken, whole = self.table.broken, self.table.tested - self.table.broken
        below, above = log_ndtr(eta), log_ndtr(-eta)
        density = -0.5 * eta * eta - _LOG_ROOT
        rises, falls = np.exp(np.minimum(density - below, 700.0)), np.exp(np.minimum(density - above, 700.0))
        value = float((broken * below + whole * above).sum())
        weight = self.table.tested * np.exp(np.maximum(2.0 * density - below - above, -700.0))
        return Terms(value, slopes.T @ (broken * rises - whole * falls), (slopes.T * weight) @ slopes)

    def deviance(self, theta: Floats) -> float:
        """Return twice the log-likelihood that each row with a probability of its own has more."""
        broken, tested = self.table.broken, self.table.tested
        best = xlogy(broken, broken / tested) + xlogy(tested - broken, 1.0 - broken / tested)
        return 2.0 * (float(best.sum()) - self.terms(theta).value)

    def expected(self, theta: Floats) -> Floats:
        """Return the expected number of broken particles of each row (n,)."""
        return self.table.tested * ndtr(self.deviations(theta)[0])

    def largest(self, start: Floats, free: Booleans, ends: Floats) -> tuple[Floats, Terms]:
        """Return the parameters with the largest likelihood near a start, and the terms there.

        Fisher scoring, damped so that the likelihood rises in each step.

        Parameters
        ----------
        start : (k,) array
            Logarithms of all parameters.
        free : (k,) array of bool
            Which of them vary.
        ends : (2, k) array
            Lower and upper ends of the logarithms.
        """
        theta, damping = np.clip(start, *ends), _FIRST_DAMPING
        terms = self.terms(theta)
        for _ in range(_TRIALS):
            held = ((theta <= ends[0]) & (terms.slope < 0.0)) | ((theta >= ends[1]) & (terms.slope > 0.0))
            chosen = np.flatnonzero(free & ~held)
            if not len(chosen):
                break
            trial = np.clip(theta + self._step(terms, chosen, damping), *ends)
            tried = self.terms(trial)
            gain = tried.value - terms.value
            if gain > 0.0:
                theta, terms, damping = trial, tried, max(0.1 * damping, _LEAST_DAMPING)
            else:
                damping = max(10.0 * damping, _FIRST_DAMPING)
            if 0.0 <= gain < _ENOUGH or damping > _MOST_DAMPING:
                break
        return theta, terms

    def _step(self, terms: Terms, chosen: Integers, damping: float) -> Floats:
        """Return a damped step (k,) of Fisher scoring in the parameters with some indices."""
        matrix = terms.information[np.ix_(chosen, chosen)]
        diagonal = damping * np.maximum(matrix.diagonal(), _SMALLEST)
        step = np.zeros(len(terms.slope))
        step[chosen] = np.clip(np.linalg.solve(matrix + np.diag(diagonal), terms.slope[chosen]), -1.0, 1.0)
        return step


def truncated_logarithm(logarithm: Floats, greatest: float) -> tuple[Floats, Floats]:
    """Return ln(E* / E50*) of ln(E / E50), and its slope."""
    end = math.log(greatest * (1.0 - _NEAR_END))
    inside = np.minimum(logarithm, end)
    ratio = np.exp(inside)
    slope = greatest / (greatest - ratio)
    value = inside + math.log(greatest - 1.0) - np.log(greatest - ratio)
    return value + slope * (logarithm - inside), slope


def broken_share(energy: ArrayLike, median: ArrayLike, spread: float, greatest: float) -> Floats:
    """Return the probability that particles break.

    Parameters
    ----------
    energy, median : array_like
        Energy of the impact, and median fracture energy [J/kg].
    spread, greatest : float
        Standard deviation of the logarithm, and largest fracture energy over the median.
    """
    ratio = np.maximum(np.asarray(energy, np.float64) / np.asarray(median, np.float64), _TINY)
    value, _ = truncated_logarithm(np.log(ratio), greatest)
    return np.asarray(np.where(ratio < greatest, ndtr(value / spread), 1.0), np.float64)


def median_energy(size: ArrayLike, fracture_energy: float, scale: float, exponent: float) -> Floats:
    """Return the median fracture energy [J/kg] of particles of some sizes [m].

    Parameters
    ----------
    size : array_like
        Diameters [m].
    fracture_energy, scale, exponent : float
        E_inf [J/kg], d0 [m] and phi.
    """
    power = exponent * (math.log(scale) - np.log(np.asarray(size, np.float64)))
    return np.asarray(fracture_energy * (1.0 + np.exp(power)), np.float64)
