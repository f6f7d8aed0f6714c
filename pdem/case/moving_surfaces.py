"""Moving surfaces of walls, such as belts, from the sections of a case."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.case.messages import shown_key
from pdem.case.time_tables import read_table
from pdem.foundation import exact_math
from pdem.foundation.errors import CaseError
from pdem.motion.surfaces import SurfaceCourse, constant_course

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pdem.case.sections.schema import CaseData
    from pdem.case.sections.surfaces import Surface
    from pdem.containers.meshes.mesh import Mesh
    from pdem.foundation.array_types import Booleans

REST = (0.0, 0.0, 0.0)


def surface_course(surface: Surface, folder: Path) -> SurfaceCourse:
    """Return the motion of a surface.

    Raises
    ------
    CaseError
        If a file of a table cannot be used.
    """
    if surface.velocity is not None:
        return constant_course(surface.velocity, REST, REST)
    if surface.velocity_table is not None:
        table = surface.velocity_table
        times, rows = table.times or (), table.velocities or ()
        if table.file is not None:
            times, rows = read_table(folder / table.file, ("x", "y", "z"))  # type: ignore[assignment]
        velocities = np.array(rows)
        return SurfaceCourse(times, velocities, np.zeros_like(velocities), np.zeros(3))
    turning = surface.rotation or surface.rotation_table
    assert turning is not None
    axis = np.array(turning.axis) / exact_math.hypot(*turning.axis)
    if surface.rotation is not None:
        spin = surface.rotation.rate * axis
        return constant_course(REST, tuple(spin.tolist()), turning.centre)
    assert surface.rotation_table is not None
    times, rates = surface.rotation_table.times or (), surface.rotation_table.rates or ()
    if surface.rotation_table.file is not None:
        times, columns = read_table(folder / surface.rotation_table.file, ("rate",))
        rates = tuple(row[0] for row in columns)
    spins = np.array(rates)[:, None] * axis
    return SurfaceCourse(times, np.zeros_like(spins), spins, np.array(turning.centre))


def surface_courses(case: CaseData, meshes: Sequence[Mesh]) -> dict[int, SurfaceCourse]:
    """Return the motions of the surfaces of a case, by the number of the wall.

    Raises
    ------
    CaseError
        If a file of a table cannot be used, or a surface has no facet along which it can move.
    """
    courses = {}
    for number, (wall, mesh) in enumerate(zip(case.walls, meshes, strict=True)):
        if wall.surface is not None:
            courses[number] = surface_course(wall.surface, case.directory)
            if not tangent_facets(courses[number], mesh).any():
                key = shown_key(["walls", number, "surface"])
                raise CaseError(f"{case.source}: {key}: wall {wall.name}: {stuck_text(mesh)}")
    return courses


def stuck_text(mesh: Mesh) -> str:
    """Return the text on a surface that can move along no facet of its mesh."""
    facets = "its only facet" if mesh.facet_count == 1 else f"each of its {mesh.facet_count} facets"
    return (
        f"the velocity of its surface is at right angles to {facets}: nothing can move along them; "
        "give a direction in the surface, or move the wall itself (translation, rotation)"
    )


def tangent_facets(course: SurfaceCourse, mesh: Mesh) -> Booleans:
    """Return for each facet (F,) of a mesh whether the surface moves along it at any time."""
    sides = np.diff(mesh.facet_start)
    corners, middles = mesh.vertices[mesh.facet_vertices], np.zeros((mesh.facet_count, 3))
    np.add.at(middles, np.repeat(np.arange(mesh.facet_count), sides), corners)
    middles /= sides[:, None]
    return course.is_tangent(middles, mesh.facet_normals)
