"""Common base of all walls that are defined by shape and dimensions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from pdem.case.messages import Problem
from pdem.case.rules.value_rules import direction_problems
from pdem.case.sections.base import Positive, entry
from pdem.case.sections.walls import Wall

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeAlias

    from pdem.case.sections.general import Domain
    from pdem.foundation.array_types import Floats

    Parts: TypeAlias = list[Floats]
    Location: TypeAlias = tuple[str | int, ...]

DEFAULT_SHARE = 1.0 / 400.0
"""Default deviation over the radius: 48 sides of a circle, 2,420 facets of a sphere."""

MOST_FACETS = 10_000_000
"""Largest number of facets of one wall: more would not fit into the memory of most machines."""


class ShapeWall(Wall, ABC):
    """A wall that is defined by shape and dimensions."""

    @model_validator(mode="before")
    @classmethod
    def _one_surface(cls, table: Any) -> Any:
        if not isinstance(table, dict):
            return table
        if "mesh" in table:
            text = 'has both shape = "{shape}" and a mesh; keep one of them'
            raise PydanticCustomError("two_surfaces", text, {"shape": table.get("shape")})
        return {"name": table.get("shape"), **table}

    @abstractmethod
    def parts(self, domain: Domain) -> Parts:
        """Return the facets at time 0; see `pdem.containers.primitives`.

        Parameters
        ----------
        domain : Domain
            The box of the particles, which a plane without a size fills.
        """

    def problems(self, domain: Domain, where: Location) -> Iterator[Problem]:
        """Yield the problems of its dimensions."""
        for key in ("axis", "normal", "direction", "up"):
            if key in type(self).model_fields:
                yield from direction_problems(getattr(self, key), (*where, key))


class RoundWall(ShapeWall):
    """A wall with curved surfaces, made of flat facets with their corners on the surface."""

    deviation: Positive | None = entry(
        "Largest distance of a facet from the true surface, in m; by default 1/400 of the largest radius (48 sides "
        "of a circle). Results depend on this error as on any error of the radius, not on the facets themselves.",
        default=None,
        unit="m",
    )

    @property
    @abstractmethod
    def largest_radius(self) -> float:
        """Largest radius of curved parts [m]; 0 without any."""

    @property
    def accepted_deviation(self) -> float:
        """The deviation of the file, or the default [m]."""
        return DEFAULT_SHARE * self.largest_radius if self.deviation is None else self.deviation

    @abstractmethod
    def facet_number(self) -> float:
        """Return the approximate number of facets."""

    def problems(self, domain: Domain, where: Location) -> Iterator[Problem]:
        """Yield the problems of its dimensions, and of a number of facets that is too large."""
        found = [*super().problems(domain, where), *self.measure_problems(where)]
        yield from found
        if found or not self.largest_radius:
            return
        key, default = (*where, "deviation"), DEFAULT_SHARE * self.largest_radius
        if self.accepted_deviation >= self.largest_radius:
            text = f"must be less than the largest radius {self.largest_radius:g} m, or nothing is left of it; "
            yield Problem(key, f"{text}{default:.3g} m is the default")
        elif (number := self.facet_number()) > MOST_FACETS:
            text = f"would make about {number:.2g} facets, more than {MOST_FACETS:,}; "
            remedy = "allow more" if self.deviation is not None else "give a larger one, or make the wall shorter"
            yield Problem(key, f"{text}{remedy}: {default:.3g} m is the default")

    def measure_problems(self, where: Location) -> Iterator[Problem]:
        """Yield the problems of its dimensions in combination."""
        yield from ()
