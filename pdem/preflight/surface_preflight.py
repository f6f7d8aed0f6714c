"""Checks before a run of walls with moving surfaces, such as belts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pdem.case.groups.particle_sources import smallest_radii
from pdem.case.moving_surfaces import stuck_text, surface_course, tangent_facets
from pdem.preflight.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pdem.case.sections.schema import CaseData
    from pdem.containers.meshes.mesh import Mesh
    from pdem.foundation.array_types import Floats

LARGEST_WAY = 0.1
"""Displacement of a surface per step in smallest radii, above which friction lags behind."""


def surface_findings(case: CaseData, present: Floats, meshes: Sequence[Mesh], step: float) -> Iterator[Finding]:
    """Report surfaces that do not move at all, or too far per step [s] for correct friction of the smallest particles.

    Parameters
    ----------
    case : CaseData
        The case.
    present : ndarray
        Radii of the particles at time 0 [m].
    meshes : sequence of Mesh
        Meshes of the walls.
    step : float
        Time step [s].
    """
    radius = min([float(present.min(initial=math.inf)), *smallest_radii(case).values()])
    for wall, mesh in zip(case.walls, meshes, strict=True):
        if wall.surface is None:
            continue
        course = surface_course(wall.surface, case.directory)
        moving = int(tangent_facets(course, mesh).sum())
        if not moving:
            yield Finding("error", f"wall {wall.name}", stuck_text(mesh))
            continue
        speed = course.largest_speed(mesh.vertices)
        text = f"its surface moves at up to {speed:.4g} m/s"
        if moving < mesh.facet_count:
            text += f", and rests on {mesh.facet_count - moving} of {mesh.facet_count} facets, at right angles to it"
        share = speed * step / radius
        if share > LARGEST_WAY:
            text += f": {100.0 * share:.3g} % of the smallest radius {radius:.4g} m in one step; friction comes late: "
            text += f"use a step of at most {LARGEST_WAY * radius / speed:.3g} s"
        yield Finding("warning" if share > LARGEST_WAY else "info", f"wall {wall.name}", text)
