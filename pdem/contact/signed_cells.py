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

from pdem.contact.contact_rows import row_of
from pdem.contact.intersection import from_edge, from_vertex
from pdem.contact.solid_cells import edge_coefficient, faces, vertex_coefficient
from pdem.foundation.geometry_kernels import inlined_geometry

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@inlined_geometry
def nearest_end(
    x: float, y: float, z: float, edge: int, vertices: NDArray[np.float64], edges: NDArray[np.int64]
) -> int:
    """Return the vertex of an edge that is nearer to a point beyond its ends."""
    low, high = edges[edge, 0], edges[edge, 1]
    ex = vertices[high, 0] - vertices[low, 0]
    ey = vertices[high, 1] - vertices[low, 1]
    ez = vertices[high, 2] - vertices[low, 2]
    along = (x - vertices[low, 0]) * ex + (y - vertices[low, 1]) * ey + (z - vertices[low, 2]) * ez
    return high if along > 0.5 * (ex * ex + ey * ey + ez * ez) else low


@inlined_geometry
def count_feature(
    count: int,
    kind: int,
    feature: int,
    row: int,
    facet_start: NDArray[np.int64],
    facet_vertices: NDArray[np.int64],
    facet_edges: NDArray[np.int64],
    edge_facet_start: NDArray[np.int64],
    edge_facet_ids: NDArray[np.int64],
    vertex_facet_start: NDArray[np.int64],
    vertex_facet_ids: NDArray[np.int64],
    integer: NDArray[np.int64],
    tally: NDArray[np.int32],
    first: int,
    last: int,
) -> None:
    """Add to the count of a facet, edge or vertex, seen from the facet of a row."""
    if kind == 0:
        tally[row, 0] += count
        return
    owner = (
        edge_facet_ids[edge_facet_start[feature]]
        if kind == 1
        else vertex_facet_ids[vertex_facet_start[feature]]
    )
    at = row if integer[row, 0] == owner else row_of(owner, integer, first, last - first)
    if at < 0:  # out of reach by rounding: its force is nothing
        return
    begin, end = facet_start[owner], facet_start[owner + 1]
    place = begin
    if kind == 1:
        while facet_edges[place] != feature:
            place += 1
        tally[at, 1 + place - begin] += count
    else:
        while facet_vertices[place] != feature:
            place += 1
        tally[at, 1 + place - begin + end - begin] += count


@inlined_geometry
def count_cells(
    x: float,
    y: float,
    z: float,
    radius: float,
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
    vertex_euler: NDArray[np.int32],
    integer: NDArray[np.int64],
    tally: NDArray[np.int32],
    first: int,
    last: int,
) -> None:
    """Count all cells within reach of a sphere in `tally`.

    Rows ``first:last`` of `integer` are the touched facets, with the feature that each nominates and, in the last
    column, the side of its body that the centre is on: 0 if all of the touched part is seen from there, as of all
    walls that are no closed bodies.
    """
    reach = radius * radius
    for row in range(first, last):
        facet, side = integer[row, 0], integer[row, 5]
        begin, end = facet_start[facet], facet_start[facet + 1]
        sides = end - begin
        seen = 1
        if side != 0:
            seen = faces(
                x, y, z, radius, side, facet, vertices, normals, facet_start, facet_vertices, facet_side
            )
        if seen != 0:
            count_feature(
                1, integer[row, 1], integer[row, 2], row, facet_start, facet_vertices, facet_edges,
                edge_facet_start, edge_facet_ids, vertex_facet_start, vertex_facet_ids, integer, tally, first, last,
            )  # fmt: skip
        for place in range(begin, end):
            edge = facet_edges[place]
            if edge_facet_ids[edge_facet_start[edge]] == facet:
                count = 1 - (edge_facet_start[edge + 1] - edge_facet_start[edge])
                if side != 0:
                    count = edge_coefficient(
                        x, y, z, radius, side, edge, vertices, normals, facet_start, facet_vertices, facet_side,
                        edge_facet_start, edge_facet_ids,
                    )  # fmt: skip
                if count != 0:
                    within, _, _, _, squared = from_edge(x, y, z, edge, vertices, edges)
                    if within:
                        tally[row, 1 + place - begin] += count if squared < reach else 0
                    else:
                        vertex = nearest_end(x, y, z, edge, vertices, edges)
                        _, _, _, squared = from_vertex(x, y, z, vertex, vertices)
                        if squared < reach:
                            count_feature(
                                count, 2, vertex, row, facet_start, facet_vertices, facet_edges,
                                edge_facet_start, edge_facet_ids, vertex_facet_start, vertex_facet_ids,
                                integer, tally, first, last,
                            )  # fmt: skip
            vertex = facet_vertices[place]
            if vertex_facet_ids[vertex_facet_start[vertex]] == facet:
                _, _, _, squared = from_vertex(x, y, z, vertex, vertices)
                if squared < reach:
                    count = vertex_euler[vertex]
                    if side != 0:
                        count = vertex_coefficient(
                            x, y, z, radius, side, vertex, count, vertices, normals, facet_start, facet_vertices,
                            facet_edges, edges, edge_facet_start, edge_facet_ids, vertex_facet_start,
                            vertex_facet_ids, facet_side,
                        )  # fmt: skip
                    tally[row, 1 + place - begin + sides] += count


@inlined_geometry
def feature_of(
    x: float,
    y: float,
    z: float,
    row: int,
    slot: int,
    vertices: NDArray[np.float64],
    facet_start: NDArray[np.int64],
    facet_vertices: NDArray[np.int64],
    facet_edges: NDArray[np.int64],
    edges: NDArray[np.int64],
    real: NDArray[np.float64],
    integer: NDArray[np.int64],
) -> tuple[int, int, float, float, float, float]:
    """Return kind and number of the feature of a slot, and the vector [m] and distance from its nearest point."""
    facet = integer[row, 0]
    if slot == 0:
        return 0, facet, real[row, 2], real[row, 3], real[row, 4], real[row, 1]
    begin, end = facet_start[facet], facet_start[facet + 1]
    place = begin + slot - 1
    if place < end:
        edge = facet_edges[place]
        _, rx, ry, rz, squared = from_edge(x, y, z, edge, vertices, edges)
        return 1, edge, rx, ry, rz, math.sqrt(squared)
    vertex = facet_vertices[place - (end - begin)]
    rx, ry, rz, squared = from_vertex(x, y, z, vertex, vertices)
    return 2, vertex, rx, ry, rz, math.sqrt(squared)
