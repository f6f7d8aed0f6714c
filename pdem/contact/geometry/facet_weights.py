"""How a contact force is shared among the nodes of the facet it acts on (H2 eqs. 26-32)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.contact.geometry.scratch_columns import ON_EDGE, ON_FACET
from pdem.contact.geometry.sphere_facet import edge_side, nearest_on_outline
from pdem.numerics.geometry_kernels import geometry_kernel

if TYPE_CHECKING:
    from pdem.contact.geometry.surface_arrays import SurfaceArrays
    from pdem.foundation.array_types import Floats


@geometry_kernel
def facet_weights(
    point: tuple[float, float, float],
    kind: int,
    feature: int,
    facet: int,
    surface: SurfaceArrays,
    weights_out: Floats,
    row: int,
) -> None:
    """Write the weights of a facet's nodes for a force at a point of the facet; allocates nothing.

    Parameters
    ----------
    point : tuple of float
        The contact point [m].
    kind, feature, facet : int
        The contact: kind of feature, its number, and a facet that has it.
    surface : SurfaceArrays
        The walls.
    weights_out : ndarray, shape (M, P), float64
        ``weights_out[row, a]`` becomes the weight of the facet's node a (in the order of its loop), 0 beyond
        its last; P is at least the number of its nodes.
    row : int
        Row to write.

    Notes
    -----
    The weights add up to 1 and reproduce the point from the nodes, so that nodal forces have the moment
    of the contact force. On the inside of a facet they are Wachspress' coordinates: the product of the
    areas over all edges that do not meet the node, times the area of the node's corner. For triangles
    that is eqs. 26-27, for parallelograms eqs. 28-29 (which on other quadrilaterals miss the point), for
    polygons eq. 32 freed from its division by zero on the outline.
    """
    for node in range(weights_out.shape[1]):
        weights_out[row, node] = 0.0
    if kind == ON_FACET:
        if _inside_weights(point, facet, surface, weights_out, row) > 0.0:
            return
        kind, feature, _, _, _, _ = nearest_on_outline(point[0], point[1], point[2], facet, surface)
        for node in range(weights_out.shape[1]):
            weights_out[row, node] = 0.0
    _outline_weights(point, kind, feature, facet, surface, weights_out, row)


@geometry_kernel
def _outline_weights(
    point: tuple[float, float, float],
    kind: int,
    feature: int,
    facet: int,
    surface: SurfaceArrays,
    weights_out: Floats,
    row: int,
) -> None:
    """Weights on an edge (H2 eq. 30) or a vertex: linear between its ends, or 1."""
    x, y, z = point
    vertices = surface.vertices
    low = high = feature
    part = 0.0
    if kind == ON_EDGE:
        low, high = surface.edges[feature, 0], surface.edges[feature, 1]
        along = length = 0.0
        ends = (x - vertices[low, 0], y - vertices[low, 1], z - vertices[low, 2])
        for axis in range(3):
            side = vertices[high, axis] - vertices[low, axis]
            along += ends[axis] * side
            length += side * side
        part = min(max(along / length, 0.0), 1.0)
    begin = surface.facet_start[facet]
    for place in range(begin, surface.facet_start[facet + 1]):
        if surface.facet_vertices[place] == low:
            weights_out[row, place - begin] = 1.0 - part
        elif surface.facet_vertices[place] == high:
            weights_out[row, place - begin] = part


@geometry_kernel
def _inside_weights(
    point: tuple[float, float, float], facet: int, surface: SurfaceArrays, weights_out: Floats, row: int
) -> float:
    """Write Wachspress weights of a point inside a facet; return their sum before normalisation."""
    x, y, z = point
    vertices = surface.vertices
    begin, end = surface.facet_start[facet], surface.facet_start[facet + 1]
    count = end - begin
    largest = 0.0
    for place in range(begin, end):
        side, _ = edge_side(x, y, z, place, facet, surface)
        largest = max(largest, side)
    if not largest > 0.0:
        return 0.0
    total = 0.0
    for node in range(count):
        before = (node + count - 1) % count
        after = surface.facet_vertices[begin + (node + 1) % count]
        product, _ = edge_side(
            vertices[after, 0], vertices[after, 1], vertices[after, 2], begin + before, facet, surface
        )
        product = max(product, 0.0)
        for other in range(count):
            if other not in (node, before):
                side, _ = edge_side(x, y, z, begin + other, facet, surface)
                product *= max(side, 0.0) / largest
        weights_out[row, node] = product
        total += product
    if total > 0.0:
        for node in range(count):
            weights_out[row, node] /= total
    return total
