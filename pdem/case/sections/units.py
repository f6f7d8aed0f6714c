"""Numbers in the units of a data sheet: ``{rpm = 20}`` instead of rad/s or Hz, ``{degrees = 30}`` instead of rad.

A case contains the numbers in SI units once it has been read, and writes them in SI units with the same bits.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Generic, TypeVar

from pydantic import AfterValidator, Discriminator, Field, Tag

from pdem.case.sections.base import BRANCH, Positive, Section, Vector, entry

if TYPE_CHECKING:
    from collections.abc import Callable

Numbers = TypeVar("Numbers")
"""A number, or a list of numbers."""

NUMBER = f"{BRANCH}number"


class UnitSection(Section):
    """A table with one key, the unit of its numbers."""

    unit: ClassVar[str]

    @property
    def given(self) -> Any:
        """The numbers, in the unit."""
        return getattr(self, self.unit)


class InRpm(UnitSection, Generic[Numbers]):
    """``{rpm = 20}``: revolutions per minute, instead of rad/s, or of Hz for a frequency."""

    branch: ClassVar[str] = f"{BRANCH}rpm"
    unit: ClassVar[str] = "rpm"
    rpm: Numbers = entry("Revolutions per minute: `rpm * pi / 30` in rad/s, `rpm / 60` in Hz.", unit="rpm")


class InDegrees(UnitSection, Generic[Numbers]):
    """``{degrees = 30}``: an angle in degrees."""

    branch: ClassVar[str] = f"{BRANCH}degrees"
    unit: ClassVar[str] = "degrees"
    degrees: Numbers = entry("Angle in degrees: `degrees * pi / 180` in rad.", unit="degrees")


UNIT_KEYS = (InRpm.unit, InDegrees.unit)
"""Keys of tables that replace the numbers in them."""


def rad_per_second(rpm: float) -> float:
    """Return an angular velocity in rad/s."""
    return rpm * math.pi / 30.0


def hertz(rpm: float) -> float:
    """Return a frequency in Hz."""
    return rpm / 60.0


def radians(degrees: float) -> float:
    """Return an angle in rad."""
    return degrees * math.pi / 180.0


def unchanged(degrees: float) -> float:
    """Return an angle that a case stores in degrees, unchanged."""
    return degrees


def _or_in(plain: Any, section: Any, convert: Callable[[float], float]) -> Any:
    """Return the type of numbers that a file may also give in the unit of a section."""

    def branch_of(value: Any) -> str:
        return section.branch if isinstance(value, (dict, UnitSection)) else NUMBER

    def in_si(value: Any) -> Any:
        if not isinstance(value, UnitSection):
            return value
        many = isinstance(value.given, tuple)
        return tuple(map(convert, value.given)) if many else convert(value.given)

    branches = Annotated[plain, Tag(NUMBER)] | Annotated[section, Tag(section.branch)]
    return Annotated[branches, Discriminator(branch_of), AfterValidator(in_si)]


Values = Annotated[tuple[float, ...], Field(strict=False, min_length=2)]
Pair = Annotated[tuple[float, float], Field(strict=False)]

if TYPE_CHECKING:
    AngularRate = float
    PositiveRate = float
    AngularRates = tuple[float, ...]
    AngularVelocity = tuple[float, float, float]
    Frequency = float
    Angle = float
    Angles = tuple[float, ...]
    AngleRange = tuple[float, float]
    Slope = float
    AngleInDegrees = float
else:  # for type checkers a case contains plain numbers, whatever their unit in the file
    AngularRate = _or_in(float, InRpm[float], rad_per_second)
    PositiveRate = _or_in(Positive, InRpm[Positive], rad_per_second)
    AngularRates = _or_in(Values, InRpm[Values], rad_per_second)
    AngularVelocity = _or_in(Vector, InRpm[Vector], rad_per_second)
    Frequency = _or_in(Positive, InRpm[Positive], hertz)
    Angle = _or_in(float, InDegrees[float], radians)
    Angles = _or_in(Values, InDegrees[Values], radians)
    AngleRange = _or_in(Pair, InDegrees[Pair], radians)
    Slope = _or_in(
        Annotated[float, Field(gt=-0.5 * math.pi, lt=0.5 * math.pi)],
        InDegrees[Annotated[float, Field(gt=-90.0, lt=90.0)]],
        radians,
    )
    AngleInDegrees = _or_in(float, InDegrees[float], unchanged)
