"""Groups of fixed particles, such as a rough bottom or grains glued to a wall. They never move."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.case.columns import LEFT, column_name_problems
from pdem.case.deformation import deforms
from pdem.case.messages import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.case.sections.particles import ParticleGroup
    from pdem.case.sections.schema import CaseData

    Column = tuple[str, str]

FIXED = "fixed"
"""Name of a group of fixed particles without a name."""


def fixed_groups(case: CaseData) -> dict[str, ParticleGroup]:
    """Return the fixed groups of a case by their names, in the order of their numbers, which begin at 1."""
    return {group.name or FIXED: group for group in case.particles if group.fixed}


def has_fixed(case: CaseData) -> bool:
    """Return whether a case has fixed particles."""
    return any(group.fixed for group in case.particles)


def number_of_fixed(case: CaseData, index: int) -> int:
    """Return the number of a group among the fixed groups, 0 if its particles move."""
    return sum(group.fixed for group in case.particles[: index + 1]) if case.particles[index].fixed else 0


def fixed_columns(case: CaseData) -> list[Column]:
    """Return names and units of the columns of the series of fixed groups: force and torque on each."""
    return [
        (f"{name}_{quantity}_{axis}", unit)
        for name in fixed_groups(case)
        for quantity, unit in (("force", "N"), ("torque", "N m"))
        for axis in "xyz"
    ]


def partner_text(case: CaseData, material: str, *, is_wall: bool) -> str:
    """Return the partner of a particle in words: a particle or wall of a material, or a fixed particle or wall."""
    if not is_wall:
        return material
    walls = any(wall.material == material for wall in case.walls) or not has_fixed(case)
    return f"{'wall of' if walls else 'fixed'} {material}"


def fixed_problems(case: CaseData) -> Iterator[Problem]:
    """Yield the problems of fixed groups, and of names of groups."""
    taken = {wall.name: f"walls[{index}]" for index, wall in enumerate(case.walls)}
    taken |= {one.name: f"insertions[{index}]" for index, one in enumerate(case.insertions)}
    taken |= {one.name: f"sensors[{index}]" for index, one in enumerate(case.sensors)} | {LEFT: "other columns"}
    for index, group in enumerate(case.particles):
        where = ("particles", index)
        if not group.fixed:
            if group.name is not None:
                text = "names the columns of a fixed group: add fixed = true, or leave it out"
                yield Problem((*where, "name"), text)
            continue
        yield from column_name_problems(group.name or FIXED, where, taken)
        taken[group.name or FIXED] = f"particles[{index}]"
        for key in ("velocity", "angular_velocity"):
            if getattr(group, key) is not None:
                text = "moves particles, and fixed = true lets them rest; keep one of them"
                yield Problem((*where, key), text)
        if deforms(case):
            text = "fixes particles, but all particles of a box that deforms move with it; leave one out"
            yield Problem((*where, "fixed"), text)
