"""Meshes in files, and where they are put: keys of walls and of faces."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag

from pdem.case.sections.base import BRANCH, Name, Positive, Section, Vector
from pdem.case.sections.motions import Axis
from pdem.case.sections.units import Angle


class MeshRotation(Axis):
    """A rotation of a mesh when it is read; after that it does not turn.

    Attributes
    ----------
    axis : tuple of 3 float
        Direction of the axis, a vector of any length but zero; the rotation is right-handed about it.
    angle : float
        Angle in rad, or ``{degrees = 90}``. Quarter turns are exact.
    centre : tuple of 3 float
        A point on the axis, in m: in the coordinates of the file after `scale`.
    """

    angle: Angle


Rotations = Annotated[tuple[MeshRotation, ...], Field(strict=False)]


def _rotate_branch(value: Any) -> str:
    return f"{BRANCH}list" if isinstance(value, (list, tuple)) else f"{BRANCH}table"


Rotate = Annotated[
    Annotated[MeshRotation, Tag(f"{BRANCH}table")] | Annotated[Rotations, Tag(f"{BRANCH}list")],
    Discriminator(_rotate_branch),
]


class PlacedMesh(Section):
    """A mesh file, and where the mesh is put when it is read: scaled, then rotated, then moved by the offset.

    Attributes
    ----------
    mesh : str
        Mesh file, relative to the folder of the case: STL, OBJ, PLY, VTK, VTU or Gmsh.
    scale : float
        Factor from the file's unit to metres (0.001 for a mesh in mm).
    rotate : optional
        Rotation of the mesh after `scale`, or a list of rotations, one after the other.
    offset : tuple of 3 float
        Added to all coordinates after `rotate`, in m.
    group : str, optional
        Take only this part of the file: an STL solid, an OBJ group or object, a physical group of Gmsh by name or
        number.
    """

    mesh: Name
    scale: Positive = 1.0
    rotate: Rotate = ()
    offset: Vector = (0.0, 0.0, 0.0)
    group: Name | None = None

    def rotations(self) -> list[dict[str, Any]]:
        """Return the rotations as `pdem.Mesh.read` takes them."""
        given = (self.rotate,) if isinstance(self.rotate, MeshRotation) else self.rotate
        return [one.model_dump() for one in given]
