"""Walls that are round: cylinders, cones, tubes, spheres and screws."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from pdem.case.messages import Problem
from pdem.case.sections.base import BRANCH, NotNegative, Positive, Vector, entry
from pdem.case.sections.wall_shapes import RoundWall
from pdem.containers.primitives import round as round_parts
from pdem.containers.primitives.frames import sides_of
from pdem.containers.primitives.screw import Screw, screw, screw_facets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.case.sections.general import Domain
    from pdem.case.sections.wall_shapes import Location, Parts

Caps = Literal["both", "lower", "upper", "none"]


class CylinderWall(RoundWall):
    """A cylinder with closed or open ends: a drum, a silo, a pipe."""

    branch: ClassVar[str] = f"{BRANCH}cylinder"
    shape: Literal["cylinder"]
    centre: Vector = entry("The middle of the axis, in m.", default=(0.0, 0.0, 0.0), unit="m")
    axis: Vector = entry("Direction of the axis, from the lower to the upper end.")
    radius: Positive = entry("Radius of the cylinder, in m.", unit="m")
    length: Positive = entry("Length along the axis, in m.", unit="m")
    caps: Caps = entry("Which ends are closed.", default="both")

    @property
    def largest_radius(self) -> float:
        """Radius of the cylinder [m]."""
        return self.radius

    def parts(self, domain: Domain) -> Parts:
        """Return the facets of the wall."""
        axis = self.centre, self.axis
        return round_parts.cylinder(axis, self.radius, self.length, self.caps, self.accepted_deviation)

    def facet_number(self) -> float:
        """Return the approximate number of facets."""
        return sides_of(self.radius, self.accepted_deviation)


class ConeWall(RoundWall):
    """A cone or a part of a cone, with closed or open ends: a hopper, a funnel."""

    branch: ClassVar[str] = f"{BRANCH}cone"
    shape: Literal["cone"]
    centre: Vector = entry("The middle of the axis, in m.", default=(0.0, 0.0, 0.0), unit="m")
    axis: Vector = entry("Direction of the axis, from the lower to the upper end.")
    radii: Annotated[tuple[NotNegative, NotNegative], Field(strict=False)] = entry(
        "Radii at the lower and at the upper end, in m; one may be 0, for a tip.", unit="m"
    )
    length: Positive = entry("Length along the axis, in m.", unit="m")
    caps: Caps = entry("Which ends are closed; a tip needs no cap.", default="both")

    @property
    def largest_radius(self) -> float:
        """Radius of the wider end [m]."""
        return max(self.radii)

    def parts(self, domain: Domain) -> Parts:
        """Return the facets of the wall."""
        axis = self.centre, self.axis
        return round_parts.cone(axis, self.radii, self.length, self.caps, self.accepted_deviation)

    def facet_number(self) -> float:
        """Return the approximate number of facets."""
        return round_parts.cone_facets(self.radii, self.length, self.accepted_deviation)

    def measure_problems(self, where: Location) -> Iterator[Problem]:
        """Yield the problems of its dimensions in combination."""
        if not any(self.radii):
            yield Problem((*where, "radii"), "are both 0; one has to be positive")


class TubeWall(RoundWall):
    """A thick-walled pipe, closed all round: particles touch it inside, outside and at its ends."""

    branch: ClassVar[str] = f"{BRANCH}tube"
    shape: Literal["tube"]
    centre: Vector = entry("The middle of the axis, in m.", default=(0.0, 0.0, 0.0), unit="m")
    axis: Vector = entry("Direction of the axis.")
    inner_radius: Positive = entry("Inner radius of the tube, in m.", unit="m")
    outer_radius: Positive = entry("Outer radius of the tube, in m.", unit="m")
    length: Positive = entry("Length along the axis, in m.", unit="m")

    @property
    def largest_radius(self) -> float:
        """Outer radius [m]."""
        return self.outer_radius

    def parts(self, domain: Domain) -> Parts:
        """Return the facets of the wall."""
        axis, radii = (self.centre, self.axis), (self.inner_radius, self.outer_radius)
        return round_parts.tube(axis, radii, self.length, self.accepted_deviation)

    def facet_number(self) -> float:
        """Return the number of facets."""
        return 4.0 * sides_of(self.outer_radius, self.accepted_deviation)

    def measure_problems(self, where: Location) -> Iterator[Problem]:
        """Yield the problems of its dimensions in combination."""
        if self.inner_radius >= self.outer_radius:
            yield Problem((*where, "inner_radius"), f"must be less than outer_radius ({self.outer_radius:g} m)")


class SphereWall(RoundWall):
    """A sphere, which touches particles inside and outside."""

    branch: ClassVar[str] = f"{BRANCH}sphere"
    shape: Literal["sphere"]
    centre: Vector = entry("Centre of the sphere, in m.", default=(0.0, 0.0, 0.0), unit="m")
    radius: Positive = entry("Radius of the sphere, in m.", unit="m")

    @property
    def largest_radius(self) -> float:
        """Radius of the sphere [m]."""
        return self.radius

    def parts(self, domain: Domain) -> Parts:
        """Return the facets of the wall."""
        return round_parts.sphere(self.centre, self.radius, self.accepted_deviation)

    def facet_number(self) -> float:
        """Return the number of facets."""
        divisions = float(round_parts.divisions_of(self.radius, self.accepted_deviation))
        return round_parts.ICOSAHEDRON_FACES * divisions * divisions


class ScrewWall(RoundWall):
    """A helical blade on a shaft: a screw conveyor, an auger; without the shaft a ribbon."""

    branch: ClassVar[str] = f"{BRANCH}screw"
    shape: Literal["screw"]
    centre: Vector = entry("The middle of the axis, in m.", default=(0.0, 0.0, 0.0), unit="m")
    axis: Vector = entry("Direction of the axis.")
    radius: Positive = entry("Radius of the blade, in m.", unit="m")
    inner_radius: Positive = entry("Where the blade begins: the radius of the shaft, in m.", unit="m")
    length: Positive = entry("Length of shaft and blade, in m.", unit="m")
    pitch: Positive = entry("Length of one turn of the blade, in m.", unit="m")
    thickness: NotNegative = entry("Thickness of the blade along the axis, in m; 0 is a sheet.", default=0.0, unit="m")
    hand: Literal["right", "left"] = entry('Sense of the screw; `"right"` is that of a common screw.', default="right")
    shaft: bool = entry("Whether there is a shaft with closed ends.", default=True)

    @property
    def largest_radius(self) -> float:
        """Radius of the blade [m]."""
        return self.radius

    def _measures(self) -> Screw:
        return Screw(
            self.centre, self.axis, self.radius, self.inner_radius, self.length, self.pitch, self.thickness,
            self.shaft, self.hand == "left",
        )  # fmt: skip

    def parts(self, domain: Domain) -> Parts:
        """Return the facets of the wall."""
        return screw(self._measures(), self.accepted_deviation)

    def facet_number(self) -> float:
        """Return the approximate number of facets."""
        return screw_facets(self._measures(), self.accepted_deviation)

    def measure_problems(self, where: Location) -> Iterator[Problem]:
        """Yield the problems of its dimensions in combination."""
        if self.inner_radius >= self.radius:
            yield Problem((*where, "inner_radius"), f"must be less than radius ({self.radius:g} m)")
        if self.thickness >= self.length:
            yield Problem((*where, "thickness"), f"must be less than length ({self.length:g} m)")
        elif self.thickness >= self.pitch and self.length - self.thickness > self.pitch:
            yield Problem((*where, "thickness"), f"must be less than pitch ({self.pitch:g} m): turns would overlap")
