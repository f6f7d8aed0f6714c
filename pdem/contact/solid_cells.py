"""Which features of a closed wall count for a sphere on one of its sides.

A closed wall bounds a solid on the far side from the sphere: of a thin plate the sphere touches one face. The energy
then counts the pieces of the solid, not of its surface, within reach. A ray from the centre cuts the solid
in pieces that begin where it enters; so the solid counts like the part of its surface that rays enter: facets that
face the centre, and edges and vertices seen from there through air. As in the surface, each counts once, less what
the others that it bounds count already. Where all facets face the centre this is the sum over the surface.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pdem.contact.intersection import edge_side, from_vertex, plane_height
from pdem.foundation.geometry_kernels import inlined_geometry

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

IN_PLANE = 1e-9
"""A facet faces a centre that is behind its plane by less than this part of the radius: facets of one plane agree."""


@inlined_geometry
def edge_before(place: int, begin: int, end: int) -> int:
    """Return the place before another one in a facet's loop: its edge ends at the vertex of `place`."""
    return end - 1 if place == begin else place - 1


@inlined_geometry
def corner_angle(
    vertex: int,
    facet: int,
    vertices: NDArray[np.float64],
    facet_start: NDArray[np.int64],
    facet_vertices: NDArray[np.int64],
) -> float:
    """Return the angle [rad] of a facet at one of its vertices."""
    begin, end = facet_start[facet], facet_start[facet + 1]
    place = begin
    while facet_vertices[place] != vertex:
        place += 1
    one = facet_vertices[begin if place + 1 == end else place + 1]
    other = facet_vertices[edge_before(place, begin, end)]
    ax, ay, az, _ = from_vertex(vertices[one, 0], vertices[one, 1], vertices[one, 2], vertex, vertices)
    bx, by, bz, _ = from_vertex(vertices[other, 0], vertices[other, 1], vertices[other, 2], vertex, vertices)
    cx, cy, cz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    return math.atan2(math.sqrt(cx * cx + cy * cy + cz * cz), ax * bx + ay * by + az * bz)


@inlined_geometry
def side_of_body(
    x: float,
    y: float,
    z: float,
    body: int,
    vertices: NDArray[np.float64],
    normals: NDArray[np.float64],
    facet_start: NDArray[np.int64],
    facet_vertices: NDArray[np.int64],
    edge_facet_start: NDArray[np.int64],
    edge_facet_ids: NDArray[np.int64],
    vertex_facet_start: NDArray[np.int64],
    vertex_facet_ids: NDArray[np.int64],
    facet_side: NDArray[np.int8],
    facet_body: NDArray[np.int64],
    real: NDArray[np.float64],
    integer: NDArray[np.int64],
    first: int,
    last: int,
) -> int:
    """Return on which side of a closed body a centre is, 1 or -1: that of its nearest feature.

    0 if all of its touched facets face the centre: that need not be told apart then from a surface.

    Notes
    -----
    The normal of an edge is that of its two facets, of a vertex that of all of its facets, each weighted with
    its angle there: its sign is right however sharp the vertex is (Baerentzen and Aanaes, IEEE Trans. Vis. Comput.
    Graph. 11 (2005) 243), where the facet whose plane is farthest may be the wrong one.
    """
    near = -1
    low, high = math.inf, -math.inf
    for row in range(first, last):
        facet = integer[row, 0]
        if facet_body[facet] == body:
            if near < 0 or real[row, 1] < real[near, 1]:
                near = row
            height = facet_side[facet] * plane_height(
                x, y, z, facet, vertices, normals, facet_start, facet_vertices
            )
            low, high = min(low, height), max(high, height)
    if low > 0.0 or high < 0.0:
        return 0
    kind, feature = integer[near, 1], integer[near, 2]
    begin, end = 0, 1
    if kind == 1:
        begin, end = edge_facet_start[feature], edge_facet_start[feature + 1]
    elif kind == 2:
        begin, end = vertex_facet_start[feature], vertex_facet_start[feature + 1]
    total = 0.0
    for member in range(begin, end):
        facet = feature
        share = 1.0
        if kind == 1:
            facet = edge_facet_ids[member]
        elif kind == 2:
            facet = vertex_facet_ids[member]
            share = corner_angle(feature, facet, vertices, facet_start, facet_vertices)
        height = plane_height(x, y, z, facet, vertices, normals, facet_start, facet_vertices)
        total += share * facet_side[facet] * height
    return -1 if total < 0.0 else 1


@inlined_geometry
def faces(
    x: float,
    y: float,
    z: float,
    radius: float,
    side: int,
    facet: int,
    vertices: NDArray[np.float64],
    normals: NDArray[np.float64],
    facet_start: NDArray[np.int64],
    facet_vertices: NDArray[np.int64],
    facet_side: NDArray[np.int8],
) -> int:
    """Return 1 if a facet faces a centre on this side of its body, else 0."""
    height = plane_height(x, y, z, facet, vertices, normals, facet_start, facet_vertices)
    return 1 if side * facet_side[facet] * height > -IN_PLANE * radius else 0


@inlined_geometry
def edge_seen(
    x: float,
    y: float,
    z: float,
    radius: float,
    side: int,
    edge: int,
    vertices: NDArray[np.float64],
    normals: NDArray[np.float64],
    facet_start: NDArray[np.int64],
    facet_vertices: NDArray[np.int64],
    facet_side: NDArray[np.int8],
    edge_facet_start: NDArray[np.int64],
    edge_facet_ids: NDArray[np.int64],
) -> int:
    """Return 1 if an edge of two facets is seen through air: both face the centre, or one on a convex edge."""
    one = edge_facet_ids[edge_facet_start[edge]]
    other = edge_facet_ids[edge_facet_start[edge] + 1]
    seen = faces(x, y, z, radius, side, one, vertices, normals, facet_start, facet_vertices, facet_side)
    also = faces(x, y, z, radius, side, other, vertices, normals, facet_start, facet_vertices, facet_side)
    if seen == also:
        return seen
    # convex if the middle of one facet is behind the other
    begin, end = facet_start[other], facet_start[other + 1]
    mx = my = mz = 0.0
    for place in range(begin, end):
        mx += vertices[facet_vertices[place], 0]
        my += vertices[facet_vertices[place], 1]
        mz += vertices[facet_vertices[place], 2]
    part = 1.0 / (end - begin)
    height = plane_height(
        mx * part, my * part, mz * part, one, vertices, normals, facet_start, facet_vertices
    )
    return 1 if side * facet_side[one] * height < 0.0 else 0


@inlined_geometry
def vertex_seen(
    x: float,
    y: float,
    z: float,
    radius: float,
    side: int,
    vertex: int,
    vertices: NDArray[np.float64],
    normals: NDArray[np.float64],
    facet_start: NDArray[np.int64],
    facet_vertices: NDArray[np.int64],
    facet_edges: NDArray[np.int64],
    edges: NDArray[np.int64],
    edge_facet_start: NDArray[np.int64],
    edge_facet_ids: NDArray[np.int64],
    vertex_facet_start: NDArray[np.int64],
    vertex_facet_ids: NDArray[np.int64],
    facet_side: NDArray[np.int8],
) -> int:
    """Return 1 if a vertex is seen through air: what of its facets and edges is nearest in direction tells."""
    dx, dy, dz, squared = from_vertex(x, y, z, vertex, vertices)
    distance = math.sqrt(squared)
    best, seen = -2.0, 1
    for member in range(vertex_facet_start[vertex], vertex_facet_start[vertex + 1]):
        facet = vertex_facet_ids[member]
        begin, end = facet_start[facet], facet_start[facet + 1]
        place = begin
        while facet_vertices[place] != vertex:
            place += 1
        before = edge_before(place, begin, end)
        inside = True
        for turn in range(2):
            at = place if turn == 0 else before
            edge = facet_edges[at]
            depth, length = edge_side(
                x, y, z, at, facet, vertices, normals, facet_vertices, facet_edges, edges
            )
            inside = inside and depth >= 0.0
            far = edges[edge, 1] if edges[edge, 0] == vertex else edges[edge, 0]
            along = dx * (vertices[far, 0] - vertices[vertex, 0])
            along += dy * (vertices[far, 1] - vertices[vertex, 1])
            along += dz * (vertices[far, 2] - vertices[vertex, 2])
            cosine = along / (distance * math.sqrt(length))
            if cosine > best:
                best = cosine
                seen = edge_seen(
                    x, y, z, radius, side, edge, vertices, normals, facet_start, facet_vertices, facet_side,
                    edge_facet_start, edge_facet_ids,
                )  # fmt: skip
        if inside:
            height = plane_height(x, y, z, facet, vertices, normals, facet_start, facet_vertices) / distance
            cosine = math.sqrt(max(1.0 - height * height, 0.0))
            if cosine > best:
                best = cosine
                seen = faces(
                    x, y, z, radius, side, facet, vertices, normals, facet_start, facet_vertices, facet_side
                )
    return seen


@inlined_geometry
def edge_coefficient(
    x: float,
    y: float,
    z: float,
    radius: float,
    side: int,
    edge: int,
    vertices: NDArray[np.float64],
    normals: NDArray[np.float64],
    facet_start: NDArray[np.int64],
    facet_vertices: NDArray[np.int64],
    facet_side: NDArray[np.int8],
    edge_facet_start: NDArray[np.int64],
    edge_facet_ids: NDArray[np.int64],
) -> int:
    """Return how often an edge of a closed body counts: once if seen, less once for each facet that faces."""
    one = edge_facet_ids[edge_facet_start[edge]]
    other = edge_facet_ids[edge_facet_start[edge] + 1]
    seen = edge_seen(
        x, y, z, radius, side, edge, vertices, normals, facet_start, facet_vertices, facet_side,
        edge_facet_start, edge_facet_ids,
    )  # fmt: skip
    facing = faces(x, y, z, radius, side, one, vertices, normals, facet_start, facet_vertices, facet_side)
    facing += faces(x, y, z, radius, side, other, vertices, normals, facet_start, facet_vertices, facet_side)
    return seen - facing


@inlined_geometry
def vertex_coefficient(
    x: float,
    y: float,
    z: float,
    radius: float,
    side: int,
    vertex: int,
    whole: int,
    vertices: NDArray[np.float64],
    normals: NDArray[np.float64],
    facet_start: NDArray[np.int64],
    facet_vertices: NDArray[np.int64],
    facet_edges: NDArray[np.int64],
    edges: NDArray[np.int64],
    edge_facet_start: NDArray[np.int64],
    edge_facet_ids: NDArray[np.int64],
    vertex_facet_start: NDArray[np.int64],
    vertex_facet_ids: NDArray[np.int64],
    facet_side: NDArray[np.int8],
) -> int:
    """Return how often a vertex of a closed body counts; `whole` if all of its facets face the centre.

    Once if seen, less once for each edge seen, plus once for each facet that faces.
    """
    begin, end = vertex_facet_start[vertex], vertex_facet_start[vertex + 1]
    facing = edges_seen = 0
    for member in range(begin, end):
        facet = vertex_facet_ids[member]
        facing += faces(
            x, y, z, radius, side, facet, vertices, normals, facet_start, facet_vertices, facet_side
        )
    if facing == 0:
        return 0
    if facing == end - begin:
        return whole
    for member in range(begin, end):
        facet = vertex_facet_ids[member]
        place = facet_start[facet]
        while facet_vertices[place] != vertex:
            place += 1
        for turn in range(2):
            at = place if turn == 0 else edge_before(place, facet_start[facet], facet_start[facet + 1])
            edge = facet_edges[at]
            if edge_facet_ids[edge_facet_start[edge]] == facet:
                edges_seen += edge_seen(
                    x, y, z, radius, side, edge, vertices, normals, facet_start, facet_vertices, facet_side,
                    edge_facet_start, edge_facet_ids,
                )  # fmt: skip
    seen = vertex_seen(
        x, y, z, radius, side, vertex, vertices, normals, facet_start, facet_vertices, facet_edges, edges,
        edge_facet_start, edge_facet_ids, vertex_facet_start, vertex_facet_ids, facet_side,
    )  # fmt: skip
    return seen - edges_seen + facing
