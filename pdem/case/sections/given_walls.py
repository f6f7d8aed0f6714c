"""The walls that a case file may have: meshes in files, and shapes by their measures."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Discriminator, Tag

from pdem.case.sections.base import BRANCH, Section
from pdem.case.sections.flat_walls import BladeWall, BoxWall, ChuteWall, PlaneWall
from pdem.case.sections.round_walls import ConeWall, CylinderWall, ScrewWall, SphereWall, TubeWall
from pdem.case.sections.walls import MeshWall


def _branch(value: Any) -> str:
    if isinstance(value, Section):
        return value.branch
    return f"{BRANCH}{value.get('shape', 'mesh')}" if isinstance(value, dict) else MeshWall.branch


GivenWall = Annotated[
    Annotated[MeshWall, Tag(MeshWall.branch)]
    | Annotated[PlaneWall, Tag(PlaneWall.branch)]
    | Annotated[BoxWall, Tag(BoxWall.branch)]
    | Annotated[CylinderWall, Tag(CylinderWall.branch)]
    | Annotated[ConeWall, Tag(ConeWall.branch)]
    | Annotated[TubeWall, Tag(TubeWall.branch)]
    | Annotated[SphereWall, Tag(SphereWall.branch)]
    | Annotated[ScrewWall, Tag(ScrewWall.branch)]
    | Annotated[BladeWall, Tag(BladeWall.branch)]
    | Annotated[ChuteWall, Tag(ChuteWall.branch)],
    Discriminator(_branch),
]
