"""Series columns of walls: their loads, and the motion of driven walls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pdem.case.sections.schema import CaseData
    from pdem.engine.protocol import Engine

_LOAD_COLUMNS = (("force", "xyz", "N"), ("torque", "xyz", "N m"), ("power", " ", "W"))


def load_columns(case: CaseData) -> list[tuple[str, str]]:
    """Return names and units of the load columns of all walls of a case."""
    return [
        (f"{wall.name}_{quantity}{'' if axis == ' ' else f'_{axis}'}", unit)
        for wall in case.walls
        for quantity, axes, unit in _LOAD_COLUMNS
        for axis in axes
    ]


def load_values(case: CaseData, loads: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    """Return the values of `load_columns` for loads by wall."""
    values = (float(value) for load in loads.values() for value in (*load["force"], *load["torque"], load["power"]))
    return dict(zip((name for name, _ in load_columns(case)), values, strict=True))


def driven_columns(simulation: Engine) -> dict[str, tuple[float, str]]:
    """Return names, present values and units of the columns of driven walls."""
    walls = simulation.system.walls
    return {
        f"{simulation.case.walls[wall].name}_{name}": column
        for wall, drive in ({} if walls is None else walls.drives).items()
        for name, column in drive.report(simulation.time).items()
    }
