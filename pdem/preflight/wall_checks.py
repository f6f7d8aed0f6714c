"""Checks of the walls of a case before a run: meshes, units, and particles on the wrong side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from pdem.case.rules.checks import AXES
from pdem.case.sections.walls import MeshWall
from pdem.containers.meshes.closed_surfaces import inside_closed_pieces
from pdem.containers.meshes.mesh_report import SLIVER_ANGLE
from pdem.containers.meshes.rounding import DULL, NEARER
from pdem.containers.meshes.surface import surface_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pdem.case.model import Case
    from pdem.case.sections.general import Domain
    from pdem.case.sections.walls import Wall
    from pdem.containers.meshes.mesh import Mesh
    from pdem.containers.meshes.mesh_report import MeshReport
    from pdem.foundation.array_types import Floats
    from pdem.preflight.population import Population

    LevelAndText = tuple[Literal["error", "warning", "info"], str]
    Ends = tuple[float, float]

FACETS_PER_RADIUS = 10.0
"""Ratio of radius to facet size above which a sphere touches many facets, and walls become expensive."""

UNIT_RATIO = 200.0
"""Ratio of sizes above which mesh and particles are probably in different units (mm and m: 1000)."""


SPAN = 0.9
"""Extent of a wall in periods above which the wall is assumed to continue across the periodic sides."""

_SLACK = 1e-3
"""Tolerance in radii for rounding, for instance in mesh files of single precision."""


def mesh_findings(
    case: Case, mesh: Mesh, largest_radius: float, *, intersections: bool = True, made: bool = False
) -> Iterator[LevelAndText]:
    """Yield the findings on the mesh of one wall, independent of particle positions, as (level, message).

    Parameters
    ----------
    case : Case
        The case.
    mesh : Mesh
        Mesh of the wall.
    largest_radius : float
        Largest radius of all particles [m], 0 without particles.
    intersections : bool
        Whether to search for intersecting facets.
    made : bool
        Whether pdem generated the mesh.
    """
    report = mesh.report(intersections=intersections)
    for line in report.lines()[:3]:
        yield "info", line
    if report.groups and report.group is None and len(report.groups) > 1:
        names = ", ".join(report.groups[:20])
        yield "info", f"its file tells apart {len(report.groups)} groups ({names}); group = ... takes one"
    if report.normals_outward is not None:
        side = "out of" if report.normals_outward else "into"
        yield "info", f"closed and consistent, normals point {side} the volume"
    for text in mesh_warnings(report, made=made):
        yield "warning", text
    lower, upper = np.asarray(report.lower), np.asarray(report.upper)
    if np.any(upper < case.domain.lower) or np.any(lower > case.domain.upper):
        yield "warning", "it lies wholly outside the domain; check the unit (scale)"
    if largest_radius > 0.0:
        yield _facet_size(report.smallest_facet, largest_radius, report.largest_facet)
        for text in periodic_wall_warnings(case.domain, lower, upper, largest_radius):
            yield "warning", text


def mesh_warnings(report: MeshReport, *, made: bool = False) -> Iterator[str]:
    """Yield warnings of defects of a mesh, with numbers, first facets and remedies.

    In a mesh that pdem has generated (`made`), more than two facets meet only where a sheet joins a shaft, as intended.
    """
    for kind, count in report.passed_over:
        yield f"{count} {kind} cells of the file are no surface and were left out"
    yield from report.notes
    if report.rounding > DULL * report.typical_edge:
        yield (
            f"coordinates have {report.rounded_by}, which may round them by up to {report.rounding:.2g} m, and facets "
            f"have edges of {report.typical_edge:.2g} m; {NEARER}"
        )
    if report.split_facets:
        yield f"{report.split_facets} facets were not planar or not convex and have been cut into triangles"
    if report.dropped_facets:
        yield (
            f"{report.dropped_facets} facets have fewer than three distinct corners or no area (first: facet "
            f"{report.first['dropped_facets'][0]} of the file) and were left out; those that follow move up in number. "
            "They close nothing, but check the export"
        )
    if report.non_manifold_edges and not made:
        facets = _listed(report.first["non_manifold_edges"])
        yield (
            f"{report.non_manifold_edges} edges have more than two facets (first: facets {facets}); "
            "check that they should"
        )
    if report.inconsistent_edges:
        facets = _listed(report.first["inconsistent_edges"])
        yield (
            f"normals disagree across {report.inconsistent_edges} edges (first: facets {facets}): forces do not "
            "depend on them, but turn facets over for pictures and volumes"
        )
    if report.duplicated_facets:
        facets = _listed(report.first["duplicated_facets"])
        yield (
            f"{report.duplicated_facets} facets repeat others (first: facets {facets}); they count "
            "once, but remove them"
        )
    if report.hanging_nodes:
        yield (
            f"{report.hanging_nodes} vertices hang within the edge of another facet (first: vertex "
            f'{report.first["hanging_nodes"][0]}); walls = "signed" joins them, for "h2" remesh'
        )
    if report.self_intersections:
        least = "" if report.all_intersections else "at least "
        facets = _listed(report.first["self_intersections"])
        yield (
            f"{least}{report.self_intersections} pairs of facets cut each other (first: facets {facets}): spheres "
            "there touch both, as of two walls, which is right for lifters on a drum; where one surface should end at "
            "the other, cut them along each other"
        )
    if report.slivers:
        yield (
            f"the smallest angle is {report.smallest_angle:.2g} degrees; {report.slivers} facets are below "
            f"{SLIVER_ANGLE:g} (first: facet {report.first['slivers'][0]}): remesh"
        )


def _listed(facets: Sequence[int]) -> str:
    return " and ".join(map(str, facets[:4])) + (" ..." if len(facets) > 4 else "")


def _facet_size(smallest: float, radius: float, largest: float) -> LevelAndText:
    ratio = radius / smallest
    text = f"the largest radius is {ratio:.3g} of the smallest and {radius / largest:.3g} of the largest facet"
    if ratio > FACETS_PER_RADIUS:
        return "warning", f"{text}; above {FACETS_PER_RADIUS:g} walls become slow: coarsen the mesh"
    return "info", text


def side_warnings(particles: Population, mesh: Mesh) -> Iterator[str]:
    """Report particles that are not on the same side of a closed surface as most particles. Collective."""
    whole = surface_of(mesh).mesh if mesh.origin.dropped_facets else mesh  # joining hanging nodes may close it
    total = particles.count
    for facet, inside in inside_closed_pieces(particles["position"], whole).items():
        number = particles.marked(inside)[0]
        if number in (0, total):
            continue
        few_inside = 2 * number <= total
        odd, first = particles.marked(inside if few_inside else ~inside)
        assert first is not None
        x, y, z = first.values["position"]
        here, there = ("inside", "outside") if few_inside else ("outside", "inside")
        yield (
            f"the centres of {odd} of {total} particles are {here} its closed surface (that of facet "
            f"{facet}), the first is particle {first.number} at ({x:.4g}, {y:.4g}, {z:.4g}) m, all others "
            f"{there}: they cannot come back through it; move them, or check the unit (scale)"
        )


def wall_unit_warnings(case: Case, meshes: Sequence[Mesh], particles: Population) -> Iterator[tuple[str, str]]:
    """Yield (name of a wall, text) if mesh and particles are probably in different units."""
    if not len(meshes) or not particles.count:
        return
    least, most = float(particles.radii[0]), float(particles.radii[-1])
    bed = float(np.linalg.norm(particles.upper - particles.lower))
    boxes = [(mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)) for mesh in meshes]
    whole = float(np.linalg.norm(np.max([b[1] for b in boxes], axis=0) - np.min([b[0] for b in boxes], axis=0)))
    too_small = UNIT_RATIO * whole < bed
    for wall, (lower, upper) in zip(case.walls, boxes, strict=True):
        size = float(np.linalg.norm(upper - lower))
        text = f"it is {size:.3g} m large, the particles together {bed:.3g} m, radii {least:.3g} to {most:.3g} m; "
        if size < least or too_small:
            yield f"wall {wall.name}", f"{text}check the unit{_unit(wall, 1000.0, 'm')}"
        elif whole > UNIT_RATIO * bed and 10.0 * size > whole:
            yield f"wall {wall.name}", f"{text}check the unit{_unit(wall, 0.001, 'mm')}"


def _unit(wall: Wall, factor: float, unit: str) -> str:
    """Return a hint on the scale of a wall with a file in a wrong unit."""
    if not isinstance(wall, MeshWall):
        return " of its measures, or of the particles"
    return f": if {wall.mesh} is in {unit}, scale = {wall.scale * factor:g} (a key of [[walls]])"


def periodic_wall_warnings(domain: Domain, lower: Floats, upper: Floats, radius: float) -> Iterator[str]:
    """Yield warnings of missing parts of a wall, because walls are not repeated across periodic sides.

    A wall that spans the box must extend beyond both sides by the largest radius; any other wall must keep at least
    this distance from the sides.

    Parameters
    ----------
    domain : Domain
        The box and its periodic axes.
    lower, upper : ndarray
        Corners of the wall's bounding box, shape (3,), in m.
    radius : float
        Largest radius of all particles, in m.
    """
    for axis in np.flatnonzero(domain.periodic):
        sides, ends = (domain.lower[axis], domain.upper[axis]), (float(lower[axis]), float(upper[axis]))
        spans = ends[1] - ends[0] > SPAN * (sides[1] - sides[0])
        text = (_short_of_sides if spans else _near_sides)(sides, ends, radius)
        if text:
            extent = f"walls are not repeated along the periodic axis {AXES[axis]}, and this one reaches from"
            yield f"{extent} {ends[0]:g} to {ends[1]:g} m, {text}"


def _short_of_sides(sides: Ends, ends: Ends, radius: float) -> str:
    least = (sides[0] - radius, sides[1] + radius)
    if ends[0] <= least[0] + _SLACK * radius and ends[1] >= least[1] - _SLACK * radius:
        return ""
    text = f"not beyond both sides ({sides[0]:g} and {sides[1]:g} m) by the largest radius {radius:g} m"
    return f"{text}: extend it to at least {least[0]:.10g} and {least[1]:.10g} m"


def _near_sides(sides: Ends, ends: Ends, radius: float) -> str:
    reach = radius * (1.0 - _SLACK)
    near = [f"{side:g}" for side in sides if ends[0] < side + reach and ends[1] > side - reach]
    if not near:
        return ""
    text = f"across the side at {' and '.join(near)} m or closer to it than the largest radius {radius:g} m"
    return f"{text}: move it away, or repeat it {sides[1] - sides[0]:g} m further in the same mesh"
