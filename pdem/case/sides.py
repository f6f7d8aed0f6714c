"""On which side of closed surfaces points are: rays upwards, counted with every edge on one side only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.containers.box_tree import BoxTree, pairs_between
from pdem.containers.mesh_splitting import triangle_fans
from pdem.containers.mesh_topology import pieces_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.containers.mesh import Mesh

_TURN = np.array([[0.36, 0.48, -0.8], [-0.8, 0.6, 0.0], [0.48, 0.64, 0.6]])
"""A rotation after which rays upwards are along no direction that machines are built in."""


def inside_closed_pieces(positions: NDArray[np.float64], mesh: Mesh) -> dict[int, NDArray[np.bool_]]:
    """Tell which points are inside each closed piece of a mesh.

    Parameters
    ----------
    positions : ndarray, shape (n, 3)
        The points [m].
    mesh : Mesh
        Pieces hang together by edges; they are closed if every edge has two facets.

    Returns
    -------
    dict of int to ndarray of bool, shape (n,)
        By the first facet of each closed piece.
    """
    piece, closed = pieces_of(mesh.topology)
    triangles, owner = triangle_fans(mesh.facet_start, mesh.facet_vertices)
    kept = closed[piece[owner]]
    if not kept.any() or not len(positions):
        return {}
    turned, points = mesh.vertices @ _TURN.T, positions @ _TURN.T
    triangles, of = triangles[kept], piece[owner[kept]]
    number = np.cumsum(closed) - 1
    crossings = np.zeros((len(points), int(closed.sum())), np.int64)
    corners = turned[triangles][:, :, :2]
    shadows = BoxTree(corners.min(axis=1), corners.max(axis=1))
    for triangle, point in pairs_between(shadows, BoxTree(points[:, :2], points[:, :2])):
        above = _is_above(turned, triangles[triangle], points[point])
        np.add.at(crossings, (point[above], number[of[triangle[above]]]), 1)
    _, first = np.unique(piece, return_index=True)
    return {int(facet): crossings[:, column] % 2 == 1 for column, facet in enumerate(first[closed])}


def _is_above(
    vertices: NDArray[np.float64], triangles: NDArray[np.int64], points: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Tell whether each point's ray upwards goes through its triangle.

    An edge is always looked at from its lower vertex, so that a ray along it goes through one of its two facets.
    """
    left = []
    for a, b in ((0, 1), (1, 2), (2, 0)):
        low = np.minimum(triangles[:, a], triangles[:, b])
        high = np.maximum(triangles[:, a], triangles[:, b])
        along, arm = vertices[high] - vertices[low], points - vertices[low]
        side = along[:, 0] * arm[:, 1] - along[:, 1] * arm[:, 0] > 0.0
        left.append(side == (triangles[:, a] == low))
    within = (left[0] == left[1]) & (left[1] == left[2])
    one, two, three = (vertices[triangles[:, corner]] for corner in range(3))
    normal = np.cross(two - one, three - one)
    height = np.einsum("ij,ij->i", points - one, normal) * np.sign(normal[:, 2])
    return within & (height < 0.0)
