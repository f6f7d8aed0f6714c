"""Rules of the case file on heat, and on stages in which nothing moves."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from pdem.case.messages import Problem
from pdem.case.rules.value_rules import table_problems
from pdem.case.sections.thermal import ConductivityTable
from pdem.case.stage_cases import stage_named
from pdem.features.heat.columns import exchanges_heat

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import TypeAlias

    from pdem.case.sections.materials import Material
    from pdem.case.sections.motions import MovingFrame
    from pdem.case.sections.schema import CaseData
    from pdem.case.sections.walls import Wall
    from pdem.features.heat.section import Heat

    Location: TypeAlias = tuple[str | int, ...]

WALL_KEYS = "temperature", "temperature_table", "heat_rate"
SURFACE_KEYS = "roughness", "roughness_slope", "microhardness", "accommodation"


def heat_problems(case: CaseData) -> Iterator[Problem]:
    """Yield the problems of heat that need no further files."""
    yield from _frozen(case)
    if case.heat is None:
        yield from _useless(case)
        return
    yield from _section(case, case.heat)
    yield from _materials(case, case.heat)
    for index, wall in enumerate(case.walls):
        yield from _wall(wall, ("walls", index))


def _useless(case: CaseData) -> Iterator[Problem]:
    """Yield the problems of temperatures in a case without heat."""
    text = "has no use without heat; add a section [heat]"
    for section, groups in (("particles", case.particles), ("insertions", case.insertions)):
        for index, group in enumerate(groups):
            if group.temperature is not None:
                yield Problem((section, index, "temperature"), text)
    for index, wall in enumerate(case.walls):
        for key in WALL_KEYS:
            if getattr(wall, key) is not None:
                yield Problem(("walls", index, key), text)


def _section(case: CaseData, heat: Heat) -> Iterator[Problem]:
    if heat.from_motion and not case.output.energies:
        text = "needs the energies of contacts; set output.energies = true, or heat.from_motion = false"
        yield Problem(("heat", "from_motion"), text)
    if heat.contact == "solid-gas" and heat.gas is None:
        yield Problem(("heat", "gas"), 'is missing, which contact = "solid-gas" needs: gas = {conductivity = ...}')
    if heat.contact != "solid-gas" and heat.gas is not None:
        yield Problem(("heat", "gas"), f'has no use with contact = "{heat.contact}"; take "solid-gas", or leave it out')
    fluid, radiation = heat.convection, heat.radiation
    if fluid is not None and (fluid.law == "gunn") != (fluid.porosity is not None):
        text = 'is missing, which law = "gunn" needs' if fluid.porosity is None else 'belongs to law = "gunn"'
        yield Problem(("heat", "convection", "porosity"), text)
    if radiation is not None and (radiation.to == "surroundings") != (radiation.temperature is not None):
        missing = radiation.temperature is None
        text = "is missing, that of the surroundings" if missing else 'belongs to to = "surroundings"; leave it out'
        yield Problem(("heat", "radiation", "temperature"), text)


def _materials(case: CaseData, heat: Heat) -> Iterator[Problem]:
    """Yield the missing or useless properties of materials."""
    of_particles = {one.material for one in case.particles} | {one.material for one in case.insertions}
    of_fixed = {one.material for one in case.particles if one.fixed}
    of_walls = {wall.material: wall for wall in case.walls if exchanges_heat(wall)}
    for name, material in case.materials.items():
        where: Location = ("materials", name)
        yield from _table(material, where)
        needed: dict[str, str] = {}
        if name in of_particles:
            needed["heat_capacity"] = "the temperature of its particles"
        if name in of_fixed:
            needed["density"] = "the temperature of its fixed particles"
        if (name in of_particles or name in of_walls) and heat.contact != "none":
            needed |= {"conductivity": "heat through contacts"}
        if name in of_particles and heat.radiation is not None:
            needed |= {"emissivity": "radiation"}
        if (name in of_particles or name in of_walls) and heat.contact == "solid-gas":
            needed |= dict.fromkeys(SURFACE_KEYS, "conduction through the gas in gaps")
        for key, use in needed.items():
            if getattr(material, key) is None:
                yield Problem((*where, key), f"is missing, which {use} depends on" + _remedy(key, name, of_walls))
    yield from _moduli(case, heat, of_particles, set(of_walls))


def _remedy(key: str, name: str, of_walls: Mapping[str, Wall]) -> str:
    """Return what helps if a property is missing for a wall."""
    if key == "conductivity" and name in of_walls:
        return f"; give it, or leave the wall {of_walls[name].name} insulated"
    return ""


def _moduli(case: CaseData, heat: Heat, of_particles: set[str], of_walls: set[str]) -> Iterator[Problem]:
    """Yield the pairs of materials without any modulus, whose contacts would have no area."""
    if heat.contact == "none":
        return
    for name in sorted(of_particles):
        for other in sorted(of_particles | of_walls):
            first, second = case.materials[name], case.materials[other]
            if other in of_particles and other < name:
                continue
            if all(one.contact_modulus is None and one.youngs_modulus is None for one in (first, second)):
                text = f"is missing: contacts of {name} with {other} have no area, since no modulus is known"
                yield Problem(("materials", name, "contact_modulus"), f"{text}; give that of the real material, in Pa")


def _table(material: Material, where: Location) -> Iterator[Problem]:
    """Yield the problems of a table of conductivities."""
    table = material.conductivity
    if not isinstance(table, ConductivityTable):
        return
    location = (*where, "conductivity")
    if len(table.temperatures) != len(table.values):
        text = f"has {len(table.temperatures)} entries and values {len(table.values)}; give one for each temperature"
        yield Problem((*location, "temperatures"), text)
    for place, (low, high) in enumerate(pairwise(table.temperatures)):
        if high <= low:
            yield Problem((*location, "temperatures", place + 1), f"must rise: {low:g} is followed by {high:g}")


def _wall(wall: Wall, where: Location) -> Iterator[Problem]:
    present = [key for key in WALL_KEYS if getattr(wall, key) is not None]
    for key in present[1:]:
        yield Problem((*where, key), f"is not allowed together with {present[0]}; keep one of them")
    if wall.temperature_table is not None:
        yield from table_problems(wall.temperature_table, "values", (*where, "temperature_table"))


def _frozen(case: CaseData) -> Iterator[Problem]:
    """Yield the problems of stages in which nothing moves."""
    frozen = [index for index, stage in enumerate(case.stages) if stage.motion == "frozen"]
    for index in frozen:
        where: Location = ("stages", index, "motion")
        if case.heat is None:
            yield Problem(where, 'is "frozen", and nothing would happen: the case has no [heat]; leave it out')
        if case.domain.deformation is not None or any(one.deformation is not None for one in case.stages):
            yield Problem(where, 'is "frozen", and the box deforms, which cannot stop; leave one of both out')
    if frozen:
        yield from _moving_walls(case, frozen[-1])


def _moving_walls(case: CaseData, last: int) -> Iterator[Problem]:
    """Yield the problems of walls whose places follow from a time that includes a frozen stage."""
    name, walls = case.stages[last].name, list(enumerate(case.walls))
    moving: list[tuple[Location, MovingFrame]] = [(("walls", index), wall) for index, wall in walls]
    moving += [(("motions", key), motion) for key, motion in case.motions.items()]
    for where, frame in moving:
        begins = stage_named(case.stages, frame.stage or "")
        for key in frame.kinds() if begins <= last else ():
            text = f"goes on in stage {name}, which is frozen; begin it with a later stage, by stage"
            yield Problem((*where, key), text)
    for index, wall in walls:
        for key in ("servo", "body"):
            if getattr(wall, key) is not None:
                yield Problem(("walls", index, key), f"cannot stop in stage {name}, which is frozen; use two runs")
