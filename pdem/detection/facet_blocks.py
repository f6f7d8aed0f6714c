"""Blocks of neighbouring facets: which parts of a large mesh are near any sphere at all.

A block lies in a ball around one of its vertices, which moves with its rigid wall and keeps its radius; so a search
costs a part of a percent of the mesh, and the facets of the blocks that spheres are near.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.containers.box_tree import curve_order
from pdem.containers.mesh_topology import members_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.containers.mesh import Mesh

    Floats = NDArray[np.float64]
    Indices = NDArray[np.int64]

FACETS = 64
"""Facets of a block."""

_BINS = 64  # along the longest side of the box around the spheres
_SLACK = 1e-9  # for the rounding of rotations
_OCTAVES = 2.0


class FacetBlocks:
    """Blocks of the facets of walls.

    Parameters
    ----------
    mesh : Mesh
        All walls joined, in any position; its walls are rigid.

    Attributes
    ----------
    anchors : ndarray of int64
        The vertex in the middle of each block, whose present place `near` needs.
    """

    def __init__(self, mesh: Mesh) -> None:
        first = mesh.vertices[mesh.facet_vertices[mesh.facet_start[:-1]]]
        by_place = curve_order(first)
        order = by_place[np.argsort(mesh.facet_wall[by_place], kind="stable")]
        wall = mesh.facet_wall[order]
        begins = np.searchsorted(wall, np.unique(wall))
        within = np.arange(len(order)) - np.repeat(begins, np.diff([*begins, len(order)]))
        self._start = np.append(np.flatnonzero(within % FACETS == 0), len(order))
        self._facets = order
        block = np.empty(len(order), np.int64)
        block[order] = np.repeat(np.arange(len(self._start) - 1), np.diff(self._start))
        self._set_balls(mesh.vertices, mesh.facet_vertices, np.repeat(block, np.diff(mesh.facet_start)))

    def _set_balls(self, vertices: Floats, corners: Indices, block: Indices) -> None:
        """Choose the vertex of each block nearest to its middle, and the radius from there."""
        count = len(self._start) - 1
        number = np.bincount(block, minlength=count)
        sums = [np.bincount(block, weights=vertices[corners, axis], minlength=count) for axis in range(3)]
        middle = np.stack(sums, axis=1) / number[:, None]
        off = np.linalg.norm(vertices[corners] - middle[block], axis=1)
        by_block = np.lexsort((off, block))
        self.anchors = corners[by_block[np.cumsum(number) - number]]
        arm = np.linalg.norm(vertices[corners] - vertices[self.anchors[block]], axis=1)
        self._radius = np.zeros(count)
        np.maximum.at(self._radius, block, arm)
        self._radius += _SLACK * (np.abs(vertices).max() + self._radius)

    def near(self, places: Floats, centres: Floats, reaches: Floats) -> Indices:
        """Return all facets that may be within reach of a sphere, and more; ascending.

        Parameters
        ----------
        places : ndarray, shape (B, 3)
            Present places of the anchors [m].
        centres, reaches : ndarray, shapes (N, 3) and (N,)
            The spheres [m].
        """
        chosen = np.zeros(len(places), np.bool_)
        there = np.isfinite(centres).all(axis=1) & (reaches > 0.0)
        size = np.full(len(reaches), -1)
        size[there] = np.log2(reaches[there].max(initial=0.0) / reaches[there]) // _OCTAVES
        for octave in np.unique(size[there]):
            members = size == octave
            wide = self._radius + reaches[members].max()
            chosen |= _occupied(centres[members], places - wide[:, None], places + wide[:, None])
        return np.sort(members_of(self._start, self._facets, np.flatnonzero(chosen)))


def _occupied(points: Floats, lower: Floats, upper: Floats) -> NDArray[np.bool_]:
    """Tell which boxes may hold any of the points: by bins, of which each point fills one."""
    low = points.min(axis=0)
    extent = points.max(axis=0) - low
    least = 1e-6 * float((upper - lower).max())  # spheres in one place need no finer bins
    bin_size = max(float(extent.max()) / _BINS, least)
    shape = (extent / bin_size).astype(np.int64) + 1
    at = np.minimum(((points - low) / bin_size).astype(np.int64), shape - 1)
    filled = np.zeros(shape + 1, np.int32)
    filled[at[:, 0] + 1, at[:, 1] + 1, at[:, 2] + 1] = 1
    for axis in range(3):
        np.cumsum(filled, axis=axis, out=filled)
    # a bin more on each side for the rounding of both; a clip keeps far boxes from overflowing
    begin = np.clip((lower - low) / bin_size - 1.0, 0, shape).astype(np.int64)
    end = np.clip((upper - low) / bin_size + 2.0, 0, shape).astype(np.int64)
    count = np.zeros(len(lower), np.int64)
    for corner in range(8):
        of = [(end if corner >> axis & 1 else begin)[:, axis] for axis in range(3)]
        count += (1 if corner.bit_count() % 2 else -1) * filled[of[0], of[1], of[2]].astype(np.int64)
    return count > 0
