"""Which features of a closed wall count for a sphere on one of its sides.

A closed wall bounds a solid on the far side from the sphere: of a thin plate the sphere touches one face. The energy
then counts the pieces of the solid, not of its surface, within reach. A ray from the centre cuts the solid
in pieces that begin where it enters; so the solid counts like the part of its surface that rays enter: facets that
face the centre, and edges and vertices seen from there through air. With such an m of 0 or 1 for each of them,
an edge weighs its own m, less the sum over facets that come nearer elsewhere; a vertex its own m, less the sum over
edges that come nearer elsewhere, plus that over facets both of whose edges at the vertex do.

All facets facing the centre this is the weight in the surface; none, it is 0. Only features between are worked out.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pdem.contact.intersection import edge_side, from_vertex, plane_height
from pdem.contact.signed_weights import edge_before, is_elsewhere, leaves_vertex
from pdem.foundation.kernels import inlined

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

IN_PLANE = 1e-9
"""A facet faces a centre that is behind its plane by less than this part of the radius: facets of one plane agree."""


@inlined
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


@inlined
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
    count: int,
) -> int:
    """Return on which side of a closed body a centre is, 1 or -1: that of its nearest feature.

    The normal of an edge is that of its two facets, of a vertex that of all of its facets, each weighted with
    its angle there: its sign is right however sharp the vertex is (Baerentzen and Aanaes, IEEE Trans. Vis. Comput.
    Graph. 11 (2005) 243), where the facet whose plane is farthest may be the wrong one.
    """
    near = -1
    for row in range(first, first + count):
        if facet_body[integer[row, 0]] == body and (near < 0 or real[row, 1] < real[near, 1]):
            near = row
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


@inlined
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


@inlined
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


@inlined
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


@inlined
def solid_weight(
    x: float,
    y: float,
    z: float,
    radius: float,
    side: int,
    weight: int,
    kind: int,
    feature: int,
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
    integer: NDArray[np.int64],
    first: int,
    count: int,
) -> int:
    """Return the weight in the solid of a feature of a closed body that has a `weight` in its surface.

    Parameters
    ----------
    x, y, z, radius : float
        The sphere [m].
    side : int
        On which side of the body it is.
    weight, kind, feature : int
        Weight in the surface, and what it is the weight of.
    vertices, ..., vertex_facet_ids
        As in `pdem.contact.hierarchy.resolve_h2`.
    facet_side : ndarray, shape (F,), int8
        How facets are turned.
    integer, first, count
        Rows of the touched facets.
    """
    if kind == 0:
        return faces(
            x, y, z, radius, side, feature, vertices, normals, facet_start, facet_vertices, facet_side
        )
    begin = edge_facet_start[feature] if kind == 1 else vertex_facet_start[feature]
    end = edge_facet_start[feature + 1] if kind == 1 else vertex_facet_start[feature + 1]
    facing = 0
    for member in range(begin, end):
        facet = edge_facet_ids[member] if kind == 1 else vertex_facet_ids[member]
        facing += faces(
            x, y, z, radius, side, facet, vertices, normals, facet_start, facet_vertices, facet_side
        )
    if facing == 0:
        return 0
    if facing == end - begin:
        return weight
    if kind == 1:
        mixed = edge_seen(
            x, y, z, radius, side, feature, vertices, normals, facet_start, facet_vertices, facet_side,
            edge_facet_start, edge_facet_ids,
        )  # fmt: skip
    else:
        mixed = vertex_seen(
            x, y, z, radius, side, feature, vertices, normals, facet_start, facet_vertices, facet_edges, edges,
            edge_facet_start, edge_facet_ids, vertex_facet_start, vertex_facet_ids, facet_side,
        )  # fmt: skip
    for member in range(begin, end):
        facet = edge_facet_ids[member] if kind == 1 else vertex_facet_ids[member]
        face = faces(x, y, z, radius, side, facet, vertices, normals, facet_start, facet_vertices, facet_side)
        if kind == 1:
            if is_elsewhere(facet, 1, feature, integer, first, count):
                mixed -= face
            continue
        place = facet_start[facet]
        while facet_vertices[place] != feature:
            place += 1
        leaving = 0
        for turn in range(2):
            at = place if turn == 0 else edge_before(place, facet_start[facet], facet_start[facet + 1])
            edge = facet_edges[at]
            if leaves_vertex(x, y, z, edge, feature, vertices, edges):
                leaving += 1
                if edge_facet_ids[edge_facet_start[edge]] == facet:
                    mixed -= edge_seen(
                        x, y, z, radius, side, edge, vertices, normals, facet_start, facet_vertices, facet_side,
                        edge_facet_start, edge_facet_ids,
                    )  # fmt: skip
        if leaving == 2:
            mixed += face
    return mixed
