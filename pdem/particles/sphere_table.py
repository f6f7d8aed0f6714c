"""Table of placed spheres, with the test whether the spheres of a candidate overlap any of them.

A candidate is one particle, of one or several spheres, which are tested and placed together. The table is a hash table
of cells, with one cell size per class of radii, so that the work per candidate depends neither on the number of spheres
nor on their size ratio. The results do not depend on cells or capacity. A table of a part of the spheres gives the same
results for these spheres as a table of all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.numerics.kernels import inlined, kernel
from pdem.particles.clearance import octaves

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.foundation.array_types import Booleans, Floats, Integers
    from pdem.particles.particle_spheres import SphereGroups

    States = NDArray[np.int8]

UNDECIDED, CLEAR, PLACED, REFUSED = range(4)
"""States of candidates: undecided; clear of everything that could come before; placed; overlaps a placed one."""

_GROWTH = 1.25
_NO_LEVELS = np.zeros(0, np.int64)
_WIDER = 1.0 + 1e-6  # enlarges searches, so that rounding misses nothing

NOBODY = -1
"""Key of a particle that is not in a table."""


@inlined
def _bucket(level: int, x: int, y: int, z: int, mask: int) -> int:
    key = ((level * 73856093) ^ (x * 83492791)) ^ ((y * 19349663) ^ (z * 50331653))
    key ^= key >> 15
    return ((key * 2654435761) >> 7) & mask


@inlined
def _cell(offset: float, size: float, wrap: int) -> int:
    index = int(np.floor(offset / size))
    return index % wrap if wrap > 0 else index


class PlacedTable(NamedTuple):
    """Spheres, sorted into the cells of a hash table.

    Attributes
    ----------
    period : (3,) array
        Width of the domain along periodic axes [m], 0 along others.
    cells, wraps : (L, 3) arrays
        Sizes of the cells of each level [m], and their number along periodic axes, 0 along others.
    largest_radii : (L,) array
        Largest radius of each level so far [m].
    heads : int64 array
        First sphere of each bucket, -1 if it is empty.
    links : (n, 2) int64 array
        The next sphere after each, -1 at the end, and its key: spheres with the key of a candidate are ignored.
    rows : (n, 4) array
        Offsets from the corner of the domain, and radii [m].
    """

    period: Floats
    cells: Floats
    wraps: Integers
    largest_radii: Floats
    heads: Integers
    links: Integers
    rows: Floats


class PlacementCandidates(NamedTuple):
    """Particles in the form for kernels.

    Attributes
    ----------
    begin : (n + 1,) int64 array
        Particle p has the spheres ``begin[p]`` to ``begin[p + 1]``.
    keys : (n,) int64 array
        Keys of the particles.
    offsets, radii, levels : (m, 3), (m,) and (m,) arrays
        Spheres: offsets from the corner of the domain [m], radii [m], levels of cells.
    """

    begin: Integers
    keys: Integers
    offsets: Floats
    radii: Floats
    levels: Integers


@inlined
def _overlaps(place: tuple[float, float, float], radius: float, other: int, table: PlacedTable) -> bool:
    """Return whether a sphere overlaps a sphere of the table."""
    squared = 0.0
    for axis in range(3):
        gap = abs(place[axis] - table.rows[other, axis])
        if table.period[axis] > 0.0:
            gap = min(gap, abs(table.period[axis] - gap))
        squared += gap * gap
    touch = radius + table.rows[other, 3]
    return bool(squared < touch * touch)


@inlined
def _chain_is_free(other: int, key: int, place: tuple[float, float, float], radius: float, table: PlacedTable) -> bool:
    while other >= 0:
        if _overlaps(place, radius, other, table) and table.links[other, 1] != key:
            return False
        other = table.links[other, 0]
    return True


@inlined
def _cells_around(x: float, span: float, size: float, wrap: int) -> tuple[int, int]:
    """Return the first and last cell along an axis that a sphere may touch; no cell occurs twice across a period."""
    low, high = int(np.floor((x - span) / size)), int(np.floor((x + span) / size))
    return low, min(high, low + wrap - 1) if wrap > 0 else high


@inlined
def _is_free(key: int, place: tuple[float, float, float], radius: float, level: int, table: PlacedTable) -> bool:
    """Return whether a sphere, at an offset from the corner, overlaps no sphere of a level with a different key."""
    mask, span = table.heads.shape[0] - 1, _WIDER * (radius + table.largest_radii[level])
    sizes, wraps = table.cells[level], table.wraps[level]
    low_x, high_x = _cells_around(place[0], span, sizes[0], wraps[0])
    low_y, high_y = _cells_around(place[1], span, sizes[1], wraps[1])
    low_z, high_z = _cells_around(place[2], span, sizes[2], wraps[2])
    for i in range(low_x, high_x + 1):
        cell_x = i % wraps[0] if wraps[0] > 0 else i
        for j in range(low_y, high_y + 1):
            cell_y = j % wraps[1] if wraps[1] > 0 else j
            for k in range(low_z, high_z + 1):
                cell_z = k % wraps[2] if wraps[2] > 0 else k
                other = table.heads[_bucket(level, cell_x, cell_y, cell_z, mask)]
                if not _chain_is_free(other, key, place, radius, table):
                    return False
    return True


@kernel
def _sphere_is_clear(key: int, sphere: int, candidates: PlacementCandidates, table: PlacedTable) -> bool:
    """Return whether a sphere overlaps no sphere of any level with a different key."""
    radius, offsets = candidates.radii[sphere], candidates.offsets
    place = offsets[sphere, 0], offsets[sphere, 1], offsets[sphere, 2]
    free = True
    for level in range(table.cells.shape[0]):
        if free and table.largest_radii[level] > 0.0:
            free = _is_free(key, place, radius, level, table)
    return free


@inlined
def _is_clear(row: int, key: int, candidates: PlacementCandidates, table: PlacedTable) -> bool:
    """Return whether no sphere of a candidate overlaps a sphere of the table with a different key."""
    for sphere in range(candidates.begin[row], candidates.begin[row + 1]):
        if not _sphere_is_clear(key, sphere, candidates, table):
            return False
    return True


@kernel
def _find_free(candidates: PlacementCandidates, free: Booleans, table: PlacedTable) -> None:
    """Write which candidates overlap no sphere of the table with a different key."""
    for row in range(candidates.keys.shape[0]):
        free[row] = _is_clear(row, candidates.keys[row], candidates, table)


@inlined
def _insert(row: int, candidates: PlacementCandidates, table: PlacedTable, count: int) -> int:
    """Insert a candidate into a table of `count` spheres; return the new number of spheres."""
    mask = table.heads.shape[0] - 1
    for sphere in range(candidates.begin[row], candidates.begin[row + 1]):
        level = candidates.levels[sphere]
        cell_x = _cell(candidates.offsets[sphere, 0], table.cells[level, 0], table.wraps[level, 0])
        cell_y = _cell(candidates.offsets[sphere, 1], table.cells[level, 1], table.wraps[level, 1])
        cell_z = _cell(candidates.offsets[sphere, 2], table.cells[level, 2], table.wraps[level, 2])
        bucket = _bucket(level, cell_x, cell_y, cell_z, mask)
        for axis in range(3):
            table.rows[count, axis] = candidates.offsets[sphere, axis]
        table.rows[count, 3] = candidates.radii[sphere]
        table.largest_radii[level] = max(table.largest_radii[level], candidates.radii[sphere])
        table.links[count, 0], table.links[count, 1] = table.heads[bucket], candidates.keys[row]
        table.heads[bucket] = count
        count += 1
    return count


@kernel
def _insert_all(candidates: PlacementCandidates, table: PlacedTable, count: int) -> int:
    """Insert candidates into a table of `count` spheres; return the new number of spheres."""
    for row in range(candidates.keys.shape[0]):
        count = _insert(row, candidates, table, count)
    return count


@kernel
def _settle(
    candidates: PlacementCandidates,
    is_shared: Booleans,
    state: States,
    table: PlacedTable,
    count: int,
    waiting: PlacedTable,
) -> int:
    """Decide on candidates one after the other, as far as possible; return the number of spheres in the table.

    A candidate waits if it overlaps an earlier undecided one. A shared candidate that is clear waits for the decision
    of its owner. `waiting` is an empty table for waiting candidates.
    """
    held = 0
    for row in range(candidates.keys.shape[0]):
        key = candidates.keys[row]
        if state[row] == UNDECIDED:
            if not _is_clear(row, key, candidates, table):
                state[row] = REFUSED
                continue
            if held == 0 or _is_clear(row, key, candidates, waiting):
                state[row] = CLEAR if is_shared[row] else PLACED
        if state[row] == PLACED:
            count = _insert(row, candidates, table, count)
        else:
            held = _insert(row, candidates, waiting, held)
    return count


@kernel
def _take_first(
    candidates: PlacementCandidates,
    allowed: Booleans,
    owners: Integers,
    accepted: Integers,
    table: PlacedTable,
    count: int,
) -> int:
    """Insert the first allowed candidate of each owner that is clear; return the number of spheres in the table."""
    for row in range(candidates.keys.shape[0]):
        if not allowed[row] or accepted[owners[row]] >= 0:
            continue
        if _is_clear(row, NOBODY, candidates, table):
            accepted[owners[row]] = row
            count = _insert(row, candidates, table, count)
    return count


class SphereTable:
    """Placed spheres, and the test whether a further sphere overlaps them.

    Parameters
    ----------
    capacity : int
        Initial capacity; it grows as needed.
    smallest, largest : float
        Range of all radii, in m.
    lower, upper : ndarray, shape (3,)
        The domain, in m.
    periodic : ndarray of bool, shape (3,)
        Its periodic axes. Centres of single spheres must be inside the domain along them.
    """

    def __init__(
        self, capacity: int, smallest: float, largest: float, lower: Floats, upper: Floats, periodic: Booleans
    ) -> None:
        self._smallest, self._largest = smallest, largest
        self._lower, self._upper = np.asarray(lower, np.float64), np.asarray(upper, np.float64)
        self._periodic = np.asarray(periodic)
        self._table = self._empty(capacity)
        self._nothing = self._table if capacity == 0 else self._empty(0)
        self._count = 0

    def _empty(self, capacity: int) -> PlacedTable:
        levels = int(octaves(np.array([self._smallest]), self._largest)[0]) + 1
        diameters = np.ldexp(2.0 * self._largest, -np.arange(levels))
        width, periodic = self._upper - self._lower, self._periodic
        fitting = np.maximum(1.0, np.floor(width / diameters[:, None]))
        return PlacedTable(
            period=np.where(periodic, width, 0.0),
            cells=np.where(periodic, width / fitting, diameters[:, None]),
            wraps=np.where(periodic, fitting, 0.0).astype(np.int64),
            largest_radii=np.zeros(levels),
            heads=np.full(1 << max(4, int(2 * capacity).bit_length()), -1, dtype=np.int64),
            links=np.zeros((capacity, 2), dtype=np.int64),
            rows=np.zeros((capacity, 4)),
        )

    def empty_like(self, capacity: int) -> SphereTable:
        """Return an empty table for spheres of the same sizes in the same domain."""
        ends = self._smallest, self._largest
        return SphereTable(capacity, *ends, self._lower, self._upper, self._periodic)

    @property
    def count(self) -> int:
        """Number of spheres."""
        return self._count

    @property
    def capacity(self) -> int:
        """Number of spheres for which there is room."""
        return len(self._table.rows)

    def _reserve(self, more: int) -> None:
        """Make room for `more` further spheres."""
        count, old = self._count, self._table
        if count + more <= self.capacity:
            return
        self._table = self._empty(max(count + more, int(_GROWTH * self.capacity)))
        offsets, radii = np.ascontiguousarray(old.rows[:count, :3]), np.ascontiguousarray(old.rows[:count, 3])
        levels, keys = octaves(radii, self._largest), np.ascontiguousarray(old.links[:count, 1])
        _insert_all(PlacementCandidates(np.arange(count + 1), keys, offsets, radii, levels), self._table, 0)

    def _candidates(self, spheres: SphereGroups, keys: Integers, *, levels: bool = True) -> PlacementCandidates:
        """Return particles in the form for kernels, without levels if they are only tested."""
        radii = np.ascontiguousarray(spheres.radius)
        level = octaves(radii, self._largest) if levels else _NO_LEVELS
        return PlacementCandidates(spheres.begin, np.ascontiguousarray(keys), self._offsets(spheres), radii, level)

    def _offsets(self, spheres: SphereGroups) -> Floats:
        """Return offsets from the corner of the domain (m, 3) [m], wrapped along periodic axes."""
        period, offsets = self._table.period, spheres.centre - self._lower
        if not spheres.are_single:
            periods = np.divide(offsets, period, out=np.zeros_like(offsets), where=period > 0.0)
            offsets -= period * np.floor(periods)
        return np.ascontiguousarray(offsets)

    def add(self, spheres: SphereGroups, keys: Integers) -> None:
        """Add particles with their spheres and keys (n,), without a test of overlaps."""
        if not len(keys):
            return
        self._reserve(len(spheres.radius))
        self._count = _insert_all(self._candidates(spheres, keys), self._table, self._count)

    def clear(self, spheres: SphereGroups, keys: Integers) -> Booleans:
        """Return which particles, with spheres and keys (n,), overlap no sphere of the table with a different key."""
        free = np.zeros(len(keys), np.bool_)
        _find_free(self._candidates(spheres, keys, levels=False), free, self._table)
        return free

    def take_first(self, spheres: SphereGroups, allowed: Booleans, owners: Integers) -> Integers:
        """Add the first candidate of each owner that is allowed and overlaps nothing in the table.

        Candidates are tested and added one after the other.

        Parameters
        ----------
        spheres : SphereGroups
            Spheres of the candidates.
        allowed : ndarray of bool, shape (n,)
            Candidates that may be added.
        owners : ndarray of int64, shape (n,)
            Index, from 0, of the particle to which each candidate belongs.

        Returns
        -------
        ndarray of int64
            The candidate of each owner, -1 without one; shape ``(owners.max() + 1,)``.
        """
        accepted = np.full(int(owners.max(initial=-1)) + 1, -1, dtype=np.int64)
        self._reserve(len(accepted) * int(np.diff(spheres.begin).max(initial=0)))
        candidates = self._candidates(spheres, np.arange(len(owners)))
        self._count = _take_first(candidates, allowed, owners, accepted, self._table, self._count)
        return accepted

    def settle(self, spheres: SphereGroups, keys: Integers, shared: Booleans, states: States) -> States:
        """Decide on candidates in their order, as far as the data suffice, and add the placed ones.

        Parameters
        ----------
        spheres, keys
            Spheres and keys of the candidates, as for `clear`.
        shared : ndarray of bool, shape (n,)
            Candidates that are not placed here, but only reported as clear.
        states : ndarray of int8, shape (n,)
            `UNDECIDED`, or `CLEAR` for a candidate with this result in an earlier call.

        Returns
        -------
        ndarray of int8
            New states, shape (n,).
        """
        after, count = states.copy(), len(spheres.radius)
        self._reserve(int(np.diff(spheres.begin)[~shared].sum()))
        # Without shared candidates none waits.
        waiting = self._empty(count) if shared.any() else self._nothing
        candidates = self._candidates(spheres, keys)
        self._count = _settle(candidates, np.ascontiguousarray(shared), after, self._table, self._count, waiting)
        return after
