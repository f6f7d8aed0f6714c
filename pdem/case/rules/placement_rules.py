"""Rules of the case file on where meshes are put when they are read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.case.rules.value_rules import direction_problems
from pdem.case.sections.placed_meshes import PlacedMesh

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.case.messages import Problem
    from pdem.case.sections.schema import CaseData


def placement_problems(case: CaseData) -> Iterator[Problem]:
    """Yield a problem for each axis of a rotation that has no direction, of walls and of faces."""
    placed = {("walls", index): wall for index, wall in enumerate(case.walls)}
    faces = {("insertions", index, "face"): one.face for index, one in enumerate(case.insertions)}
    faces |= {("sensors", index, "face"): one.face for index, one in enumerate(case.sensors)}
    for where, mesh in (*placed.items(), *faces.items()):
        if isinstance(mesh, PlacedMesh):
            several = isinstance(mesh.rotate, tuple)
            for number, one in enumerate(mesh.rotate if isinstance(mesh.rotate, tuple) else (mesh.rotate,)):
                place = (*where, "rotate", number) if several else (*where, "rotate")
                yield from direction_problems(one.axis, (*place, "axis"))
