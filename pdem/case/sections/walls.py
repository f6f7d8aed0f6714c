"""The walls of a case: their common keys, and walls from mesh files.

Walls with a shape are in `pdem.case.sections.flat_walls` and `pdem.case.sections.round_walls`.
"""

from __future__ import annotations

from pathlib import PurePath
from typing import Any, ClassVar, Literal

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from pdem.case.hints.suggestions import foreign_key
from pdem.case.messages import shown_value
from pdem.case.sections.base import BRANCH, Name, entry
from pdem.case.sections.driven_walls import Body, Servo
from pdem.case.sections.motions import MovingFrame
from pdem.case.sections.placed_meshes import PlacedMesh
from pdem.case.sections.surfaces import Surface
from pdem.case.sections.thermal import WallHeat
from pdem.features.wear.section import Wear


class Wall(WallHeat, MovingFrame):
    """``[[walls]]``: one rigid surface, at rest or in motion."""

    name: Name = entry(
        "Name of the wall in results and messages; by default that of the group, of the mesh file or else of the "
        "shape.",
        follows=True,
    )
    shape: str = entry('Kind of the wall: `"mesh"`, or a shape that needs no file. The other keys depend on it.')
    material: str = entry("Name of a material.")
    surface: Surface | None = entry(
        "Motion of the surface alone, as of a conveyor belt: the geometry stays.", default=None
    )
    servo: Servo | None = entry(
        "Makes the wall move along or about an axis until the load of the particles on it has a given value.",
        default=None,
    )
    body: Body | None = entry("Makes the wall a rigid body that is moved by particles and gravity.", default=None)
    wear: Wear | None = entry("Measures how much material particles remove from the wall.", default=None)

    @property
    def geometry(self) -> dict[str, Any]:
        """The keys that determine the facets, and their values."""
        names = [name for name in type(self).model_fields if name not in Wall.model_fields]
        return {"shape": self.shape, **{name: getattr(self, name) for name in names}}


class MeshWall(PlacedMesh, Wall):
    """A wall from a mesh file, ``shape = "mesh"``, which may be left out.

    When it is read, the mesh is scaled, then rotated, then moved by the offset. Motions act afterwards.
    """

    branch: ClassVar[str] = f"{BRANCH}mesh"
    shape: Literal["mesh"] = "mesh"
    split_facets: bool = entry(
        "Cut facets that are not planar or not convex into triangles, instead of refusing them.", default=False
    )

    @model_validator(mode="before")
    @classmethod
    def _default_name(cls, table: Any) -> Any:
        if isinstance(table, dict) and "mesh" not in table:
            raise PydanticCustomError("no_surface", "needs a surface: {keys}", {"keys": _surface_hint(table)})
        if isinstance(table, dict) and "name" not in table and isinstance(table.get("mesh"), str):
            return {**table, "name": table.get("group") or PurePath(table["mesh"]).stem or "wall"}
        return table


def _surface_hint(table: dict[str, Any]) -> str:
    """Return the keys that define a surface, considering a foreign word if the table has one."""
    for key, value in table.items():
        meant = foreign_key(str(key), ("mesh", "shape")) if key not in MeshWall.model_fields else None
        if meant is not None:
            return f"{key} is not a key; did you mean {meant.key} = {shown_value(value)}?"
    return SURFACE_HINT


SURFACE_HINT = 'mesh = "FILE.stl", or shape = "plane", "box", "cylinder", ... (pdem explain walls.shape has all)'
