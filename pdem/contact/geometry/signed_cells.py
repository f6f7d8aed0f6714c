"""How often each facet, edge and vertex near a sphere counts in the signed contact sum.

Every facet, edge and vertex within reach, each with a whole number, is counted at the feature that has its nearest
point: a facet at itself, or at one of its edges or vertices; an edge at itself or at an end. What these counts
add up to at a feature is how often it pushes. All are integers from the same comparisons of the same bits, and every
cell of the mesh within reach counts once: whichever of two features that coincide to rounding gets it, the sum over
both is right.

Counts are kept by rows of touched facets, which are sorted, and slots: 0 for the facet, then its edges, then its
vertices, in the order of its loop. An edge or vertex belongs to the first of its facets, which is touched if it is
within reach.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pdem.contact.geometry.facet_rows import row_of
from pdem.contact.geometry.scratch_columns import (
    DISTANCE,
    FACET,
    FEATURE,
    KIND,
    ON_EDGE,
    ON_FACET,
    ON_VERTEX,
    RX,
    RY,
    RZ,
    SIDE,
)
from pdem.contact.geometry.solid_cells import edge_coefficient, faces, vertex_coefficient
from pdem.contact.geometry.sphere_facet import from_edge, from_vertex
from pdem.numerics.geometry_kernels import inlined_geometry

if TYPE_CHECKING:
    from pdem.contact.geometry.surface_arrays import Sphere, SurfaceArrays
    from pdem.foundation.array_types import Floats, Int32s, Integers


@inlined_geometry
def nearest_end(x: float, y: float, z: float, edge: int, surface: SurfaceArrays) -> int:
    """Return the vertex of an edge that is nearer to a point beyond its ends."""
    low, high = surface.edges[edge, 0], surface.edges[edge, 1]
    ex = surface.vertices[high, 0] - surface.vertices[low, 0]
    ey = surface.vertices[high, 1] - surface.vertices[low, 1]
    ez = surface.vertices[high, 2] - surface.vertices[low, 2]
    along = (
        (x - surface.vertices[low, 0]) * ex + (y - surface.vertices[low, 1]) * ey + (z - surface.vertices[low, 2]) * ez
    )
    return high if along > 0.5 * (ex * ex + ey * ey + ez * ez) else low


@inlined_geometry
def count_feature(
    count: int,
    kind: int,
    feature: int,
    row: int,
    surface: SurfaceArrays,
    integer: Integers,
    tally: Int32s,
    first: int,
    last: int,
) -> None:
    """Add to the count of a facet, edge or vertex, seen from the facet of a row."""
    if kind == ON_FACET:
        tally[row, 0] += count
        return
    owner = (
        surface.edge_facet_ids[surface.edge_facet_start[feature]]
        if kind == ON_EDGE
        else surface.vertex_facet_ids[surface.vertex_facet_start[feature]]
    )
    at = row if integer[row, FACET] == owner else row_of(owner, integer, first, last - first)
    if at < 0:  # out of reach by rounding: its force is nothing
        return
    begin, end = surface.facet_start[owner], surface.facet_start[owner + 1]
    place = begin
    if kind == ON_EDGE:
        while surface.facet_edges[place] != feature:
            place += 1
        tally[at, 1 + place - begin] += count
    else:
        while surface.facet_vertices[place] != feature:
            place += 1
        tally[at, 1 + place - begin + end - begin] += count


@inlined_geometry
def count_cells(
    sphere: Sphere, surface: SurfaceArrays, integer: Integers, tally: Int32s, first: int, last: int
) -> None:
    """Count all cells within reach of a sphere in `tally`.

    Rows ``first:last`` of `integer` are the touched facets, with the feature that each nominates and, in the column
    `SIDE`, the side of its body that the centre is on: 0 if all of the touched part is seen from there, as of all walls
    that are no closed bodies.
    """
    x, y, z, radius = sphere
    reach = radius * radius
    for row in range(first, last):
        facet, side = integer[row, FACET], integer[row, SIDE]
        begin, end = surface.facet_start[facet], surface.facet_start[facet + 1]
        sides = end - begin
        seen = 1
        if side != 0:
            seen = faces(sphere, side, facet, surface)
        if seen != 0:
            count_feature(1, integer[row, KIND], integer[row, FEATURE], row, surface, integer, tally, first, last)
        for place in range(begin, end):
            edge = surface.facet_edges[place]
            if surface.edge_facet_ids[surface.edge_facet_start[edge]] == facet:
                count = 1 - (surface.edge_facet_start[edge + 1] - surface.edge_facet_start[edge])
                if side != 0:
                    count = edge_coefficient(sphere, side, edge, surface)
                if count != 0:
                    within, _, _, _, squared = from_edge(x, y, z, edge, surface.vertices, surface.edges)
                    if within:
                        tally[row, 1 + place - begin] += count if squared < reach else 0
                    else:
                        vertex = nearest_end(x, y, z, edge, surface)
                        _, _, _, squared = from_vertex(x, y, z, vertex, surface.vertices)
                        if squared < reach:
                            count_feature(count, ON_VERTEX, vertex, row, surface, integer, tally, first, last)
            vertex = surface.facet_vertices[place]
            if surface.vertex_facet_ids[surface.vertex_facet_start[vertex]] == facet:
                _, _, _, squared = from_vertex(x, y, z, vertex, surface.vertices)
                if squared < reach:
                    count = surface.vertex_euler[vertex]
                    if side != 0:
                        count = vertex_coefficient(sphere, side, vertex, count, surface)
                    tally[row, 1 + place - begin + sides] += count


@inlined_geometry
def feature_of(
    x: float, y: float, z: float, row: int, slot: int, surface: SurfaceArrays, real: Floats, integer: Integers
) -> tuple[int, int, float, float, float, float]:
    """Return kind and number of the feature of a slot, and the vector [m] and distance from its nearest point."""
    facet = integer[row, FACET]
    if slot == 0:
        return ON_FACET, facet, real[row, RX], real[row, RY], real[row, RZ], real[row, DISTANCE]
    begin, end = surface.facet_start[facet], surface.facet_start[facet + 1]
    place = begin + slot - 1
    if place < end:
        edge = surface.facet_edges[place]
        _, rx, ry, rz, squared = from_edge(x, y, z, edge, surface.vertices, surface.edges)
        return ON_EDGE, edge, rx, ry, rz, math.sqrt(squared)
    vertex = surface.facet_vertices[place - (end - begin)]
    rx, ry, rz, squared = from_vertex(x, y, z, vertex, surface.vertices)
    return ON_VERTEX, vertex, rx, ry, rz, math.sqrt(squared)
