"""The spheres near the walls, sorted into cells by size and position."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.detection.walls import sphere_cell_kernels as kernels
from pdem.numerics.arrays import room_for, with_spare

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats


class SphereCells:
    """Sorts the spheres that may intersect a box into cells, with buffers that are reused in all calls.

    Attributes
    ----------
    cells : Cells
        The grids of the levels of reach.
    start : ndarray, int32
        Spheres of bucket b are in slots ``start[b]`` to ``start[b + 1] - 1``.
    order : ndarray, int32
        Sphere in each slot.
    spheres : ndarray, shape (>= slots, 4), float64
        Centre and reach of the sphere in each slot [m].
    """

    def __init__(self) -> None:
        self.cells = kernels.make_cells()
        self._held = np.zeros(1, np.int32)
        self.start = self._held
        self._taken = np.zeros(kernels.CHUNKS, np.int64)
        self._extents = np.zeros((kernels.CHUNKS, 6))
        self._populations = np.zeros((kernels.CHUNKS, kernels.LEVELS), np.int64)
        self._largest = np.zeros((kernels.CHUNKS, kernels.LEVELS))
        self._make_places(0)
        self._make_slots(0)

    def _make_places(self, count: int) -> None:
        self._active = np.empty(count, np.int32)
        self._level_of = np.empty(count, np.int8)
        self._bucket_of = np.empty(count, np.int32)

    def _make_slots(self, count: int) -> None:
        self.order = np.empty(count, np.int32)
        self.spheres = np.empty((count, 4))

    def sort(self, centres: Floats, reaches: Floats, bounds: Floats) -> bool:
        """Sort the spheres with boxes that intersect a box; return whether there are any.

        Parameters
        ----------
        centres, reaches : (N, 3) and (N,) arrays
            Centres and reaches of all spheres [m].
        bounds : (6,) array
            Lower and upper corner of the box [m]; finite.
        """
        if len(reaches) > len(self._active):
            self._make_places(room_for(len(reaches), len(self._active)))
        kernels.select(
            centres, reaches, bounds, self._active, self._level_of, self._taken, self._extents,
            self._populations, self._largest,
        )  # fmt: skip
        taken = int(self._taken.sum())
        if taken == 0:
            return False
        if taken > len(self.order):
            self._make_slots(with_spare(taken))
        self._lay_out(centres, bounds, join=True)
        if kernels.hash_dense_levels(self.start, self.cells) > 0:  # heaps: levels must not share cells
            self._lay_out(centres, bounds, join=False)
            buckets = kernels.hash_dense_levels(self.start, self.cells)
            if buckets > 0:
                self._count(centres, buckets)
        kernels.sort_spheres(
            centres, reaches, self._active, self._taken, self._bucket_of, self.start, self.order, self.spheres
        )
        return True

    def _lay_out(self, centres: Floats, bounds: Floats, join: bool) -> None:
        buckets = kernels.lay_out(self._extents, self._populations, self._largest, bounds, join, self.cells)
        self._count(centres, buckets)

    def _count(self, centres: Floats, buckets: int) -> None:
        if buckets + 1 > len(self._held):
            self._held = np.zeros(with_spare(buckets), np.int32)
        self.start = self._held[: buckets + 1]
        kernels.find_buckets(centres, self._active, self._taken, self._level_of, self.cells, self._bucket_of)
        kernels.count_spheres(len(centres), self._taken, self._bucket_of, self.start)

    @property
    def memory(self) -> int:
        """Bytes held in buffers."""
        arrays = [value for value in vars(self).values() if isinstance(value, np.ndarray)]
        return sum(value.nbytes for value in (*arrays, *self.cells)) - self.start.nbytes
