"""Flat faces for insertions and sensors: given by corners, as discs, as meshes or as walls."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Discriminator, Field, Tag

from pdem.case.sections.base import BRANCH, Name, Positive, Section, Vector, entry
from pdem.case.sections.particles import Points
from pdem.case.sections.placed_meshes import PlacedMesh


class PolygonFace(Section):
    """A flat polygon with `corners` (m) in sequence; the right-hand rule gives its normal."""

    branch: ClassVar[str] = f"{BRANCH}polygon"
    shape: Literal["polygon"] = "polygon"
    corners: Annotated[Points, Field(min_length=3)] = entry(unit="m")


class DiscFace(Section):
    """A disc about `centre` (m) of `radius` (m), normal to `normal`."""

    branch: ClassVar[str] = f"{BRANCH}disc"
    shape: Literal["disc"]
    centre: Vector = entry(unit="m")
    normal: Vector
    radius: Positive = entry(unit="m")


class MeshFace(PlacedMesh):
    """A flat mesh in a file, which particles do not touch."""

    branch: ClassVar[str] = f"{BRANCH}mesh"
    shape: Literal["mesh"]


class WallFace(Section):
    """A flat `wall` of the case that rests, by its name. For sensors: particles pass where a stage has removed it."""

    branch: ClassVar[str] = f"{BRANCH}wall"
    wall: Name


def _face_branch(value: Any) -> str:
    if isinstance(value, Section):
        return value.branch
    if isinstance(value, dict) and "wall" in value:
        return WallFace.branch
    return f"{BRANCH}{value.get('shape', 'polygon')}" if isinstance(value, dict) else PolygonFace.branch


GivenFace = Annotated[
    Annotated[PolygonFace, Tag(PolygonFace.branch)]
    | Annotated[DiscFace, Tag(DiscFace.branch)]
    | Annotated[MeshFace, Tag(MeshFace.branch)]
    | Annotated[WallFace, Tag(WallFace.branch)],
    Discriminator(_face_branch),
]
