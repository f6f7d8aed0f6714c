"""Which facets of the walls may touch which spheres: candidate lists for many steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.detection import facet_bins as bins

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.containers.mesh import Mesh

_GROWTH = 1.25


class FacetSearch:
    """Finds the facets near spheres, with buffers that are kept from call to call.

    Bins cover only the region where the boxes of spheres and facets overlap (H2 sect. 3.1); facets are binned
    by size, so that they may be far larger or far smaller than the spheres and than each other. Memory is
    O(spheres + facets + found); once the buffers have grown, a call allocates nothing of that order.

    Parameters
    ----------
    mesh : Mesh
        Only its loops are used; positions and normals are given with each call, since walls move.
    """

    def __init__(self, mesh: Mesh) -> None:
        self._facet_start = mesh.facet_start
        self._facet_vertices = mesh.facet_vertices
        count = mesh.facet_count
        self._boxes = np.empty((count, 6))
        self._region = np.empty(6)
        self._level_of = np.empty(count, dtype=np.int8)
        self._level_counts = np.zeros(bins.LEVELS, dtype=np.int64)
        self._level_extents = np.zeros((bins.LEVELS, 3))
        self._cell_sizes = np.ones(bins.LEVELS)
        self._cell_counts = np.ones((bins.LEVELS, 3), dtype=np.int64)
        self._cell_offsets = np.zeros(bins.LEVELS + 1, dtype=np.int64)
        self._cell_of = np.empty(count, dtype=np.int64)
        self._bin_start = np.zeros(1, dtype=np.int64)
        self._bin_facets = np.empty(count, dtype=np.int64)
        self._start = np.zeros(1, dtype=np.int64)
        self._counts = np.zeros(1, dtype=np.int64)
        self._found = np.empty(0, dtype=np.int64)

    def find(
        self,
        vertices: NDArray[np.float64],
        normals: NDArray[np.float64],
        centres: NDArray[np.float64],
        reaches: NDArray[np.float64],
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """List for each sphere the facets that may come within its reach.

        Parameters
        ----------
        vertices, normals : ndarray, shapes (V, 3) and (F, 3), float64
            Present positions [m] and unit normals of the mesh.
        centres : ndarray, shape (N, 3), float64
            Centres of the spheres [m].
        reaches : ndarray, shape (N,), float64
            Radius plus skin of each sphere [m].

        Returns
        -------
        start : ndarray, shape (N + 1,), int64
            Facets of sphere i are ``facets[start[i]:start[i + 1]]``.
        facets : ndarray, int64
            Facets, ascending for each sphere: all whose distance from the centre is at most the reach, and
            some that are a little farther.

        Notes
        -----
        Both arrays are views of buffers that the next call overwrites.
        """
        start, counts = self._rows(len(reaches))
        if len(reaches) == 0 or not self._bin(vertices, centres, reaches):
            start[:] = 0
            return start, self._found[:0]
        where = (
            centres, reaches, vertices, normals, self._facet_start, self._facet_vertices, self._boxes,
            self._region, self._level_extents, self._cell_sizes, self._cell_counts, self._cell_offsets,
            self._bin_start, self._bin_facets,
        )  # fmt: skip
        bins.visit_spheres(*where, False, counts, start, self._found)
        start[0] = 0
        np.cumsum(counts, out=start[1:])
        total = int(start[-1])
        if total > len(self._found):
            self._found = np.empty(int(_GROWTH * total) + 16, dtype=np.int64)
        bins.visit_spheres(*where, True, counts, start, self._found)
        return start, self._found[:total]

    @property
    def memory(self) -> int:
        """Bytes held in buffers."""
        return sum(value.nbytes for value in vars(self).values() if isinstance(value, np.ndarray))

    def _rows(self, count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        if count + 1 > len(self._start):
            self._start = np.zeros(int(_GROWTH * count) + 16, dtype=np.int64)
            self._counts = np.zeros(len(self._start), dtype=np.int64)
        return self._start[: count + 1], self._counts[:count]

    def _bin(
        self, vertices: NDArray[np.float64], centres: NDArray[np.float64], reaches: NDArray[np.float64]
    ) -> bool:
        """Sort the facets in the common region into bins; return whether there is such a region."""
        count = len(self._level_of)
        bins.box_facets(vertices, self._facet_start, self._facet_vertices, self._boxes)
        if not bins.overlap_region(self._boxes, count, centres, reaches, self._region):
            return False
        bins.sort_into_levels(
            self._boxes, count, self._region, self._level_of, self._level_counts, self._level_extents
        )
        grids = self._cell_sizes, self._cell_counts, self._cell_offsets
        cells = bins.lay_out_grids(self._region, self._level_counts, self._level_extents, *grids)
        if cells + 1 > len(self._bin_start):
            self._bin_start = np.zeros(int(_GROWTH * cells) + 16, dtype=np.int64)
        bins.fill_bins(
            self._boxes, count, self._region, self._level_of, *grids, self._cell_of, self._bin_start,
            self._bin_facets,
        )  # fmt: skip
        return True
