"""Vertices that lie within the edges of other facets (hanging nodes, T-junctions)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.containers.box_tree import BoxTree, pairs_between

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

WELD = 1e-9
"""Vertices closer than this part of the bounding box's diagonal are one vertex."""

ROUNDED = 4.0
"""A node is on an edge if it is no farther away than this many times the rounding of a coordinate."""

_SAMPLE = 4096
_EXACT = 4e-16  # a scale and its inverse


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


def hanging_nodes(
    vertices: NDArray[np.float64],
    wall: NDArray[np.int32],
    start: NDArray[np.int64],
    loops: NDArray[np.int64],
    edges: NDArray[np.int64],
    facet_edges: NDArray[np.int64],
    tolerance: float,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return the hanging nodes of a mesh as `nodes_on_edges` does, without the tips of needles.

    Such a tip is near the long side of its own facet.

    Parameters
    ----------
    vertices, wall, edges, tolerance
        As in `nodes_on_edges`.
    start, loops : ndarray, shapes (F + 1,) and (K,)
        Facets in compressed rows.
    facet_edges : ndarray, shape (K,)
        Edge from each vertex of a loop to the next.
    """
    edge, node, part = nodes_on_edges(vertices, wall, edges, np.unique(loops), tolerance)
    facet = np.repeat(np.arange(len(start) - 1), np.diff(start))
    by_edge = np.argsort(facet_edges, kind="stable")
    first, last = (np.searchsorted(facet_edges[by_edge], edge, side) for side in ("left", "right"))
    pair = np.repeat(np.arange(len(edge)), last - first)
    within = np.arange(len(pair)) - np.repeat(np.cumsum(last - first) - (last - first), last - first)
    width = len(vertices)
    own = np.isin(facet[by_edge[first[pair] + within]] * width + node[pair], facet * width + loops)
    apart = np.bincount(pair[own], minlength=len(edge)) == 0
    return edge[apart], node[apart], part[apart]


def tolerance_of(vertices: NDArray[np.float64], resolution: float) -> float:
    """Return how far a node of a mesh may be from an edge to be on it, if coordinates are rounded so much [m]."""
    return max(WELD * float(np.linalg.norm(np.ptp(vertices, axis=0))), ROUNDED * resolution)


def resolution_of(vertices: NDArray[np.float64]) -> float:
    """Return by how much coordinates of this size may have been rounded, as a sample of them tells [m].

    Files hold numbers in single precision, or to so many digits. 6 digits are taken for the least: boxes and the like
    need fewer, and have no detail below.
    """
    values = np.abs(vertices.reshape(-1))
    largest = float(values.max(initial=0.0))
    values = values[:: max(len(values) // _SAMPLE, 1)].clip(max=np.finfo(np.float32).max)

    def are_kept(rounded: NDArray[np.floating[Any]]) -> bool:
        return bool((np.abs(rounded - values) <= _EXACT * values).all())

    if are_kept(values.astype(np.float32)):
        return largest * 2.0**-24
    for digits in range(6, 10):
        if are_kept(np.array([float(f"{value:.{digits - 1}e}") for value in values.tolist()])):
            return 0.5 * largest * 10.0 ** (1 - digits)
    return largest * 2.0**-53
