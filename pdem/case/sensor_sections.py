"""``[[sensors]]``: what is counted while a case runs, and where particles are taken out."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Discriminator, Field, Tag

from pdem.case.base import BRANCH, Name, Positive, Section, Vector
from pdem.case.insertion_sections import GivenFace
from pdem.case.particles import Region


class Plane(Section):
    """A plane through `point` (m), counted along its `normal`."""

    point: Vector
    normal: Vector


class SizeClasses(Section):
    """Classes of size between rising `radii` (m), with one below the first and one from the last on."""

    branch: ClassVar[str] = f"{BRANCH}sizes"
    radii: Annotated[tuple[Positive, ...], Field(strict=False, min_length=1)]


def _by_branch(value: Any) -> str:
    return SizeClasses.branch if isinstance(value, (dict, SizeClasses)) else f"{BRANCH}material"


By = Annotated[
    Annotated[Literal["material"], Tag(f"{BRANCH}material")]
    | Annotated[SizeClasses, Tag(SizeClasses.branch)],
    Discriminator(_by_branch),
]


class Mixing(Section):
    """``mixing``: how well two materials are mixed in a region.

    Attributes
    ----------
    materials : tuple of 2 str
        Their names.
    cells : tuple of 3 int
        Number of equal cells along x, y and z, into which the box around the region is cut.
    least : int
        Particles of the two that a cell must have to count.
    """

    materials: Annotated[tuple[str, str], Field(strict=False)]
    cells: Annotated[
        tuple[Annotated[int, Field(ge=1, le=1000)], ...], Field(strict=False, min_length=3, max_length=3)
    ]
    least: Annotated[int, Field(ge=2)] = 5


class Sensor(Section):
    """``[[sensors]]``: counts particles in a region, or those that pass a plane.

    Attributes
    ----------
    name : str
        Name of its columns in the series.
    region : region or None
        Particles with centres in a box, cylinder or ball are counted.
    plane : Plane or None
        In place of `region`: particles whose centres pass a plane are counted, those that come back with a minus.
    face : face or None
        In place of both: a plane inside an outline, as in ``[[insertions]]``.
    by : "material", SizeClasses or None
        Also counts each material or class of size.
    remove : bool
        Makes it an outlet: takes out what is in the region, or passes the plane along its normal.
    residence : bool
        Regions: measures how long particles stay.
    mixing : Mixing or None
        Regions: measures how well two materials are mixed.
    stress : bool
        Regions: measures stress (of contacts, kinetic, and both), fabric, and coordination with and without rattlers.
        A contact counts by the share of the way between both centres that is in the region.
    every : float or None
        Interval, in s, at which particles are looked for that pass, enter, leave or are taken out. By default the time
        in which the fastest that are expected move by the smallest diameter.
    """

    name: Name
    region: Region | None = None
    plane: Plane | None = None
    face: GivenFace | None = None
    by: By | None = None
    remove: bool = False
    residence: bool = False
    mixing: Mixing | None = None
    stress: bool = False
    every: Positive | None = None

    @property
    def has_events(self) -> bool:
        """Whether it looks at particles between the lines of the series."""
        return self.region is None or self.remove or self.residence
