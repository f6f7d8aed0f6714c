"""Random placement of spheres without overlap, the largest first.

Candidates come from outside; what is here decides, one after the other, whether a candidate is free of the
spheres placed before it. Those are kept in a hash table of cells, one cell size per class of radii, so that
the work per candidate does not grow with the number of spheres or with their size ratio.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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


@kernel
def _chain_is_free(
    other: int,
    itself: int,
    x: float,
    y: float,
    z: float,
    radius: float,
    period: Floats,
    following: Indices,
    centres: Floats,
    sizes: Floats,
) -> bool:
    while other >= 0:
        if other == itself:
            other = following[other]
            continue
        gap_x, gap_y, gap_z = (
            abs(x - centres[other, 0]),
            abs(y - centres[other, 1]),
            abs(z - centres[other, 2]),
        )
        if period[0] > 0.0:
            gap_x = min(gap_x, abs(period[0] - gap_x))
        if period[1] > 0.0:
            gap_y = min(gap_y, abs(period[1] - gap_y))
        if period[2] > 0.0:
            gap_z = min(gap_z, abs(period[2] - gap_z))
        touch = radius + sizes[other]
        if gap_x * gap_x + gap_y * gap_y + gap_z * gap_z < touch * touch:
            return False
        other = following[other]
    return True


@kernel
def _is_free(
    itself: int,
    x: float,
    y: float,
    z: float,
    radius: float,
    level: int,
    reach: float,
    period: Floats,
    cells: Floats,
    wraps: Indices,
    heads: Indices,
    following: Indices,
    centres: Floats,
    sizes: Floats,
) -> bool:
    """Whether a sphere at an offset from the corner of the domain overlaps none of one level but `itself`."""
    mask = heads.shape[0] - 1
    span = radius + reach
    low_x, high_x = int(np.floor((x - span) / cells[level, 0])), int(np.floor((x + span) / cells[level, 0]))
    low_y, high_y = int(np.floor((y - span) / cells[level, 1])), int(np.floor((y + span) / cells[level, 1]))
    low_z, high_z = int(np.floor((z - span) / cells[level, 2])), int(np.floor((z + span) / cells[level, 2]))
    # Across a periodic box no cell is visited twice.
    if wraps[level, 0] > 0:
        high_x = min(high_x, low_x + wraps[level, 0] - 1)
    if wraps[level, 1] > 0:
        high_y = min(high_y, low_y + wraps[level, 1] - 1)
    if wraps[level, 2] > 0:
        high_z = min(high_z, low_z + wraps[level, 2] - 1)
    for i in range(low_x, high_x + 1):
        cell_x = i % wraps[level, 0] if wraps[level, 0] > 0 else i
        for j in range(low_y, high_y + 1):
            cell_y = j % wraps[level, 1] if wraps[level, 1] > 0 else j
            for k in range(low_z, high_z + 1):
                cell_z = k % wraps[level, 2] if wraps[level, 2] > 0 else k
                other = heads[_bucket(level, cell_x, cell_y, cell_z, mask)]
                if not _chain_is_free(other, itself, x, y, z, radius, period, following, centres, sizes):
                    return False
    return True


@kernel
def _is_clear(
    itself: int,
    x: float,
    y: float,
    z: float,
    radius: float,
    period: Floats,
    cells: Floats,
    wraps: Indices,
    reaches: Floats,
    heads: Indices,
    following: Indices,
    centres: Floats,
    sizes: Floats,
) -> bool:
    """Whether a sphere overlaps none of any level but `itself`."""
    free = True
    for level in range(cells.shape[0]):
        if free and reaches[level] > 0.0:
            free = _is_free(
                itself,
                x,
                y,
                z,
                radius,
                level,
                reaches[level],
                period,
                cells,
                wraps,
                heads,
                following,
                centres,
                sizes,
            )
    return free


@kernel
def _test(
    offsets: Floats,
    radii: Floats,
    selves: Indices,
    free: Booleans,
    period: Floats,
    cells: Floats,
    wraps: Indices,
    reaches: Floats,
    heads: Indices,
    following: Indices,
    centres: Floats,
    sizes: Floats,
) -> None:
    """Write which spheres would overlap none in the table but themselves."""
    for new in range(offsets.shape[0]):
        x, y, z = offsets[new, 0], offsets[new, 1], offsets[new, 2]
        free[new] = _is_clear(
            selves[new], x, y, z, radii[new], period, cells, wraps, reaches, heads, following, centres, sizes
        )


@kernel
def _bucket_of(
    x: float, y: float, z: float, level: int, cells: Floats, wraps: Indices, heads: Indices
) -> int:
    cell_x = _cell(x, cells[level, 0], wraps[level, 0])
    cell_y = _cell(y, cells[level, 1], wraps[level, 1])
    cell_z = _cell(z, cells[level, 2], wraps[level, 2])
    return _bucket(level, cell_x, cell_y, cell_z, heads.shape[0] - 1)


@kernel
def _shake(
    offsets: Floats,
    levels: Indices,
    selves: Indices,
    period: Floats,
    cells: Floats,
    wraps: Indices,
    reaches: Floats,
    heads: Indices,
    following: Indices,
    centres: Floats,
    sizes: Floats,
    moved: Booleans,
) -> None:
    """Move spheres of the table one after the other, each to its offset if it overlaps none there."""
    for row in range(offsets.shape[0]):
        x, y, z, itself, level = offsets[row, 0], offsets[row, 1], offsets[row, 2], selves[row], levels[row]
        radius = sizes[itself]
        moved[row] = _is_clear(
            itself, x, y, z, radius, period, cells, wraps, reaches, heads, following, centres, sizes
        )
        if not moved[row]:
            continue
        old_x, old_y, old_z = centres[itself, 0], centres[itself, 1], centres[itself, 2]
        bucket = _bucket_of(old_x, old_y, old_z, level, cells, wraps, heads)
        if heads[bucket] == itself:
            heads[bucket] = following[itself]
        else:
            before = heads[bucket]
            while following[before] != itself:
                before = following[before]
            following[before] = following[itself]
        bucket = _bucket_of(x, y, z, level, cells, wraps, heads)
        centres[itself, 0], centres[itself, 1], centres[itself, 2] = x, y, z
        following[itself] = heads[bucket]
        heads[bucket] = itself


@kernel
def _place(
    offsets: Floats,
    radii: Floats,
    levels: Indices,
    allowed: Booleans,
    owners: Indices,
    check: bool,
    accepted: Indices,
    period: Floats,
    cells: Floats,
    wraps: Indices,
    reaches: Floats,
    heads: Indices,
    following: Indices,
    centres: Floats,
    sizes: Floats,
    count: int,
) -> int:
    """Place candidates one by one, one for each owner, and return the number of spheres in the table.

    Offsets are from the corner of the domain. Along a periodic axis `wraps` is the number of cells of each
    level and `period` the width of the domain; elsewhere both are 0.
    """
    for new in range(offsets.shape[0]):
        x, y, z, radius = offsets[new, 0], offsets[new, 1], offsets[new, 2], radii[new]
        free = allowed[new] and accepted[owners[new]] < 0
        if check and free:
            free = _is_clear(
                -1, x, y, z, radius, period, cells, wraps, reaches, heads, following, centres, sizes
            )
        if not free:
            continue
        accepted[owners[new]] = new
        level = levels[new]
        bucket = _bucket_of(x, y, z, level, cells, wraps, heads)
        centres[count, 0], centres[count, 1], centres[count, 2], sizes[count] = x, y, z, radius
        reaches[level] = max(reaches[level], radius)
        following[count] = heads[bucket]
        heads[bucket] = count
        count += 1
    return count


class SphereTable:
    """Spheres that have their place, and the test whether another one fits between them.

    Parameters
    ----------
    capacity : int
        Number of spheres it will hold at most.
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
        self._cells = np.where(periodic, width / fitting, diameters[:, None])
        self._wraps = np.where(periodic, fitting, 0.0).astype(np.int64)
        self._period = np.where(periodic, width, 0.0)
        self._lower = np.ascontiguousarray(lower, dtype=np.float64)
        self._reaches = np.zeros(levels)
        self._heads = np.full(1 << max(4, int(2 * capacity).bit_length()), -1, dtype=np.int64)
        self._following = np.zeros(capacity, dtype=np.int64)
        self._centres = np.zeros((capacity, 3))
        self._sizes = np.zeros(capacity)
        self._count = 0

    def _level(self, radii: Floats) -> Indices:
        return np.floor(np.log2(self._largest / radii) + 1e-9).astype(np.int64)

    def add(self, centres: Floats, radii: Floats) -> None:
        """Add spheres, centres (n, 3) and radii (n,) in m, whether they overlap or not."""
        count = len(radii)
        self._run(centres, radii, np.ones(count, dtype=np.bool_), np.arange(count), count, False)

    @property
    def count(self) -> int:
        """How many spheres it holds; they are numbered from 0 in the order in which they came."""
        return self._count

    def clear(self, centres: Floats, radii: Floats, itself: Indices | None = None) -> Booleans:
        """Return which spheres, centres (n, 3) and radii (n,) in m, would overlap none in the table.

        `itself` (n,) are their numbers where they are in the table already, at other places.
        """
        free = np.zeros(len(radii), np.bool_)
        selves = np.full(len(radii), -1, np.int64) if itself is None else itself
        _test(self._offsets(centres), np.ascontiguousarray(radii), selves, free, *self._state())
        return free

    def shake(self, itself: Indices, centres: Floats) -> Booleans:
        """Move spheres, numbers (n,), one after the other to new centres (n, 3) in m; return which had room there."""
        moved = np.zeros(len(itself), np.bool_)
        levels = self._level(self._sizes[itself])
        _shake(self._offsets(centres), levels, itself, *self._state(), moved)
        return moved

    def _offsets(self, centres: Floats) -> Floats:
        return np.ascontiguousarray(centres - self._lower)

    def _state(self) -> tuple[Any, ...]:
        return (
            self._period, self._cells, self._wraps, self._reaches, self._heads, self._following, self._centres,
            self._sizes,
        )  # fmt: skip

    def place(self, centres: Floats, radii: Floats, allowed: Booleans, owners: Indices) -> Indices:
        """Place spheres that overlap none placed before, trying the candidates one after the other.

        Parameters
        ----------
        centres, radii : ndarray
            Of the candidates, shapes (n, 3) and (n,), in m.
        allowed : ndarray of bool, shape (n,)
            Candidates to be considered at all.
        owners : ndarray of int64, shape (n,)
            Number from 0 of the sphere that each is a candidate of; the first one that is free wins.

        Returns
        -------
        ndarray of int64
            The winning candidate of each sphere, -1 if it found no place; shape ``(owners.max() + 1,)``.
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
            *self._state(), self._count,
        )  # fmt: skip
        return accepted
