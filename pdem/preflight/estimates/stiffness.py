"""Findings on the stiffness of contacts: overlaps of impacts and of a bed at rest, and the cost of stiffness."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pdem.case.deformation import deforms
from pdem.case.groups.fixed_groups import partner_text
from pdem.case.groups.group_sizes import least_mass
from pdem.case.hints.quantities import number_text
from pdem.case.impact import Impact
from pdem.case.rules.magnitude_rules import LARGEST, SMALLEST
from pdem.case.timestep import contact_force, effective_mass_and_radius, step_limits, step_scale
from pdem.preflight.estimates.impacts import impact_overlap
from pdem.preflight.findings import Finding
from pdem.preflight.unit_checks import IMMOVABLE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pdem.case.model import Case
    from pdem.case.sections.schema import CaseData
    from pdem.case.timestep import ImpactConditions
    from pdem.foundation.array_types import Floats

HARD = 0.01
"""Overlap at rest, in radii, below which bulk results hardly depend on the stiffness."""

RESTING_WARNING = 0.1
"""Overlap at rest, in radii, above which a bed is much denser than a bed of hard grains."""

DEEPEST_WORTH, RESTING_WORTH = 0.05, 0.005
"""Overlaps of impacts and at rest, in radii, up to which a softer material is suggested."""

LEAST_GAIN = 3.0
"""Smallest factor of longer time steps for which a softer material is suggested."""

BULK = 20
"""Smallest number of particles for which bulk behaviour matters rather than single impacts."""

_HALVINGS = 60


def stiffness_findings(
    case: Case, conditions: ImpactConditions, radius: Floats, bed: tuple[float, float], count: float
) -> Iterator[Finding]:
    """Yield the findings on the stiffness of the contacts of a case.

    Parameters
    ----------
    case : Case
        The case.
    conditions : ImpactConditions
        Conditions of its particles.
    radius : (n,) array
        Smallest and largest radius [m].
    bed : tuple of 2 float
        Depth of the bed at rest [m], and gravity [m/s^2].
    count : float
        Number of particles, including inserted particles.
    """
    yield from impact_findings(case, conditions, radius)
    if count < BULK:
        return
    resting = resting_overlap(case, conditions, radius, *bed)
    if resting:
        yield from _at_rest(resting, bed[0])
    deepest = deepest_impact(case, conditions, radius)[0]
    if deepest and not _is_pressed(case):
        yield from _too_stiff(case, conditions, deepest, resting)


def impact_findings(case: Case, conditions: ImpactConditions, radius: Floats) -> Iterator[Finding]:
    """Report the largest overlap of an impact at the expected speed, in smaller radii.

    It is the maximum over all pairs of materials that can touch, with their smallest radii and with the largest of
    `radius` (n,) [m]: by Hertz the size does not matter, with the linear law large spheres overlap more.

    Soft spheres with an overlap of some 10 % in their fastest impacts are common practice. Therefore there is a warning
    only above `limits.largest_overlap`, at which such an impact would end the run.
    """
    deepest, pair = deepest_impact(case, conditions, radius)
    if not deepest:
        return
    impact = impact_of(conditions)
    text = f"an impact at {impact.speed:.3g} m/s of {pair} overlaps by {100.0 * deepest:.3g} % of the radius"
    text += f", for a moment ({impact.text})" if impact.text else ""
    most = case.limits.largest_overlap
    if deepest <= most:
        yield Finding("info", "stiffness", text)
        return
    linear = any(law.normal_stiffness is not None for law in case.interactions.values())
    key = "normal_stiffness or youngs_modulus" if linear else "youngs_modulus"
    text += f", and a run ends at {100.0 * most:g} % (limits.largest_overlap)"
    yield Finding("warning", "stiffness", f"{text}: check the unit of {key} and of lengths, or make it larger")


def impact_of(conditions: ImpactConditions) -> Impact:
    """Return the expected impact, or the fastest possible impact if no estimate is available."""
    return Impact(conditions.speed, "") if conditions.impact is None else conditions.impact


def deepest_impact(case: CaseData, conditions: ImpactConditions, radius: Floats) -> tuple[float, str]:
    """Return the largest overlap of the expected impact in smaller radii, and the pair; 0 without impact."""
    speed = impact_of(conditions).speed
    if not len(radius) or speed == 0.0:
        return 0.0, ""
    return max(
        (
            (impact_overlap(case, pair, *inertia, speed) / smaller, text)
            for pair, inertia, smaller, text in _contacts(case, conditions, radius)
        ),
        default=(0.0, ""),
    )


def resting_overlap(
    case: CaseData, conditions: ImpactConditions, radius: Floats, depth: float, gravity: float
) -> float:
    """Return the overlap at the bottom of a bed at rest, in radii; 0 without weight.

    Each grain carries the weight of a column of grains, one per layer: m g depth / d. This follows from the pressure
    phi rho g depth, and from the force pi d^2 pressure / (6 phi) with six contacts per grain (Rumpf). Some contacts
    carry three times this force.
    """
    if not depth * gravity or not len(radius):
        return 0.0
    found = []
    for pair, (_, effective), smaller, _ in _contacts(case, conditions, radius):
        weight = least_mass(case, pair[0], smaller) * gravity * max(depth / (2.0 * smaller), 1.0)
        found.append(_overlap_under(case, pair, effective, weight, smaller) / smaller)
    return max(found, default=0.0)


def _overlap_under(case: CaseData, pair: tuple[str, str], effective: float, force: float, most: float) -> float:
    """Return the overlap [m] at which a contact carries a force [N], limited to `most`."""
    low, high = 0.0, most
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if contact_force(case, pair, effective, middle) >= force else (middle, high)
    return high


def _at_rest(resting: float, depth: float) -> Iterator[Finding]:
    """Report the overlaps of a bed at rest, and the cost of harder grains if the overlaps are large."""
    text = f"at rest the weight of a bed of {depth:.2g} m makes overlaps of about {_percent(resting)}"
    if resting <= HARD:
        yield Finding("info", "stiffness", f"{text}: below 1 % bulk results hardly depend on the stiffness")
        return
    stiffer = (resting / HARD) ** 1.5  # exponent of Hertz; a linear law needs slightly less
    remedy = f"{_times(stiffer)} the stiffness makes them 1 %, with {_times(math.sqrt(stiffer))} the steps"
    level = "warning" if resting > RESTING_WARNING else "info"
    what = "bulk results depend on it a little"
    if level == "warning":
        what = "check the unit of youngs_modulus and of lengths"
    yield Finding(level, "stiffness", f"{text}; {what}: {remedy}")  # type: ignore[arg-type]


def _too_stiff(case: Case, conditions: ImpactConditions, deepest: float, resting: float) -> Iterator[Finding]:
    """Report the gain of a softer material, if its overlaps would still be small."""
    factors = [(DEEPEST_WORTH / deepest) ** 2.5, (RESTING_WORTH / resting) ** 1.5 if resting else math.inf]
    elastic = {name: one.youngs_modulus for name, one in case.materials.items() if one.youngs_modulus}
    hardest = max((name for name in conditions.smallest if name in elastic), key=lambda name: elastic[name], default="")
    if min(factors) <= 1.0 or not hardest:
        return
    largest = elastic[hardest]
    softer = _round_up(largest / min(factors))
    gain = _gain(case, softer / largest)
    if gain < LEAST_GAIN:
        return
    share = (largest / softer) ** 0.4 * deepest
    text = f"materials.{hardest}.youngs_modulus = {number_text(softer)} Pa in place of {number_text(largest)} Pa"
    text += " (others in proportion)" if len(set(elastic.values())) > 1 else ""
    text += f" would make the run {gain:.2g} times shorter"
    yield Finding("info", "stiffness", f"{text}; the fastest impacts would overlap by {_percent(share)}")


def _is_pressed(case: Case) -> bool:
    """Return whether forces other than weight press or pull on particles, which limits how soft they may be."""
    pulled = any(one.adhesion for one in case.interactions.values())
    driven = any(wall.servo is not None or wall.body is not None for wall in case.walls)
    filled = any(group.fill is not None and group.fill.pressure is not None for group in case.particles)
    return pulled or driven or filled or deforms(case)


def _gain(case: Case, factor: float) -> float:
    """Return the factor of longer automatic steps if all stiffnesses are multiplied by a factor."""
    materials = {
        name: one
        if one.youngs_modulus is None
        else one.model_copy(update={"youngs_modulus": one.youngs_modulus * factor})
        for name, one in case.materials.items()
    }
    before, after = step_limits(case), step_limits(case.model_copy(update={"materials": materials}))
    return step_scale(after) / step_scale(before) if before and after else 1.0


def _round_up(value: float) -> float:
    """Return the smallest 1, 2 or 5 times a power of ten that is not below a value."""
    unit = 10.0 ** math.floor(math.log10(value))
    return next(one * unit for one in (1.0, 2.0, 5.0, 10.0) if one * unit >= value * (1.0 - 1e-9))


def _percent(share: float) -> str:
    return f"{100.0 * share:.{2 if share < 1.0 else 3}g} %"


def _times(factor: float) -> str:
    return f"{factor:.{2 if factor < 100.0 else 3}g} times"


def _contacts(
    case: CaseData, conditions: ImpactConditions, radius: Floats
) -> Iterator[tuple[tuple[str, str], tuple[float, float], float, str]]:
    """Yield each pair at its extreme sizes: materials, effective mass and radius [kg, m], smaller radius [m], text."""
    largest = float(radius.max())
    if not SMALLEST <= float(radius.min()) <= largest <= LARGEST:  # a separate error: masses may be 0
        return
    for first, second, is_wall in conditions.pairs:
        if first not in conditions.smallest or (not is_wall and second not in conditions.smallest):
            continue
        if (case.materials[first].density or 0.0) >= IMMOVABLE or (len(radius) == 1 and not is_wall):
            continue
        text = f"{first} on {partner_text(case, second, is_wall=is_wall)}"
        for one, other in _radii(conditions.smallest, first, None if is_wall else second, largest):
            inertia = effective_mass_and_radius(case, (first, second), one, other)
            yield (first, second), inertia, one if other is None else min(one, other), text


def _radii(
    smallest: Mapping[str, float], first: str, second: str | None, largest: float
) -> Iterator[tuple[float, float | None]]:
    for one in dict.fromkeys((smallest[first], largest)):
        if second is None:
            yield one, None
        else:
            yield from ((one, other) for other in dict.fromkeys((smallest[second], largest)))
