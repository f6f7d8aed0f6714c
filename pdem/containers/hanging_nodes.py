"""Vertices that lie within the edges of other facets (hanging nodes, T-junctions)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.containers.box_tree import BoxTree, pairs_between

if TYPE_CHECKING:
    from numpy.typing import NDArray


def nodes_on_edges(
    vertices: NDArray[np.float64],
    wall: NDArray[np.int32],
    edges: NDArray[np.int64],
    nodes: NDArray[np.int64],
    tolerance: float,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return pairs of an edge and a node that lies within it, and at which part of its length.

    Parameters
    ----------
    vertices : ndarray, shape (V, 3)
        Positions [m].
    wall : ndarray, shape (V,)
        Wall of each vertex: those of different walls have nothing to do with each other.
    edges : ndarray, shape (E, 2)
        Ends of the edges, of one wall each.
    nodes : ndarray, shape (N,)
        Vertices to look at.
    tolerance : float
        How far a node may lie beside an edge [m].

    Returns
    -------
    edge, node : ndarray of int64
        The pairs, in no particular order.
    part : ndarray
        Way from the first end of the edge to the node over the length of the edge, between 0 and 1.
    """
    if not len(nodes):
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
    low, along = vertices[edges[:, 0]], vertices[edges[:, 1]] - vertices[edges[:, 0]]
    length = np.linalg.norm(along, axis=1)
    ends = np.minimum(low, low + along) - tolerance, np.maximum(low, low + along) + tolerance
    near = pairs_between(BoxTree(*ends), BoxTree(vertices[nodes], vertices[nodes]))
    found = [(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))]
    for edge, place in near:
        node = nodes[place]
        arm = vertices[node] - low[edge]
        part = np.einsum("ij,ij->i", arm, along[edge]) / length[edge] ** 2
        aside = np.linalg.norm(arm - part[:, None] * along[edge], axis=1)
        on = (node != edges[edge, 0]) & (node != edges[edge, 1])
        on &= wall[node] == wall[edges[edge, 0]]
        on &= (aside <= tolerance) & (part > 0.0) & (part < 1.0)
        found.append((edge[on], node[on], part[on]))
    edge, node, part = (np.concatenate(column) for column in zip(*found, strict=True))
    return edge, node, part
