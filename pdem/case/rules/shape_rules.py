"""Rules for shapes in a case file, and for their use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.case.messages import Problem, nearest_key_hint
from pdem.case.sections.shapes import MESH_ENDINGS, GivenMass, names_mesh
from pdem.foundation.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.case.sections.particles import ParticleGroup
    from pdem.case.sections.schema import CaseData
    from pdem.case.sections.shapes import Shape
    from pdem.features.insertions.section import Insertion

    Location = tuple[str | int, ...]


def shape_problems(case: CaseData) -> Iterator[Problem]:
    """Yield the problems of the sections of shapes that can be detected without opening files."""
    for name, shape in case.shapes.items():
        yield from _of_one(shape, ("shapes", name), case.domain.dimension)


def _of_one(shape: Shape, where: Location, dimension: int) -> Iterator[Problem]:
    if (shape.spheres is None) == (shape.file is None):
        found = "none of them" if shape.file is None else "both"
        yield Problem(where, f"needs exactly one of spheres and file, has {found}")
        return
    is_mesh = shape.file is not None and names_mesh(shape.file, shape.most_spheres)
    if is_mesh and shape.most_spheres is None:
        yield Problem((*where, "most_spheres"), "is missing; a mesh is filled with at most so many spheres")
    if not is_mesh and shape.most_spheres is not None:
        yield Problem((*where, "most_spheres"), f"fills a mesh ({', '.join(MESH_ENDINGS)}); leave it out")
    if dimension == 2 and shape.spheres is not None and any(one[2] != 0.0 for one in shape.spheres):
        yield Problem((*where, "spheres"), "must have z = 0 in a case of dimension 2, which lies in the x-y plane")
    elif shape.spheres is not None and isinstance(shape.mass_properties, GivenMass):
        yield from _of_mass(shape, where)


def _of_mass(shape: Shape, where: Location) -> Iterator[Problem]:
    """Yield the problem of mass properties that no body can have."""
    from pdem.case.groups.shape_making import made_shape  # needs compiled code, which most cases do without

    try:
        made_shape(shape, None, None)
    except InputError as error:
        yield Problem(where, str(error))


def shape_use_problems(case: CaseData, group: ParticleGroup | Insertion, where: Location) -> Iterator[Problem]:
    """Yield the problems of the shape of a group or an insertion."""
    if group.shape is None:
        if group.orientation != "random":
            yield Problem((*where, "orientation"), "has no use: spheres look the same from all sides; give a shape")
        return
    if group.shape not in case.shapes:
        names = list(case.shapes)
        hint = nearest_key_hint(group.shape, names) if names else "the case has no [shapes.NAME]"
        yield Problem((*where, "shape"), f"is no shape of the case; {hint}")
    if getattr(group, "file", None) is not None:
        yield Problem((*where, "file"), "holds spheres, each for itself; for clusters give fill or positions")
    axis = getattr(group.orientation, "axis", None)
    if axis == (0.0, 0.0, 0.0):
        yield Problem((*where, "orientation", "axis"), "has no direction; give one that is not 0")
    elif axis is not None and case.domain.dimension == 2 and any(axis[:2]):
        yield Problem((*where, "orientation", "axis"), "must be along z in a case of dimension 2")
