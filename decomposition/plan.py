"""What many ranks would own, copy and send at the beginning of a run, found by one process without them.

The same functions decide as in `decomposition.exchange`, so that numbers are those of a real run. Only which ranks
may meet is found otherwise, by a tree of their extents: nothing here grows with the square of the ranks.
"""

from __future__ import annotations

import itertools
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from decomposition.copies import Copier, Sizes
from decomposition.ghosts import ROW_BYTES
from decomposition.layers import (
    EXTENT,
    Cells,
    Reaches,
    count_copies,
    extents_of_levels,
    levels_of,
    may_meet,
    with_levels_below,
)
from decomposition.partitioners import AxisCuts
from decomposition.repeats import Repeats
from pdem.containers.box_tree import BoxTree, pairs_between
from pdem.containers.exchange import Division
from pdem.containers.particles import Particles

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from decomposition.partitioners import Partitioner, Parts

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

_WIDER = 1.0 + 1e-6  # boxes only have to hold all that may meet
_TIMED_NEIGHBOURS = 20
_TIMED_ROWS = 2_000
_REPETITIONS = 25  # the fastest counts: other programs may be busy


def divide(
    ranks: int,
    position: Floats,
    radius: Floats,
    reach: Floats,
    radii: Floats,
    period: Floats,
    partition: Partitioner | None = None,
    parts: Parts | None = None,
) -> Division:
    """Return what so many ranks own and copy.

    Parameters
    ----------
    ranks : int
        How many, at least 1.
    position, radius, reach : (n, 3), (n,) and (n,) arrays
        Of all particles; reaches are radii plus skins [m].
    radii : (L,) array
        Largest radius of each level of size, rising [m].
    period : (3,) array
        Of the axes [m], 0 for open ones.
    partition : Partitioner, optional
        How space is cut; by bisection unless given.
    parts : Parts, optional
        The division; by default that of `partition` at the beginning of a run.
    """
    partition = AxisCuts() if partition is None else partition
    parts = partition(position, ranks) if parts is None else parts
    owner = parts.owners(position)
    level = levels_of(radius, radii)
    order = np.argsort(owner, kind="stable")
    first = np.searchsorted(owner[order], np.arange(ranks + 1))
    place, far, size = position[order], reach[order], level[order].astype(np.int64)
    extents = extents_by_rank(ranks, len(radii), owner[order], place, far, size)
    owned, ghosts, sent = (np.zeros((ranks, len(radii)), np.int64) for _ in range(3))
    np.add.at(owned, (owner, level), 1)
    sends, receives = np.zeros(ranks, np.int64), np.zeros(ranks, np.int64)
    repeats, cells = Repeats.upright(period), None
    for rank, neighbours in _neighbours(extents[:, -1], period):
        if cells is None or len(radii) > 1:  # with one level nobody looks at them
            own = slice(first[rank], first[rank + 1])
            cells = Cells(place[own], far[own], size[own], extents[rank, :, 6].copy(), repeats)
        copies = np.zeros((len(neighbours), len(radii)), np.int64)
        count_copies(
            rank, neighbours, first, Reaches(place, far, size), extents, cells.arrays, tuple(repeats), copies
        )
        sent[rank] = copies.sum(axis=0)
        ghosts[neighbours] += copies
        some = copies.any(axis=1)
        sends[rank] = some.sum()
        receives[neighbours] += some
    return Division(owner, owned, ghosts, sent, sends, receives, ROW_BYTES)


def extents_by_rank(
    ranks: int, levels: int, owner: Integers, position: Floats, reach: Floats, level: Integers
) -> Floats:
    """Return of each rank what `decomposition.layers.with_levels_below` does, (P, L, `EXTENT`)."""
    extents = np.empty((ranks, levels, EXTENT))
    extents[..., :3], extents[..., 3:6], extents[..., 6] = np.inf, -np.inf, 0.0
    at = owner, level
    for axis in range(3):
        np.minimum.at(extents[..., axis], at, position[:, axis])
        np.maximum.at(extents[..., 3 + axis], at, position[:, axis])
    np.maximum.at(extents[..., 6], at, reach)
    np.minimum.accumulate(extents[..., :3], axis=1, out=extents[..., :3])
    np.maximum.accumulate(extents[..., 3:], axis=1, out=extents[..., 3:])
    return extents


def _neighbours(extents: Floats, period: Floats) -> list[tuple[int, Integers]]:
    """Return the ranks that have some, each with those it may meet, rising; `extents` (P, `EXTENT`) of all levels."""
    one, other = _candidates(extents, period)
    if len(one) == 0:
        return []
    ends, repeats = np.flatnonzero(np.diff(one)) + 1, Repeats.upright(period)
    found = []
    for few in np.split(np.arange(len(one)), ends):
        rank, near = int(one[few[0]]), other[few]
        near = near[may_meet(extents[rank], extents[near], repeats)]
        if len(near):
            found.append((rank, near))
    return found


def _candidates(extents: Floats, period: Floats) -> tuple[Integers, Integers]:
    """Return pairs of ranks, both ways and sorted, whose boxes widened by their reaches overlap in any image."""
    full = np.flatnonzero(extents[:, 0] <= extents[:, 3])
    if len(full) < 2:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    wide = _WIDER * extents[full, 6:7] + 1e-9 * np.abs(extents[full, :6]).max(axis=1, keepdims=True)
    lower, upper = extents[full, :3] - wide, extents[full, 3:6] + wide
    tree = BoxTree(lower, upper)
    keys = []
    turns = [(-1, 0, 1) if length > 0.0 else (0,) for length in period]
    for turn in itertools.product(*turns):
        shift = np.array(turn) * period
        moved = BoxTree(lower + shift, upper + shift)
        for one, other in pairs_between(tree, moved):
            different = one != other
            keys.append(full[one[different]] * len(extents) + full[other[different]])
    found = np.unique(np.concatenate(keys)) if keys else np.empty(0, np.int64)
    return found // len(extents), found % len(extents)


def neighbour_seconds(levels: int) -> float:
    """Return what a detection costs a rank for each neighbour, even one that nothing is copied to [s].

    Parameters
    ----------
    levels : int
        Of size.

    Returns
    -------
    float
        Measured here on empty lists: the work of `RankExchange.make_ghosts`. Messages are not in it.
    """
    none, sizes = Particles(), Sizes(lambda radius, *_: radius, np.ones(levels))
    extents = with_levels_below(extents_of_levels(none.position, none.radius, none.id, levels))
    neighbours, theirs = np.arange(_TIMED_NEIGHBOURS), np.array([extents] * _TIMED_NEIGHBOURS)

    def copies() -> None:
        Copier(_Nobody(), none, sizes, extents, Repeats.upright(np.zeros(3))).exchange(neighbours, theirs)

    return _best(copies) / _TIMED_NEIGHBOURS


class _Nobody:
    """Messages to nobody."""

    def swap(self, partners: Integers, rows: NDArray[Any], sent: Integers) -> tuple[NDArray[Any], Integers]:
        """Return that nothing has come."""
        return rows, sent


def copy_seconds() -> float:
    """Return the time to gather the row of one particle for a message [s], measured here."""
    rows, order = np.zeros((_TIMED_ROWS, ROW_BYTES // 8)), np.arange(_TIMED_ROWS)
    out = np.empty_like(rows)

    def take() -> None:
        np.take(rows, order, axis=0, out=out, mode="clip")

    return _best(take) / _TIMED_ROWS


def _best(work: Callable[[], None]) -> float:
    seconds = []
    for _ in range(_REPETITIONS):
        clock = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - clock)
    return min(seconds)
