"""The surface of a mesh in a normal form, independent of the description of the mesh, for the signed contact sum.

A surface can be described with facets and nodes in any order, with facets of either orientation or repeated, and with
nodes of one facet inside an edge of its neighbour. All these descriptions become the same arrays: vertices and facets
in the order of their coordinates, each facet once, every node in the loops of all facets that pass it. Where the facets
form a closed surface, its sides are distinguished, whatever the orientation of its facets was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.containers.meshes import mesh_topology as topology
from pdem.containers.meshes.hanging_nodes import hanging_nodes
from pdem.containers.meshes.mesh import Mesh, mesh_of_loops
from pdem.numerics.components import components

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.foundation.array_types import Floats, Int32s, Integers

    Loops = tuple[Integers, Integers]


class MeshSurface(NamedTuple):
    """A mesh in the order of its coordinates, and the origin of its parts.

    Attributes
    ----------
    mesh : Mesh
        Mesh without unused vertices and without repeated facets; hanging nodes are in all loops.
    facet_origin, vertex_origin : ndarray, shapes (F,) and (V,), int64
        Facet (the first of repeated ones) and vertex of the original mesh.
    """

    mesh: Mesh
    facet_origin: Integers
    vertex_origin: Integers


def surface_of(mesh: Mesh) -> MeshSurface:
    """Return the surface that a mesh describes: the same arrays for any order of its facets and nodes.

    Parameters
    ----------
    mesh : Mesh
        One wall, or several joined walls: they stay separate.

    Notes
    -----
    A vertex near an edge becomes a hanging node: a corner, of half a turn, of the facets along the edge. Near means
    within `WELD` (times the diagonal of the box) or within the rounding of the coordinates of a file, but at most a
    small fraction of the facets there. The tip of a needle is no hanging node of its own long side.

    The surface belongs to the mesh, which computes it once (`Mesh.derived`).
    """
    return mesh.derived(_compute_surface)


def _compute_surface(mesh: Mesh) -> MeshSurface:
    used = np.unique(mesh.facet_vertices)
    vertex_origin = used[np.lexsort((*mesh.vertices[used].T[::-1], mesh.vertex_wall[used]))]
    number = np.full(mesh.vertex_count, -1)
    number[vertex_origin] = np.arange(len(vertex_origin))
    vertices = np.ascontiguousarray(mesh.vertices[vertex_origin])
    wall = mesh.vertex_wall[vertex_origin]
    start, loops, facet_origin = _sorted_once(mesh.facet_start, number[mesh.facet_vertices])
    resolution = np.array(mesh.origin.wall_resolutions or (mesh.origin.resolution,))
    start, loops = _with_hanging_nodes(vertices, wall, start, loops, resolution)
    start, loops, kept = _sorted_once(start, loops)
    facet_origin = facet_origin[kept]
    surface = mesh_of_loops(vertices, start, loops, mesh.origin)
    surface.facet_wall, surface.vertex_wall = mesh.facet_wall[facet_origin], wall
    surface.facet_body, surface.facet_side = _bodies(surface)
    surface.vertex_euler = _vertex_euler(surface)
    return MeshSurface(surface, facet_origin, vertex_origin)


def _one_way(start: Integers, loops: Integers) -> Integers:
    """Orient loops that begin at their lowest vertex so that the lower of its neighbours comes second."""
    length = np.repeat(np.diff(start), np.diff(start))
    first = np.repeat(start[:-1], np.diff(start))
    turned = np.repeat(loops[start[:-1] + 1] > loops[start[1:] - 1], np.diff(start))
    within = np.arange(len(loops)) - first
    return loops[first + np.where(turned, (length - within) % length, within)]


def _sorted_once(start: Integers, loops: Integers) -> tuple[Integers, Integers, Integers]:
    """Sort facets by size and loop, in either orientation, and remove repetitions; also return the kept facets."""
    loops = _one_way(start, topology.canonical_loops(start, loops))
    sides = np.diff(start)
    parts, origin = [], []
    for size in np.unique(sides):
        facets = np.flatnonzero(sides == size)
        table = loops[start[facets][:, None] + np.arange(size)]
        order = np.lexsort(table.T[::-1])  # stable: of equal loops the first stays
        table = table[order]
        new = np.concatenate(([True], (table[1:] != table[:-1]).any(axis=1)))
        parts.append(table[new])
        origin.append(facets[order[new]])
    lengths = np.concatenate([np.full(len(part), part.shape[1], dtype=np.int64) for part in parts])
    flat = np.concatenate([part.reshape(-1) for part in parts])
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths))), flat, np.concatenate(origin)


def _with_hanging_nodes(vertices: Floats, wall: Int32s, start: Integers, loops: Integers, resolution: Floats) -> Loops:
    """Insert the hanging nodes of each edge into the loops along this edge."""
    edges, facet_edges = topology.edges_of(start, loops)
    edge, node, part = hanging_nodes(vertices, wall, start, loops, edges, facet_edges, resolution)
    if not len(edge):
        return start, loops
    order = np.lexsort((part, edge))
    edge, node = edge[order], node[order]
    first = np.searchsorted(edge, np.arange(len(edges) + 1))
    more = np.diff(first)[facet_edges]
    result = []
    for place in np.flatnonzero(more):
        inside = node[first[facet_edges[place]] : first[facet_edges[place] + 1]]
        result.append(inside if loops[place] == edges[facet_edges[place], 0] else inside[::-1])
    where = np.repeat(np.flatnonzero(more) + 1, more[more > 0])
    before = np.concatenate(([0], np.cumsum(more)))
    return start + before[start], np.insert(loops, where, np.concatenate(result))


def _vertex_euler(mesh: Mesh) -> Int32s:
    """Return the weight of each vertex in the Euler sum: one, less the share of its facets and edges."""
    edges = np.diff(mesh.edge_facet_start) - 1
    of_edges = np.zeros(mesh.vertex_count, np.int64)
    np.add.at(of_edges, mesh.edges, edges[:, None])
    return (1 - np.diff(mesh.vertex_facet_start) + of_edges).astype(np.int32)


def _bodies(mesh: Mesh) -> tuple[Integers, NDArray[np.int8]]:
    """Return the connected piece of each facet, and 1 or -1 by its orientation if the piece is closed, else 0.

    A graph has two nodes for every facet, one per orientation, connected to neighbours with consistent orientation. A
    closed piece that separates into two halves in this graph has two sides. Pieces that meet in a vertex get no sides.
    """
    count, facets_at = mesh.facet_count, np.diff(mesh.edge_facet_start)
    facet = np.repeat(np.arange(count), np.diff(mesh.facet_start))
    body, closed = mesh.pieces[0], mesh.pieces[1].copy()
    lowest = np.full(mesh.vertex_count, count)
    np.minimum.at(lowest, mesh.facet_vertices, body[facet])
    meeting = body[facet] != lowest[mesh.facet_vertices]  # bodies that share a vertex are surfaces
    closed[body[facet[meeting]]] = closed[lowest[mesh.facet_vertices[meeting]]] = False

    upwards = mesh.facet_vertices == mesh.edges[mesh.facet_edges, 0]
    by_edge = np.argsort(mesh.facet_edges, kind="stable")
    inner = by_edge[facets_at[mesh.facet_edges[by_edge]] == 2].reshape(-1, 2)
    one, other = facet[inner[:, 0]], facet[inner[:, 1]]
    turned = (upwards[inner[:, 0]] == upwards[inner[:, 1]]) * count
    rows, columns = (np.concatenate((one, one + count)), np.concatenate((other + turned, other + count - turned)))
    half = components(rows, columns, 2 * count)
    sided = closed[body] & (half[:count] != half[count:])
    side = np.where(half[:count] < half[count:], 1, -1)
    return body.astype(np.int64), np.where(sided, side, 0).astype(np.int8)
