"""``[[insertions]]``: particles that come in while a case runs."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Discriminator, Field, Tag

from pdem.case.sections.base import BRANCH, Name, NotNegative, Positive, Section, Seed, Vector, entry
from pdem.case.sections.faces import GivenFace
from pdem.case.sections.particles import Region
from pdem.case.sections.shapes import Orientation
from pdem.case.sections.sizes import Numbers, Radius
from pdem.case.sections.thermal import GroupHeat
from pdem.case.sections.units import AngularVelocity


class RateTable(Section):
    """A rate by a table, linear between its times, constant before the first and after the last."""

    branch: ClassVar[str] = f"{BRANCH}table"
    times: Numbers | None = entry("Times in increasing order, in s of simulated time.", default=None, unit="s")
    values: Numbers | None = entry("Rates at these times, in kg/s or 1/s.", default=None, unit="kg/s or 1/s")
    file: Name | None = entry(
        "In place of the two lists: a text file with a column for each, relative to the folder of the case.",
        default=None,
    )


def _rate_branch(value: Any) -> str:
    return RateTable.branch if isinstance(value, (dict, RateTable)) else f"{BRANCH}number"


GivenRate = Annotated[
    Annotated[Positive, Tag(f"{BRANCH}number")] | Annotated[RateTable, Tag(RateTable.branch)],
    Discriminator(_rate_branch),
]


def _mean_branch(value: Any) -> str:
    return f"{BRANCH}number" if isinstance(value, (int, float)) else f"{BRANCH}vector"


Mean = Annotated[
    Annotated[Vector, Tag(f"{BRANCH}vector")] | Annotated[float, Tag(f"{BRANCH}number")], Discriminator(_mean_branch)
]


class SpreadVelocity(Section):
    """A `mean` velocity (m/s, a vector or a speed through the face); each component differs by up to `random` m/s."""

    branch: ClassVar[str] = f"{BRANCH}spread"
    mean: Mean = entry(default=(0.0, 0.0, 0.0), unit="m/s")
    random: NotNegative = entry(unit="m/s")


def _velocity_branch(value: Any) -> str:
    return SpreadVelocity.branch if isinstance(value, (dict, SpreadVelocity)) else _mean_branch(value)


InsertionVelocity = Annotated[
    Annotated[Vector, Tag(f"{BRANCH}vector")]
    | Annotated[float, Tag(f"{BRANCH}number")]
    | Annotated[SpreadVelocity, Tag(SpreadVelocity.branch)],
    Discriminator(_velocity_branch),
]


class Insertion(GroupHeat, Section):
    """``[[insertions]]``: particles of one material that are inserted during the run.

    They come in at events, `every` so often, at random places that are free of particles and walls. What does not fit
    waits for the next event, in the order of its number.
    """

    name: Name = entry("Name of the insertion; its columns in the series begin with it.")
    material: str = entry("Name of a material with a density.")
    radius: Radius | None = entry(
        "Radius in m, or a size distribution; for clusters that of the sphere of equal volume, by default the size "
        "with which their shape is defined.",
        default=None,
        unit="m",
    )
    region: Region | None = entry(
        "Region in which particles are inserted, wholly inside a box, cylinder or ball.", default=None
    )
    face: GivenFace | None = entry(
        "In place of `region`: particles are inserted as a stream through a flat face.", default=None
    )
    mass_rate: GivenRate | None = entry(
        "Rate at which particles are inserted, in kg/s. Without a rate everything is inserted at `start`.",
        default=None,
        unit="kg/s",
    )
    count_rate: GivenRate | None = entry("In place of `mass_rate`: rate in particles per s.", default=None, unit="1/s")
    start: NotNegative = entry("Beginning of the insertion, in s.", default=0.0, unit="s")
    end: Positive | None = entry("End of the insertion, in s.", default=None, unit="s")
    mass: Positive | None = entry("Mass in kg after which the insertion ends.", default=None, unit="kg")
    count: Annotated[int, Field(ge=1, lt=2**40)] | None = entry(
        "Number of particles after which the insertion ends.", default=None
    )
    velocity: InsertionVelocity = entry(
        "Velocity of the particles in m/s; with a face a number is the speed along its normal.",
        default=(0.0, 0.0, 0.0),
        unit="m/s",
    )
    angular_velocity: AngularVelocity = entry(
        "Angular velocity of the particles in rad/s, or `{rpm = [0, 0, 20]}`.", default=(0.0, 0.0, 0.0), unit="rad/s"
    )
    every: Positive | None = entry(
        "Interval of insertion events, in s. By default the time in which the layer behind a face becomes two of "
        "the largest diameters deep, or in which a particle leaves the region.",
        default=None,
        unit="s",
    )
    stage: Name | None = entry(
        "Name of a stage: `start`, `end` and the times of a rate are counted from the beginning of that stage; "
        "nothing is inserted before it.",
        default=None,
    )
    seed: Seed = entry(
        "Seed of the random sizes, places and velocities, which depend on it, on the insertion and on the number of "
        "the particle.",
        default=0,
    )
    attempts: Annotated[int, Field(ge=1, le=10**5)] = entry(
        "Number of places that are tried for each particle at an event.", default=100
    )
    liquid: NotNegative = entry(
        "Volume of the liquid that each particle carries over its own volume, for bridges with `carried_volume`.",
        default=0.0,
    )
    shape: Name | None = entry(
        "Name of a shape: each particle is a rigid cluster of spheres, or flexible if the shape has bonds.",
        default=None,
    )
    orientation: Orientation = entry(
        "Orientation of clusters, as for particles; random ones depend on the insertion and on the number of the "
        "particle.",
        default="random",
    )

    @property
    def rate(self) -> float | RateTable | None:
        """The rate that is given, of mass or of particles."""
        return self.count_rate if self.mass_rate is None else self.mass_rate

    @property
    def mean(self) -> tuple[float, float, float] | float:
        """Mean velocity, or the speed through the face [m/s]."""
        return self.velocity.mean if isinstance(self.velocity, SpreadVelocity) else self.velocity

    @property
    def spread(self) -> float:
        """Largest difference of a component from the mean velocity [m/s]."""
        return self.velocity.random if isinstance(self.velocity, SpreadVelocity) else 0.0
