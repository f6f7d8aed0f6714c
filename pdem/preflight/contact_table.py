"""Table of contact properties of a case by pair of materials and size, for ``pdem check``."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pdem.case.gravity import largest_gravity
from pdem.case.groups.fixed_groups import partner_text
from pdem.case.groups.particle_sources import largest_radii
from pdem.case.timestep import (
    effective_mass_and_radius,
    impact_conditions,
    impact_limit,
    spring_of,
    step_limits,
    step_scale,
)
from pdem.preflight.estimates.impacts import impact_overlap
from pdem.report.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.case.sections.schema import CaseData

MOST_PAIRS = 20
"""Largest number of pairs of materials and sizes in the table."""

SPACING = 4e-10
"""Distance of atoms in contact [m], for the Tabor number (Tabor, J. Colloid Interface Sci. 58 (1977) 2)."""

_HEAD = (
    "contact", "radius [m]", "overlap", "time [s]", "pull-off [N]", "Bond number", "Tabor number", "sticks up to [m/s]"
)  # fmt: skip


@dataclass(frozen=True)
class ContactRow:
    """Contact properties of a pair of materials at one size.

    Attributes
    ----------
    subject : str
        The pair in words.
    radius : float
        Radius of the first body [m].
    overlap : float
        Largest overlap of an impact at the speed of the case, in smaller radii.
    duration : float
        Duration of this impact [s].
    pull_off : float
        Largest pull of adhesion [N].
    bond_number : float
        Pull-off force divided by the weight of the lighter body; NaN without gravity.
    tabor_number : float
        ``(R w^2 / (E^2 z^3))^(1/3)`` with the work of adhesion w, the effective modulus E, and z = `SPACING`. Above
        about 1 the model `jkr` is valid, below it `dmt`; NaN without a work of adhesion.
    sticking_speed : float
        Largest speed at which bodies stick without damping [m/s].
    """

    subject: str
    radius: float
    overlap: float
    duration: float
    pull_off: float
    bond_number: float
    tabor_number: float
    sticking_speed: float

    def cells(self) -> tuple[str, ...]:
        """Return the cells of the row as text; missing values are empty."""
        times = [f"{self.duration:.3g}" if math.isfinite(self.duration) else ""]
        overlap = f"{100.0 * self.overlap:.3g} %"
        if not self.pull_off:
            return self.subject, f"{self.radius:.3g}", overlap, *times, "", "", "", ""
        others = (self.bond_number, self.tabor_number, self.sticking_speed)
        texts = [f"{self.pull_off:.3g}", *(f"{one:.3g}" if math.isfinite(one) else "" for one in others)]
        return self.subject, f"{self.radius:.3g}", overlap, *times, *texts


def contact_rows(case: CaseData, speed: float | None = None) -> Iterator[ContactRow]:
    """Yield the contacts of a case, for the smallest and largest particles of each pair of materials that can touch.

    Impacts are at `speed` [m/s], by default the largest possible speed.

    Raises
    ------
    CaseError
        If a file of particles or of a law cannot be used.
    """
    conditions, largest = impact_conditions(case), largest_radii(case)
    for first, second, is_wall in conditions.pairs:
        if first in largest and (is_wall or second in largest):
            found = [(radii[first], None if is_wall else radii[second]) for radii in (conditions.smallest, largest)]
            for sizes in dict.fromkeys(found):
                yield _row(case, (first, second), sizes, conditions.speed if speed is None else speed)


def _row(case: CaseData, pair: tuple[str, str], sizes: tuple[float, float | None], speed: float) -> ContactRow:
    """Return the row for two materials and radii [m]; the second radius is None for a wall."""
    subject = f"{pair[0]} on {partner_text(case, pair[1], is_wall=sizes[1] is None)}"
    spring, (mass, radius) = spring_of(case, pair), effective_mass_and_radius(case, pair, *sizes)
    overlap = impact_overlap(case, pair, mass, radius, speed) if speed else 0.0
    duration = impact_limit(case, pair, mass, radius, speed, subject).time if speed else math.inf
    pull, work, weight = spring.pull_off(radius), spring.work_of_adhesion, _least_weight(case, pair, sizes)
    tabor = (radius * (work / spring.effective_modulus) ** 2 / SPACING**3) ** (1.0 / 3.0) if work else math.nan
    return ContactRow(
        subject, sizes[0], overlap / min(size for size in sizes if size), duration, pull,
        pull / weight if weight else math.nan, tabor, spring.sticking_speed(mass, radius),
    )  # fmt: skip


def _least_weight(case: CaseData, pair: tuple[str, str], sizes: tuple[float, float | None]) -> float:
    """Return the weight of the lighter of two bodies [N]."""
    masses = [
        (case.materials[name].density or 0.0) * 4.0 / 3.0 * math.pi * size**3
        for name, size in zip(pair, sizes, strict=True)
        if size is not None
    ]
    return min(masses) * math.hypot(*largest_gravity(case))


def contact_table(case: CaseData, speed: float | None = None) -> str:
    """Return the contacts of a case as a text table, with the part of the law that limits the time step.

    Empty without particles. Impacts as for `contact_rows`.

    Raises
    ------
    CaseError
        See `contact_rows`.
    """
    speed = impact_conditions(case).speed if speed is None else speed
    rows = list(contact_rows(case, speed))
    if not rows:
        return ""
    sticks = any(row.pull_off for row in rows)
    lines = [line if sticks else line[:4] for line in (_HEAD, *(row.cells() for row in rows[:MOST_PAIRS]))]
    more = [f"  ... and {len(rows) - MOST_PAIRS} more"] if len(rows) > MOST_PAIRS else []
    head = f"contacts, at impacts of {speed:.3g} m/s:" if speed else "contacts:"
    return "\n".join([head, Table((), lines).text(indent="  "), *more, *_limiting(case)])


def _limiting(case: CaseData) -> list[str]:
    """Return a line about the part of the law that limits the time step, or no line."""
    limits: Any = step_limits(case)
    if not limits:
        return []
    least = min(limits, key=lambda limit: step_scale([limit]))
    part = {"Rayleigh": "the Rayleigh wave", "Hertz": "the normal force", "linear": "the normal force"}.get(
        least.name, least.name
    )
    return [f"  the time step is limited by {part}: {least.name} time {least.time:.3g} s of {least.subject}"]
