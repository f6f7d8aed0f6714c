"""The shapes of a case: rigid clusters of spheres."""

from __future__ import annotations

from pathlib import PurePath
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Discriminator, Field, Tag

from pdem.case.sections.base import BRANCH, Name, Positive, Section, Seed, Vector
from pdem.case.sections.units import AngleInDegrees

_Sphere = Annotated[tuple[float, float, float, Positive], Field(strict=False)]

MESH_ENDINGS = (".stl", ".obj", ".ply", ".vtk", ".vtp", ".vtu", ".msh")
"""Endings of files that are meshes to be filled."""

_MESH_OR_POINTS = ".vtk"


def names_mesh(file: str, most_spheres: int | None) -> bool:
    """Tell whether the file of a shape is a mesh, by its name; ``.vtk`` without a number of spheres has spheres."""
    ending = PurePath(file).suffix.lower()
    return ending in MESH_ENDINGS and not (ending == _MESH_OR_POINTS and most_spheres is None)


class GivenMass(Section):
    """Volume, centre of mass and inertia of a shape from another source.

    Attributes
    ----------
    volume : float
        Volume in m^3; the mass is this times the density of the material.
    centre : vector
        Centre of mass in m, in the coordinates of the spheres after `scale`.
    inertia : tuple of 6 float
        Tensor of inertia about the centre of mass over the mass, in m^2: xx, yy, zz, xy, xz, yz; the last three are
        those of the tensor, with its signs.
    """

    branch: ClassVar[str] = f"{BRANCH}table"
    volume: Positive
    centre: Vector = (0.0, 0.0, 0.0)
    inertia: Annotated[tuple[float, float, float, float, float, float], Field(strict=False)]


def _mass_branch(value: Any) -> str:
    return GivenMass.branch if isinstance(value, (dict, GivenMass)) else f"{BRANCH}rule"


MassProperties = Annotated[
    Annotated[Literal["union", "sum", "file", "mesh"], Tag(f"{BRANCH}rule")]
    | Annotated[GivenMass, Tag(GivenMass.branch)],
    Discriminator(_mass_branch),
]


class Shape(Section):
    """``[shapes.NAME]``: spheres that move as one rigid body.

    Attributes
    ----------
    spheres : tuple of (x, y, z, radius) or None
        The spheres, in m before `scale`. Their order is kept.
    file : str or None
        In place of `spheres`, relative to the folder of the case: a list of spheres (text, CSV, ``.clu``, points with
        radii in ``.vtk``), or a closed mesh that is filled with spheres.
    scale : float
        Length in m of one unit of the file or of `spheres`.
    most_spheres : int or None
        With a mesh: fill it with at most so many spheres.
    error : float
        With a mesh: spheres are added until the inertia is within this fraction of the mesh's.
    mass_properties : {"union", "sum", "file", "mesh"} or GivenMass
        Which volume, centre and inertia are used: those of the union of the spheres; of the sum of all spheres,
        in which overlaps count several times; of a ``.clu`` file; of the mesh; or given values.
    """

    spheres: Annotated[tuple[_Sphere, ...], Field(strict=False, min_length=1)] | None = None
    file: Name | None = None
    scale: Positive = 1.0
    most_spheres: Annotated[int, Field(ge=1, le=10_000)] | None = None
    error: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.02
    mass_properties: MassProperties = "union"


class Turn(Section):
    """All particles rotated by ``angle`` degrees about ``axis``.

    Attributes
    ----------
    axis : vector
        Axis of the rotation, a vector of any length but 0.
    angle : float
        Angle of the rotation in degrees; ``{degrees = 30}`` says the same.
    """

    branch: ClassVar[str] = f"{BRANCH}turn"
    axis: Vector
    angle: AngleInDegrees


class RandomTurn(Section):
    """Random orientations from another seed than that of the fill.

    Attributes
    ----------
    random : int
        Seed of the random orientations.
    """

    branch: ClassVar[str] = f"{BRANCH}seed"
    random: Seed


def _turn_branch(value: Any) -> str:
    if isinstance(value, Section):
        return value.branch
    if isinstance(value, dict):
        return RandomTurn.branch if "random" in value else Turn.branch
    return f"{BRANCH}word"


Orientation = Annotated[
    Annotated[Literal["random", "aligned"], Tag(f"{BRANCH}word")]
    | Annotated[Turn, Tag(Turn.branch)]
    | Annotated[RandomTurn, Tag(RandomTurn.branch)],
    Discriminator(_turn_branch),
]
