"""Checks before a run for particles on both sides of a wall that is too thin to separate them.

Two particles that overlap a thin wall from opposite sides also overlap each other, by the sum of both overlaps minus
the thickness of the wall, and push each other through the wall.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.containers.meshes.mesh_splitting import triangle_fans
from pdem.particles.clearance import near_triangles, size_classes
from pdem.preflight.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pdem.case.model import Case
    from pdem.case.sections.walls import Wall
    from pdem.containers.meshes.mesh import Mesh
    from pdem.foundation.array_types import Booleans, Floats, Integers
    from pdem.preflight.population import Population

NEAR = 1.5
"""Distance from a wall in radii below which a particle may come into contact."""

THIN = 0.02
"""Thickness of a wall in smallest radii below which overlaps from both sides may exceed the thickness: twice an overlap
of one per cent."""

_ALIGNED = 0.9
"""Smallest cosine between the normals of two facets that form the two sides of a plate."""

_ROUNDING = 1e-9
"""Tolerance of the test whether a point is above a triangle, relative to the size of the triangle."""


def thin_wall_findings(case: Case, particles: Population, meshes: Sequence[Mesh]) -> Iterator[Finding]:
    """Warn of walls too thin for particles on both sides, and note moving sheets among particles. Collective."""
    if not particles.count and not case.insertions:
        return
    least = float(particles.radii.min(initial=np.inf))
    for wall, mesh in zip(case.walls, meshes, strict=True):
        near = near_sides(particles["position"], NEAR * particles["radius"], mesh)
        near = particles.over.largest(near.astype(np.int64)) > 0
        piece, closed = mesh.pieces
        is_sheet = ~closed[piece]
        between = np.flatnonzero(is_sheet & near.all(axis=1))
        thin = _thin_facets(mesh, near & ~is_sheet[:, None], THIN * least) if closed.any() else between
        subject = f"wall {wall.name}"
        if len(between):
            yield Finding("warning", subject, f"{_both_sides(between, 'a sheet without thickness')}; {_remedy(least)}")
        elif len(thin):
            yield Finding("warning", subject, f"{_both_sides(thin, 'a thin plate')}; {_remedy(least)}")
        elif is_sheet.any() and _moves(wall):
            text = "a sheet without thickness that moves: particles on both sides would push each other through it"
            yield Finding("info", subject, f"{text}; {_remedy(least)}")


def _both_sides(facets: Integers, what: str) -> str:
    return f"particles are on both sides of {what} (facet {facets[0]}), and push each other through it"


def _remedy(least: float) -> str:
    if not np.isfinite(least):
        return "give it a thickness of some hundredths of the smallest radius"
    return f"give it a thickness above {THIN * least:.2g} m, {100.0 * THIN:g} % of the smallest radius"


def _moves(wall: Wall) -> bool:
    return bool(wall.kinds() or wall.on or wall.servo is not None or wall.body is not None)


def near_sides(positions: Floats, reaches: Floats, mesh: Mesh) -> Booleans:
    """Return on which sides of each facet spheres are near, directly in front of or behind the facet.

    Parameters
    ----------
    positions, reaches : ndarray
        Centres (n, 3), and distance limit of each sphere from a facet (n,) [m].
    mesh : Mesh
        The wall.

    Returns
    -------
    ndarray of bool, shape (f, 2)
        For each facet: near on the side of its normal, and near on the opposite side.
    """
    triangles, owners = triangle_fans(mesh.facet_start, mesh.facet_vertices)
    corners, near = mesh.vertices[triangles], np.zeros((mesh.facet_count, 2), np.bool_)
    for members in size_classes(reaches):
        centres, most = positions[members], reaches[members]
        for sphere, triangle in near_triangles(centres, float(most.max()), corners):
            height, is_over = heights_over(centres[sphere], corners[triangle])
            seen = is_over & (np.abs(height) < most[sphere]) & (height != 0.0)
            near[owners[triangle[seen]], (height[seen] < 0.0).astype(np.int64)] = True
    return near


def heights_over(points: Floats, corners: Floats) -> tuple[Floats, Booleans]:
    """Return the height of each point (n, 3) above its triangle (n, 3, 3) [m], and whether it projects into it."""
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    length = np.linalg.norm(normal, axis=1)
    is_over = length > 0.0
    for start, end in ((0, 1), (1, 2), (2, 0)):
        along = corners[:, end] - corners[:, start]
        part = np.einsum("ij,ij->i", np.cross(along, points - corners[:, start]), normal)
        is_over &= part >= -_ROUNDING * length**2  # a point above the common edge of two triangles is above both
    heights = np.einsum("ij,ij->i", points - corners[:, 0], normal)
    return heights / np.where(length > 0.0, length, 1.0), is_over


def _thin_facets(mesh: Mesh, near: Booleans, thickness: float) -> Integers:
    """Return the facets of plates at most `thickness` [m] thick with particles on both sides."""
    triangles, owners = triangle_fans(mesh.facet_start, mesh.facet_vertices)
    corners = mesh.vertices[triangles]
    flagged = np.flatnonzero(near[owners].any(axis=1))
    found = [np.zeros(0, np.int64)]
    middles = corners[flagged].mean(axis=1)
    for one, other in near_triangles(middles, thickness, corners):
        facet, opposite = owners[flagged[one]], owners[other]
        height, is_over = heights_over(middles[one], corners[other])
        cosine = np.einsum("ij,ij->i", mesh.facet_normals[facet], mesh.facet_normals[opposite])
        # for each facet, the side that faces away from its opposite facet: 1 is the back side
        first, second = (height * cosine < 0.0).astype(np.int64), (height > 0.0).astype(np.int64)
        is_plate = is_over & (facet != opposite) & (np.abs(cosine) > _ALIGNED) & (np.abs(height) > 0.0)
        is_plate &= (np.abs(height) <= thickness) & near[facet, first] & near[opposite, second]
        found.append(facet[is_plate])
    return np.unique(np.concatenate(found))
