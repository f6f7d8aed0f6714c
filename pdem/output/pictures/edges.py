"""Sharp edges and borders of surfaces, whatever the orientation of their facets and the way in which these meet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.output.pictures.scene_parts import polygons_of

if TYPE_CHECKING:
    from pdem.foundation.array_types import Booleans, Floats, Integers

_SHARP_EDGE = 30.0
_SAME_POINT = 1e-7  # distance over the size of the surface


def sharp_edges(surface: Any) -> Any:
    """Return the sharp edges and the borders of a surface of pyvista as lines.

    An edge is flat if two of its facets continue each other. This depends on no orientation, and more facets may meet
    at the edge: a plate that stands on a triangle of a cap does not make the other edges of this triangle visible. An
    edge with nodes of neighbouring facets on it is divided at these nodes first.
    """
    from pyvista import PolyData

    whole = surface.clean(tolerance=_SAME_POINT)
    points = np.asarray(whole.points, float)
    ends, inward = _edges_of_facets(points, *polygons_of(whole))
    visible = _is_visible(ends, inward)
    alone = _is_alone(ends)
    if alone.any():
        divided, inside = _divided(points, ends[alone], inward[alone])
        visible &= ~alone
        more = divided[_is_visible(divided, inside)]
        ends = np.concatenate((ends[visible], more))
    else:
        ends = ends[visible]
    lines = np.unique(ends, axis=0) if len(ends) else np.zeros((0, 2), np.int64)
    return PolyData(points, lines=np.insert(lines, 0, 2, axis=1).ravel()) if len(lines) else PolyData()


def _edges_of_facets(points: Floats, start: Integers, loops: Integers) -> tuple[Integers, Floats]:
    """Return the edges of all facets: their end points (n, 2), smaller index first, and directions into the facet."""
    sides = np.diff(start)
    facet = np.repeat(np.arange(len(sides)), sides)
    following = np.arange(1, len(loops) + 1)
    following[start[1:][sides > 0] - 1] = start[:-1][sides > 0]
    first, second = points[loops], points[loops[following]]
    areas = np.zeros((len(sides), 3))
    np.add.at(areas, facet, np.cross(first - points[loops[start[facet]]], second - points[loops[start[facet]]]))
    inward = np.cross(areas[facet], second - first)
    length = np.linalg.norm(inward, axis=1, keepdims=True)
    ends = np.sort(np.column_stack((loops, loops[following])), axis=1)
    proper = (length[:, 0] > 0.0) & (ends[:, 0] != ends[:, 1])
    return ends[proper], (inward / np.where(length > 0.0, length, 1.0))[proper]


def _groups(ends: Integers) -> tuple[Integers, Integers]:
    """Return for each edge the index of its pair of end points, and the number of edges with this pair."""
    keys = ends[:, 0] * (int(ends.max()) + 1) + ends[:, 1]
    _, pair, count = np.unique(keys, return_inverse=True, return_counts=True)
    return pair.reshape(-1), count


def _is_alone(ends: Integers) -> Booleans:
    """Return for each edge (n,) whether it belongs to a single facet."""
    if not len(ends):
        return np.zeros(0, np.bool_)
    pair, count = _groups(ends)
    alone: Booleans = count[pair] == 1
    return alone


def _is_visible(ends: Integers, inward: Floats) -> Booleans:
    """Return for each edge (n,) whether one of its facets has no other facet that continues it."""
    if not len(ends):
        return np.zeros(0, np.bool_)
    pair, count = _groups(ends)
    order = np.argsort(pair, kind="stable")
    begin = np.concatenate(([0], np.cumsum(count)[:-1]))
    flat = np.zeros(len(ends), np.bool_)
    limit = -np.cos(np.radians(_SHARP_EDGE))
    for distance in range(1, int(count.max())):  # facets at an edge, compared in pairs
        rows = np.flatnonzero(np.arange(len(order)) - begin[pair[order]] >= distance)
        one, other = order[rows], order[rows - distance]
        straight = np.einsum("ij,ij->i", inward[one], inward[other]) < limit
        flat[one[straight]] = flat[other[straight]] = True
    return ~flat


def _divided(points: Floats, ends: Integers, inward: Floats) -> tuple[Integers, Floats]:
    """Return borders, divided at the end points of other borders that are on them, and directions into their facets."""
    from scipy.spatial import cKDTree

    corners = np.unique(ends)
    first, second = points[ends[:, 0]], points[ends[:, 1]]
    slack = _SAME_POINT * float(np.linalg.norm(np.ptp(points, axis=0)))
    half = 0.5 * np.linalg.norm(second - first, axis=1)
    near = cKDTree(points[corners]).query_ball_point(0.5 * (first + second), half + slack)
    pieces, sides = [], []
    for row, some in enumerate(near):
        others = corners[[one for one in some if corners[one] not in ends[row]]]
        way = second[row] - first[row]
        place = (points[others] - first[row]) @ way / (way @ way)
        off = np.linalg.norm(points[others] - first[row] - place[:, None] * way, axis=1)
        on = (off < 10.0 * slack) & (place > 0.0) & (place < 1.0)
        chain = np.concatenate((ends[row, :1], others[on][np.argsort(place[on])], ends[row, 1:]))
        pieces.append(np.sort(np.column_stack((chain[:-1], chain[1:])), axis=1))
        sides.append(np.tile(inward[row], (len(chain) - 1, 1)))
    return np.concatenate(pieces), np.concatenate(sides)
