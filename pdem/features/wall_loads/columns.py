"""``output.mean_wall_loads``: walls with mean and largest loads in the series, and the names of the columns."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from pdem.case.messages import Problem, nearest_key_hint

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.case.sections.schema import CaseData

    Column = tuple[str, str, str]

_MEANS = (*(("force", "N", axis) for axis in "xyz"), *(("torque", "N m", axis) for axis in "xyz"))


def walls_with_means(case: CaseData) -> list[int]:
    """Return the numbers of the walls with mean loads, in the order of the case."""
    wanted = case.output.mean_wall_loads
    return [
        number for number, wall in enumerate(case.walls) if any(fnmatchcase(wall.name, pattern) for pattern in wanted)
    ]


def mean_load_columns(case: CaseData) -> list[Column]:
    """Return names, units and types of the columns: means of force, torque and power; largest force and torque."""
    return [column for number in walls_with_means(case) for column in columns_of_wall(case.walls[number].name)]


def columns_of_wall(name: str) -> list[Column]:
    """Return the columns of one wall."""
    found = [(f"{name}_{quantity}_mean_{axis}", unit, "f8") for quantity, unit, axis in _MEANS]
    found.append((f"{name}_power_mean", "W", "f8"))
    return [*found, (f"{name}_force_max", "N", "f8"), (f"{name}_torque_max", "N m", "f8")]


def mean_load_problems(case: CaseData) -> Iterator[Problem]:
    """Yield the names without a wall."""
    names = [wall.name for wall in case.walls]
    for number, pattern in enumerate(case.output.mean_wall_loads):
        if not any(fnmatchcase(name, pattern) for name in names):
            hint = nearest_key_hint(pattern, names) if names else "the case has no walls"
            yield Problem(("output", "mean_wall_loads", number), f"is not the name of a wall; {hint}")
