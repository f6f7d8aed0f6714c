"""``[[fields]]``: continuum fields on a grid, averaged while a case runs."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from pdem.case.sections.base import Name, Positive, Section, Vector, entry
from pdem.case.sections.particles import is_corner

SAMPLES = 10
"""Samples of an average, unless `every` is given."""


_CORNER_TEXT = (
    "Corners of the grid, in m; by default those of the domain. In a box that deforms they are those at time 0, and "
    "the grid follows the lengths of the box. To include everything near walls, let the grid extend beyond them by "
    "three widths."
)


class GridFields(Section):
    """``[[fields]]``: density, velocity, stress, temperature and others on a grid, averaged over time.

    They are written into ``fields-NAME.vtkhdf``.
    """

    name: Name = entry("Name of the fields; the file is `fields-NAME.vtkhdf`.")
    lower: Vector = entry(_CORNER_TEXT, unit="m", follows=True)
    upper: Vector = entry(_CORNER_TEXT, unit="m", follows=True)
    cells: Annotated[
        tuple[Annotated[int, Field(ge=1, le=100_000)], ...], Field(strict=False, min_length=3, max_length=3)
    ] = entry("Number of equal cells along x, y and z; in 2D one along z.")
    width: Positive = entry(
        "Width over which particles and contacts are averaged, in m: standard deviation of the Gaussian, or half of "
        "the distance from which on Lucy's function is 0. About one radius shows single particles, several radii "
        "give smooth fields.",
        unit="m",
    )
    kernel: Literal["gaussian", "lucy"] = entry(
        "Function with which particles and contacts are averaged; Lucy's takes longer.", default="gaussian"
    )
    average: Positive = entry(
        "Time over which each written field is averaged, in s; by default that between two snapshots.",
        unit="s",
        follows=True,
    )
    every: Positive | None = entry(
        "Interval of the samples that are averaged, in s; by default a tenth of `average`.", default=None, unit="s"
    )
    by: Literal["material"] | None = entry("Compute the fields of each material as well.", default=None)

    @property
    def interval(self) -> float:
        """Time between two samples [s]."""
        return self.average / SAMPLES if self.every is None else self.every

    def steps(self, step: float) -> tuple[int, int]:
        """Return the steps between two samples, and how many samples make a mean, with a time step [s]."""
        every = max(1, round(self.interval / step))
        return every, max(1, round(self.average / (every * step)))


def with_defaults(section: Any, domain: Any, average: Any) -> Any:
    """Return the table of fields with corners of the domain and a time to average over [s], where it has none."""
    if not (isinstance(section, dict) and isinstance(domain, dict)):
        return section
    # an invalid corner, or interval of snapshots, is reported where it stands
    corners = {key: domain[key] if is_corner(domain.get(key)) else [0.0] * 3 for key in ("lower", "upper")}
    usable = isinstance(average, (int, float)) and not isinstance(average, bool) and average > 0.0
    return {**corners, "average": float(average) if usable else 1.0, **section}
