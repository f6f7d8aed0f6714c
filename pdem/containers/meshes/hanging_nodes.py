"""Vertices on the edges of other facets (hanging nodes, T-junctions)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.containers.meshes.box_tree import BoxTree, pairs_between
from pdem.containers.meshes.rounding import clearance
from pdem.foundation import exact_math

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats, Int32s, Integers

WELD = 1e-9
"""Vertices closer than this fraction of the bounding box's diagonal are merged."""

ROUNDED = 4.0
"""Largest distance of a node from an edge on which it counts as hanging, over the rounding of a coordinate."""


def nodes_on_edges(
    vertices: Floats, wall: Int32s, edges: Integers, nodes: Integers, tolerance: Floats
) -> tuple[Integers, Integers, Floats]:
    """Return pairs of an edge and a node on it, and the position of the node as a fraction of the edge.

    Parameters
    ----------
    vertices : ndarray, shape (V, 3)
        Positions [m].
    wall : ndarray, shape (V,)
        Wall of each vertex: nodes and edges of different walls are never paired.
    edges : ndarray, shape (E, 2)
        Ends of the edges, of one wall each.
    nodes : ndarray, shape (N,)
        Vertices to test.
    tolerance : ndarray, shape (E,)
        Largest distance of a node from each edge [m].

    Returns
    -------
    edge, node : ndarray of int64
        The pairs, in no particular order.
    part : ndarray
        Distance of the node from the first end of the edge over the length of the edge, between 0 and 1.
    """
    if not len(nodes):
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
    low, along = vertices[edges[:, 0]], vertices[edges[:, 1]] - vertices[edges[:, 0]]
    length = exact_math.norm(along)
    wide = tolerance[:, None]
    ends = np.minimum(low, low + along) - wide, np.maximum(low, low + along) + wide
    near = pairs_between(BoxTree(*ends), BoxTree(vertices[nodes], vertices[nodes]))
    found = [(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))]
    for edge, place in near:
        node = nodes[place]
        arm = vertices[node] - low[edge]
        part = exact_math.inner(arm, along[edge]) / (length[edge] * length[edge])
        aside = exact_math.norm(arm - part[:, None] * along[edge])
        on = (node != edges[edge, 0]) & (node != edges[edge, 1])
        on &= wall[node] == wall[edges[edge, 0]]
        on &= (aside <= tolerance[edge]) & (part > 0.0) & (part < 1.0)
        found.append((edge[on], node[on], part[on]))
    edge, node, part = (np.concatenate(column) for column in zip(*found, strict=True))
    return edge, node, part


def hanging_nodes(
    vertices: Floats,
    wall: Int32s,
    start: Integers,
    loops: Integers,
    edges: Integers,
    facet_edges: Integers,
    resolution: Floats,
) -> tuple[Integers, Integers, Floats]:
    """Return the hanging nodes of a mesh as `nodes_on_edges` does, without the tips of needles.

    Such a tip is near the long side of its own facet. The largest distance of a node from an edge is the distance at
    which vertices are merged or the effect of rounding, whichever is larger, but at most a small fraction of the facets
    there.

    Parameters
    ----------
    vertices, wall, edges
        As in `nodes_on_edges`.
    start, loops : ndarray, shapes (F + 1,) and (K,)
        Facets in compressed rows.
    facet_edges : ndarray, shape (K,)
        Edge from each vertex of a loop to the next.
    resolution : ndarray, shape (walls,)
        Largest rounding error of the coordinates of each wall [m].
    """
    facet = np.repeat(np.arange(len(start) - 1), np.diff(start))
    harmless = np.full(len(edges), np.inf)
    np.minimum.at(harmless, facet_edges, clearance(vertices, start, loops)[facet])
    rounded = np.minimum(ROUNDED * resolution[wall[edges[:, 0]]], harmless)
    tolerance = np.maximum(welding(vertices[loops]), rounded)
    edge, node, part = nodes_on_edges(vertices, wall, edges, np.unique(loops), tolerance)
    by_edge = np.argsort(facet_edges, kind="stable")
    first, last = (np.searchsorted(facet_edges[by_edge], edge, side) for side in ("left", "right"))
    pair = np.repeat(np.arange(len(edge)), last - first)
    within = np.arange(len(pair)) - np.repeat(np.cumsum(last - first) - (last - first), last - first)
    width = len(vertices)
    own = np.isin(facet[by_edge[first[pair] + within]] * width + node[pair], facet * width + loops)
    apart = np.bincount(pair[own], minlength=len(edge)) == 0
    return edge[apart], node[apart], part[apart]


def welding(vertices: Floats) -> float:
    """Return the distance below which vertices of a mesh are merged [m]."""
    return WELD * float(exact_math.norm(np.ptp(vertices, axis=0)))
