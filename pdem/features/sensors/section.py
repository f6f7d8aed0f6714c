"""``[[sensors]]``: what is counted while a case runs, and where particles are taken out."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Discriminator, Field, Tag

from pdem.case.sections.base import BRANCH, Name, Positive, Section, Vector, entry
from pdem.case.sections.faces import GivenFace
from pdem.case.sections.particles import Region


class Plane(Section):
    """A plane through `point` (m), counted along its `normal`."""

    point: Vector = entry(unit="m")
    normal: Vector


class SizeClasses(Section):
    """Classes of size between rising `radii` (m), with one below the first and one from the last on."""

    branch: ClassVar[str] = f"{BRANCH}sizes"
    radii: Annotated[tuple[Positive, ...], Field(strict=False, min_length=1)] = entry(unit="m")


def _by_branch(value: Any) -> str:
    return SizeClasses.branch if isinstance(value, (dict, SizeClasses)) else f"{BRANCH}material"


By = Annotated[
    Annotated[Literal["material"], Tag(f"{BRANCH}material")] | Annotated[SizeClasses, Tag(SizeClasses.branch)],
    Discriminator(_by_branch),
]


class Mixing(Section):
    """``mixing``: how well two materials are mixed in a region."""

    materials: Annotated[tuple[str, str], Field(strict=False)] = entry("Names of the two materials.")
    cells: Annotated[
        tuple[Annotated[int, Field(ge=1, le=1000)], ...], Field(strict=False, min_length=3, max_length=3)
    ] = entry("Number of equal cells along x, y and z, into which the box around the region is cut.")
    least: Annotated[int, Field(ge=2)] = entry(
        "Smallest number of particles of both materials with which a cell counts.", default=5
    )


Percent = Annotated[float, Field(gt=0.0, le=100.0)]


class Sensor(Section):
    """``[[sensors]]``: counts particles in a region, or those that pass a plane."""

    name: Name = entry("Name of the sensor; its columns in the series begin with it.")
    region: Region | None = entry("Count particles with centres in a box, cylinder or ball.", default=None)
    plane: Plane | None = entry(
        "In place of `region`: count particles whose centres pass a plane; those that come back are subtracted.",
        default=None,
    )
    face: GivenFace | None = entry(
        "In place of `region` and `plane`: a plane inside an outline, as in `[[insertions]]`.", default=None
    )
    by: By | None = entry("Count each material or size class as well.", default=None)
    passing: Annotated[tuple[Percent, ...], Field(strict=False, min_length=1)] | None = entry(
        "Percents by mass, such as `[50, 80]` for P50 and P80: the diameters below which these shares of the mass lie, "
        "in the region now, and of what has passed or been removed since the beginning.",
        default=None,
    )
    remove: bool = entry(
        "Make the sensor an outlet: remove particles that are in the region, or that pass the plane along its normal.",
        default=False,
    )
    residence: bool = entry("Regions: measure how long particles stay.", default=False)
    mixing: Mixing | None = entry("Regions: measure how well two materials are mixed.", default=None)
    stress: bool = entry(
        "Regions: measure stress (of contacts, kinetic, and both), fabric, and coordination with and without "
        "rattlers. A contact counts with the fraction of the line between both centres that is in the region.",
        default=False,
    )
    every: Positive | None = entry(
        "Interval, in s, at which it is determined which particles pass, enter, leave or are removed. By default "
        "the time in which the fastest expected particles move by the smallest diameter.",
        default=None,
        unit="s",
    )
    stage: Name | None = entry(
        "Name of a stage: from its beginning on it is determined which particles pass, enter, leave or are removed, "
        "not before.",
        default=None,
    )
    stages: Annotated[tuple[Name, ...], Field(strict=False, min_length=1)] | None = entry(
        "In place of `stage`: the stages in which this is determined. In others nothing passes, nothing is removed, "
        "and flows are 0.",
        default=None,
    )

    @property
    def has_events(self) -> bool:
        """Whether it looks at particles between the lines of the series."""
        return self.region is None or self.remove or self.residence
