"""Distributions of particle radii, sampled through their inverse cumulative distribution.

A distribution turns uniform numbers into radii, so that numbers keyed by particle id (`pdem.numerics.random`) give
radii that do not depend on the number of particles. All fractions are by number of particles unless stated;
`pdem.containers.size_laws` has further distributions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np

from pdem.foundation import exact_math
from pdem.foundation.errors import InputError
from pdem.foundation.normal_quantiles import normal_quantiles

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pdem.foundation.array_types import Floats


class SizeDistribution(Protocol):
    """Interface of all distributions of radii."""

    @property
    def smallest(self) -> float:
        """Smallest radius that can occur, in m."""

    @property
    def largest(self) -> float:
        """Largest radius that can occur, in m."""

    @property
    def mean_cube(self) -> float:
        """Mean of the cubed radius over the particles, in m^3."""

    def radii(self, uniform: ArrayLike) -> Floats:
        """Return the radii, in m, at the given values of the cumulative distribution, same shape."""


def cube(length: float) -> float:
    """Return a length times itself and times itself again."""
    return length * length * length


def require(condition: bool, message: str) -> None:
    """Raise an error for an invalid distribution.

    Raises
    ------
    InputError
        With the message, unless the condition holds.
    """
    if not condition:
        raise InputError(message)


def require_range(smallest: float, largest: float) -> None:
    """Require limits of radii, in m, that are positive, finite and in order.

    Raises
    ------
    InputError
        If they are not.
    """
    require(
        0.0 < smallest <= largest < np.inf,
        f"radii from {smallest!r} m to {largest!r} m: need 0 < smallest <= largest < infinity",
    )


@dataclass(frozen=True)
class Constant:
    """All particles have the same radius.

    Parameters
    ----------
    radius : float
        In m, positive.

    Raises
    ------
    InputError
        If the radius is not positive and finite.
    """

    radius: float

    def __post_init__(self) -> None:
        require_range(self.radius, self.radius)

    @property
    def smallest(self) -> float:
        """Smallest radius, in m."""
        return self.radius

    @property
    def largest(self) -> float:
        """Largest radius, in m."""
        return self.radius

    @property
    def mean_cube(self) -> float:
        """Cubed radius, in m^3."""
        return cube(self.radius)

    def radii(self, uniform: ArrayLike) -> Floats:
        """Return the radius, in m, once for each entry of `uniform`."""
        return np.full(np.shape(uniform), self.radius)


@dataclass(frozen=True)
class Uniform:
    """Every radius between two limits is equally frequent.

    Parameters
    ----------
    smallest, largest : float
        In m, ``0 < smallest <= largest``.

    Raises
    ------
    InputError
        If the limits are not positive, finite and in order.
    """

    smallest: float
    largest: float

    def __post_init__(self) -> None:
        require_range(self.smallest, self.largest)

    @property
    def mean_cube(self) -> float:
        """Mean of the cubed radius, in m^3."""
        return (self.smallest + self.largest) * (self.smallest * self.smallest + self.largest * self.largest) / 4.0

    def radii(self, uniform: ArrayLike) -> Floats:
        """Return the radii, in m, at the values `uniform` of the cumulative distribution."""
        return self.smallest + (self.largest - self.smallest) * np.asarray(uniform, dtype=np.float64)


@dataclass(frozen=True)
class PowerLaw:
    """The number density of radii is proportional to ``radius ** exponent`` between two limits.

    Parameters
    ----------
    exponent : float
        Exponent of the density by number; -3 means equal volume in each equal interval of radius.
    smallest, largest : float
        In m, ``0 < smallest <= largest``.

    Raises
    ------
    InputError
        If the limits are not positive, finite and in order.
    """

    exponent: float
    smallest: float
    largest: float

    def __post_init__(self) -> None:
        require_range(self.smallest, self.largest)
        require(bool(np.isfinite(self.exponent)), f"exponent {self.exponent!r}: need a finite number")

    @property
    def mean_cube(self) -> float:
        """Mean of the cubed radius, in m^3."""
        span = float(exact_math.log(self.largest / self.smallest))
        if span == 0.0:
            return cube(self.smallest)
        ratio = _log_power_integral(self.exponent + 3.0, span) - _log_power_integral(self.exponent, span)
        return cube(self.smallest) * float(exact_math.exp(ratio))

    def radii(self, uniform: ArrayLike) -> Floats:
        """Return the radii, in m, at the values `uniform` of the cumulative distribution."""
        return _power_inverse(np.asarray(uniform, dtype=np.float64), self.exponent, self.smallest, self.largest)


def _log_power_integral(exponent: float, span: float) -> float:
    """Return the logarithm of the integral of x ** `exponent` from 1 to exp(`span`), `span` > 0."""
    power = exponent + 1.0
    if abs(power) * span < 1e-12:
        return float(exact_math.log(span))
    if power > 0.0:  # measured from the upper limit, where the exponential cannot overflow
        return power * span + float(exact_math.log(-exact_math.expm1(-power * span) / power))
    return float(exact_math.log(exact_math.expm1(power * span) / power))


def _power_inverse(uniform: Floats, exponent: float, smallest: float | Floats, largest: float | Floats) -> Floats:
    # With x = radius / smallest the cumulative distribution is (x^(e+1) - 1) / (ratio^(e+1) - 1), and for
    # e = -1 it is log x / log ratio. With expm1 and log1p both are one formula, exact near -1 too.
    if exponent == -3.0:  # the usual one, by volume: square roots are much faster than logarithms
        ratio = smallest / largest
        return np.clip(smallest / np.sqrt((1.0 - uniform) + uniform * ratio * ratio), smallest, largest)
    span = exact_math.log(largest / smallest)
    power = exponent + 1.0
    if abs(power) * np.max(span, initial=0.0) < 1e-12:
        steps = uniform * span
    elif power > 0.0:
        # Measured from the largest radius, where the exponentials cannot overflow.
        steps = span + exact_math.log1p((1.0 - uniform) * exact_math.expm1(-power * span)) / power
    else:
        steps = exact_math.log1p(uniform * exact_math.expm1(power * span)) / power
    return np.clip(smallest * exact_math.exp(steps), smallest, largest)


@dataclass(frozen=True)
class LogNormal:
    """The logarithm of the radius is normally distributed, cut off at two limits.

    Parameters
    ----------
    median : float
        Median of the distribution before it is cut off, in m.
    sigma : float
        Standard deviation of the natural logarithm of the radius.
    smallest, largest : float
        Limits, in m; radii beyond them do not occur, and the distribution between them is rescaled.

    Raises
    ------
    InputError
        If a number is not positive and finite, or less than a millionth of the distribution is inside the limits.
    """

    median: float
    sigma: float
    smallest: float
    largest: float

    def __post_init__(self) -> None:
        require_range(self.smallest, self.largest)
        require(0.0 < self.median < np.inf, f"median {self.median!r} m: need a positive number")
        require(0.0 < self.sigma < np.inf, f"sigma {self.sigma!r}: need a positive number")
        low, high = self._cumulative_limits()
        inside = self.smallest == self.largest or high - low > 1e-6
        require(inside, f"only {high - low:.1e} of the log-normal distribution lies inside its limits: widen them")

    @property
    def mean_cube(self) -> float:
        """Mean of the cubed radius, in m^3."""
        (low, high), shift = self._cumulative_limits(), 3.0 * self.sigma
        edges = exact_math.log(np.array([self.smallest, self.largest]) / self.median) / self.sigma - shift
        share = float(np.diff(exact_math.normal_share(edges))[0]) / (high - low) if high > low else 1.0
        mean = cube(self.median) * float(exact_math.exp(0.5 * shift * shift)) * share
        return min(max(mean, cube(self.smallest)), cube(self.largest))

    def cumulative(self, radius: ArrayLike) -> Floats:
        """Return the fraction of radii up to `radius`, in m, of the distribution without limits."""
        return np.asarray(exact_math.normal_share(exact_math.log(np.asarray(radius) / self.median) / self.sigma))

    def _cumulative_limits(self) -> tuple[float, float]:
        low = float(exact_math.normal_share(exact_math.log(self.smallest / self.median) / self.sigma))
        high = float(exact_math.normal_share(exact_math.log(self.largest / self.median) / self.sigma))
        return low, high

    def radii(self, uniform: ArrayLike) -> Floats:
        """Return the radii, in m, at the values `uniform` of the cumulative distribution."""
        low, high = self._cumulative_limits()
        normal = normal_quantiles(low + (high - low) * np.asarray(uniform, dtype=np.float64))
        return np.clip(self.median * exact_math.exp(self.sigma * normal), self.smallest, self.largest)


@dataclass(frozen=True)
class Tabulated:
    """A measured distribution: the fraction finer than each of a list of radii.

    Parameters
    ----------
    points : tuple of float
        Radii in m, strictly increasing, at least two.
    cumulative : tuple of float
        Fraction of the particles with a radius up to each point: starts at 0, ends at 1, never decreases.
        Between two points it is linear in the radius.
    by : {"number", "volume"}
        Whether the fractions count particles or their volume (as a sieve curve does).

    Raises
    ------
    InputError
        If the table violates one of these rules.
    """

    points: tuple[float, ...]
    cumulative: tuple[float, ...]
    by: str = "number"
    _number: Floats = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        points, cumulative = np.asarray(self.points), np.asarray(self.cumulative)
        require(points.size == cumulative.size >= 2, "a table needs as many fractions as radii, at least two")
        require(bool(np.all(np.diff(points) > 0.0)) and points[0] > 0.0, "radii must be positive and increase")
        require(cumulative[0] == 0.0 and cumulative[-1] == 1.0, "fractions must start at 0 and end at 1")
        require(bool(np.all(np.diff(cumulative) >= 0.0)), "fractions must never decrease")
        require(self.by in ("number", "volume"), f"by = {self.by!r}: need 'number' or 'volume'")
        object.__setattr__(self, "_number", self._cumulative_number())

    def _cumulative_number(self) -> Floats:
        points, weights = np.asarray(self.points), np.diff(np.asarray(self.cumulative))
        if self.by == "volume":
            # Volume density w / (b - a) over [a, b] means number density proportional to it divided by r^3.
            weights = weights / np.diff(points) * -np.diff(1.0 / (points * points)) / 2.0
        cumulative = np.concatenate([[0.0], np.cumsum(weights)])
        return cumulative / cumulative[-1]

    @property
    def mean_cube(self) -> float:
        """Mean of the cubed radius, in m^3."""
        points, shares = np.asarray(self.points), np.diff(self._number)
        low, high = points[:-1], points[1:]
        if self.by == "volume":  # the number density falls with the cube within each interval
            return exact_math.total(shares * 2.0 * (low * high) * (low * high) / (low + high))
        return exact_math.total(shares * (low + high) * (low * low + high * high) / 4.0)

    @property
    def smallest(self) -> float:
        """Smallest radius, in m."""
        return float(self.points[0])

    @property
    def largest(self) -> float:
        """Largest radius, in m."""
        return float(self.points[-1])

    def radii(self, uniform: ArrayLike) -> Floats:
        """Return the radii, in m, at the values `uniform` of the cumulative distribution by number."""
        values, points = np.asarray(uniform, dtype=np.float64), np.asarray(self.points)
        interval = np.clip(np.searchsorted(self._number, values, side="right") - 1, 0, points.size - 2)
        low, width = self._number[interval], np.diff(self._number)[interval]
        share = np.clip((values - low) / np.where(width > 0.0, width, 1.0), 0.0, 1.0)
        lower, upper = points[interval], points[interval + 1]
        if self.by == "volume":
            return _power_inverse(share, -3.0, lower, upper)
        return lower + share * (upper - lower)
