"""The walls of a case: meshes, what they are made of and how they move."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from pydantic import model_validator

from pdem.case.base import Name, Positive, Section, Vector


class Rotation(Section):
    """``rotation``: turning about a fixed axis.

    Attributes
    ----------
    rate : float
        In rad/s, right-handed about `axis`.
    axis : tuple of 3 float
        Direction, of any length but zero.
    centre : tuple of 3 float
        A point on the axis at time 0, in m.
    """

    rate: float
    axis: Vector
    centre: Vector = (0.0, 0.0, 0.0)


class Translation(Section):
    """``translation``: moving at constant velocity.

    Attributes
    ----------
    velocity : tuple of 3 float
        In m/s.
    """

    velocity: Vector


class Wall(Section):
    """``[[walls]]``: one rigid mesh.

    Attributes
    ----------
    name : str
        By which its loads are reported; the name of the mesh file unless given.
    mesh : str
        File, relative to the folder of the case.
    scale : float
        Factor from the file's unit to metres (0.001 for a mesh in mm).
    material : str
        Name of a material.
    rotation : Rotation or None
        Turning, if any.
    translation : Translation or None
        Moving, if any; the axis of the rotation moves along.
    """

    name: Name
    mesh: Name
    scale: Positive = 1.0
    material: str
    rotation: Rotation | None = None
    translation: Translation | None = None

    @model_validator(mode="before")
    @classmethod
    def _default_name(cls, table: Any) -> Any:
        if isinstance(table, dict) and "name" not in table and isinstance(table.get("mesh"), str):
            return {**table, "name": PurePath(table["mesh"]).stem or "wall"}
        return table
