"""``radius = ...``: one radius for all particles, or a distribution of radii."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Discriminator, Field, Tag

from pdem.case.sections.base import BRANCH, Positive, Section, entry
from pdem.containers.size_laws import Mixture, NormalRadii, RosinRammler, by_volume
from pdem.containers.sizes import Constant, LogNormal, PowerLaw, SizeDistribution, Tabulated, Uniform

Numbers = Annotated[tuple[float, ...], Field(strict=False, min_length=2)]
Weight = Literal["number", "volume", "mass"]
"""Weight of the fractions of a distribution: number of particles, volume, or mass, which is equivalent to volume."""


class CutSection(Section):
    """A distribution from `min` to `max` (m), `by` ``"number"`` of particles, their ``"volume"`` or ``"mass"``."""

    min: Positive = entry(unit="m")
    max: Positive = entry(unit="m")
    by: Weight = "number"

    def law(self) -> Uniform | PowerLaw | LogNormal | NormalRadii | RosinRammler:
        """Return the distribution for fractions that count particles."""
        raise NotImplementedError

    def sizes(self) -> SizeDistribution:
        """Return the distribution by number of particles."""
        return self.law() if self.by == "number" else by_volume(self.law())


class UniformSizes(CutSection):
    """Every radius from `min` to `max` (m) is equally frequent: ``distribution = "uniform"``."""

    branch: ClassVar[str] = f"{BRANCH}uniform"
    distribution: Literal["uniform"]

    def law(self) -> Uniform:
        """Return the distribution for fractions that count particles."""
        return Uniform(self.min, self.max)


class PowerLawSizes(CutSection):
    """Density ~ radius ** `exponent` from `min` to `max` (m): ``distribution = "power-law"``."""

    branch: ClassVar[str] = f"{BRANCH}power-law"
    distribution: Literal["power-law"]
    exponent: Annotated[float, Field(ge=-100.0, le=100.0)]

    def law(self) -> PowerLaw:
        """Return the distribution for fractions that count particles."""
        return PowerLaw(self.exponent, self.min, self.max)


class LogNormalSizes(CutSection):
    """`median` (m), `sigma` of the logarithm, cut at `min` and `max` (m): ``distribution = "log-normal"``."""

    branch: ClassVar[str] = f"{BRANCH}log-normal"
    distribution: Literal["log-normal"]
    median: Positive = entry(unit="m")
    sigma: Positive

    def law(self) -> LogNormal:
        """Return the distribution for fractions that count particles."""
        return LogNormal(self.median, self.sigma, self.min, self.max)


class NormalSizes(CutSection):
    """`mean` and `sigma` (m), cut at `min` and `max` (m): ``distribution = "normal"``."""

    branch: ClassVar[str] = f"{BRANCH}normal"
    distribution: Literal["normal"]
    mean: Positive = entry(unit="m")
    sigma: Positive = entry(unit="m")

    def law(self) -> NormalRadii:
        """Return the distribution for fractions that count particles."""
        return NormalRadii(self.mean, self.sigma, self.min, self.max)


class RosinRammlerSizes(CutSection):
    """Fraction ``1 - exp(-(radius / size) ** spread)`` is finer: ``distribution = "rosin-rammler"``.

    Cut at `min` and `max` (m); `size` in m. By default by mass, as in a sieve analysis.
    """

    branch: ClassVar[str] = f"{BRANCH}rosin-rammler"
    distribution: Literal["rosin-rammler"]
    size: Positive = entry(unit="m")
    spread: Positive
    by: Weight = "mass"

    def law(self) -> RosinRammler:
        """Return the distribution for fractions that count particles."""
        return RosinRammler(self.size, self.spread, self.min, self.max)


class TabulatedSizes(Section):
    """Fraction `cumulative` finer than each of `radii` (m): ``distribution = "tabulated"``.

    Fractions are `by` ``"number"`` of particles, or by ``"volume"`` or ``"mass"`` (a sieve curve).
    """

    branch: ClassVar[str] = f"{BRANCH}tabulated"
    distribution: Literal["tabulated"]
    radii: Numbers = entry(unit="m")
    cumulative: Numbers
    by: Weight = "number"

    def sizes(self) -> SizeDistribution:
        """Return the distribution by number of particles."""
        return Tabulated(self.radii, self.cumulative, "number" if self.by == "number" else "volume")


def _radius_branch(value: Any) -> str:
    if isinstance(value, Section):
        return value.branch
    if isinstance(value, dict):
        return f"{BRANCH}{value.get('distribution')}"
    return f"{BRANCH}number"


SingleRadius = Annotated[
    Annotated[Positive, Tag(f"{BRANCH}number")]
    | Annotated[UniformSizes, Tag(UniformSizes.branch)]
    | Annotated[PowerLawSizes, Tag(PowerLawSizes.branch)]
    | Annotated[LogNormalSizes, Tag(LogNormalSizes.branch)]
    | Annotated[NormalSizes, Tag(NormalSizes.branch)]
    | Annotated[RosinRammlerSizes, Tag(RosinRammlerSizes.branch)]
    | Annotated[TabulatedSizes, Tag(TabulatedSizes.branch)],
    Discriminator(_radius_branch),
]


class MixturePart(Section):
    """One part of a mixture: a `radius` (m, or a distribution) and its `share`; shares need not add up to 1."""

    radius: SingleRadius = entry(unit="m")
    share: Positive


class MixtureSizes(Section):
    """`parts` with shares of the mass (or `by` number or volume): ``distribution = "mixture"``."""

    branch: ClassVar[str] = f"{BRANCH}mixture"
    distribution: Literal["mixture"]
    parts: Annotated[tuple[MixturePart, ...], Field(strict=False, min_length=1)]
    by: Weight = "mass"

    def sizes(self) -> SizeDistribution:
        """Return the distribution by number of particles."""
        by = "number" if self.by == "number" else "volume"
        return Mixture(
            tuple(sizes_of(part.radius) for part in self.parts), tuple(part.share for part in self.parts), by
        )


Radius = Annotated[
    Annotated[Positive, Tag(f"{BRANCH}number")]
    | Annotated[UniformSizes, Tag(UniformSizes.branch)]
    | Annotated[PowerLawSizes, Tag(PowerLawSizes.branch)]
    | Annotated[LogNormalSizes, Tag(LogNormalSizes.branch)]
    | Annotated[NormalSizes, Tag(NormalSizes.branch)]
    | Annotated[RosinRammlerSizes, Tag(RosinRammlerSizes.branch)]
    | Annotated[TabulatedSizes, Tag(TabulatedSizes.branch)]
    | Annotated[MixtureSizes, Tag(MixtureSizes.branch)],
    Discriminator(_radius_branch),
]


def sizes_of(radius: Any) -> SizeDistribution:
    """Return the distribution for a value of ``radius``.

    Raises
    ------
    InputError
        If its numbers do not define a distribution.
    """
    return Constant(radius) if isinstance(radius, float) else radius.sizes()
