"""Warnings of values that are probably in a wrong unit, and of the depth of impacts.

These are warnings, never errors: any of these values may be intended.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pdem.case.findings import Finding
from pdem.case.gravity import largest_gravity
from pdem.case.messages import shown_key
from pdem.case.timestep import effective_mass_and_radius, impact_overlap

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from pdem.case.model import Case
    from pdem.case.timestep import ImpactConditions

MODULUS = (1e4, 1e13)
"""Plausible Young's moduli [Pa]: from the softest gels to ten times diamond (1.2e12)."""

DENSITY = (50.0, 30000.0)
"""Plausible densities [kg/m^3]: from expanded polystyrene to more than osmium (22,590)."""

RADIUS = (1e-7, 10.0)
"""Plausible radii [m]: below, the motion is Brownian; above there are no grains."""

LARGEST_GRAVITY = 5000.0
"""500 times that of the earth, the limit of geotechnical centrifuges [m/s^2]."""

EARTH_GRAVITY = 9.81

IMMOVABLE = 1e9
"""Density above which no wrong unit is assumed [kg/m^3]: such particles are meant to be immovable."""


def material_unit_warnings(case: Case) -> Iterator[Finding]:
    """Warn of moduli, densities and gravity that seem to be in GPa, g/cm3 or mm/s2."""
    for name, material in case.materials.items():
        modulus, density = material.youngs_modulus, material.density
        if modulus is not None and not MODULUS[0] <= modulus <= MODULUS[1]:
            unit = {True: "GPa or MPa", False: "another unit"}[modulus < MODULUS[0]]
            meant = f" (as {modulus:g} GPa it is {modulus * 1e9:.3g})" if modulus < 2000.0 else ""
            yield _unit_warning(("materials", name, "youngs_modulus"), modulus, "Pa", unit, meant, MODULUS)
        if density is not None and density < IMMOVABLE and not DENSITY[0] <= density <= DENSITY[1]:
            unit = "g/cm3" if density < DENSITY[0] else "another unit"
            meant = f" (as {density:g} g/cm3 it is {density * 1e3:g})" if density < DENSITY[0] else ""
            yield _unit_warning(("materials", name, "density"), density, "kg/m3", unit, meant, DENSITY)
    yield from _gravity(case)


def _gravity(case: Case) -> Iterator[Finding]:
    size = math.hypot(*largest_gravity(case))
    factors = {"cm/s2": 100.0, "mm/s2": 1000.0, "km/s2": 0.001}
    unit = next(
        (unit for unit, factor in factors.items() if abs(size / (EARTH_GRAVITY * factor) - 1.0) < 0.02), None
    )
    if unit is None and size <= LARGEST_GRAVITY:
        return
    looks = f"looks like {unit}" if unit else f"is {size / EARTH_GRAVITY:.3g} times that of the earth"
    yield Finding(
        "warning",
        "units",
        f"domain.gravity of {size:g} {looks}; it has to be in m/s2 ({EARTH_GRAVITY} on earth)",
    )


def _unit_warning(
    where: tuple[str, ...],
    value: float,
    unit: str,
    probable_unit: str,
    meant: str,
    limits: tuple[float, float],
) -> Finding:
    text = (
        f"{shown_key(where)} = {value:g} {unit} is {'below' if value < limits[0] else 'above'} all materials "
    )
    text += (
        f"({limits[0]:g} to {limits[1]:g} {unit}); is it in {probable_unit}? It has to be in {unit}{meant}"
    )
    return Finding("warning", "units", text)


def radius_unit_warnings(case: Case, radius: NDArray[np.float64]) -> Iterator[Finding]:
    """Warn of radii (n,) [m] that seem to be in mm or in another unit, and of spheres that the domain cannot hold."""
    if not len(radius):
        return
    least, most = float(radius.min()), float(radius.max())
    sides = np.subtract(case.domain.upper, case.domain.lower)[: case.domain.dimension]
    if 2.0 * most > float(sides.min()):
        text = f"the largest diameter is {2.0 * most:g} m, more than the domain's side of {sides.min():g} m"
        yield Finding("warning", "units", f"{text}; check the unit of the radius (m, not mm)")
    elif most > RADIUS[1] or least < RADIUS[0]:
        text = f"radii are {least:g} to {most:g} m, beyond grains ({RADIUS[0]:g} to {RADIUS[1]:g} m)"
        yield Finding("warning", "units", f"{text}; check their unit (m)")


def impact_findings(
    case: Case, conditions: ImpactConditions, radius: NDArray[np.float64]
) -> Iterator[Finding]:
    """Report the largest overlap of an elastic impact at the reference speed, over the smaller radius.

    It is the largest over all pairs of materials that can touch, with their smallest radii and with the largest of
    `radius` (n,) [m]: by Hertz the size does not matter, by the linear law large spheres overlap more.

    It is an upper bound, without damping and at the speed of a fall through the whole domain. Soft spheres with 10 to
    40 % are common practice, so there is a warning only if the bound is above `limits.largest_overlap`, at which such
    an impact would end the run.
    """
    if not len(radius) or conditions.speed == 0.0:
        return
    deepest = max(_depths(case, conditions, radius), default=(0.0, ""))
    if deepest[0] == 0.0:
        return
    text = f"an impact at {conditions.speed:.3g} m/s of {deepest[1]} overlaps by "
    text += f"{100.0 * deepest[0]:.3g} % of the radius"
    most = case.limits.largest_overlap
    if deepest[0] <= most:
        yield Finding("info", "stiffness", f"{text} at most")
        return
    linear = any(law.normal_stiffness is not None for law in case.interactions.values())
    key = "normal_stiffness or youngs_modulus" if linear else "youngs_modulus"
    text += f", and a run ends at {100.0 * most:g} % (limits.largest_overlap)"
    yield Finding("warning", "stiffness", f"{text}: check the unit of {key}, or make it larger")


def _depths(
    case: Case, conditions: ImpactConditions, radius: NDArray[np.float64]
) -> Iterator[tuple[float, str]]:
    """Yield overlap over the smaller radius and a text for each pair of materials, at both ends of sizes."""
    largest = float(radius.max())
    for first, second, is_wall in conditions.pairs:
        if first not in conditions.smallest or (not is_wall and second not in conditions.smallest):
            continue
        if (case.materials[first].density or 0.0) >= IMMOVABLE or (len(radius) == 1 and not is_wall):
            continue
        for one, other in _radii(conditions.smallest, first, None if is_wall else second, largest):
            inertia = effective_mass_and_radius(case, (first, second), one, other)
            overlap = impact_overlap(case, (first, second), *inertia, conditions.speed)
            smaller = one if other is None else min(one, other)
            yield overlap / smaller, f"{first} on {'wall of ' if is_wall else ''}{second}"


def _radii(
    smallest: Mapping[str, float], first: str, second: str | None, largest: float
) -> Iterator[tuple[float, float | None]]:
    for one in {smallest[first], largest}:
        if second is None:
            yield one, None
        else:
            yield from ((one, other) for other in {smallest[second], largest})
