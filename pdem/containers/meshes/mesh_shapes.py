"""Checks whether facets can serve as walls: with an area, planar and convex."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.containers.meshes.mesh_topology import coordinate_step, refusal, successors
from pdem.foundation import exact_math

if TYPE_CHECKING:
    from pdem.foundation.array_types import Booleans, Floats, Integers

DEGENERATE_HEIGHT = 1e-10
"""Area over half of the squared longest edge, below which a facet has no normal."""

_ROUNDED = 4.0
"""Tolerance of a corner's position in steps of double precision at its coordinates: far from the origin this exceeds
all other tolerances."""

SPLIT = "split_facets = true (a key of [[walls]], an argument of Mesh) cuts such facets into triangles"


def thin_facets(vertices: Floats, start: Integers, loops: Integers, areas: Floats) -> Booleans:
    """Return which facets have no area."""
    along = vertices[loops[successors(start)]] - vertices[loops]
    longest = np.maximum.reduceat(exact_math.norm(along), start[:-1])
    rounded = _ROUNDED * coordinate_step(vertices)
    thin: Booleans = 2.0 * areas <= np.maximum(DEGENERATE_HEIGHT * longest, rounded) * longest
    return thin


def check_shapes(
    vertices: Floats, start: Integers, loops: Integers, normals: Floats, flatness: float, numbers: Integers, given: int
) -> None:
    """Raise an error for facets that are not planar or not convex; `numbers` are their indices among `given`."""
    if (np.diff(start) == 3).all():
        return
    _check_planar(vertices, start, loops, normals, flatness, numbers, given)
    _check_convex(vertices, start, loops, normals, flatness, numbers, given)


def unfit_facets(vertices: Floats, start: Integers, loops: Integers, normals: Floats, flatness: float) -> Integers:
    """Return the facets, ascending, that are not planar or not convex, but could be cut into triangles."""
    if (np.diff(start) == 3).all():
        return np.zeros(0, np.int64)
    bent = _heights(vertices, start, loops, normals)[0] > flatness
    return np.flatnonzero((bent | _concave(vertices, start, loops, normals, flatness)) & (np.diff(start) > 3))


def _check_planar(
    vertices: Floats, start: Integers, loops: Integers, normals: Floats, flatness: float, numbers: Integers, given: int
) -> None:
    share, height = _heights(vertices, start, loops, normals)
    bent = np.flatnonzero((share > flatness) & (np.diff(start) > 3))
    if len(bent):
        number = int(bent[0])
        raise refusal(
            int(numbers[number]),
            given,
            f"is not planar: a vertex lies {height[number]:.3g} m, {share[number]:.2g} "
            "of the longest edge, off its plane",
            f"at most {flatness:g} of that edge is allowed ({len(bent)} such facets)",
            f"{SPLIT}, or allow more with flatness= of Mesh",
        )


def _heights(vertices: Floats, start: Integers, loops: Integers, normals: Floats) -> tuple[Floats, Floats]:
    """Return the distances of the vertices of each facet from its plane: over its longest edge, and in m."""
    facet = np.repeat(np.arange(len(start) - 1), np.diff(start))
    offset = vertices[loops] - vertices[loops[start[:-1]]][facet]
    height = np.maximum.reduceat(np.abs(exact_math.inner(offset, normals[facet])), start[:-1])
    length = exact_math.norm(vertices[loops[successors(start)]] - vertices[loops])
    beyond = np.maximum(height - _ROUNDED * coordinate_step(vertices), 0.0)
    return beyond / np.maximum.reduceat(length, start[:-1]), height


def _check_convex(
    vertices: Floats, start: Integers, loops: Integers, normals: Floats, flatness: float, numbers: Integers, given: int
) -> None:
    sides = np.diff(start)
    wrong = np.flatnonzero(_concave(vertices, start, loops, normals, flatness) & (sides > 3))
    if len(wrong):
        number = int(wrong[0])
        raise refusal(
            int(numbers[number]),
            given,
            f"is not convex (it has {sides[number]} sides)",
            f"every corner must turn the same way and the outline once ({len(wrong)} such facets)",
            f"{SPLIT}, unless their outline crosses itself",
        )


def _concave(vertices: Floats, start: Integers, loops: Integers, normals: Floats, flatness: float) -> Booleans:
    """Return which facets are not convex: a corner turns right, or the corners turn more than once (a pentagram)."""
    along = vertices[loops[successors(start)]] - vertices[loops]
    length = exact_math.norm(along)
    facet = np.repeat(np.arange(len(start) - 1), np.diff(start))
    following = successors(start)
    scale = length * length[following]
    sine = exact_math.inner(np.cross(along, along[following]), normals[facet]) / scale
    cosine = exact_math.inner(along, along[following]) / scale
    turning = np.add.reduceat(np.arctan2(sine, cosine), start[:-1])
    rounded = _ROUNDED * coordinate_step(vertices) / np.minimum(length, length[following])
    return (np.minimum.reduceat(sine + rounded, start[:-1]) < -flatness) | (np.abs(turning - 2 * np.pi) > 1.0)
