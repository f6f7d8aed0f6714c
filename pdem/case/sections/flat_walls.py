"""Walls that are flat: planes, boxes, blades and chutes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from pdem.case.messages import Problem
from pdem.case.sections.base import BRANCH, NotNegative, Positive, Vector, entry
from pdem.case.sections.units import Slope
from pdem.case.sections.wall_shapes import RoundWall, ShapeWall
from pdem.containers.primitives import flat
from pdem.foundation import exact_math

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.case.sections.general import Domain
    from pdem.case.sections.wall_shapes import Location, Parts

MARGIN = 0.25
"""Extension of a plane beyond the domain, relative to its side: a periodic side is at least four radii long."""

Face = Literal["-x", "+x", "-y", "+y", "-z", "+z"]
_PARALLEL = 1e-6
"""Sine of the angle between two directions below which they are parallel."""


class PlaneWall(ShapeWall):
    """A flat wall; both of its sides touch particles."""

    branch: ClassVar[str] = f"{BRANCH}plane"
    shape: Literal["plane"]
    point: Vector = entry("A point of the plane, in m; its middle if it has a size.", default=(0.0, 0.0, 0.0), unit="m")
    normal: Vector = entry("Direction at right angles to the plane, a vector of any length.")
    size: Positive | None = entry(
        "Side length of a square, in m. Without it the plane covers the domain and extends beyond it by a quarter "
        "of the domain's sides, also across periodic ones.",
        default=None,
        unit="m",
    )

    def parts(self, domain: Domain) -> Parts:
        """Return the facet of the wall."""
        if self.size is not None:
            return flat.square(self.point, self.normal, self.size)
        lower, upper = np.array(domain.lower), np.array(domain.upper)
        beyond = MARGIN * (upper - lower)
        return flat.plane_in_box(self.point, self.normal, lower - beyond, upper + beyond)

    def problems(self, domain: Domain, where: Location) -> Iterator[Problem]:
        """Yield the problems of its dimensions."""
        found = list(super().problems(domain, where))
        yield from found
        is_box = all(low < high for low, high in zip(domain.lower, domain.upper, strict=True))
        if not found and is_box and not self.parts(domain):
            text = "lies so far outside the domain that the plane does not cross it; move it, or give its size"
            yield Problem((*where, "point"), text)


class BoxWall(ShapeWall):
    """The six faces of a box along the axes, or some of them."""

    branch: ClassVar[str] = f"{BRANCH}box"
    shape: Literal["box"]
    lower: Vector = entry("Corner of the box with the smallest coordinates, in m.", unit="m")
    upper: Vector = entry("Corner of the box with the largest coordinates, in m.", unit="m")
    open: Annotated[tuple[Face, ...], Field(strict=False)] = entry(
        'Faces to leave out, by axis and side: `["+z"]` is a box without a lid.', default=()
    )

    def parts(self, domain: Domain) -> Parts:
        """Return the faces of the wall."""
        return flat.box(self.lower, self.upper, self.open)

    def problems(self, domain: Domain, where: Location) -> Iterator[Problem]:
        """Yield the problems of its dimensions."""
        for axis in range(3):
            if not self.lower[axis] < self.upper[axis]:
                text = f"must be greater than lower ({self.lower[axis]}) along {'xyz'[axis]}"
                yield Problem((*where, "upper", axis), text)
        if len(set(self.open)) == len(flat.FACES):
            yield Problem((*where, "open"), "leaves nothing of it; name five faces at most")


class BladeWall(RoundWall):
    """A plate, flat or bent: a paddle, a baffle, a scraper, a vane."""

    branch: ClassVar[str] = f"{BRANCH}blade"
    shape: Literal["blade"]
    centre: Vector = entry("Middle of the blade, in m.", default=(0.0, 0.0, 0.0), unit="m")
    axis: Vector = entry("Direction of the length of the blade.")
    normal: Vector = entry("Direction in which the face points; its component along the axis is ignored.")
    length: Positive = entry("Length along the axis, in m.", unit="m")
    width: Positive = entry("Width across the axis, along the bend if the blade is bent, in m.", unit="m")
    thickness: NotNegative = entry(
        "Thickness in m; 0 is a sheet, which touches particles on both sides.", default=0.0, unit="m"
    )
    bend_radius: Positive | None = entry(
        "Radius of the bent middle surface, about a line along the axis on the side of the normal, in m; without it "
        "the blade is flat.",
        default=None,
        unit="m",
    )

    @property
    def largest_radius(self) -> float:
        """Outer radius of the bend [m]; 0 if the blade is flat."""
        return 0.0 if self.bend_radius is None else self.bend_radius + 0.5 * self.thickness

    def _plate(self) -> flat.Plate:
        return flat.Plate(
            self.centre, self.axis, self.normal, self.length, self.width, self.thickness, self.bend_radius or 0.0
        )  # fmt: skip

    def parts(self, domain: Domain) -> Parts:
        """Return the facets of the wall."""
        return flat.blade(self._plate(), self.accepted_deviation)

    def facet_number(self) -> float:
        """Return the approximate number of facets."""
        return 4.0 * flat.bends_of(self._plate(), self.accepted_deviation)

    def measure_problems(self, where: Location) -> Iterator[Problem]:
        """Yield the problems of its dimensions in combination."""
        if _sine(self.axis, self.normal) < _PARALLEL:
            yield Problem((*where, "normal"), "is along axis; give a direction across it")
        if self.bend_radius is None:
            if self.deviation is not None:
                yield Problem((*where, "deviation"), "belongs to a bend_radius; a flat blade is exact")
            return
        if self.thickness >= 2.0 * self.bend_radius:
            text = f"must be less than twice bend_radius ({2.0 * self.bend_radius:g} m), or its inside turns over"
            yield Problem((*where, "thickness"), text)
        if self.width >= 2.0 * math.pi * self.bend_radius:
            text = f"goes round bend_radius more than once ({2.0 * math.pi * self.bend_radius:.4g} m); take a tube"
            yield Problem((*where, "width"), text)


class ChuteWall(ShapeWall):
    """An open channel that leads down: a floor and two sides, without ends."""

    branch: ClassVar[str] = f"{BRANCH}chute"
    shape: Literal["chute"]
    start: Vector = entry("Middle of the upper end of the floor, in m.", unit="m")
    direction: Vector = entry("Direction in which the chute leads; its component along `up` is ignored.")
    up: Vector = entry("Direction against gravity.", default=(0.0, 0.0, 1.0))
    inclination: Slope = entry(
        "Inclination of the floor below the horizontal, in rad, or `{degrees = 30}`.", unit="rad"
    )
    length: Positive = entry("Length of the floor along the slope, in m.", unit="m")
    width: Positive = entry("Width of the floor across the slope, in m.", unit="m")
    height: NotNegative = entry("Height of the sides, in m; with 0 there are none.", default=0.0, unit="m")

    def parts(self, domain: Domain) -> Parts:
        """Return the floor and the sides."""
        measures = (self.inclination, self.length, self.width, self.height)
        return flat.chute(flat.Channel(self.start, self.direction, self.up, *measures))

    def problems(self, domain: Domain, where: Location) -> Iterator[Problem]:
        """Yield the problems of its dimensions."""
        yield from super().problems(domain, where)
        if _sine(self.direction, self.up) < _PARALLEL:
            yield Problem((*where, "direction"), "is along up; give the horizontal direction in which it leads")


def _sine(one: Vector, other: Vector) -> float:
    """Return the sine of the angle between two vectors; 1 if a vector has no direction."""
    size = exact_math.hypot(*one) * exact_math.hypot(*other)
    return exact_math.hypot(*np.cross(one, other).tolist()) / size if 0.0 < size < math.inf else 1.0
