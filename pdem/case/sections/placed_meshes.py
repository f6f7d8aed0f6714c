"""Meshes in files, and their position and orientation: keys of walls and of faces."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag

from pdem.case.sections.base import BRANCH, Name, Positive, Section, Vector, entry
from pdem.case.sections.motions import Axis
from pdem.case.sections.units import Angle


class MeshRotation(Axis):
    """A rotation of a mesh when it is read, not a motion."""

    centre: Vector = entry(
        "A point on the axis, in m: in the coordinates of the file after `scale`.", default=(0.0, 0.0, 0.0), unit="m"
    )
    angle: Angle = entry("Angle in rad, or `{degrees = 90}`. Quarter turns are exact.", unit="rad")


Rotations = Annotated[tuple[MeshRotation, ...], Field(strict=False)]


def _rotate_branch(value: Any) -> str:
    return f"{BRANCH}list" if isinstance(value, (list, tuple)) else f"{BRANCH}table"


Rotate = Annotated[
    Annotated[MeshRotation, Tag(f"{BRANCH}table")] | Annotated[Rotations, Tag(f"{BRANCH}list")],
    Discriminator(_rotate_branch),
]


class PlacedMesh(Section):
    """A mesh file and the position of its mesh: when read, it is scaled, then rotated, then moved by the offset."""

    mesh: Name = entry("Mesh file, relative to the folder of the case: STL, OBJ, PLY, VTK, VTU or Gmsh.")
    scale: Positive = entry("Factor from the file's unit to metres (0.001 for a mesh in mm).", default=1.0)
    rotate: Rotate = entry(
        "Rotation of the mesh after `scale`, or a list of rotations, one after the other.", default=()
    )
    offset: Vector = entry("Added to all coordinates after `rotate`, in m.", default=(0.0, 0.0, 0.0), unit="m")
    group: Name | None = entry(
        "Take only this part of the file: an STL solid, an OBJ group or object, a physical group of Gmsh by name or "
        "number.",
        default=None,
    )

    def rotations(self) -> list[dict[str, Any]]:
        """Return the rotations as arguments of `pdem.Mesh.read`."""
        given = (self.rotate,) if isinstance(self.rotate, MeshRotation) else self.rotate
        return [one.model_dump() for one in given]
