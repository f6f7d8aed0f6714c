"""Checks of adhesion before a run: overlap at rest, range of the contacts, and their resolution by the time step."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pdem.case.messages import shown_key
from pdem.case.stage_cases import cases_of_stages
from pdem.case.timestep import effective_mass_and_radius, spring_of
from pdem.contact.law.kinds.liquid_bridge import LIQUID_BRIDGE, PENDULAR, VOLUMES
from pdem.preflight.findings import Finding, Level

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.case.sections.schema import CaseData
    from pdem.case.timestep import ImpactConditions
    from pdem.contact.law.contact_spring import ContactSpring
    from pdem.foundation.array_types import Floats

RESTING_WARNING = 0.1
"""Overlap in smaller radii of contacts under adhesion alone, above which theories of small contacts are not valid."""

FASTEST = 2.0
"""Speed in sticking speeds at which adhesion takes an eighth of a rebound: faster impacts hardly feel adhesion."""

AXES = "xyz"


def adhesion_findings(case: CaseData, conditions: ImpactConditions, radius: Floats, step: float) -> Iterator[Finding]:
    """Yield the findings on adhesion, one per interaction and kind.

    Parameters
    ----------
    case : CaseData
        The case.
    conditions : ImpactConditions
        Conditions of all particles of the case, or of particles of an insertion.
    radius : (n,) array
        All radii [m].
    step : float
        Time step [s].
    """
    seen: set[tuple[str, str]] = set()
    for one in cases_of_stages(case):
        for first, second, is_wall in conditions.pairs:
            known = first in conditions.smallest and (is_wall or second in conditions.smallest)
            key = case.interaction_key(first, second)
            if not known or key is None or one.interactions[key].adhesion is None or not len(radius):
                continue
            met = _Met(one, key, (first, second, is_wall), conditions, float(radius.max()))
            for finding in met.findings(step):
                if (key, finding.subject) not in seen:
                    seen.add((key, finding.subject))
                    yield finding


def carried_in_case(case: CaseData) -> bool:
    """Return whether any particles of a case carry liquid."""
    return any(group.liquid for group in case.particles) or any(one.liquid for one in case.insertions)


class _Met:
    """Two materials with adhesion, for the smallest and for the largest particles.

    Parameters
    ----------
    case : CaseData
        The case in one of its stages.
    key : str
        Key of the interaction.
    pair : (str, str, bool)
        Material of a particle, material of its partner, and whether the partner is a wall.
    conditions : ImpactConditions
        Smallest radii, and speed of impacts.
    largest : float
        Largest radius [m].
    """

    def __init__(
        self, case: CaseData, key: str, pair: tuple[str, str, bool], conditions: ImpactConditions, largest: float
    ) -> None:
        self._case, self._pair, self._speed = case, pair[:2], conditions.speed
        self._of_case = conditions.of_case
        self._spring: ContactSpring = spring_of(case, self._pair)
        self._where = shown_key(["interactions", key, "adhesion"])
        other = None if pair[2] else conditions.smallest[pair[1]]
        self._smallest = conditions.smallest[pair[0]], other
        self._largest = largest, None if pair[2] else largest
        self._table = case.interactions[key].adhesion or {}

    def findings(self, step: float) -> Iterator[Finding]:
        """Yield all findings for a time step [s]."""
        yield from self._resting()
        yield from self._bridge()
        yield from self._reach()
        yield from self._step(step)

    def _effective(self, radii: tuple[float, float | None]) -> tuple[float, float]:
        return effective_mass_and_radius(self._case, self._pair, *radii)

    def _resting(self) -> Iterator[Finding]:
        """Compare the overlap of contacts under adhesion alone with the limit of a run."""
        most = self._case.limits.largest_overlap
        at = {
            size: self._spring.resting_overlap(self._effective(size)[1]) / size[0]
            for size in (self._smallest, self._largest)
        }
        size = max(at, key=lambda one: at[one])
        if at[size] <= RESTING_WARNING:
            return
        what = f"{self._where} presses particles of radius {size[0]:g} m together"
        if math.isfinite(at[size]):
            text = f"{what} until they overlap by {100.0 * at[size]:.3g} % of it"
        else:
            text = f"{what} more than their stiffness holds them apart"
        if at[size] > most:
            text += f", and a run ends at {100.0 * most:g} % (limits.largest_overlap)"
        else:
            text += f"; theories of contacts hold up to about {100.0 * RESTING_WARNING:g} %"
        level: Level = "error" if at[size] > most else "warning"
        yield Finding(level, "adhesion", f"{text}: make the adhesion weaker or the particles stiffer")

    def _bridge(self) -> Iterator[Finding]:
        """Compare the volume of liquid bridges with the limit of the pendular state."""
        if self._table.get("model") != LIQUID_BRIDGE.model:
            return
        key = next(name for name in VOLUMES if name in self._table)
        if key == "carried_volume" and self._of_case and not carried_in_case(self._case):
            yield Finding(
                "warning", "liquid bridges",
                f"{self._where}.{key}: bridges take liquid that particles carry, and none carries any: give liquid in "
                "[[particles]] or [[insertions]]",
            )  # fmt: skip
        relative = None if key == "volume" else self._table[key]
        for radii in (self._smallest,) if relative is None else (self._smallest, self._largest):
            smaller = min(radius for radius in radii if radius is not None)
            mean = 2.0 * self._effective(radii)[1]
            volume = self._table["volume"] if relative is None else relative * mean**3
            if volume > PENDULAR * smaller**3:
                limit = PENDULAR * smaller**3 * (1.0 if relative is None else mean**-3)
                yield Finding(
                    "warning", "liquid bridges",
                    f"{self._where}.{key} = {self._table[key]:g} gives spheres of radius {smaller:g} m bridges of "
                    f"{volume:.3g} m3, beyond the pendular state, where they merge with others; use at most "
                    f"{limit:.3g}",
                )  # fmt: skip
                return

    def _reach(self) -> Iterator[Finding]:
        """Compare the gap at which contacts end with the size of the domain."""
        gap, domain = self._spring.gap(self._effective(self._largest)[1]), self._case.domain
        for axis in range(domain.dimension):
            side = domain.upper[axis] - domain.lower[axis]
            needed = 4.0 * self._largest[0] + 2.0 * gap if domain.periodic[axis] else gap
            if side < needed:
                kind = "periodic box" if domain.periodic[axis] else "domain"
                yield Finding(
                    "error", "adhesion",
                    f"{self._where}: contacts last up to a gap of {gap:.3g} m, for which the {kind} of {side:g} m "
                    f"along {AXES[axis]} is too short ({needed:.3g} m): check the units, or widen it",
                )  # fmt: skip
                return

    def _step(self, step: float) -> Iterator[Finding]:
        """Compare the displacement per step with the gap, at speeds at which adhesion matters."""
        mass, radius = self._effective(self._smallest)
        gap = self._spring.gap(radius)
        if gap <= 0.0:
            return
        sticking = math.sqrt(2.0 * max(self._spring.sticking_energy(-gap, radius), 0.0) / mass)
        speed = min(self._speed or sticking, FASTEST * sticking)
        if speed * step > gap:
            yield Finding(
                "warning", "time step",
                f"{self._where}: at {speed:.3g} m/s particles of radius {self._smallest[0]:g} m go "
                f"{speed * step:.3g} m in a step, more than the gap of {gap:.3g} m over which they are pulled apart; "
                f"what that takes of their energy is not resolved: use at most {gap / speed:.3g} s",
            )  # fmt: skip
