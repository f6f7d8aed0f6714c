"""The hierarchical grid (HGrid): contact detection with a cost per particle that is independent of the size ratio.

Krijgsman, Ogarko, Luding, Comput. Part. Mech. 1 (2014) 357, doi 10.1007/s40571-014-0020-9. Particles are sorted into
levels by size, each with cells as large as its largest particle. A particle searches for partners in its own level and,
top-down, in the levels of smaller particles (bottom-up: of larger ones). Memory is O(N) at any density and size ratio,
see `pdem.detection.grid_kernels`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.containers.box_shape import BoxShape
from pdem.detection import grid_kernels as grid
from pdem.detection import grid_levels, grid_search
from pdem.detection.grid_levels import Lean
from pdem.detection.neighbours import SEGMENTS, NearPairs
from pdem.detection.rivals.cell_grid import Spheres, touches
from pdem.numerics.arrays import room_for, with_spare
from pdem.numerics.kernels import kernel
from pdem.numerics.simd.distance_filter import COORDINATES
from pdem.numerics.simd.transposition import LANES
from pdem.numerics.thread_pool import threads

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.foundation.array_types import Booleans, Floats, Int32s, Integers

_GROWTH = 1.1

_BINS = 64
"""Intervals of a periodic axis for the detection of empty gaps."""

_FEW = 512
"""Number of particles in a first, quick check for gaps."""


class HierarchicalGrid:
    """Search for near pairs, with buffers that are reused in all calls.

    Parameters
    ----------
    cell_sizes : (L,) array
        Increasing limits of the reach diameters of the levels [m]; larger particles join the last level.
    lower, upper : (3,) arrays
        Box [m]; used on periodic axes.
    periodic : three bool
        Which axes are periodic.
    direction : {"top-down", "bottom-up"}
        Whether large particles search the levels of small ones, or the other way round.
    """

    def __init__(
        self,
        cell_sizes: Floats,
        lower: Floats,
        upper: Floats,
        periodic: tuple[bool, bool, bool],
        direction: str = "top-down",
    ) -> None:
        depth = max(1, len(cell_sizes))
        limits = np.zeros(1) if len(cell_sizes) == 0 else np.array(cell_sizes, dtype=np.float64)
        self._levels = grid_levels.Levels(
            limits, np.zeros((depth, 3)), np.zeros((depth, 3)), np.ones((depth, 3), dtype=np.int64),
            np.zeros(depth + 1, dtype=np.int64), np.zeros(depth, dtype=np.int64),
            np.zeros(depth, dtype=np.int64), np.zeros(depth), np.zeros((depth, 3)), np.zeros((depth, 3)),
            np.zeros(depth, dtype=np.int64), np.arange(3),
        )  # fmt: skip
        self._top_down = direction == "top-down"
        lower = np.array(lower, dtype=np.float64)
        self._shape = BoxShape.upright(lower, np.where(periodic, np.asarray(upper) - lower, 0.0))
        self._period = self._shape.period  # period of the grid, 0 along axes that are opened
        self._cut = np.zeros(3, np.bool_)
        self._found = np.zeros(SEGMENTS, dtype=np.int64)
        self._counters = np.zeros((SEGMENTS, 2), dtype=np.int64)
        self._room = np.zeros(SEGMENTS + 1, dtype=np.int64)
        self._make_room()
        self._extents = np.empty(SEGMENTS * depth * grid_levels.EXTENTS)
        self._before = np.zeros(0, dtype=np.int64)
        self._start = np.zeros(1, dtype=np.int32)
        self._resize(0)

    def _resize(self, count: int) -> None:
        self._level_of = np.empty(count, dtype=np.int8)
        self._bucket_of = np.empty(count, dtype=np.int64)
        self._order = np.zeros(count + LANES, dtype=np.int32)
        self._spheres = np.zeros(COORDINATES * (count + LANES))

    def _make_room(self) -> None:
        """Give each segment room for the number of pairs of the last search, and never less than before."""
        wanted = np.maximum((_GROWTH * self._found).astype(np.int64) + 16, np.diff(self._room))
        self._room[1:] = np.cumsum(wanted)
        self._first = np.empty(self._room[-1], dtype=np.int32)
        self._second = np.empty_like(self._first)

    def set_shape(self, shape: BoxShape) -> None:
        """Set the shape of the box for the next searches."""
        self._shape = shape

    def set_cut_axes(self, cut: Booleans) -> None:
        """Orient rows of cells along axes (3,) that are not cut, and stack layers along a cut axis, if there is any.

        Then particles near the cuts at the ends of such axes, with neighbours on other ranks, are adjacent in `order`.
        """
        self._cut = cut

    def set_limits(self, cell_sizes: Floats) -> None:
        """Change the limits of the reach diameters of the levels [m]; of a longer list, the largest limits are used."""
        self._levels.limit[:] = cell_sizes[-len(self._levels.limit) :]

    def sort(self, position: Floats, reach: Floats, count: int) -> None:
        """Sort particles into the cells of their levels.

        Parameters
        ----------
        position : (>= count, 3) array
            Centres [m], inside the box on periodic axes.
        reach : (>= count,) array
            Radius plus half of the largest gap of a pair [m].
        count : int
            Number of particles.
        """
        position = self._lay_out(position, reach, count)
        self._sort_into_buckets(position, reach, count)

    def _sort_into_buckets(self, position: Floats, reach: Floats, count: int) -> None:
        """Sort particles into the buckets of their levels."""
        grid.find_buckets(position, count, self._levels, self._level_of, self._bucket_of)
        buckets = int(self._levels.base[-1])
        if buckets + 1 > len(self._start):
            self._start = np.zeros(with_spare(buckets), dtype=np.int32)
        parts = threads()
        if parts > len(self._before):
            self._before = np.zeros(parts, dtype=np.int64)
        grid.sort_into_buckets(
            parts, count, buckets, (position, reach, self._bucket_of, self._levels.axes), self._before, self._start,
            self._order, self._spheres,
        )  # fmt: skip

    def _lay_out(self, position: Floats, reach: Floats, count: int) -> Floats:
        """Lay out the grids of all levels, with room for `count` particles; return the positions that fit these grids.

        Where a periodic box has many more cells than particles, the particles may fill only a small part of it, like
        the particles of one of many ranks. Then the grid covers only this part, and its order keeps neighbours close in
        memory.
        """
        if count > len(self._level_of):
            self._resize(room_for(count, len(self._level_of)))
        levels, self._period = self._levels, self._shape.period
        self._measure(position, reach, count)
        if levels.dense[levels.population > 0].all() or self._shape.leans or not self._period.any():
            return position
        widest = 2.0 * grid_search.INFLATION * float(levels.reach.max())
        together, self._period = opened(position[:count], self._shape.lower, self._shape.period, widest)
        if self._period is not self._shape.period:
            self._measure(together, reach, count)
        return together

    def _measure(self, position: Floats, reach: Floats, count: int) -> None:
        """Assign particles to levels, and lay out a grid for each level."""
        grid_levels.assign_levels(position, reach, count, self._levels, self._extents, self._level_of)
        grid_levels.measure_levels(self._levels, self._extents)
        self._levels.axes[:] = self._axes()
        grid_levels.lay_out(self._levels, self._shape.lower, self._period)

    def _axes(self) -> NDArray[np.intp]:
        """Return the axes along rows, from row to row, and from layer to layer, for the measured levels."""
        shape, measured = self._shape, self._levels.highest.max(axis=0) - self._levels.lowest.min(axis=0)
        if shape.leans:
            return np.array([shape.velocity, 3 - shape.velocity - shape.gradient, shape.gradient])
        length = np.where((self._period > 0.0) & ~self._cut, self._period, measured)
        axes = np.lexsort((length, self._cut))
        return axes if self._cut.sum() == 2 else axes[[1, 0, 2]]

    def _lean(self) -> Lean | None:
        """Return the lean of the box for kernels, None for an upright box."""
        shape = self._shape
        if not shape.leans:
            return None
        return Lean(
            float(shape.across[shape.velocity]), float(shape.period[shape.gradient]),
            float(shape.period[shape.velocity]),
        )  # fmt: skip

    def order(self, position: Floats, reach: Floats, count: int) -> Int32s:
        """Return the particles in the order of the cells of a single level, the level of most particles.

        Particles that are near each other in space are near each other in this order; parameters as for `sort`. The
        array is a buffer that the next call overwrites.
        """
        position = self._lay_out(position, reach, count)
        self._level_of[:count] = int(np.argmax(self._levels.population))
        self._sort_into_buckets(position, reach, count)
        return self._order[:count]

    def search(self, position: Floats, reach: Floats, count: int) -> NearPairs:
        """Return both particles of each pair with a distance below the sum of their reaches, each pair once.

        A pair with a distance that exceeds the sum by a relative 1e-12 may be included. The arrays are buffers that the
        next call overwrites.
        """
        self.sort(position, reach, count)
        period, lean = self._period[self._levels.axes], self._lean()
        if lean is not None:
            period[2] = 0.0
        while True:
            grid_search.search(
                count, self._top_down, self._levels, self._level_of, (self._spheres, self._start, self._order), period,
                lean, self._room, ((self._first, self._second), self._found, self._counters),
            )  # fmt: skip
            if (self._found + LANES <= np.diff(self._room)).all():
                break
            self._make_room()
        return NearPairs(self._first, self._second, self._room[:-1], self._found)

    @property
    def checks(self) -> int:
        """Distance tests of the last search."""
        return int(self._counters[:, 0].sum())

    @property
    def accesses(self) -> int:
        """Rows of cells visited by the last search."""
        return int(self._counters[:, 1].sum())

    @property
    def memory(self) -> int:
        """Bytes held in buffers."""
        return sum(value.nbytes for value in vars(self).values() if isinstance(value, np.ndarray))


def opened(position: Floats, lower: Floats, period: Floats, width: float) -> tuple[Floats, Floats]:
    """Return positions and periods of axes; an axis with an empty gap wider than `width` gets the period 0.

    Positions below such a gap are shifted by one period, so that all particles are together.

    Parameters
    ----------
    position : (n, 3) array
        Within the box on periodic axes [m].
    lower, period : (3,) arrays
        Corner of the box, and its length along periodic axes, 0 on open ones [m].
    width : float
        Largest distance of two partners [m].
    """
    gaps = {}
    for axis in np.flatnonzero(period > 0.0).tolist():
        along, least = position[:, axis], width / period[axis]
        few = along[:: max(1, len(along) // _FEW)]  # mostly enough to show that there is no gap
        gap = None
        for some in (few, along):
            gap = _middle_of_gap((some - lower[axis]) / period[axis], least)
            if gap is None:
                break
        if gap is not None:
            gaps[axis] = lower[axis] + gap * period[axis]
    if not gaps:
        return position, period
    together, left = position.copy(), period.copy()
    for axis, gap in gaps.items():
        together[position[:, axis] < gap, axis] += period[axis]
        left[axis] = 0.0
    return together, left


def _middle_of_gap(place: Floats, width: float) -> float | None:
    """Return the middle of the widest gap between positions on a circle of length 1, None if narrower than `width`."""
    there = np.zeros(_BINS, bool)
    there[np.floor(_BINS * place).astype(np.int64) % _BINS] = True
    taken = np.flatnonzero(there)
    if len(taken) == 0:
        return None
    empty = np.diff(taken, append=taken[0] + _BINS) - 1
    widest = int(np.argmax(empty))
    if empty[widest] <= width * _BINS:
        return None
    return float((taken[widest] + 1 + 0.5 * empty[widest]) / _BINS % 1.0)


@kernel
def _exactly_touching(
    first: Int32s, second: Int32s, begin: Integers, found: Integers, spheres: Spheres, pairs: Integers
) -> int:
    kept = 0
    for segment in range(SEGMENTS):
        for place in range(begin[segment], begin[segment] + found[segment]):
            if touches(spheres, first[place], second[place]):
                pairs[kept, 0] = first[place]
                pairs[kept, 1] = second[place]
                kept += 1
    return kept


def search_pairs(
    positions: Floats,
    radii: Floats,
    *,
    cell_sizes: Floats,
    direction: str,
    lower: Floats,
    upper: Floats,
    periodic: tuple[bool, bool, bool],
    dimension: int,
    skin: float,
) -> tuple[Integers, int, int]:
    """Find touching pairs by the hierarchical grid.

    Parameters
    ----------
    positions, radii, lower, upper, periodic, dimension, skin
        As for `pdem.detection.rivals.linked_cell.search_pairs`.
    cell_sizes : (L,) array
        Increasing limits of the diameters of the levels [m], skin included.
    direction : {"top-down", "bottom-up"}
        Whether large particles search the levels of small ones, or the other way round.

    Returns
    -------
    pairs : (m, 2) int64 array
        Unsorted, each once.
    checks, accesses : int
        Distance tests; rows of cells visited.
    """
    levels = HierarchicalGrid(cell_sizes, lower, upper, periodic, direction)
    near = levels.search(positions, radii + 0.5 * skin, len(radii))
    box = np.where(periodic, upper - lower, np.inf)
    pairs = np.empty((near.total, 2), dtype=np.int64)
    kept = _exactly_touching(*near, Spheres(positions, radii, skin, box), pairs)
    return pairs[:kept], levels.checks, levels.accesses
