"""A tree of balls around facets: it selects the parts of a large mesh that are near any sphere.

Its leaves are blocks of neighbouring facets of one wall, and every node above contains several nodes of the level
below, up to one root for each wall. A node is enclosed by a ball around one of its vertices, which moves with its rigid
wall and keeps its radius. A search descends from the walls to the blocks near spheres, so that distant parts of a mesh
cost nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.containers.meshes.box_tree import curve_order
from pdem.containers.meshes.mesh_topology import members_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from pdem.containers.meshes.mesh import Mesh
    from pdem.foundation.array_types import Booleans, Floats, Int32s, Integers

FACETS = 64
"""Facets in a leaf."""

CHILDREN = 8
"""Nodes of the level below in a node."""

_SLACK = 1e-9  # for the rounding of rotations
_OCTAVES = 2.0


class _Level(NamedTuple):
    """Nodes of one level.

    Attributes
    ----------
    start : (n + 1,) int64 array
        First member of each node: facets of a leaf, nodes of the level below.
    anchor : (n,) int64 array
        Vertex in the middle of the ball of each node.
    radius : (n,) float64 array
        Radius of the ball [m].
    wall : (n,) array
        Wall of the node.
    """

    start: Integers
    anchor: Integers
    radius: Floats
    wall: Int32s


class FacetTree:
    """Facets of walls as the leaves of a tree.

    Parameters
    ----------
    mesh : Mesh
        All walls joined, in any position; the walls are rigid.

    Attributes
    ----------
    tested : int
        Number of balls that the last search has tested.
    """

    def __init__(self, mesh: Mesh) -> None:
        first = mesh.vertices[mesh.facet_vertices[mesh.facet_start[:-1]]]
        by_place = curve_order(first)
        self._facets = by_place[np.argsort(mesh.facet_wall[by_place], kind="stable")]
        start, wall = _groups(mesh.facet_wall[self._facets], FACETS)
        block = np.empty(len(self._facets), np.int64)
        block[self._facets] = np.repeat(np.arange(len(wall)), np.diff(start))
        node = np.repeat(block, np.diff(mesh.facet_start))  # node of each corner
        anchor = _in_the_middle(mesh.vertices, mesh.facet_vertices, node)
        self._levels = [_Level(start, anchor, _radii(mesh, anchor, node), wall)]
        while len(wall) > len(np.unique(wall)):
            start, wall = _groups(wall, CHILDREN)
            parent = np.repeat(np.arange(len(wall)), np.diff(start))
            anchor, node = _in_the_middle(mesh.vertices, anchor, parent), parent[node]
            self._levels.append(_Level(start, anchor, _radii(mesh, anchor, node), wall))
        self.tested = 0

    def near(self, places_of: Callable[[Integers], Floats], centres: Floats, reaches: Floats) -> Integers:
        """Return all facets that may be within reach of a sphere, and possibly a few more; ascending.

        Parameters
        ----------
        places_of : function of an int64 array
            Returns the present positions of vertices (n, 3) [m].
        centres, reaches : ndarray, shapes (N, 3) and (N,)
            Centres and reaches of the spheres [m].
        """
        sizes = _spheres_by_size(centres, reaches)
        nodes = np.arange(len(self._levels[-1].wall))
        self.tested = 0
        for level in reversed(self._levels):
            places, radius = places_of(level.anchor[nodes]), level.radius[nodes, None]
            self.tested += len(nodes)
            holds = np.zeros(len(nodes), np.bool_)
            for spheres in sizes:
                wide = radius + spheres.reach
                holds |= spheres.any_in(places - wide, places + wide)
            members = self._facets if level is self._levels[0] else np.arange(level.start[-1])
            nodes = members_of(level.start, members, nodes[holds])
        return np.sort(nodes)


def _groups(walls: Int32s, size: int) -> tuple[Integers, Int32s]:
    """Return the first indices of groups of at most `size` elements of one wall, and their walls.

    The elements are sorted by wall.
    """
    begins = np.flatnonzero(np.diff(walls, prepend=walls[:1] - 1))
    within = np.arange(len(walls)) - np.repeat(begins, np.diff(np.append(begins, len(walls))))
    first = np.flatnonzero(within % size == 0)
    return np.append(first, len(walls)), walls[first]


def _in_the_middle(vertices: Floats, numbers: Integers, group: Integers) -> Integers:
    """Return for each group of vertices the index of the vertex nearest to their middle."""
    size = np.bincount(group)
    sums = [np.bincount(group, weights=vertices[numbers, axis]) for axis in range(3)]
    off = np.linalg.norm(vertices[numbers] - (np.stack(sums, axis=1) / size[:, None])[group], axis=1)
    nearest: Integers = numbers[np.lexsort((off, group))[np.cumsum(size) - size]]
    return nearest


def _radii(mesh: Mesh, anchor: Integers, node: Integers) -> Floats:
    """Return the largest distance of the corners of each node's facets from its anchor [m]."""
    vertices, radius = mesh.vertices, np.zeros(len(anchor))
    arms = np.linalg.norm(vertices[mesh.facet_vertices] - vertices[anchor[node]], axis=1)
    np.maximum.at(radius, node, arms)
    return radius * (1.0 + _SLACK) + _SLACK * np.abs(vertices).max(initial=0.0)


class _Spheres:
    """Spheres of similar size, marked in a grid of bins.

    Parameters
    ----------
    centres, reaches : ndarray, shapes (N, 3) and (N,)
        Centres and reaches of at least one sphere [m].

    Attributes
    ----------
    reach : float
        The largest reach [m].
    """

    BINS = 64  # bins along the longest side of the box around the spheres

    def __init__(self, centres: Floats, reaches: Floats) -> None:
        self.reach = float(reaches.max())
        self._low = centres.min(axis=0)
        extent = centres.max(axis=0) - self._low
        # Spheres at the same position need no finer bins.
        self._bin = max(float(extent.max()) / self.BINS, 1e-6 * self.reach)
        self._shape = (extent / self._bin).astype(np.int64) + 1
        at = np.minimum(((centres - self._low) / self._bin).astype(np.int64), self._shape - 1)
        self._filled = np.zeros(self._shape + 1, np.int32)
        self._filled[at[:, 0] + 1, at[:, 1] + 1, at[:, 2] + 1] = 1
        for axis in range(3):
            np.cumsum(self._filled, axis=axis, out=self._filled)

    def any_in(self, lower: Floats, upper: Floats) -> Booleans:
        """Return for each box whether it may contain any of the centres."""
        # One more bin on each side covers the rounding of both; a clip keeps distant boxes from overflowing.
        begin = np.clip((lower - self._low) / self._bin - 1.0, 0, self._shape).astype(np.int64)
        end = np.clip((upper - self._low) / self._bin + 2.0, 0, self._shape).astype(np.int64)
        count = np.zeros(len(lower), np.int64)
        for corner in range(8):
            x, y, z = ((end if corner >> axis & 1 else begin)[:, axis] for axis in range(3))
            count += (1 if corner.bit_count() % 2 else -1) * self._filled[x, y, z].astype(np.int64)
        return count > 0


def _spheres_by_size(centres: Floats, reaches: Floats) -> list[_Spheres]:
    """Return the spheres with finite positions, grouped by reach: two octaves in each group."""
    there = np.isfinite(centres).all(axis=1) & (reaches > 0.0)
    centres, reaches = centres[there], reaches[there]
    octave = np.log2(reaches.max(initial=0.0) / reaches) // _OCTAVES
    return [_Spheres(centres[octave == one], reaches[octave == one]) for one in np.unique(octave)]
