"""The walls of a case: meshes, materials and motions."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from pydantic import model_validator

from pdem.case.base import Name, Positive
from pdem.case.driven_wall_sections import Body, Servo
from pdem.case.motions import MovingFrame


class Wall(MovingFrame):
    """``[[walls]]``: one rigid mesh, which moves by the keys of `pdem.case.motions.MovingFrame`.

    Attributes
    ----------
    name : str
        Name in reports of its loads; by default that of the group or else of the mesh file.
    mesh : str
        File, relative to the folder of the case.
    scale : float
        Factor from the file's unit to metres (0.001 for a mesh in mm).
    group : str, optional
        Only this part of the file: an STL solid, an OBJ group or object, a physical group of Gmsh.
    split_facets : bool
        Cut facets that are not planar or not convex into triangles, instead of refusing them.
    material : str
        Name of a material.
    servo, body : optional
        Its drive by particles, see `pdem.case.driven_wall_sections`.
    """

    name: Name
    mesh: Name
    scale: Positive = 1.0
    group: Name | None = None
    split_facets: bool = False
    material: str
    servo: Servo | None = None
    body: Body | None = None

    @model_validator(mode="before")
    @classmethod
    def _default_name(cls, table: Any) -> Any:
        if isinstance(table, dict) and "name" not in table and isinstance(table.get("mesh"), str):
            return {**table, "name": table.get("group") or PurePath(table["mesh"]).stem or "wall"}
        return table
