"""Test of points inside closed surfaces, by the parity of crossings of a ray upwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.containers.meshes.box_tree import BoxTree, pairs_between
from pdem.containers.meshes.mesh_splitting import triangle_fans
from pdem.foundation import exact_math

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.containers.meshes.mesh import Mesh
    from pdem.foundation.array_types import Booleans, Floats, Integers

_ROTATION = np.array([[0.36, 0.48, -0.8], [-0.8, 0.6, 0.0], [0.48, 0.64, 0.6]])
"""A rotation after which upward rays are parallel to no usual direction of machine parts."""


def inside_closed_pieces(positions: Floats, mesh: Mesh) -> dict[int, Booleans]:
    """Return which points are inside each closed piece of a mesh.

    Parameters
    ----------
    positions : ndarray, shape (n, 3)
        The points [m].
    mesh : Mesh
        Facets of a piece are connected by edges; it is closed if every edge has two facets.

    Returns
    -------
    dict of int to ndarray of bool, shape (n,)
        Masks by the first facet of each closed piece.
    """
    piece, closed = mesh.pieces
    triangles, owner = triangle_fans(mesh.facet_start, mesh.facet_vertices)
    is_closed = closed[piece[owner]]
    if not is_closed.any():
        return {}
    vertices, points = exact_math.matmul(mesh.vertices, _ROTATION.T), exact_math.matmul(positions, _ROTATION.T)
    triangles, of = triangles[is_closed], piece[owner[is_closed]]
    number = np.cumsum(closed) - 1
    crossings = np.zeros((len(points), int(closed.sum())), np.int64)
    for triangle, point in crossings_upwards(vertices, triangles, points):
        np.add.at(crossings, (point, number[of[triangle]]), 1)
    _, first = np.unique(piece, return_index=True)
    return {int(facet): crossings[:, column] % 2 == 1 for column, facet in enumerate(first[closed])}


def crossings_upwards(vertices: Floats, triangles: Integers, points: Floats) -> Iterator[tuple[Integers, Integers]]:
    """Yield rows of triangles and points, part by part, for which the ray along z from the point hits the triangle.

    Parameters
    ----------
    vertices : ndarray, shape (m, 3)
        Corners [m].
    triangles : ndarray, shape (k, 3)
        Row numbers of their corners in `vertices`.
    points : ndarray, shape (n, 3)
        Starts of the rays [m].
    """
    if not len(triangles) or not len(points):
        return
    corners = vertices[triangles][:, :, :2]
    shadows = BoxTree(corners.min(axis=1), corners.max(axis=1))
    for triangle, point in pairs_between(shadows, BoxTree(points[:, :2], points[:, :2])):
        above = _is_above(vertices, triangles[triangle], points[point])
        yield triangle[above], point[above]


def _is_above(vertices: Floats, triangles: Integers, points: Floats) -> Booleans:
    """Return whether the ray upwards from each point crosses its triangle.

    An edge is always oriented from its lower vertex, so that a ray through it crosses only one of its two facets.
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
    height = exact_math.inner(points - one, normal) * np.sign(normal[:, 2])
    return within & (height < 0.0)
