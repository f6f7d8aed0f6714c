"""How often each facet, edge and vertex near a sphere counts in the signed contact sum.

Every touched facet nominates its nearest feature (see `pdem.contact.hierarchy`). A feature weighs one, less what
of the surface around it comes nearer to the centre elsewhere: less one for each such facet, and less one minus the
number of its facets for each such edge. All are integers from the same comparisons of the same bits, and every cell
of the mesh within reach counts at one feature: whichever of two features that coincide to rounding gets it, the
sum over both is right.

The features that a row stands for are its facet and those edges and vertices whose list of facets it leads, so
that each feature within reach, whose facets are all touched, belongs to one row.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pdem.contact.contact_rows import row_of
from pdem.contact.intersection import from_edge, from_vertex
from pdem.foundation.kernels import inlined

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@inlined
def leaves_vertex(
    x: float,
    y: float,
    z: float,
    edge: int,
    vertex: int,
    vertices: NDArray[np.float64],
    edges: NDArray[np.int64],
) -> bool:
    """Tell whether the nearest point of an edge is another one than this vertex of it."""
    within, _, _, _, _ = from_edge(x, y, z, edge, vertices, edges)
    if within:
        return True
    low, high = edges[edge, 0], edges[edge, 1]
    ex = vertices[high, 0] - vertices[low, 0]
    ey = vertices[high, 1] - vertices[low, 1]
    ez = vertices[high, 2] - vertices[low, 2]
    along = (x - vertices[low, 0]) * ex + (y - vertices[low, 1]) * ey + (z - vertices[low, 2]) * ez
    nearest = high if along > 0.5 * (ex * ex + ey * ey + ez * ez) else low
    return bool(nearest != vertex)


@inlined
def is_elsewhere(
    facet: int, kind: int, feature: int, integer: NDArray[np.int64], first: int, count: int
) -> bool:
    """Tell whether a facet is touched and nominates something else than this edge or vertex of it."""
    row = row_of(facet, integer, first, count)
    return row >= 0 and (integer[row, 1] != kind or integer[row, 2] != feature)


@inlined
def edge_weight(
    edge: int,
    integer: NDArray[np.int64],
    first: int,
    count: int,
    edge_facet_start: NDArray[np.int64],
    edge_facet_ids: NDArray[np.int64],
) -> int:
    """Return the weight of an edge whose nearest point lies within it."""
    weight = 1
    for place in range(edge_facet_start[edge], edge_facet_start[edge + 1]):
        if is_elsewhere(edge_facet_ids[place], 1, edge, integer, first, count):
            weight -= 1
    return weight


@inlined
def edge_before(place: int, begin: int, end: int) -> int:
    """Return the place before another one in a facet's loop: its edge ends at the vertex of `place`."""
    return end - 1 if place == begin else place - 1


@inlined
def vertex_weight(
    x: float,
    y: float,
    z: float,
    vertex: int,
    vertices: NDArray[np.float64],
    facet_start: NDArray[np.int64],
    facet_vertices: NDArray[np.int64],
    facet_edges: NDArray[np.int64],
    edges: NDArray[np.int64],
    edge_facet_start: NDArray[np.int64],
    edge_facet_ids: NDArray[np.int64],
    vertex_facet_start: NDArray[np.int64],
    vertex_facet_ids: NDArray[np.int64],
    integer: NDArray[np.int64],
    first: int,
    count: int,
) -> int:
    """Return the weight of a vertex."""
    weight = 1
    for member in range(vertex_facet_start[vertex], vertex_facet_start[vertex + 1]):
        facet = vertex_facet_ids[member]
        if is_elsewhere(facet, 2, vertex, integer, first, count):
            weight -= 1
        begin, end = facet_start[facet], facet_start[facet + 1]
        place = begin
        while facet_vertices[place] != vertex:
            place += 1
        for side in range(2):
            edge = facet_edges[place] if side == 0 else facet_edges[edge_before(place, begin, end)]
            if edge_facet_ids[edge_facet_start[edge]] == facet and leaves_vertex(
                x, y, z, edge, vertex, vertices, edges
            ):
                weight -= 1 - (edge_facet_start[edge + 1] - edge_facet_start[edge])
    return weight


@inlined
def weigh(
    x: float,
    y: float,
    z: float,
    radius: float,
    row: int,
    slot: int,
    vertices: NDArray[np.float64],
    facet_start: NDArray[np.int64],
    facet_vertices: NDArray[np.int64],
    facet_edges: NDArray[np.int64],
    edges: NDArray[np.int64],
    edge_facet_start: NDArray[np.int64],
    edge_facet_ids: NDArray[np.int64],
    vertex_facet_start: NDArray[np.int64],
    vertex_facet_ids: NDArray[np.int64],
    real: NDArray[np.float64],
    integer: NDArray[np.int64],
    first: int,
    count: int,
) -> tuple[int, int, int, float, float, float, float]:
    """Weigh one of the features that a row stands for.

    Parameters
    ----------
    x, y, z, radius : float
        The sphere [m].
    row : int
        Of a touched facet in the scratch tables `real` and `integer`, which hold ``first:first + count`` sorted
        by facet.
    slot : int
        0 for the facet, then its edges, then its vertices, in the order of its loop.
    vertices, ..., vertex_facet_ids
        As in `pdem.contact.hierarchy.resolve_h2`.
    real, integer, first, count
        The rows.

    Returns
    -------
    weight : int
        0 also for features out of reach or of another row.
    kind, feature : int
        What it is.
    rx, ry, rz, distance : float
        From its nearest point to the centre [m].
    """
    facet = integer[row, 0]
    if slot == 0:
        weight = 1 if integer[row, 1] == 0 else 0
        return weight, 0, facet, real[row, 2], real[row, 3], real[row, 4], real[row, 1]
    begin, end = facet_start[facet], facet_start[facet + 1]
    place = begin + slot - 1
    if place < end:
        edge = facet_edges[place]
        if edge_facet_ids[edge_facet_start[edge]] != facet:
            return 0, 1, edge, 0.0, 0.0, 0.0, 0.0
        within, rx, ry, rz, squared = from_edge(x, y, z, edge, vertices, edges)
        distance = math.sqrt(squared)
        if not (within and distance < radius):
            return 0, 1, edge, rx, ry, rz, distance
        return (
            edge_weight(edge, integer, first, count, edge_facet_start, edge_facet_ids),
            1, edge, rx, ry, rz, distance,
        )  # fmt: skip
    vertex = facet_vertices[place - (end - begin)]
    if vertex_facet_ids[vertex_facet_start[vertex]] != facet:
        return 0, 2, vertex, 0.0, 0.0, 0.0, 0.0
    rx, ry, rz, squared = from_vertex(x, y, z, vertex, vertices)
    distance = math.sqrt(squared)
    if not distance < radius:
        return 0, 2, vertex, rx, ry, rz, distance
    weight = vertex_weight(
        x, y, z, vertex, vertices, facet_start, facet_vertices, facet_edges, edges, edge_facet_start,
        edge_facet_ids, vertex_facet_start, vertex_facet_ids, integer, first, count,
    )  # fmt: skip
    return weight, 2, vertex, rx, ry, rz, distance
