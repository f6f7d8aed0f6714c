"""Findings on heat before a run: Biot numbers, time constants, steps of heat, insulated walls, odd temperatures."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.case.gravity import first_gravity
from pdem.features.heat.columns import exchanges_heat
from pdem.features.heat.conductance import PairRow, solid, solid_gas
from pdem.features.heat.heat_materials import WallTemperatures, heat_materials
from pdem.features.heat.intervals import STEPS_IN_MOTION
from pdem.foundation import exact_math
from pdem.preflight.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.case.model import Case
    from pdem.features.heat.heat_materials import HeatMaterials
    from pdem.preflight.population import Population

LARGEST_BIOT = 0.1
"""Biot number above which the temperature within a particle differs too much from its mean."""

COLDEST, HOTTEST = 100.0, 3000.0
"""Temperatures beyond which a unit is probably wrong [K]."""


class ContactHeat(NamedTuple):
    """Heat of a particle in a bed, by contacts with particles of its own kind.

    Attributes
    ----------
    force : float
        Force of a contact under the weight of the bed above [N].
    conductance : float
        Of this contact [W/K].
    capacity : float
        Heat capacity of the particle [J/K].
    biot : float
        Biot number of the contact, conductance over conductivity times pi r.
    """

    force: float
    conductance: float
    capacity: float
    biot: float


def heat_findings(case: Case, particles: Population, step: float) -> list[Finding]:
    """Return the findings on the heat of a case, for a time step [s].

    Raises
    ------
    CaseError
        If the file of a table cannot be used.
    """
    if case.heat is None:
        return []
    materials, walls = heat_materials(case), WallTemperatures(case)
    return [
        *_temperatures(case, walls), *_contacts(case, materials, particles), *_interval(case, step),
        *_insulated(case),
    ]  # fmt: skip


def _temperatures(case: Case, walls: WallTemperatures) -> Iterator[Finding]:
    """Warn of temperatures that look like degrees Celsius."""
    assert case.heat is not None
    named: list[tuple[str, float | None]] = [("heat.temperature", case.heat.temperature)]
    for section, groups in (("particles", case.particles), ("insertions", case.insertions), ("walls", case.walls)):
        named += [(f"{section}[{index}].temperature", one.temperature) for index, one in enumerate(groups)]
    for key in ("convection", "radiation"):
        named.append((f"heat.{key}.temperature", getattr(getattr(case.heat, key), "temperature", None)))
    named.append(("walls.temperature_table", walls.highest or None))
    for key, value in named:
        if value is not None and not COLDEST <= value <= HOTTEST:
            text = f"{key} is {value:g} K; temperatures are absolute, in K: 20 degrees Celsius are 293.15"
            yield Finding("warning", "heat", text)


def _contacts(case: Case, materials: HeatMaterials, particles: Population) -> Iterator[Finding]:
    """Report the conductance, the time constant and the Biot number of contacts in a bed."""
    if case.heat is None or case.heat.contact == "none" or not particles.count:
        return
    for name in dict.fromkeys(one.material for one in case.particles):
        for radius in dict.fromkeys(particles.radii.tolist()):
            found = contact_heat(case, materials, name, radius, particles)
            if found.conductance <= 0.0:
                continue
            text = (
                f"a contact of two particles of {name} of radius {radius:.4g} m under {found.force:.3g} N conducts "
                f"{found.conductance:.3g} W/K; the particle has {found.capacity:.3g} J/K, and with six contacts a time "
                f"constant of {found.capacity / (6.0 * found.conductance):.3g} s; Biot number {found.biot:.2g}"
            )
            is_large = found.biot > LARGEST_BIOT
            text += f", above {LARGEST_BIOT:g}: one temperature for a particle is not accurate" if is_large else ""
            yield Finding("warning" if is_large else "info", "heat", text)


def contact_heat(case: Case, materials: HeatMaterials, name: str, radius: float, particles: Population) -> ContactHeat:
    """Return the heat of a particle of a material and radius [m] at the bottom of the bed of all particles."""
    number = case.material_index(name)
    mass = 4.0 / 3.0 * math.pi * radius * radius * radius * (case.materials[name].density or 0.0)
    gravity = first_gravity(case)
    pull = exact_math.hypot(*gravity)
    along = int(np.argmax(np.abs(gravity)))
    layers = max(1.0, float(particles.upper[along] - particles.lower[along]) / (2.0 * radius))
    force = mass * pull * layers
    size = len(PairRow._fields)
    place = size * (number * len(case.materials) + number)
    k = PairRow(*materials.rows[place : place + size].tolist())
    conduct = solid_gas if case.heat is not None and case.heat.contact == "solid-gas" else solid
    conductance = float(conduct(force, radius, radius, k)) if k.conductivity > 0.0 else 0.0
    capacity = float(materials.capacity[number]) * mass / (case.materials[name].density or 1.0)
    biot = conductance / (k.conductivity * math.pi * radius) if k.conductivity > 0.0 else 0.0
    return ContactHeat(force, conductance, capacity, biot)


def _interval(case: Case, step: float) -> Iterator[Finding]:
    """Report the step of heat in motion."""
    assert case.heat is not None
    if case.heat.every == "auto":
        text = f"a step of heat takes {STEPS_IN_MOTION} time steps, {STEPS_IN_MOTION * step:.3g} s, in motion"
        yield Finding("info", "heat", f"{text}; fewer where temperatures would oscillate")
    elif case.heat.every < step:
        text = f"heat.every is {case.heat.every:g} s, less than a time step of {step:.4g} s, which is taken instead"
        yield Finding("warning", "heat", text)


def _insulated(case: Case) -> Iterator[Finding]:
    """Report insulated walls, and cases in which no temperature can change."""
    heat = case.heat
    assert heat is not None
    insulated = [wall.name for wall in case.walls if not exchanges_heat(wall)]
    if insulated:
        text = f"{', '.join(insulated)} {'is' if len(insulated) == 1 else 'are'} insulated: without temperature"
        yield Finding("info", "heat", f"{text}, temperature_table and heat_rate")
    given = {one.temperature or heat.temperature for one in (*case.particles, *case.insertions)}
    heated = len(insulated) < len(case.walls) or heat.convection is not None
    radiates = heat.radiation is not None and heat.radiation.to == "surroundings"
    if len(given) <= 1 and not heated and not radiates and not heat.from_motion:
        text = "all temperatures are equal, and nothing heats or cools: they stay as they are"
        yield Finding("warning", "heat", text)
