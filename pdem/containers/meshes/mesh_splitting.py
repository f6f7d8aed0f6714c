"""Triangulation of facets: of bent or concave facets for meshes, and of all facets for searches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.containers.meshes.mesh_topology import refusal
from pdem.foundation import exact_math

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats, Integers

MOST_SIDES = 500
"""Largest number of sides of a polygon that is cut: the work grows with the cube of the sides."""


def triangle_fans(start: Integers, loops: Integers) -> tuple[Integers, Integers]:
    """Split convex facets into triangles about their first vertex.

    Returns
    -------
    triangles : ndarray of int64
        Vertices, shape (t, 3).
    facets : ndarray of int64
        The facet to which each triangle belongs, shape (t,).
    """
    parts = np.diff(start) - 2
    facets = np.repeat(np.arange(parts.size), parts)
    within = np.arange(facets.size) - np.repeat(np.cumsum(parts) - parts, parts)
    first = start[:-1][facets]
    corners = [first, first + within + 1, first + within + 2]
    return np.stack([loops[corner] for corner in corners], axis=1), facets


def with_split(
    vertices: Floats, start: Integers, loops: Integers, normals: Floats, chosen: Integers, numbers: Integers, given: int
) -> tuple[Integers, Integers, Integers]:
    """Return loops with some facets cut into triangles, which replace them, and the indices of all facets.

    Parameters
    ----------
    vertices : ndarray, shape (V, 3)
        Positions [m].
    start, loops : ndarray of int64
        Facets in compressed rows.
    normals : ndarray, shape (F, 3)
        Mean unit normals.
    chosen : ndarray of int64
        Facets of more than three sides, ascending.
    numbers : ndarray of int64, shape (F,)
        Indices of the facets in the input, with `given` facets; all triangles of a facet have its index.

    Raises
    ------
    MeshError
        For a facet with an outline that crosses itself or has too many sides.
    """
    sides = np.diff(start)
    quads = chosen[sides[chosen] == 4]
    parts = dict(
        zip(quads.tolist(), _halved_quads(vertices, loops[start[quads][:, None] + np.arange(4)], normals[quads]),
            strict=True)
    )  # fmt: skip
    for facet in chosen[sides[chosen] > 4].tolist():
        parts[facet] = _ears(
            vertices, loops[start[facet] : start[facet + 1]], normals[facet], int(numbers[facet]), given
        )
    if any(len(triangles) == 0 for triangles in parts.values()):
        raise _crossing(int(numbers[next(facet for facet, part in parts.items() if not len(part))]), given)
    count = np.ones(len(sides), np.int64)
    count[chosen] = [len(parts[facet]) for facet in chosen.tolist()]
    kept = np.ones(len(loops), np.bool_)
    kept[np.repeat(np.isin(np.arange(len(sides)), chosen), sides)] = False
    sizes = np.repeat(np.where(count > 1, 3, sides), count)
    new_start = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes)))
    new = np.empty(new_start[-1], np.int64)
    cut = np.repeat(np.repeat(count > 1, count), sizes)
    new[~cut] = loops[kept]
    new[cut] = np.concatenate([parts[facet].reshape(-1) for facet in chosen.tolist()])
    return new_start, new, np.repeat(numbers, count)


def _halved_quads(vertices: Floats, quads: Integers, normals: Floats) -> list[Integers]:
    """Cut quads, shape (n, 4), along the shorter of the diagonals that keep the orientation of both halves."""
    halves = np.stack([quads[:, [[0, 1, 2], [0, 2, 3]]], quads[:, [[0, 1, 3], [1, 2, 3]]]], axis=1)
    corners = vertices[halves]  # quad, diagonal, half, corner, axis
    normal = np.cross(corners[..., 1, :] - corners[..., 0, :], corners[..., 2, :] - corners[..., 0, :])
    right = (exact_math.inner(normal, normals[:, None, None]) > 0.0).all(axis=2)
    length = exact_math.norm(vertices[quads[:, [0, 1]]] - vertices[quads[:, [2, 3]]])
    best = np.argmin(np.where(right, length, np.inf), axis=1)
    chosen = halves[np.arange(len(quads)), best]
    return [half if any_right else half[:0] for half, any_right in zip(chosen, right.any(axis=1), strict=True)]


def _ears(vertices: Floats, loop: Integers, normal: Floats, facet: int, count: int) -> Integers:
    """Cut a polygon by removing the ear with the shortest base until a triangle remains."""
    if len(loop) > MOST_SIDES:
        raise refusal(
            facet, count, f"has {len(loop)} sides", f"up to {MOST_SIDES} can be cut into triangles", "remesh it"
        )
    axis = np.eye(3)[np.argmin(np.abs(normal))]
    across = np.cross(normal, axis)
    plane = exact_math.matmul(vertices[loop], np.column_stack((np.cross(across, normal), across)))
    left = list(range(len(loop)))
    triangles = []
    while len(left) > 3:
        ear = _best_ear(plane[left])
        if ear < 0:
            return np.zeros((0, 3), np.int64)
        triangles.append([left[ear - 1], left[ear], left[(ear + 1) % len(left)]])
        del left[ear]
    if _twice_area(*plane[left]) <= 0.0:
        return np.zeros((0, 3), np.int64)
    return loop[np.array([*triangles, left])]


def _best_ear(plane: Floats) -> int:
    """Return the corner of a polygon in the plane, (n, 2), with the shortest possible cut; -1 if there is none."""
    before, after = np.roll(plane, 1, axis=0), np.roll(plane, -1, axis=0)
    size = float(np.ptp(plane, axis=0).max())
    for corner in np.argsort(exact_math.norm(after - before), kind="stable").tolist():
        a, b, c = before[corner], plane[corner], after[corner]
        if _twice_area(a, b, c) <= 1e-12 * size * size:
            continue
        others = np.delete(plane, [corner - 1, corner, (corner + 1) % len(plane)], axis=0)
        inside = [_side(*side, others) >= 0.0 for side in ((a, b), (b, c), (c, a))]
        if not np.logical_and.reduce(inside).any():
            return int(corner)
    return -1


def _side(a: Floats, b: Floats, points: Floats) -> Floats:
    along, arm = b - a, points - a
    result: Floats = along[0] * arm[:, 1] - along[1] * arm[:, 0]
    return result


def _twice_area(a: Floats, b: Floats, c: Floats) -> float:
    return float(_side(a, b, c[None, :])[0])


def _crossing(facet: int, count: int) -> Exception:
    return refusal(facet, count, "cannot be cut into triangles: its outline crosses itself", "it must not", "repair it")
