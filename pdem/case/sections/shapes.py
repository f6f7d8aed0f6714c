"""The shapes of a case: spheres that are rigid clusters, or that bonds join."""

from __future__ import annotations

from pathlib import PurePath
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Discriminator, Field, NonNegativeInt, Tag

from pdem.case.sections.base import BRANCH, Name, Positive, Section, Seed, Vector, entry
from pdem.case.sections.units import AngleInDegrees

_Sphere = Annotated[tuple[float, float, float, Positive], Field(strict=False)]
_Link = Annotated[tuple[NonNegativeInt, NonNegativeInt], Field(strict=False)]

MESH_ENDINGS = (".stl", ".obj", ".ply", ".vtk", ".vtp", ".vtu", ".msh")
"""Endings of files that are meshes to be filled."""

_MESH_OR_POINTS = ".vtk"


def names_mesh(file: str, most_spheres: int | None) -> bool:
    """Return whether the file of a shape is a mesh, by its name; ``.vtk`` without a number of spheres has spheres."""
    ending = PurePath(file).suffix.lower()
    return ending in MESH_ENDINGS and not (ending == _MESH_OR_POINTS and most_spheres is None)


class GivenMass(Section):
    """Volume, centre of mass and inertia of a shape from an external source."""

    branch: ClassVar[str] = f"{BRANCH}table"
    volume: Positive = entry("Volume in m^3; the mass is this times the density of the material.", unit="m^3")
    centre: Vector = entry(
        "Centre of mass in m, in the coordinates of the spheres after `scale`.", default=(0.0, 0.0, 0.0), unit="m"
    )
    inertia: Annotated[tuple[float, float, float, float, float, float], Field(strict=False)] = entry(
        "Tensor of inertia about the centre of mass over the mass, in m^2: xx, yy, zz, xy, xz, yz; the last three "
        "are those of the tensor, with its signs.",
        unit="m^2",
    )


def _mass_branch(value: Any) -> str:
    return GivenMass.branch if isinstance(value, (dict, GivenMass)) else f"{BRANCH}rule"


MassProperties = Annotated[
    Annotated[Literal["union", "sum", "file", "mesh"], Tag(f"{BRANCH}rule")]
    | Annotated[GivenMass, Tag(GivenMass.branch)],
    Discriminator(_mass_branch),
]


class Shape(Section):
    """``[shapes.NAME]``: spheres that move as one rigid body, or with `bonds` spheres that bonds join."""

    spheres: Annotated[tuple[_Sphere, ...], Field(strict=False, min_length=1)] | None = entry(
        "The spheres, in m before `scale`. Their order is kept.", default=None, unit="m"
    )
    file: Name | None = entry(
        "In place of `spheres`, relative to the folder of the case: a list of spheres (text, CSV, `.clu`, points "
        "with radii in `.vtk`), or a closed mesh that is filled with spheres.",
        default=None,
    )
    scale: Positive = entry("Length in m of one unit of the file or of `spheres`.", default=1.0, unit="m")
    most_spheres: Annotated[int, Field(ge=1, le=10_000)] | None = entry(
        "With a mesh: fill it with at most so many spheres.", default=None
    )
    error: Annotated[float, Field(gt=0.0, lt=1.0)] = entry(
        "With a mesh: spheres are added until the inertia is within this fraction of the mesh's.", default=0.02
    )
    mass_properties: MassProperties = entry(
        "Which volume, centre and inertia are used: those of the union of the spheres; of the sum of all spheres, "
        "in which overlaps count several times; of a `.clu` file; of the mesh; or given values. With `bonds` it is "
        "always the sum.",
        default="union",
    )
    bonds: Name | None = entry(
        "Name of a kind of bonds, `[bonds.NAME]`: each particle is flexible, single spheres that these bonds join.",
        default=None,
    )
    links: Annotated[tuple[_Link, ...], Field(strict=False, min_length=1)] | None = entry(
        "With `bonds`: the pairs of spheres that are joined, by their numbers from 0 on, in the order of the spheres; "
        "by default all spheres that touch or overlap.",
        default=None,
    )


class ShapeTurn(Section):
    """All particles rotated by ``angle`` degrees about ``axis``."""

    branch: ClassVar[str] = f"{BRANCH}turn"
    axis: Vector = entry("Axis of the rotation, a vector of any length but 0.")
    angle: AngleInDegrees = entry("Angle of the rotation in degrees; `{degrees = 30}` says the same.", unit="degrees")


class RandomTurn(Section):
    """Random orientations from a seed of their own."""

    branch: ClassVar[str] = f"{BRANCH}seed"
    random: Seed = entry("Seed of the random orientations.")


def _turn_branch(value: Any) -> str:
    if isinstance(value, Section):
        return value.branch
    if isinstance(value, dict):
        return RandomTurn.branch if "random" in value else ShapeTurn.branch
    return f"{BRANCH}word"


Orientation = Annotated[
    Annotated[Literal["random", "aligned"], Tag(f"{BRANCH}word")]
    | Annotated[ShapeTurn, Tag(ShapeTurn.branch)]
    | Annotated[RandomTurn, Tag(RandomTurn.branch)],
    Discriminator(_turn_branch),
]
