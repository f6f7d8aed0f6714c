"""Candidate lists of facets that spheres may touch, valid for many steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.containers.meshes.mesh_topology import members_of
from pdem.detection.walls import facet_visits as visits
from pdem.detection.walls.facet_tree import FacetTree
from pdem.detection.walls.sphere_cell_kernels import CHUNKS
from pdem.detection.walls.sphere_cells import SphereCells
from pdem.numerics.arrays import room_for

if TYPE_CHECKING:
    from pdem.containers.meshes.mesh import Mesh
    from pdem.foundation.array_types import Floats, Integers

LARGE = 1 << 14
"""Number of facets above which the search of a mesh uses a tree."""

_GROWTH = 1.25
_ROOM = 32


def tree_of(mesh: Mesh) -> FacetTree | None:
    """Return the tree of a large mesh, None for a small one."""
    return FacetTree(mesh) if mesh.facet_count > LARGE else None


class FacetSearch:
    """Search for facets near spheres, with buffers that are reused in all calls.

    The spheres in the bounding box of all facets (H2 sect. 3.1) are sorted into cells by reach and position, and each
    facet visits the cells around it: a sphere far from all facets costs its share of the sorting only. Sizes of spheres
    and facets may differ by any factor, between and within both sets. Memory is O(spheres + facets + hits). Once the
    buffers have grown, a call allocates nothing of that order, except for large meshes, for which only the facets near
    spheres are tested (`near`).

    Parameters
    ----------
    mesh : Mesh
        Only its loops are used; each call passes positions and normals, because walls move.
    facet_tree : FacetTree, optional
        Tree of the mesh, if the mesh is large and the tree exists already.

    Attributes
    ----------
    facet_tree : FacetTree or None
        Tree of a large mesh.
    looked_at : int
        Number of facets that the last call has tested.
    """

    def __init__(self, mesh: Mesh, facet_tree: FacetTree | None = None) -> None:
        self._facet_start = mesh.facet_start
        self._facet_vertices = mesh.facet_vertices
        self._boxes = np.empty((mesh.facet_count, 6))
        self._work = np.zeros(mesh.facet_count + 1, np.int64)
        self._extents = np.zeros((CHUNKS, 6))
        self._bounds = np.zeros(6)
        self._spheres = SphereCells()
        self._hits = np.zeros(CHUNKS, np.int64)
        self._segments = np.arange(CHUNKS + 1) * _ROOM
        self._hit_spheres = np.empty(CHUNKS * _ROOM, np.int32)
        self._hit_facets = np.empty_like(self._hit_spheres)
        self._start = np.zeros(1, np.int64)
        self._found = np.empty(0, np.int64)
        self.facet_tree = tree_of(mesh) if facet_tree is None else facet_tree
        self.looked_at = 0

    def find(
        self, vertices: Floats, normals: Floats, centres: Floats, reaches: Floats, near: Integers | None = None
    ) -> tuple[Integers, Integers]:
        """List for each sphere the facets that may come within its reach.

        Parameters
        ----------
        vertices, normals : ndarray, shapes (V, 3) and (F, 3), float64
            Present positions [m] and unit normals of the mesh.
        centres : ndarray, shape (N, 3), float64
            Centres of the spheres [m].
        reaches : ndarray, shape (N,), float64
            Radius plus skin of each sphere [m].
        near : ndarray of int64, optional
            Test only these facets, ascending: all facets that may be within reach, from ``facet_tree.near``.

        Returns
        -------
        start : ndarray, shape (N + 1,), int64
            Facets of sphere i are ``facets[start[i]:start[i + 1]]``.
        facets : ndarray, int64
            Facets, ascending for each sphere: all facets with a distance from the centre of at most the reach, and some
            that are a little farther away.

        Notes
        -----
        Both arrays are views of buffers that the next call overwrites.
        """
        if len(reaches) + 1 > len(self._start):
            self._start = np.zeros(room_for(len(reaches), len(self._start) - 1) + 1, np.int64)
        start = self._start[: len(reaches) + 1]
        facets = self._chosen(vertices, normals, near)
        self.looked_at = len(facets.boxes)
        visits.box_facets(facets, self._extents)
        visits.bound_facets(self._extents, self._bounds)
        if self.looked_at == 0 or not self._spheres.sort(centres, reaches, self._bounds):
            start[:] = 0
            return start, self._found[:0]
        total = self._visit(facets)
        if total > len(self._found):
            self._found = np.empty(int(_GROWTH * total) + 16, np.int64)
        visits.sort_hits_by_sphere(self._segments, self._hits, self._hit_spheres, self._hit_facets, start, self._found)
        if near is not None:
            self._found[:total] = near[self._found[:total]]
        return start, self._found[:total]

    def _chosen(self, vertices: Floats, normals: Floats, near: Integers | None) -> visits.VisitedFacets:
        """Return the facets to test."""
        if near is None:
            return visits.VisitedFacets(vertices, normals, self._facet_start, self._facet_vertices, self._boxes)
        start = np.zeros(len(near) + 1, np.int64)
        np.cumsum(self._facet_start[near + 1] - self._facet_start[near], out=start[1:])
        loops = members_of(self._facet_start, self._facet_vertices, near)
        return visits.VisitedFacets(vertices, normals[near], start, loops, self._boxes[: len(near)])

    def _visit(self, facets: visits.VisitedFacets) -> int:
        """Find all hits, in segments that are long enough; return their number."""
        cells = self._spheres.cells
        slots = visits.Slots(self._spheres.start, self._spheres.order, self._spheres.spheres)
        work = self._work[: len(facets.boxes) + 1]
        visits.count_work(facets, cells, work)
        visits.write_first_units(work)
        while True:
            visits.visit(
                facets, cells, slots, work, self._segments, self._hit_spheres, self._hit_facets,
                self._hits,
            )  # fmt: skip
            room = np.diff(self._segments)
            if (self._hits <= room).all():
                return int(self._hits.sum())
            # segments never shrink: as walls turn, hits move from one segment to the next and back
            room = np.where(self._hits > room, (_GROWTH * self._hits).astype(np.int64) + _ROOM, room)
            np.cumsum(room, out=self._segments[1:])
            self._hit_spheres = np.empty(self._segments[-1], np.int32)
            self._hit_facets = np.empty_like(self._hit_spheres)

    @property
    def memory(self) -> int:
        """Bytes held in buffers."""
        own = sum(value.nbytes for value in vars(self).values() if isinstance(value, np.ndarray))
        return own + self._spheres.memory
