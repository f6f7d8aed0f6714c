"""Names of the columns of heat in the series."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pdem.case.sections.schema import CaseData
    from pdem.case.sections.walls import Wall

OF_ALL = (("temperature", "K"), ("temperature_min", "K"), ("temperature_max", "K"))
"""Mean temperature of all particles, weighted by their heat capacities, and the lowest and highest one."""


def exchanges_heat(wall: Wall) -> bool:
    """Return whether a wall is not insulated."""
    return any(one is not None for one in (wall.temperature, wall.temperature_table, wall.heat_rate))


def wall_columns(case: CaseData) -> list[tuple[str, str]]:
    """Return names and units of the columns of walls that exchange heat: heat received since time 0, temperature."""
    names = [wall.name for wall in case.walls if exchanges_heat(wall)] if case.heat is not None else []
    return [column for name in names for column in ((f"{name}_heat", "J"), (f"{name}_temperature", "K"))]
