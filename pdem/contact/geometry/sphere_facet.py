"""Intersection of a sphere with one planar convex facet: the fast intersection test and the nearest feature.

Facets, edges and vertices are numbered as in `pdem.containers.meshes.mesh.Mesh`. Every edge is evaluated from
its lower to its higher vertex for both of its facets, so that neighbours compute the same bits.
H2: Santasusana et al., Comp. Part. Mech. (2016), doi 10.1007/s40571-016-0109-4.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pdem.contact.geometry.scratch_columns import ON_EDGE, ON_FACET, ON_VERTEX
from pdem.contact.geometry.surface_arrays import Sphere
from pdem.numerics.geometry_kernels import inlined_geometry

if TYPE_CHECKING:
    from pdem.contact.geometry.surface_arrays import SurfaceArrays
    from pdem.foundation.array_types import Floats, Integers

NEAR_TIE = 1e-10
"""Two edges with a smaller relative difference of squared distances are compared from their common vertex."""


@inlined_geometry
def plane_height(x: float, y: float, z: float, facet: int, surface: SurfaceArrays) -> float:
    """Return the distance [m] of a point from a facet's plane (H2 eq. 16), positive along its normal."""
    vertices, normals = surface.vertices, surface.normals
    base = surface.facet_vertices[surface.facet_start[facet]]
    return (
        (x - vertices[base, 0]) * normals[facet, 0]
        + (y - vertices[base, 1]) * normals[facet, 1]
        + (z - vertices[base, 2]) * normals[facet, 2]
    )


@inlined_geometry
def edge_side(x: float, y: float, z: float, place: int, facet: int, surface: SurfaceArrays) -> tuple[float, float]:
    """Return on which side of one edge of a facet a point is (H2 eqs. 18-19).

    Returns
    -------
    side : float
        Distance [m] of the point's projection inwards from the edge's line, times the edge's length.
        The point itself may replace its projection: the difference is along the normal.
    length_squared : float
        Squared length [m2] of the edge.
    """
    vertices, normals, edges = surface.vertices, surface.normals, surface.edges
    edge = surface.facet_edges[place]
    low = edges[edge, 0]
    high = edges[edge, 1]
    ex = vertices[high, 0] - vertices[low, 0]
    ey = vertices[high, 1] - vertices[low, 1]
    ez = vertices[high, 2] - vertices[low, 2]
    wx = x - vertices[low, 0]
    wy = y - vertices[low, 1]
    wz = z - vertices[low, 2]
    side = (
        (ey * wz - ez * wy) * normals[facet, 0]
        + (ez * wx - ex * wz) * normals[facet, 1]
        + (ex * wy - ey * wx) * normals[facet, 2]
    )
    if surface.facet_vertices[place] != low:
        side = -side
    return side, ex * ex + ey * ey + ez * ez


@inlined_geometry
def from_vertex(x: float, y: float, z: float, vertex: int, vertices: Floats) -> tuple[float, float, float, float]:
    """Return the vector from a vertex to a point and its squared length (H2 eq. 25)."""
    rx = x - vertices[vertex, 0]
    ry = y - vertices[vertex, 1]
    rz = z - vertices[vertex, 2]
    return rx, ry, rz, rx * rx + ry * ry + rz * rz


@inlined_geometry
def from_edge(
    x: float, y: float, z: float, edge: int, vertices: Floats, edges: Integers
) -> tuple[bool, float, float, float, float]:
    """Return the vector from the nearest point of an edge's inside to a point (H2 eqs. 20-24).

    Returns
    -------
    within : bool
        Whether the nearest point of the edge's line is strictly between its vertices; if not, the
        nearest point of the edge is a vertex and the remaining values are meaningless.
    rx, ry, rz : float
        Vector from the nearest point to the point [m].
    squared : float
        Squared distance [m2].
    """
    low = edges[edge, 0]
    high = edges[edge, 1]
    ex = vertices[high, 0] - vertices[low, 0]
    ey = vertices[high, 1] - vertices[low, 1]
    ez = vertices[high, 2] - vertices[low, 2]
    wx = x - vertices[low, 0]
    wy = y - vertices[low, 1]
    wz = z - vertices[low, 2]
    along = wx * ex + wy * ey + wz * ez
    length = ex * ex + ey * ey + ez * ez
    if along > 0.5 * length:  # from the nearer vertex, or long edges lose digits
        wx = x - vertices[high, 0]
        wy = y - vertices[high, 1]
        wz = z - vertices[high, 2]
        along = wx * ex + wy * ey + wz * ez
        within = along < 0.0
    else:
        within = along > 0.0
    part = along / length
    rx = wx - part * ex
    ry = wy - part * ey
    rz = wz - part * ez
    return within, rx, ry, rz, rx * rx + ry * ry + rz * rz


@inlined_geometry
def sphere_touches_facet(sphere: Sphere, facet: int, surface: SurfaceArrays) -> bool:
    """Return whether a facet is within `radius` of a point: the fast intersection test (H2 sect. 4)."""
    radius = sphere.radius
    kind, _, _, _, _, squared = nearest_within(sphere, facet, surface)
    return kind >= 0 and squared <= radius * radius


@inlined_geometry
def nearest_feature(
    x: float, y: float, z: float, facet: int, surface: SurfaceArrays
) -> tuple[int, int, float, float, float, float]:
    """Find the feature of a facet that is nearest to a point at any distance; returns as `nearest_within`."""
    return nearest_within(Sphere(x, y, z, math.inf), facet, surface)


@inlined_geometry
def nearest_within(sphere: Sphere, facet: int, surface: SurfaceArrays) -> tuple[int, int, float, float, float, float]:
    """Dismiss a facet that is out of reach, or find its nearest feature (H2 sect. 4 and 5.1 in one pass).

    Plane first, then inside or outside, then edges and vertices. A sphere is dismissed early if its projection is
    beyond the line of an edge by more than the radius of its section with the plane: the whole convex facet is on the
    far side of this line.

    Parameters
    ----------
    sphere : Sphere
        The sphere.
    facet : int
        The facet.
    surface : SurfaceArrays
        The walls.

    Returns
    -------
    kind, feature : int
        `ON_FACET`, `ON_EDGE` or `ON_VERTEX` and its number; kind -1 if the facet is dismissed. A facet that is not
        dismissed may still be slightly farther than the radius: compare `squared`.
    rx, ry, rz : float
        Vector [m] from the nearest point to the centre; zeros if the facet is dismissed.
    squared : float
        Its squared length [m2]; for a dismissed facet the square of a lower bound of the distance.

    Notes
    -----
    Edges that have their nearest point between their vertices, and vertices at which no such edge of the
    facet ends, compete by numbers that their neighbouring facets compute as well. The nearest of all features of a
    surface is therefore nominated by each of its facets (unless the point projects into that facet), so that a touched
    surface yields a contact.
    """
    x, y, z, radius = sphere
    height = plane_height(x, y, z, facet, surface)
    section = radius * radius - height * height
    if section < 0.0:
        return -1, facet, 0.0, 0.0, 0.0, height * height
    inside = True
    for place in range(surface.facet_start[facet], surface.facet_start[facet + 1]):
        side, length = edge_side(x, y, z, place, facet, surface)
        if side < 0.0:
            inside = False
            if side * side > section * length:
                return -1, facet, 0.0, 0.0, 0.0, height * height + side * side / length
    if inside:
        nx, ny, nz = surface.normals[facet, 0], surface.normals[facet, 1], surface.normals[facet, 2]
        return ON_FACET, facet, height * nx, height * ny, height * nz, height * height
    return nearest_on_outline(x, y, z, facet, surface)


@inlined_geometry
def nearest_on_outline(
    x: float, y: float, z: float, facet: int, surface: SurfaceArrays
) -> tuple[int, int, float, float, float, float]:
    """Find the edge or vertex of a facet that is nearest to a point; returns as `nearest_within`."""
    vertices, edges = surface.vertices, surface.edges
    facet_vertices, facet_edges = surface.facet_vertices, surface.facet_edges
    begin, end = surface.facet_start[facet], surface.facet_start[facet + 1]
    kind, feature = -1, facet_edges[begin]
    bx, by, bz, best = 0.0, 0.0, 0.0, 0.0
    before, _, _, _, _ = from_edge(x, y, z, facet_edges[end - 1], vertices, edges)
    for place in range(begin, end):
        edge = facet_edges[place]
        within, rx, ry, rz, squared = from_edge(x, y, z, edge, vertices, edges)
        if within:
            if kind == ON_EDGE:
                nearer = edge_nearer(x, y, z, edge, squared, feature, best, surface)
            else:
                nearer = kind == -1 or squared <= best
            if nearer:
                kind, feature, best = ON_EDGE, edge, squared
                bx, by, bz = rx, ry, rz
        elif not before:
            vertex = facet_vertices[place]
            rx, ry, rz, squared = from_vertex(x, y, z, vertex, vertices)
            if kind == -1 or squared < best or (squared == best and kind == ON_VERTEX and vertex < feature):
                kind, feature, best = ON_VERTEX, vertex, squared
                bx, by, bz = rx, ry, rz
        before = within
    return kind, feature, bx, by, bz, best


@inlined_geometry
def edge_nearer(
    x: float, y: float, z: float, one: int, squared_one: float, other: int, squared_other: float, surface: SurfaceArrays
) -> bool:
    """Return whether the first of two edges is nearer to a point, also close to a common vertex.

    Close to the vertex the squared distances agree in all digits. The difference between the squared distance of the
    vertex and of each edge, which is the square of the projection on the edge, decides.
    """
    edges = surface.edges
    if abs(squared_one - squared_other) <= NEAR_TIE * max(squared_one, squared_other):
        for end in range(2):
            vertex = edges[one, end]
            if vertex == edges[other, 0] or vertex == edges[other, 1]:
                gain_one = _gain(x, y, z, one, vertex, surface)
                gain_other = _gain(x, y, z, other, vertex, surface)
                if gain_one != gain_other:
                    return gain_one > gain_other
    if squared_one != squared_other:
        return squared_one < squared_other
    return one < other


@inlined_geometry
def _gain(x: float, y: float, z: float, edge: int, vertex: int, surface: SurfaceArrays) -> float:
    """Return the squared distance of a vertex of an edge less the squared distance of the edge."""
    vertices, edges = surface.vertices, surface.edges
    low, high = edges[edge, 0], edges[edge, 1]
    ex = vertices[high, 0] - vertices[low, 0]
    ey = vertices[high, 1] - vertices[low, 1]
    ez = vertices[high, 2] - vertices[low, 2]
    along = (x - vertices[vertex, 0]) * ex + (y - vertices[vertex, 1]) * ey + (z - vertices[vertex, 2]) * ez
    return along * along / (ex * ex + ey * ey + ez * ez)
