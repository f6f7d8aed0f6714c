"""Partial moments of a distribution of radii, the only input of the cost model about radii.

The moment of order p over (a, b] is the integral of r^p f(r) dr, with f the number density normalised to 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, cast, runtime_checkable

import numpy as np

from pdem.containers.sizes import PowerLaw, Uniform
from pdem.foundation.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pdem.containers.sizes import SizeDistribution
    from pdem.foundation.array_types import Floats, Integers

HIGHEST_POWER = 3
_KNOTS = 4096


@runtime_checkable
class Moments(Protocol):
    """A distribution of radii for the cost model; any object with these three members is accepted."""

    @property
    def smallest(self) -> float:
        """Smallest radius, in m."""

    @property
    def largest(self) -> float:
        """Largest radius, in m."""

    def moment(self, power: int, lower: Floats, upper: Floats) -> Floats:
        """Return the moments of order `power` over the radii ``lower < r <= upper``, arrays of one shape."""


def below_smallest(moments: Moments) -> float:
    """Return a radius just below the smallest, as the open lower end of an interval with all particles."""
    return float(np.nextafter(moments.smallest, 0.0))


@dataclass(frozen=True)
class PowerLawMoments:
    """Analytical moments of a number density proportional to ``r ** exponent``.

    Parameters
    ----------
    exponent : float
        Exponent of the density by number.
    smallest, largest : float
        Limits in m.
    """

    exponent: float
    smallest: float
    largest: float

    def moment(self, power: int, lower: Floats, upper: Floats) -> Floats:
        """Return the moments over (lower, upper], radii clipped to the limits; in m**power."""
        # In units of the smallest radius, so that no power can overflow.
        ends = [np.clip(end, self.smallest, self.largest) / self.smallest for end in (lower, upper)]
        whole = _power_integral(self.exponent + 1.0, np.array(1.0), np.array(self.largest / self.smallest))
        return _power_integral(self.exponent + power + 1.0, *ends) / whole * self.smallest**power


def _power_integral(order: float, lower: Floats, upper: Floats) -> Floats:
    """Return the integral of x**(order - 1), without cancellation where the order is nearly zero."""
    span = np.log(upper / lower)
    if abs(order) * np.max(span, initial=0.0) < 1e-12:
        return span
    return lower**order * np.expm1(order * span) / order


class SampleMoments:
    """Exact moments of a sample: sorted radii and prefix sums, two binary searches for each moment.

    Parameters
    ----------
    radii : (n,) array
        Radii in m, at least one.
    """

    def __init__(self, radii: Floats) -> None:
        self.radii = np.sort(radii)
        self.smallest = float(self.radii[0])
        self.largest = float(self.radii[-1])
        self._sums: dict[int, Floats] = {}

    def _prefix(self, power: int) -> Floats:
        if power not in self._sums:
            self._sums[power] = np.concatenate(([0.0], np.cumsum(self.radii**power))) / len(self.radii)
        return self._sums[power]

    def moment(self, power: int, lower: Floats, upper: Floats) -> Floats:
        """Return the moments over (lower, upper]; in m**power."""
        sums = self._prefix(power)
        start, end = (np.searchsorted(self.radii, bound, side="right") for bound in (lower, upper))
        return sums[end] - sums[start]


class TableMoments:
    """Smooth moments from a cumulative distribution at increasing radii, with a power law in each interval.

    Parameters
    ----------
    knots : (k,) array
        Increasing radii in m.
    cumulative : (k,) array
        Fraction of the particles up to each knot, from 0 to 1.
    """

    def __init__(self, knots: Floats, cumulative: Floats) -> None:
        self.smallest, self.largest = float(knots[0]), float(knots[-1])
        self._logarithms = np.log(knots)
        middles = np.sqrt(knots[1:] * knots[:-1])
        self._sums = [
            np.concatenate(([0.0], np.cumsum(np.diff(cumulative) * middles**power)))
            for power in range(HIGHEST_POWER + 1)
        ]

    def moment(self, power: int, lower: Floats, upper: Floats) -> Floats:
        """Return the moments over (lower, upper]; in m**power."""
        start, end = (np.interp(np.log(bound), self._logarithms, self._sums[power]) for bound in (lower, upper))
        return end - start


def sample_table(radii: Floats, knots: int = 256, counts: Integers | None = None) -> TableMoments:
    """Return the moments of a sample of different radii as a table of logarithmic intervals, in O(n) time.

    `counts` are the numbers of particles of each radius, 1 by default.
    """
    logarithms = np.log(radii)
    numbers, edges = np.histogram(logarithms, bins=knots, weights=counts)
    ends = np.exp(edges)
    ends[0], ends[-1] = radii.min(), radii.max()
    cumulative = np.cumsum(numbers)
    return TableMoments(ends, np.concatenate(([0.0], cumulative)) / cumulative[-1])


def moments_of(radii: ArrayLike | object) -> Moments:
    """Return the moments of a sample of radii or of a distribution object.

    Parameters
    ----------
    radii : array_like or object
        Radii in m; or an object with ``smallest``, ``largest`` and either ``moment(power, lower, upper)``
        or, as in `pdem.containers.sizes`, the inverse cumulative distribution ``radii(uniform)``.

    Raises
    ------
    InputError
        Radii that are not positive and finite, an empty sample, or an object without these members.
    """
    if isinstance(radii, Uniform):
        return PowerLawMoments(0.0, radii.smallest, radii.largest)
    if isinstance(radii, PowerLaw):
        return PowerLawMoments(radii.exponent, radii.smallest, radii.largest)
    if isinstance(radii, Moments):
        return radii
    if callable(getattr(radii, "radii", None)):
        return _from_quantiles(cast("SizeDistribution", radii))
    return SampleMoments(_checked_sample(radii))


def _checked_sample(radii: object) -> Floats:
    try:
        sample = np.atleast_1d(np.asarray(radii, dtype=np.float64))
    except (TypeError, ValueError):
        raise InputError(
            f"radii are {type(radii).__name__}; give numbers, or a distribution with smallest, largest and moment"
        ) from None
    if sample.ndim != 1 or sample.size == 0:
        raise InputError(f"radii have shape {sample.shape}; give a list of one radius or more")
    bad = np.flatnonzero(~(np.isfinite(sample) & (sample > 0.0)))
    if len(bad):
        raise InputError(f"particle {bad[0]} has the radius {sample[bad[0]]}; radii must be positive and finite")
    return sample


def _from_quantiles(distribution: SizeDistribution) -> Moments:
    """Tabulate a distribution given by its inverse cumulative distribution, inverted by bisection."""
    smallest, largest = distribution.smallest, distribution.largest
    if smallest == largest:
        return SampleMoments(np.array([smallest]))
    knots = np.geomspace(smallest, largest, _KNOTS)
    low, high = np.zeros(_KNOTS), np.ones(_KNOTS)
    for _ in range(60):
        middle = 0.5 * (low + high)
        below = distribution.radii(middle) < knots
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    low[0], low[-1] = 0.0, 1.0
    return TableMoments(knots, low)
