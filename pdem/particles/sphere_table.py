"""Table of placed spheres, with the test whether a candidate overlaps any of them.

It is a hash table of cells, with one cell size per class of radii, so that the work per candidate does not grow with
the number of spheres or with their size ratio.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.foundation.kernels import inlined, kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Indices = NDArray[np.int64]
    Booleans = NDArray[np.bool_]


@inlined
def _bucket(level: int, x: int, y: int, z: int, mask: int) -> int:
    key = ((level * 73856093) ^ (x * 83492791)) ^ ((y * 19349663) ^ (z * 50331653))
    key ^= key >> 15
    return ((key * 2654435761) >> 7) & mask


@inlined
def _cell(offset: float, size: float, wrap: int) -> int:
    index = int(np.floor(offset / size))
    return index % wrap if wrap > 0 else index


class Table(NamedTuple):
    """Spheres by the cells of a hash table.

    Attributes
    ----------
    period : (3,) array
        Width of the domain along periodic axes [m], 0 along others.
    cells, wraps : (L, 3) arrays
        Sizes of the cells of each level [m], and their number along periodic axes, 0 along others.
    largest_radii : (L,) array
        Largest radius of each level so far [m].
    heads, next : int64 arrays
        First sphere of each bucket, and the next one after each sphere; -1 for none.
    centres, sizes : (n, 3) and (n,) arrays
        Offsets from the corner of the domain, and radii [m].
    """

    period: Floats
    cells: Floats
    wraps: Indices
    largest_radii: Floats
    heads: Indices
    next: Indices
    centres: Floats
    sizes: Floats


@inlined
def _overlaps(place: tuple[float, float, float], radius: float, other: int, table: Table) -> bool:
    """Whether a sphere overlaps one in the table."""
    squared = 0.0
    for axis in range(3):
        gap = abs(place[axis] - table.centres[other, axis])
        if table.period[axis] > 0.0:
            gap = min(gap, abs(table.period[axis] - gap))
        squared += gap * gap
    touch = radius + table.sizes[other]
    return bool(squared < touch * touch)


@kernel
def _chain_is_free(
    other: int, itself: int, place: tuple[float, float, float], radius: float, table: Table
) -> bool:
    while other >= 0:
        if other != itself and _overlaps(place, radius, other, table):
            return False
        other = table.next[other]
    return True


@inlined
def _cells_around(x: float, span: float, size: float, wrap: int) -> tuple[int, int]:
    """Return the first and last cell along an axis that a sphere may touch; across a period none is repeated."""
    low, high = int(np.floor((x - span) / size)), int(np.floor((x + span) / size))
    return low, min(high, low + wrap - 1) if wrap > 0 else high


@kernel
def _is_free(itself: int, place: tuple[float, float, float], radius: float, level: int, table: Table) -> bool:
    """Whether a sphere at an offset from the corner of the domain overlaps none of one level but `itself`."""
    mask, span = table.heads.shape[0] - 1, radius + table.largest_radii[level]
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
                if not _chain_is_free(other, itself, place, radius, table):
                    return False
    return True


@kernel
def _is_clear(itself: int, place: tuple[float, float, float], radius: float, table: Table) -> bool:
    """Whether a sphere overlaps none of any level but `itself`."""
    free = True
    for level in range(table.cells.shape[0]):
        if free and table.largest_radii[level] > 0.0:
            free = _is_free(itself, place, radius, level, table)
    return free


@kernel
def _find_free(offsets: Floats, radii: Floats, selves: Indices, free: Booleans, table: Table) -> None:
    """Write which spheres overlap none in the table but themselves."""
    for new in range(offsets.shape[0]):
        place = offsets[new, 0], offsets[new, 1], offsets[new, 2]
        free[new] = _is_clear(selves[new], place, radii[new], table)


@kernel
def _bucket_of(place: tuple[float, float, float], level: int, table: Table) -> int:
    cell_x = _cell(place[0], table.cells[level, 0], table.wraps[level, 0])
    cell_y = _cell(place[1], table.cells[level, 1], table.wraps[level, 1])
    cell_z = _cell(place[2], table.cells[level, 2], table.wraps[level, 2])
    return _bucket(level, cell_x, cell_y, cell_z, table.heads.shape[0] - 1)


@kernel
def _insert(sphere: int, place: tuple[float, float, float], level: int, table: Table) -> None:
    """Insert a sphere into the table."""
    bucket = _bucket_of(place, level, table)
    for axis in range(3):
        table.centres[sphere, axis] = place[axis]
    table.next[sphere] = table.heads[bucket]
    table.heads[bucket] = sphere


@kernel
def _remove(sphere: int, level: int, table: Table) -> None:
    """Remove a sphere from its bucket."""
    place = table.centres[sphere, 0], table.centres[sphere, 1], table.centres[sphere, 2]
    bucket = _bucket_of(place, level, table)
    if table.heads[bucket] == sphere:
        table.heads[bucket] = table.next[sphere]
        return
    before = table.heads[bucket]
    while table.next[before] != sphere:
        before = table.next[before]
    table.next[before] = table.next[sphere]


@kernel
def _move(offsets: Floats, levels: Indices, selves: Indices, table: Table, moved: Booleans) -> None:
    """Move spheres of the table one after the other to their offsets, if they overlap none there."""
    for row in range(offsets.shape[0]):
        place, itself = (offsets[row, 0], offsets[row, 1], offsets[row, 2]), selves[row]
        moved[row] = _is_clear(itself, place, table.sizes[itself], table)
        if moved[row]:
            _remove(itself, levels[row], table)
            _insert(itself, place, levels[row], table)


@kernel
def _place(
    offsets: Floats,
    radii: Floats,
    levels: Indices,
    allowed: Booleans,
    owners: Indices,
    check: bool,
    accepted: Indices,
    table: Table,
    count: int,
) -> int:
    """Place candidates one by one, one for each owner, and return the number of spheres in the table."""
    for new in range(offsets.shape[0]):
        place, radius = (offsets[new, 0], offsets[new, 1], offsets[new, 2]), radii[new]
        free = allowed[new] and accepted[owners[new]] < 0
        if check and free:
            free = _is_clear(-1, place, radius, table)
        if not free:
            continue
        accepted[owners[new]], level = new, levels[new]
        table.sizes[count] = radius
        table.largest_radii[level] = max(table.largest_radii[level], radius)
        _insert(count, place, level, table)
        count += 1
    return count


class SphereTable:
    """Placed spheres, and the test whether another one overlaps them.

    Parameters
    ----------
    capacity : int
        Largest number of spheres.
    smallest, largest : float
        Range of all radii, in m.
    lower, upper : ndarray, shape (3,)
        The domain, in m.
    periodic : ndarray of bool, shape (3,)
        Its periodic axes. Centres must be inside the domain along them.
    """

    def __init__(
        self,
        capacity: int,
        smallest: float,
        largest: float,
        lower: Floats,
        upper: Floats,
        periodic: Booleans,
    ) -> None:
        self._largest = largest
        levels = self._level(np.array([smallest]))[0] + 1
        diameters = 2.0 * largest * 0.5 ** np.arange(levels)
        width = upper - lower
        fitting = np.maximum(1.0, np.floor(width / diameters[:, None]))
        self._lower = np.ascontiguousarray(lower, dtype=np.float64)
        self._table = Table(
            period=np.where(periodic, width, 0.0),
            cells=np.where(periodic, width / fitting, diameters[:, None]),
            wraps=np.where(periodic, fitting, 0.0).astype(np.int64),
            largest_radii=np.zeros(levels),
            heads=np.full(1 << max(4, int(2 * capacity).bit_length()), -1, dtype=np.int64),
            next=np.zeros(capacity, dtype=np.int64),
            centres=np.zeros((capacity, 3)),
            sizes=np.zeros(capacity),
        )
        self._count = 0

    def _level(self, radii: Floats) -> Indices:
        return np.floor(np.log2(self._largest / radii) + 1e-9).astype(np.int64)

    def add(self, centres: Floats, radii: Floats) -> None:
        """Add spheres, centres (n, 3) and radii (n,) in m, without a test of overlaps."""
        count = len(radii)
        self._run(centres, radii, np.ones(count, dtype=np.bool_), np.arange(count), count, False)

    @property
    def count(self) -> int:
        """Number of spheres, which are numbered from 0 in the order of insertion."""
        return self._count

    def clear(self, centres: Floats, radii: Floats, itself: Indices | None = None) -> Booleans:
        """Return which spheres, centres (n, 3) and radii (n,) in m, overlap none in the table.

        `itself` (n,) are the numbers of spheres that are in the table already, at other positions.
        """
        free = np.zeros(len(radii), np.bool_)
        selves = np.full(len(radii), -1, np.int64) if itself is None else itself
        _find_free(self._offsets(centres), np.ascontiguousarray(radii), selves, free, self._table)
        return free

    def move(self, itself: Indices, centres: Floats) -> Booleans:
        """Move spheres, numbers (n,), one after the other to new centres (n, 3) in m; return which were free there."""
        moved = np.zeros(len(itself), np.bool_)
        levels = self._level(self._table.sizes[itself])
        _move(self._offsets(centres), levels, itself, self._table, moved)
        return moved

    def _offsets(self, centres: Floats) -> Floats:
        return np.ascontiguousarray(centres - self._lower)

    def place(self, centres: Floats, radii: Floats, allowed: Booleans, owners: Indices) -> Indices:
        """Place spheres that overlap none placed before, trying the candidates one after the other.

        Parameters
        ----------
        centres, radii : ndarray
            Of the candidates, shapes (n, 3) and (n,), in m.
        allowed : ndarray of bool, shape (n,)
            Candidates that may be placed.
        owners : ndarray of int64, shape (n,)
            Number from 0 of the sphere of each candidate; the first free one is placed.

        Returns
        -------
        ndarray of int64
            The placed candidate of each sphere, -1 if none is free; shape ``(owners.max() + 1,)``.
        """
        return self._run(centres, radii, allowed, owners, int(owners.max(initial=-1)) + 1, True)

    def _run(
        self,
        centres: Floats,
        radii: Floats,
        allowed: Booleans,
        owners: Indices,
        owner_count: int,
        check: bool,
    ) -> Indices:
        accepted = np.full(owner_count, -1, dtype=np.int64)
        self._count = _place(
            self._offsets(centres), np.ascontiguousarray(radii), self._level(radii), allowed, owners, check, accepted,
            self._table, self._count,
        )  # fmt: skip
        return accepted
