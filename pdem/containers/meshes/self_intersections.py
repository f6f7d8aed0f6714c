"""Facets of a mesh that intersect each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.containers.meshes.box_tree import BoxTree, pairs_within
from pdem.containers.meshes.mesh_splitting import triangle_fans
from pdem.foundation import exact_math

if TYPE_CHECKING:
    from pdem.foundation.array_types import Booleans, Floats, Integers

TOUCHING = 2e-7
"""Penetration relative to the coordinates up to which facets only touch: the rounding error of a file in single
precision."""

MOST_PAIRS = 300_000_000
"""Number of pairs of triangles with overlapping boxes after which the count stops."""


class SelfIntersections(NamedTuple):
    """Result of the search for facets that intersect each other.

    Attributes
    ----------
    pairs : int
        Pairs of facets without a common vertex that intersect each other or overlap in one plane.
    first : tuple of 2 int, or None
        The pair with the lowest numbers.
    complete : bool
        False if the search was stopped; `pairs` is then the count up to this point.
    """

    pairs: int
    first: tuple[int, int] | None
    complete: bool


def self_intersections(
    vertices: Floats, start: Integers, loops: Integers, *, most_pairs: int = MOST_PAIRS
) -> SelfIntersections:
    """Count the pairs of facets that intersect each other without a common vertex.

    Parameters
    ----------
    vertices : ndarray, shape (V, 3)
        Positions [m].
    start, loops : ndarray, int64
        Facets in compressed rows.
    most_pairs : int
        Stop after this number of pairs of triangles.

    Returns
    -------
    SelfIntersections
        Facets that only touch (a fin on a plate, hanging nodes) are not counted.
    """
    triangles, owner = triangle_fans(start, loops)
    corners = vertices[triangles]
    extent = float(np.abs(corners).max() + np.ptp(corners.reshape(-1, 3), axis=0).max())
    depth = TOUCHING * extent
    lower, upper = corners.min(axis=1) + 0.25 * depth, corners.max(axis=1) - 0.25 * depth
    middle = 0.5 * (lower + upper)
    tree = BoxTree(np.minimum(lower, middle), np.maximum(upper, middle))  # rounding must not invert flat boxes
    found, seen, complete = [], 0, True
    for one, other in pairs_within(tree):
        seen += len(one)
        complete = seen <= most_pairs
        if not complete:
            break
        apart = ~(triangles[one][:, :, None] == triangles[other][:, None, :]).any(axis=(1, 2))
        one, other = one[apart], other[apart]
        cut = _cut(corners[one], corners[other], depth)
        found.append(np.sort(np.stack((owner[one[cut]], owner[other[cut]]), axis=1), axis=1))
    pairs = np.unique(np.concatenate(found), axis=0) if found else np.zeros((0, 2), np.int64)
    pairs = pairs[~_share_a_vertex(pairs, start, loops, len(vertices))]
    first = (int(pairs[0, 0]), int(pairs[0, 1])) if len(pairs) else None
    return SelfIntersections(len(pairs), first, complete)


def _share_a_vertex(pairs: Integers, start: Integers, loops: Integers, count: int) -> Booleans:
    """Return which pairs of facets have a common vertex (facets paired with themselves do)."""
    one, other = (_keys(pairs[:, side], start, loops, count) for side in (0, 1))
    shared = np.intersect1d(one, other) // count
    result = np.zeros(len(pairs), np.bool_)
    result[shared] = True
    return result


def _keys(facets: Integers, start: Integers, loops: Integers, count: int) -> Integers:
    sides = start[facets + 1] - start[facets]
    row = np.repeat(np.arange(len(facets)), sides)
    place = np.arange(len(row)) - np.repeat(np.cumsum(sides) - sides, sides) + start[facets][row]
    return row * count + loops[place]


def _cut(p: Floats, q: Floats, depth: float) -> Booleans:
    """Return which pairs of triangles, shapes (m, 3, 3), penetrate each other by more than `depth` [m]."""
    result = np.zeros(len(p), np.bool_)
    normal = _normals(q)
    height = exact_math.inner(p - q[:, :1], normal[:, None])
    flat = np.flatnonzero((np.abs(height) <= depth).all(axis=1))
    result[flat] = _overlap_in_plane(p[flat], q[flat], normal[flat], depth)
    rows = np.flatnonzero(_astride(height, depth))
    p, q, normal, height = p[rows], q[rows], normal[rows], height[rows]
    own = _normals(p)
    other = exact_math.inner(q - p[:, :1], own[:, None])
    both = np.flatnonzero(_astride(other, depth))
    line = np.cross(own[both], normal[both])
    length = exact_math.norm(line)
    both, line = both[length > 1e-12], (line / np.maximum(length, 1e-300)[:, None])[length > 1e-12]
    base = p[both, :1]
    low, high = _interval(exact_math.inner(p[both] - base, line[:, None]), height[both])
    other_low, other_high = _interval(exact_math.inner(q[both] - base, line[:, None]), other[both])
    result[rows[both]] = np.minimum(high, other_high) - np.maximum(low, other_low) > depth
    return result


def _normals(triangles: Floats) -> Floats:
    normal = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    return normal / np.maximum(exact_math.norm(normal), np.finfo(float).tiny)[:, None]


def _astride(height: Floats, depth: float) -> Booleans:
    """Return which triangles have corners on both sides of a plane, from their heights (m, 3)."""
    return (height.max(axis=1) > depth) & (height.min(axis=1) < -depth)


def _interval(along: Floats, height: Floats) -> tuple[Floats, Floats]:
    """Return the intervals of triangles on the line of two planes, from positions along the line and heights."""
    low, high = np.full(len(along), np.inf), np.full(len(along), -np.inf)
    for a, b in ((0, 1), (1, 2), (2, 0)):
        crossing = (height[:, a] > 0.0) != (height[:, b] > 0.0)
        between = np.where(crossing, height[:, a] - height[:, b], 1.0)
        place = along[:, a] + (along[:, b] - along[:, a]) * height[:, a] / between
        low = np.where(crossing, np.minimum(low, place), low)
        high = np.where(crossing, np.maximum(high, place), high)
    return low, high


def _overlap_in_plane(p: Floats, q: Floats, normal: Floats, depth: float) -> Booleans:
    """Return which triangles of one plane overlap: no line along a side of either triangle separates them."""
    overlap = np.ones(len(p), np.bool_)
    for corners in (p, q):
        for a, b in ((0, 1), (1, 2), (2, 0)):
            across = np.cross(normal, corners[:, b] - corners[:, a])
            across /= np.maximum(exact_math.norm(across), np.finfo(float).tiny)[:, None]
            one, other = exact_math.inner(p, across[:, None]), exact_math.inner(q, across[:, None])
            overlap &= np.minimum(one.max(axis=1), other.max(axis=1)) > depth + np.maximum(
                one.min(axis=1), other.min(axis=1)
            )
    return overlap
