"""Further distributions of radii: normal, Rosin-Rammler, mixtures; and distributions by volume.

Where fractions are of the volume (or the mass, which is proportional for a single material), a particle of radius r has
the weight r^3: the density by number is the density by volume over r^3.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np

from pdem.containers.sizes import (
    Constant,
    LogNormal,
    PowerLaw,
    SizeDistribution,
    Tabulated,
    Uniform,
    cube,
    require,
    require_range,
)
from pdem.foundation import exact_math
from pdem.foundation.normal_quantiles import normal_quantiles
from pdem.foundation.quadrature import gauss_legendre

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pdem.foundation.array_types import Floats

LEAST_SHARE = 1e-6
"""Smallest fraction of a distribution that has to be inside its limits."""

_POINTS = 4097
_NODES = 64
_WIDTHS = 12.0


class CutSizes(Protocol):
    """A distribution that is cut off at two limits."""

    @property
    def smallest(self) -> float:
        """Smallest radius, in m."""

    @property
    def largest(self) -> float:
        """Largest radius, in m."""

    def cumulative(self, radius: ArrayLike) -> Floats:
        """Return the fraction of radii up to `radius`, in m, of the distribution without limits."""


def _share_inside(sizes: CutSizes, name: str) -> tuple[float, float]:
    """Return the cumulative values at the limits, after a check that enough of the law is between them."""
    low, high = sizes.cumulative([sizes.smallest, sizes.largest]).tolist()
    inside = sizes.smallest == sizes.largest or high - low > LEAST_SHARE
    require(inside, f"only {high - low:.1e} of the {name} distribution lies inside its limits: widen them")
    return low, high


@dataclass(frozen=True)
class NormalRadii:
    """Radii are normally distributed, cut off at two limits.

    Parameters
    ----------
    mean, sigma : float
        Mean and standard deviation before the distribution is cut off, in m.
    smallest, largest : float
        Limits, in m; radii beyond them do not occur, and the distribution between them is rescaled.

    Raises
    ------
    InputError
        If a number is not positive and finite, or less than a millionth of the distribution is inside the limits.
    """

    mean: float
    sigma: float
    smallest: float
    largest: float

    def __post_init__(self) -> None:
        require_range(self.smallest, self.largest)
        require(0.0 < self.mean < np.inf, f"mean {self.mean!r} m: need a positive number")
        require(0.0 < self.sigma < np.inf, f"sigma {self.sigma!r} m: need a positive number")
        _share_inside(self, "normal")

    def cumulative(self, radius: ArrayLike) -> Floats:
        """Return the fraction of radii up to `radius`, in m, of the distribution without limits."""
        return np.asarray(exact_math.normal_share((np.asarray(radius) - self.mean) / self.sigma))

    @property
    def mean_cube(self) -> float:
        """Mean of the cubed radius, in m^3, by Gauss-Legendre quadrature of the density."""
        if self.smallest == self.largest:
            return cube(self.smallest)
        low = max(self.smallest, self.mean - _WIDTHS * self.sigma)
        high = min(self.largest, self.mean + _WIDTHS * self.sigma)
        nodes, weights = gauss_legendre(_NODES)
        radius = low + 0.5 * (high - low) * (nodes + 1.0)
        deviations = (radius - self.mean) / self.sigma
        weights = weights * exact_math.exp(-0.5 * deviations * deviations)
        return exact_math.total(weights * radius * radius * radius) / exact_math.total(weights)

    def radii(self, uniform: ArrayLike) -> Floats:
        """Return the radii, in m, at the values `uniform` of the cumulative distribution."""
        low, high = _share_inside(self, "normal")
        normal = normal_quantiles(low + (high - low) * np.asarray(uniform, dtype=np.float64))
        return np.clip(self.mean + self.sigma * normal, self.smallest, self.largest)


@dataclass(frozen=True)
class RosinRammler:
    """The fraction finer than a radius r is ``1 - exp(-(r / size) ** spread)``, cut off at two limits.

    The law for ground matter of Rosin, Rammler, Sperling and Bennett (also named after Weibull). Sieving measures it by
    mass: see `by_volume`.

    Parameters
    ----------
    size : float
        Radius than which 63.2 % are finer, in m.
    spread : float
        Exponent: the larger, the narrower.
    smallest, largest : float
        Limits, in m; radii beyond them do not occur, and the distribution between them is rescaled.

    Raises
    ------
    InputError
        If a number is not positive and finite, or less than a millionth of the distribution is inside the limits.
    """

    size: float
    spread: float
    smallest: float
    largest: float

    def __post_init__(self) -> None:
        require_range(self.smallest, self.largest)
        require(0.0 < self.size < np.inf, f"size {self.size!r} m: need a positive number")
        require(0.0 < self.spread < np.inf, f"spread {self.spread!r}: need a positive number")
        _share_inside(self, "Rosin-Rammler")

    def cumulative(self, radius: ArrayLike) -> Floats:
        """Return the fraction of radii up to `radius`, in m, of the distribution without limits."""
        return np.asarray(-exact_math.expm1(-exact_math.power(np.asarray(radius) / self.size, self.spread)))

    @property
    def mean_cube(self) -> float:
        """Mean of the cubed radius, in m^3, from fine intervals."""
        return _tabulated(self, "number").mean_cube

    def radii(self, uniform: ArrayLike) -> Floats:
        """Return the radii, in m, at the values `uniform` of the cumulative distribution."""
        low, high = _share_inside(self, "Rosin-Rammler")
        values = low + (high - low) * np.asarray(uniform, dtype=np.float64)
        steps = -exact_math.log1p(-np.minimum(values, 1.0 - 2.0**-53))
        radius = self.size * exact_math.power(steps, 1.0 / self.spread)
        return np.clip(radius, self.smallest, self.largest)


def _tabulated(sizes: CutSizes, by: str) -> SizeDistribution:
    """Return a cut distribution as a table of fine intervals of equal ratio."""
    if sizes.largest < sizes.smallest * (1.0 + 1e-6):
        return Constant(sizes.smallest)
    span = exact_math.log(sizes.largest / sizes.smallest)
    points = sizes.smallest * exact_math.exp(span * np.arange(_POINTS) / (_POINTS - 1))
    points[0], points[-1] = sizes.smallest, sizes.largest
    values = sizes.cumulative(points)
    shares = np.clip((values - values[0]) / (values[-1] - values[0]), 0.0, 1.0)
    shares[-1] = 1.0
    return Tabulated(tuple(points.tolist()), tuple(shares.tolist()), by)


def by_volume(sizes: Uniform | PowerLaw | LogNormal | NormalRadii | RosinRammler) -> SizeDistribution:
    """Return the distribution by number that corresponds to a law for the volume of the particles.

    Uniform and power laws are exact; other laws are tabulated in 4096 intervals of equal ratio, with a constant density
    by volume in each.
    """
    if isinstance(sizes, Uniform):
        return PowerLaw(-3.0, sizes.smallest, sizes.largest)
    if isinstance(sizes, PowerLaw):
        return PowerLaw(sizes.exponent - 3.0, sizes.smallest, sizes.largest)
    return _tabulated(sizes, "volume")


@dataclass(frozen=True)
class Mixture:
    """Several distributions, each with a share of the particles or of their volume.

    Parameters
    ----------
    parts : tuple of SizeDistribution
        The distributions.
    shares : tuple of float
        Share of each, positive; they need not add up to 1.
    by : {"number", "volume"}
        Whether shares count particles or their volume.

    Raises
    ------
    InputError
        If there are no parts, the number of shares differs, or a share is not positive and finite.
    """

    parts: tuple[SizeDistribution, ...]
    shares: tuple[float, ...]
    by: str = "volume"
    _number: Floats = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        require(len(self.parts) == len(self.shares) > 0, "a mixture needs parts, and a share of each")
        require(all(0.0 < share < np.inf for share in self.shares), "shares must be positive numbers")
        weights = np.array(self.shares)
        if self.by == "volume":
            weights = weights / np.array([part.mean_cube for part in self.parts])
        cumulative = np.concatenate([[0.0], np.cumsum(weights)])
        object.__setattr__(self, "_number", cumulative / cumulative[-1])

    @property
    def smallest(self) -> float:
        """Smallest radius, in m."""
        return min(part.smallest for part in self.parts)

    @property
    def largest(self) -> float:
        """Largest radius, in m."""
        return max(part.largest for part in self.parts)

    @property
    def mean_cube(self) -> float:
        """Mean of the cubed radius, in m^3."""
        return exact_math.total(np.diff(self._number) * [part.mean_cube for part in self.parts])

    def radii(self, uniform: ArrayLike) -> Floats:
        """Return radii, in m, for numbers `uniform` in [0, 1], which select a part and a value of its distribution.

        Unlike those of other distributions they increase with `uniform` only within each part.
        """
        values = np.asarray(uniform, dtype=np.float64)
        found = np.clip(np.searchsorted(self._number, values, side="right") - 1, 0, len(self.parts) - 1)
        within = np.clip((values - self._number[found]) / np.diff(self._number)[found], 0.0, 1.0)
        radii = np.empty(values.shape)
        for number, part in enumerate(self.parts):
            mine = found == number
            radii[mine] = part.radii(within[mine])
        return radii
