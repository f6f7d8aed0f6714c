"""Strengths of spheres by size, and the share of a sphere's mass that becomes fine when it breaks.

Each model has the strength below which a given share of the spheres of a size lies, and its inverse.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from pdem.case.python_files import FROM_FILE, variables_of
from pdem.contact.strength_watch import CUMULATIVE, NO_DAMAGE
from pdem.foundation import exact_math
from pdem.foundation.errors import CaseError
from pdem.foundation.normal_quantiles import normal_quantiles

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Any

    from pdem.case.sections.breakage import BreakageSection, FragmentSizes
    from pdem.case.sections.schema import CaseData
    from pdem.foundation.array_types import Floats

GREATEST = 4.0
"""Greatest fracture energy over the median, by default."""

_SMALL = 1e-12


class StrengthModel(Protocol):
    """Strengths of the spheres of a material."""

    @property
    def by_force(self) -> bool:
        """Whether a strength is the normal force over the squared diameter [Pa]; else a specific energy [J/kg]."""
        ...

    @property
    def exponent(self) -> float:
        """Exponent of the damage by impacts below the strength, see `pdem.contact.strength_watch.Strengths`."""
        ...

    @property
    def threshold(self) -> float:
        """Specific energy of impacts without damage, if energies add up [J/kg]."""
        ...

    def quantile(self, radius: Floats, share: Floats) -> Floats:
        """Return the strength below which a share (n,) of the spheres of a radius (n,) [m] lies."""
        ...

    def broken_share(self, radius: Floats, strength: Floats) -> Floats:
        """Return the share of spheres of a radius (n,) [m] with a strength below these (n,), from 0 to 1."""
        ...

    def t10(self, radius: Floats, energy: Floats) -> Floats:
        """Return t10 (n,) in percent of spheres that break at specific energies or stresses (n,)."""
        ...


@dataclass(frozen=True)
class Growth:
    """Growth of t10 with energy: ``t10_largest (1 - exp(-rate x))``.

    Attributes
    ----------
    largest : float
        Largest t10 in percent.
    rate : float
        Factor of x.
    """

    largest: float
    rate: float

    @classmethod
    def of(cls, sizes: FragmentSizes) -> Growth:
        """Return the growth of a section."""
        return cls(sizes.t10_largest, sizes.rate)

    def at(self, ratio: Floats) -> Floats:
        """Return t10 (n,) at x (n,)."""
        return np.asarray(-self.largest * exact_math.expm1(-self.rate * ratio))


@dataclass(frozen=True)
class Tavares:
    """Fracture energies by size, upper-truncated log-normal (Tavares & King 1998, Tavares 2009).

    ``E50 = fracture_energy (1 + (size / d)**exponent)``; with ``E* = Emax E / (Emax - E)`` and ``Emax = greatest E50``
    the logarithm of E* is normal, with the median of E at E50.
    """

    fracture_energy: float
    size: float
    power: float
    spread: float
    greatest: float
    growth: Growth
    exponent: float = NO_DAMAGE
    threshold: float = 0.0
    by_force: bool = False

    def median(self, radius: Floats) -> Floats:
        """Return the median fracture energy (n,) [J/kg]."""
        return self.fracture_energy * (1.0 + exact_math.power(self.size / (2.0 * np.asarray(radius)), self.power))

    def quantile(self, radius: Floats, share: Floats) -> Floats:
        """Return the fracture energy below which a share of the spheres lies."""
        greatest = self.greatest * self.median(radius)
        untruncated = greatest / (self.greatest - 1.0) * exact_math.exp(self.spread * normal_quantiles(share))
        return greatest * untruncated / (greatest + untruncated)

    def broken_share(self, radius: Floats, strength: Floats) -> Floats:
        """Return the share of the spheres with a lower fracture energy."""
        ratio = np.asarray(strength) / self.median(radius)
        inside = np.clip(ratio, _SMALL, self.greatest * (1.0 - _SMALL))
        untruncated = inside * (self.greatest - 1.0) / (self.greatest - inside)
        share = exact_math.normal_share(exact_math.log(untruncated) / self.spread)
        return np.where(ratio <= _SMALL, 0.0, np.where(ratio >= self.greatest, 1.0, share))

    def t10(self, radius: Floats, energy: Floats) -> Floats:
        """Return t10 by the energy over the median fracture energy of the spheres that it breaks."""
        share = np.maximum(0.5 * self.broken_share(radius, energy), _SMALL)
        return self.growth.at(np.asarray(energy) / self.quantile(radius, share))


@dataclass(frozen=True)
class AbT10:
    """Energies that impacts add up to until a sphere breaks, exponential (Vogel & Peukert; Shi & Kojovic).

    ``P = 1 - exp(-rate d / size (E - threshold))``; t10 grows likewise.
    """

    rate: float
    size: float
    threshold: float
    growth: Growth
    exponent: float = CUMULATIVE
    by_force: bool = False

    def quantile(self, radius: Floats, share: Floats) -> Floats:
        """Return the energy below which a share of the spheres breaks."""
        scale = self.size / (2.0 * np.asarray(radius)) / self.rate
        return self.threshold - scale * exact_math.log1p(-np.asarray(share))

    def broken_share(self, radius: Floats, strength: Floats) -> Floats:
        """Return the share of the spheres that break at an energy."""
        over = np.maximum(np.asarray(strength) - self.threshold, 0.0)
        return np.asarray(-exact_math.expm1(-self.rate * 2.0 * np.asarray(radius) / self.size * over))

    def t10(self, radius: Floats, energy: Floats) -> Floats:
        """Return t10 by the energy beyond the threshold."""
        over = np.maximum(np.asarray(energy) - self.threshold, 0.0)
        return self.growth.at(2.0 * np.asarray(radius) / self.size * over)


@dataclass(frozen=True)
class StressStrength:
    """Normal force over the square of the diameter, with a Weibull distribution and a power of the size."""

    strength: float
    size: float
    power: float
    modulus: float
    growth: Growth
    exponent: float = NO_DAMAGE
    threshold: float = 0.0
    by_force: bool = True

    def median(self, radius: Floats) -> Floats:
        """Return the median strength (n,) [Pa]."""
        return self.strength * exact_math.power(self.size / (2.0 * np.asarray(radius)), self.power)

    def quantile(self, radius: Floats, share: Floats) -> Floats:
        """Return the strength below which a share of the spheres lies."""
        ratio = exact_math.log1p(-np.asarray(share)) / -exact_math.log(2.0)
        return self.median(radius) * exact_math.power(ratio, 1.0 / self.modulus)

    def broken_share(self, radius: Floats, strength: Floats) -> Floats:
        """Return the share of the spheres with a lower strength."""
        ratio = exact_math.power(np.asarray(strength) / self.median(radius), self.modulus)
        return np.asarray(-exact_math.expm1(-exact_math.log(2.0) * ratio))

    def t10(self, radius: Floats, energy: Floats) -> Floats:
        """Return t10 by the square of the stress over the median strength."""
        ratio = np.asarray(energy) / self.median(radius)
        return self.growth.at(ratio * ratio)


@dataclass(frozen=True)
class OwnStrength:
    """Fracture energies of a function of a user: ``function(radius, share)`` returns the quantile [J/kg]."""

    function: Callable[[Floats, Floats], Any]
    name: str
    growth: Growth
    exponent: float = NO_DAMAGE
    threshold: float = 0.0
    by_force: bool = False

    def quantile(self, radius: Floats, share: Floats) -> Floats:
        """Return the fracture energy below which a share of the spheres lies.

        Raises
        ------
        CaseError
            If the function fails, or returns anything but a positive number for each sphere.
        """
        radius, share = np.broadcast_arrays(np.asarray(radius, np.float64), np.asarray(share, np.float64))
        try:
            found = np.asarray(self.function(radius.copy(), share.copy()), np.float64)
        except Exception as error:
            raise CaseError(f"{self.name} failed: {type(error).__name__}: {error}") from error
        if found.shape != radius.shape or not np.all(found > 0.0):
            raise CaseError(
                f"{self.name} must return a positive fracture energy in J/kg for each of the radii (n,) and shares (n,)"
            )
        return found

    def broken_share(self, radius: Floats, strength: Floats) -> Floats:
        """Return the share of the spheres with a lower fracture energy, by bisection."""
        low, high = np.full(np.shape(strength), _SMALL), np.full(np.shape(strength), 1.0 - _SMALL)
        for _ in range(50):
            middle = 0.5 * (low + high)
            below = self.quantile(radius, middle) < strength
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return low

    def t10(self, radius: Floats, energy: Floats) -> Floats:
        """Return t10 by the energy over the median fracture energy."""
        return self.growth.at(np.asarray(energy) / self.quantile(radius, np.full(np.shape(radius), 0.5)))


def model_of(section: BreakageSection, directory: Path, where: str) -> StrengthModel:
    """Return the model of a section whose keys are complete; `where` names its table in messages.

    Raises
    ------
    CaseError
        If a function in a file cannot be used.
    """
    growth, damage = Growth.of(section.fragments), section.damage or NO_DAMAGE
    if section.model == "tavares":
        assert section.fracture_energy is not None
        assert section.size is not None
        assert section.spread is not None
        assert section.exponent is not None
        greatest = section.greatest or GREATEST
        return Tavares(
            section.fracture_energy, section.size, section.exponent, section.spread, greatest, growth, damage
        )
    if section.model == "ab-t10":
        assert section.rate is not None
        assert section.size is not None
        return AbT10(section.rate, section.size, section.threshold or 0.0, growth)
    if section.model == "stress":
        assert section.strength is not None
        assert section.size is not None
        assert section.spread is not None
        return StressStrength(section.strength, section.size, section.exponent or 0.0, section.spread, growth)
    file, name = section.model.removeprefix(FROM_FILE).rsplit(":", 1)
    text = f'{where}.model = "{section.model}"'
    function = variables_of(directory / file, text).get(name)
    if not callable(function):
        raise CaseError(f"{text}: {file} has no function {name}; define {name}(radius, share) there")
    return OwnStrength(function, text, growth, damage)


def models_of(case: CaseData) -> list[StrengthModel | None]:
    """Return the model of each material of a case, None for materials that do not break.

    Raises
    ------
    CaseError
        See `model_of`.
    """
    return [
        None
        if one.breakage is None
        else model_of(one.breakage, case.directory, f"{case.source}: materials.{name}.breakage")
        for name, one in case.materials.items()
    ]
