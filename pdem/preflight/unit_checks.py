"""Warnings of values that are probably in a wrong unit; `pdem.preflight.estimates.lengths` covers lengths.

These findings are warnings, never errors: any of these values may be intended.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pdem.case.gravity import largest_gravity
from pdem.case.groups.inlets import largest_insertion_speed
from pdem.case.hints.quantities import FACTORS, number_text
from pdem.case.messages import shown_key
from pdem.case.sections.motions import Swing
from pdem.preflight.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.case.model import Case
    from pdem.case.sections.materials import Material
    from pdem.case.sections.motions import MovingFrame
    from pdem.foundation.array_types import Floats

MODULUS = (1e4, 1e13)
"""Plausible Young's moduli [Pa]: from the softest gels to ten times diamond (1.2e12)."""

SOLID_MODULUS, SOLID_DENSITY = 2.5e5, 1500.0
"""Lower limit of the modulus [Pa] for materials above this density [kg/m^3], even if softened for a run."""

DENSITY = (20.0, 30000.0)
"""Plausible densities [kg/m^3]: from expanded polystyrene to above osmium (22,590)."""

RADIUS = (1e-7, 10.0)
"""Plausible radii [m]: smaller particles are Brownian, larger objects are no grains that fall."""

LARGEST_GRAVITY = 5000.0
"""Largest plausible gravity [m/s^2]: 500 times the gravity of the earth, the limit of geotechnical centrifuges."""

EARTH_GRAVITY = 9.81

IMMOVABLE = 1e9
"""Density above which no wrong unit is assumed [kg/m^3]: such particles are intentionally immovable."""

LARGEST_FRICTION = 5.0
"""Friction coefficient above which the value is probably an angle in degrees, up to 90."""

LARGEST_TENSION = 2.0
"""Surface tension [N/m] above all liquids, including molten metals."""

FASTEST = 300.0
"""Speed [m/s] above which the value is probably in mm/s: nearly the speed of sound in air."""

_MODULI = {"GPa": (1e6, 2e12), "MPa": (1e6, 2e12), "kPa": (1e6, 2e12)}
_DENSITIES = ("g/cm3", "g/mm3", "kg/mm3", "t/mm3", "g/m3")
_USUAL_DENSITY = (100.0, 23000.0)
_MORE_FACTORS = {"g/m3": 1e-3}


def material_unit_warnings(case: Case) -> Iterator[Finding]:
    """Warn of constants of materials and interactions, and of gravity, that seem to be in a wrong unit."""
    for name, material in case.materials.items():
        yield from _modulus(name, material)
        yield from _density(name, material)
        yield from _friction(("materials", name, "friction"), material.friction)
    yield from _interactions(case)
    yield from _gravity(case)
    yield from _angles(case)
    yield from _speeds(case)


def _interactions(case: Case) -> Iterator[Finding]:
    """Warn of constants of interactions, once per value: [interactions.default] may apply to many interactions."""
    seen: set[tuple[str, float]] = set()
    for name, law in case.interactions.items():
        tension = float((law.adhesion or {}).get("surface_tension") or 0.0)
        if ("friction", law.friction) not in seen:
            yield from _friction(("interactions", name, "friction"), law.friction)
        if tension > LARGEST_TENSION and ("tension", tension) not in seen:
            where = shown_key(("interactions", name, "adhesion", "surface_tension"))
            text = f"{where} = {tension:g} N/m is more than any liquid has; in mN/m it is "
            yield Finding("warning", "units", f"{text}{number_text(tension / 1e3)} (water: 0.072 N/m)")
        seen |= {("friction", law.friction), ("tension", tension)}


def _modulus(name: str, material: Material) -> Iterator[Finding]:
    """Warn of a modulus outside the range of all materials, or of materials with this density."""
    modulus = material.youngs_modulus
    if modulus is None:
        return
    where, lowest = ("materials", name, "youngs_modulus"), MODULUS[0]
    if SOLID_DENSITY < (material.density or 0.0) < IMMOVABLE and modulus < SOLID_MODULUS:
        lowest = SOLID_MODULUS
    if lowest <= modulus <= MODULUS[1]:
        return
    meant = _meant(modulus, "Pa", {unit: FACTORS[unit] for unit in _MODULI}, _MODULI["GPa"])
    unit = "GPa or MPa" if modulus < lowest else "another unit"
    yield _unit_warning(where, modulus, "Pa", f"{unit}? It has to be in Pa{meant}", (lowest, MODULUS[1]))


def _density(name: str, material: Material) -> Iterator[Finding]:
    """Warn of a density outside the range of all materials."""
    density = material.density
    if density is None or density >= IMMOVABLE or DENSITY[0] <= density <= DENSITY[1]:
        return
    factors = {unit: _MORE_FACTORS.get(unit) or FACTORS[unit] for unit in _DENSITIES}
    units = [unit for unit, factor in factors.items() if _within(density * factor, _USUAL_DENSITY)]
    meant = _meant(density, "kg/m3", {unit: factors[unit] for unit in units[:1]}, _USUAL_DENSITY)
    unit = units[0] if units else "another unit"
    where = ("materials", name, "density")
    yield _unit_warning(where, density, "kg/m3", f"{unit}? It has to be in kg/m3{meant}", DENSITY)


def _within(value: float, limits: tuple[float, float]) -> bool:
    return limits[0] <= value <= limits[1]


def _meant(value: float, unit: str, factors: dict[str, float], limits: tuple[float, float]) -> str:
    """Return the SI values of a number for each unit in which it would be plausible, as text."""
    texts = [
        f"as {value:g} {one} it is {number_text(value * factor)}"
        for one, factor in factors.items()
        if _within(value * factor, limits)
    ]
    return f" ({', '.join(texts)})" if texts else ""


def _friction(where: tuple[str, ...], friction: float | None) -> Iterator[Finding]:
    """Warn of a coefficient of friction that seems to be an angle."""
    if friction is not None and LARGEST_FRICTION < friction < 90.0:
        text = f"{shown_key(where)} = {friction:g} is a coefficient; is it an angle? Give its tangent: "
        yield Finding("warning", "units", f"{text}{math.tan(math.radians(friction)):.3g} for {friction:g} degrees")


def _gravity(case: Case) -> Iterator[Finding]:
    size = math.hypot(*largest_gravity(case))
    factors = {"cm/s2": 100.0, "mm/s2": 1000.0, "km/s2": 0.001, "ft/s2": 1.0 / 0.3048, "in/s2": 1.0 / 0.0254}
    unit = next((unit for unit, factor in factors.items() if abs(size / (EARTH_GRAVITY * factor) - 1.0) < 0.02), None)
    if unit is None and size <= LARGEST_GRAVITY:
        return
    looks = f"looks like {unit}" if unit else f"is {size / EARTH_GRAVITY:.3g} times that of the earth"
    yield Finding(
        "warning", "units", f"domain.gravity of {size:g} {looks}; it has to be in m/s2 ({EARTH_GRAVITY} on earth)"
    )


def _angles(case: Case) -> Iterator[Finding]:
    """Warn of a swing by more than a turn, which is probably in degrees."""
    frames: list[tuple[str, MovingFrame]] = [(f"walls[{index}]", one) for index, one in enumerate(case.walls)]
    frames += [(f"motions.{name}", one) for name, one in case.motions.items()]
    for where, one in frames:
        kind = one.kinds().get("swing")
        if isinstance(kind, Swing) and abs(kind.amplitude) > 2.0 * math.pi:
            text = f"{where}.swing.amplitude = {kind.amplitude:g} rad is more than a turn; in degrees: "
            yield Finding("warning", "units", f"{text}{{degrees = {kind.amplitude:g}}}")


def _speeds(case: Case) -> Iterator[Finding]:
    """Warn of initial velocities, also of inserted particles, that seem to be in mm/s."""
    given = [
        (f"particles[{index}].velocity", math.hypot(*one.velocity))
        for index, one in enumerate(case.particles)
        if isinstance(one.velocity, tuple)
    ]
    given += [
        (f"insertions[{index}].velocity", largest_insertion_speed(case, one))
        for index, one in enumerate(case.insertions)
    ]
    for where, speed in given:
        if speed > FASTEST:
            text = f"{where} of {speed:g} m/s is faster than projectiles of air; in mm/s it is {speed / 1000.0:g} m/s"
            yield Finding("warning", "units", text)


def _unit_warning(
    where: tuple[str, ...], value: float, unit: str, question: str, limits: tuple[float, float]
) -> Finding:
    side = "below" if value < limits[0] else "above"
    text = f"{shown_key(where)} = {value:g} {unit} is {side} all materials "
    text += "as dense as this one " if limits[0] == SOLID_MODULUS else ""
    return Finding("warning", "units", f"{text}({limits[0]:g} to {limits[1]:g} {unit}); is it in {question}")


def radius_unit_warnings(case: Case, radius: Floats) -> Iterator[Finding]:
    """Warn of radii (n,) [m] that seem to be in mm or a different unit, and of spheres larger than the domain."""
    if not len(radius):
        return
    least, most = float(radius.min()), float(radius.max())
    sides = np.subtract(case.domain.upper, case.domain.lower)[: case.domain.dimension]
    falls = bool(largest_gravity(case).any())
    if 2.0 * most > float(sides.min()):
        text = f"the largest diameter is {2.0 * most:g} m, more than the domain's side of {sides.min():g} m"
        yield Finding("warning", "units", f"{text}; check the unit of the radius (m, not mm)")
    elif least < RADIUS[0] or (most > RADIUS[1] and falls):
        text = f"radii are {least:g} to {most:g} m, beyond grains ({RADIUS[0]:g} to {RADIUS[1]:g} m)"
        yield Finding("warning", "units", f"{text}; check their unit (m)")
