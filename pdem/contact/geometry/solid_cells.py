"""Counts of the features of a closed wall for a sphere on one of its sides.

A closed wall bounds a solid on the far side from the sphere: the sphere touches one face of a thin plate. The energy
then counts the pieces of the solid, not of its surface, within reach. A ray from the centre cuts the solid into pieces
that begin at its entry points; so the solid counts like the part of its surface that rays enter: facets that face the
centre, and edges and vertices that are visible from there through air. As in the surface, each feature counts once,
less the counts of the features that it bounds. If all facets face the centre this is the sum over the surface.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pdem.contact.geometry.scratch_columns import DISTANCE, FACET, FEATURE, KIND, ON_EDGE, ON_VERTEX
from pdem.contact.geometry.sphere_facet import edge_side, from_vertex, plane_height
from pdem.numerics.geometry_kernels import inlined_geometry
from pdem.numerics.portable.angles import angle_of

if TYPE_CHECKING:
    from pdem.contact.geometry.surface_arrays import Sphere, SurfaceArrays
    from pdem.foundation.array_types import Floats, Integers

IN_PLANE = 1e-9
"""A facet faces a centre that is behind its plane by less than this part of the radius: facets of one plane agree."""


@inlined_geometry
def edge_before(place: int, begin: int, end: int) -> int:
    """Return the index before `place` in the loop of a facet: its edge ends at the vertex of `place`."""
    return end - 1 if place == begin else place - 1


@inlined_geometry
def corner_angle(vertex: int, facet: int, surface: SurfaceArrays) -> float:
    """Return the angle [rad] of a facet at one of its vertices."""
    begin, end = surface.facet_start[facet], surface.facet_start[facet + 1]
    place = begin
    while surface.facet_vertices[place] != vertex:
        place += 1
    one = surface.facet_vertices[begin if place + 1 == end else place + 1]
    other = surface.facet_vertices[edge_before(place, begin, end)]
    ax, ay, az, _ = from_vertex(
        surface.vertices[one, 0], surface.vertices[one, 1], surface.vertices[one, 2], vertex, surface.vertices
    )
    bx, by, bz, _ = from_vertex(
        surface.vertices[other, 0], surface.vertices[other, 1], surface.vertices[other, 2], vertex, surface.vertices
    )
    cx, cy, cz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    return angle_of(math.sqrt(cx * cx + cy * cy + cz * cz), ax * bx + ay * by + az * bz)


@inlined_geometry
def side_of_body(
    x: float,
    y: float,
    z: float,
    body: int,
    surface: SurfaceArrays,
    real: Floats,
    integer: Integers,
    first: int,
    last: int,
) -> int:
    """Return on which side of a closed body a centre is, 1 or -1, by its nearest feature.

    0 if all of its touched facets face the centre: then the body counts like a surface.

    Notes
    -----
    The normal of an edge is the sum of the normals of its two facets, the normal of a vertex the sum over all of its
    facets, weighted with their angles at the vertex: the sign is right for vertices of any sharpness (Baerentzen and
    Aanaes, IEEE Trans. Vis. Comput. Graph. 11 (2005) 243); the facet with the farthest plane may give a wrong sign.
    """
    near = -1
    low, high = math.inf, -math.inf
    for row in range(first, last):
        facet = integer[row, FACET]
        if surface.facet_body[facet] == body:
            if near < 0 or real[row, DISTANCE] < real[near, DISTANCE]:
                near = row
            height = surface.facet_side[facet] * plane_height(x, y, z, facet, surface)
            low, high = min(low, height), max(high, height)
    if low > 0.0 or high < 0.0:
        return 0
    kind, feature = integer[near, KIND], integer[near, FEATURE]
    begin, end = 0, 1
    if kind == ON_EDGE:
        begin, end = surface.edge_facet_start[feature], surface.edge_facet_start[feature + 1]
    elif kind == ON_VERTEX:
        begin, end = surface.vertex_facet_start[feature], surface.vertex_facet_start[feature + 1]
    total = 0.0
    for member in range(begin, end):
        facet = feature
        share = 1.0
        if kind == ON_EDGE:
            facet = surface.edge_facet_ids[member]
        elif kind == ON_VERTEX:
            facet = surface.vertex_facet_ids[member]
            share = corner_angle(feature, facet, surface)
        height = plane_height(x, y, z, facet, surface)
        total += share * surface.facet_side[facet] * height
    return -1 if total < 0.0 else 1


@inlined_geometry
def faces(sphere: Sphere, side: int, facet: int, surface: SurfaceArrays) -> int:
    """Return 1 if a facet faces a centre on this side of its body, else 0."""
    x, y, z, radius = sphere
    height = plane_height(x, y, z, facet, surface)
    return 1 if side * surface.facet_side[facet] * height > -IN_PLANE * radius else 0


@inlined_geometry
def edge_seen(sphere: Sphere, side: int, edge: int, surface: SurfaceArrays) -> int:
    """Return 1 if an edge of two facets is visible through air: both face the centre, or one does at a convex edge."""
    one = surface.edge_facet_ids[surface.edge_facet_start[edge]]
    other = surface.edge_facet_ids[surface.edge_facet_start[edge] + 1]
    seen = faces(sphere, side, one, surface)
    also = faces(sphere, side, other, surface)
    if seen == also:
        return seen
    # convex if the middle of one facet is behind the other
    begin, end = surface.facet_start[other], surface.facet_start[other + 1]
    mx = my = mz = 0.0
    for place in range(begin, end):
        mx += surface.vertices[surface.facet_vertices[place], 0]
        my += surface.vertices[surface.facet_vertices[place], 1]
        mz += surface.vertices[surface.facet_vertices[place], 2]
    part = 1.0 / (end - begin)
    height = plane_height(mx * part, my * part, mz * part, one, surface)
    return 1 if side * surface.facet_side[one] * height < 0.0 else 0


@inlined_geometry
def vertex_seen(sphere: Sphere, side: int, vertex: int, surface: SurfaceArrays) -> int:
    """Return 1 if a vertex is visible through air, by its facet or edge that is nearest in direction."""
    x, y, z, _ = sphere
    dx, dy, dz, squared = from_vertex(x, y, z, vertex, surface.vertices)
    distance = math.sqrt(squared)
    best, seen = -2.0, 1
    for member in range(surface.vertex_facet_start[vertex], surface.vertex_facet_start[vertex + 1]):
        facet = surface.vertex_facet_ids[member]
        begin, end = surface.facet_start[facet], surface.facet_start[facet + 1]
        place = begin
        while surface.facet_vertices[place] != vertex:
            place += 1
        before = edge_before(place, begin, end)
        inside = True
        for turn in range(2):
            at = place if turn == 0 else before
            edge = surface.facet_edges[at]
            depth, length = edge_side(x, y, z, at, facet, surface)
            inside = inside and depth >= 0.0
            far = surface.edges[edge, 1] if surface.edges[edge, 0] == vertex else surface.edges[edge, 0]
            along = dx * (surface.vertices[far, 0] - surface.vertices[vertex, 0])
            along += dy * (surface.vertices[far, 1] - surface.vertices[vertex, 1])
            along += dz * (surface.vertices[far, 2] - surface.vertices[vertex, 2])
            cosine = along / (distance * math.sqrt(length))
            if cosine > best:
                best = cosine
                seen = edge_seen(sphere, side, edge, surface)
        if inside:
            height = plane_height(x, y, z, facet, surface) / distance
            cosine = math.sqrt(max(1.0 - height * height, 0.0))
            if cosine > best:
                best = cosine
                seen = faces(sphere, side, facet, surface)
    return seen


@inlined_geometry
def edge_coefficient(sphere: Sphere, side: int, edge: int, surface: SurfaceArrays) -> int:
    """Return how often an edge of a closed body counts: once if visible, less once for each facet that faces."""
    one = surface.edge_facet_ids[surface.edge_facet_start[edge]]
    other = surface.edge_facet_ids[surface.edge_facet_start[edge] + 1]
    seen = edge_seen(sphere, side, edge, surface)
    facing = faces(sphere, side, one, surface)
    facing += faces(sphere, side, other, surface)
    return seen - facing


@inlined_geometry
def vertex_coefficient(sphere: Sphere, side: int, vertex: int, whole: int, surface: SurfaceArrays) -> int:
    """Return how often a vertex of a closed body counts; `whole` if all of its facets face the centre.

    Once if visible, less once for each visible edge, plus once for each facet that faces.
    """
    begin, end = surface.vertex_facet_start[vertex], surface.vertex_facet_start[vertex + 1]
    facing = edges_seen = 0
    for member in range(begin, end):
        facet = surface.vertex_facet_ids[member]
        facing += faces(sphere, side, facet, surface)
    if facing == 0:
        return 0
    if facing == end - begin:
        return whole
    for member in range(begin, end):
        facet = surface.vertex_facet_ids[member]
        place = surface.facet_start[facet]
        while surface.facet_vertices[place] != vertex:
            place += 1
        for turn in range(2):
            at = place if turn == 0 else edge_before(place, surface.facet_start[facet], surface.facet_start[facet + 1])
            edge = surface.facet_edges[at]
            if surface.edge_facet_ids[surface.edge_facet_start[edge]] == facet:
                edges_seen += edge_seen(sphere, side, edge, surface)
    seen = vertex_seen(sphere, side, vertex, surface)
    return seen - edges_seen + facing
