"""Numbers of particles that many ranks would own, copy and send at the beginning of a run, counted by one process.

The functions of `decomposition.exchange` decide, so that the numbers are those of a real run. Only the possible
neighbours are determined differently, by a tree of extents, so that no cost grows with the square of the ranks.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from benchmarks.planning.division import Division
from decomposition.cluster_ghosts import STATE_BYTES
from decomposition.compiled_messages import gather_rows
from decomposition.copies import Selection, Sizes, exchange_copies
from decomposition.ghosts import ROW_BYTES
from decomposition.layers import (
    Cells,
    Reaches,
    count_copies,
    extents_of_levels,
    extents_of_none,
    levels_of,
    may_meet,
    with_levels_below,
)
from decomposition.partitioners import AxisCuts
from decomposition.repeats import Repeats
from pdem.containers.meshes.box_tree import BoxTree, pairs_between
from pdem.containers.particles import Particles
from pdem.foundation.packed_row import PACKED

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from decomposition.partitioners import Partitioner, Parts
    from pdem.containers.box_shape import BoxShape
    from pdem.foundation.array_types import Floats, Integers

_WIDER = 1.0 + 1e-6  # boxes only have to contain all possible neighbours
_TIMED_NEIGHBOURS = 20
_TIMED_ROWS = 2_000
_REPETITIONS = 25  # the fastest time counts: other programs may be busy


class Grains(NamedTuple):
    """Particles of all ranks, including members of clusters.

    Attributes
    ----------
    position, radius, reach : (n, 3), (n,) and (n,) arrays
        Positions in the box, and reaches, which are radii plus skins [m].
    cluster : (n,) int64 array
        Number of the cluster; 0 for single spheres.
    centre : (n, 3) array
        Position that decides on the owner: that of a single sphere, or of the centre of a cluster [m].
    """

    position: Floats
    radius: Floats
    reach: Floats
    cluster: Integers
    centre: Floats

    @classmethod
    def single(cls, position: Floats, radius: Floats, reach: Floats) -> Grains:
        """Return single spheres."""
        return cls(position, radius, reach, np.zeros(len(radius), np.int64), position)


def divide(
    ranks: int,
    grains: Grains,
    radii: Floats,
    shape: BoxShape,
    partition: Partitioner | None = None,
    parts: Parts | None = None,
) -> Division:
    """Return the particles and copies of `ranks` ranks.

    Parameters
    ----------
    ranks : int
        Number of ranks, at least 1.
    grains : Grains
        All particles.
    radii : (L,) array
        Largest radius of each level of size, in increasing order [m].
    shape : BoxShape
        Shape of the box.
    partition : Partitioner, optional
        Method of dividing space; bisection by default.
    parts : Parts, optional
        The division; by default that of `partition` at the beginning of a run.
    """
    partition = AxisCuts() if partition is None else partition
    parts = partition(grains.position, ranks) if parts is None else parts
    owner = parts.owners(grains.centre)
    order = np.lexsort((grains.cluster, owner))  # members of a cluster are consecutive
    first = np.searchsorted(owner[order], np.arange(ranks + 1))
    level = levels_of(grains.radius, radii).astype(np.int64)
    near = grains.centre + shape.nearest(grains.position - grains.centre)
    extents = extents_by_rank(ranks, len(radii), owner, near, grains.reach, level)
    reaches = Reaches(grains.position[order], grains.reach[order], level[order])
    counts = _counts(first, reaches, grains.cluster[order], extents, shape)
    owned = np.zeros((ranks, len(radii)), np.int64)
    np.add.at(owned, (owner, level), 1)
    return Division(owner, owned, *counts)


def _counts(
    first: Integers, grains: Reaches, cluster: Integers, extents: Floats, shape: BoxShape
) -> tuple[Integers, ...]:
    """Return the further columns of a division for particles that are sorted by ranks and clusters."""
    repeats, cells, (ranks, levels, _) = Repeats.of(shape), None, extents.shape
    sent, ghosts = (np.zeros((ranks, levels + 2), np.int64) for _ in range(2))
    neighbours, sends, receives = (np.zeros(ranks, np.int64) for _ in range(3))
    for rank, others in _neighbours(extents[:, -1], shape):
        if cells is None or levels > 1:  # unused with a single level
            cells = _cells_of(grains, slice(first[rank], first[rank + 1]), extents[rank], repeats)
        copies = np.zeros((len(others), levels + 2), np.int64)
        count_copies(rank, others, first, grains, cluster, extents, cells.arrays, tuple(repeats), copies)
        sent[rank] = copies.sum(axis=0)
        ghosts[others] += copies
        messages = (copies[:, levels:] > 0).sum(axis=1)  # of single spheres, and of states of clusters
        neighbours[rank], sends[rank] = len(others), messages.sum()
        receives[others] += messages
    each = np.array([ROW_BYTES, STATE_BYTES])
    sizes = (some[:, levels:] @ each for some in (sent, ghosts))
    return ghosts[:, :levels], sent[:, :levels], neighbours, sends, receives, *sizes


def _cells_of(grains: Reaches, own: slice, extents: Floats, repeats: Repeats) -> Cells:
    """Return the particles of a rank sorted into cells."""
    widest = extents[:, 6].copy()
    return Cells(grains.position[own], grains.reach[own], grains.level[own], widest, repeats)


def extents_by_rank(
    ranks: int, levels: int, owner: Integers, position: Floats, reach: Floats, level: Integers
) -> Floats:
    """Return the extents (P, L, `EXTENT`) of the ranks' particles; the row of a level includes all lower levels."""
    extents, at = extents_of_none((ranks, levels)), (owner, level)
    for axis in range(3):
        np.minimum.at(extents[..., axis], at, position[:, axis])
        np.maximum.at(extents[..., 3 + axis], at, position[:, axis])
    np.maximum.at(extents[..., 6], at, reach)
    return with_levels_below(extents)


def _neighbours(extents: Floats, shape: BoxShape) -> list[tuple[int, Integers]]:
    """Return each rank with its possible neighbours, in increasing order; `extents` (P, `EXTENT`) are of all levels."""
    one, other = _candidates(extents, shape)
    if len(one) == 0:
        return []
    ends, repeats = np.flatnonzero(np.diff(one)) + 1, Repeats.of(shape)
    found = []
    for few in np.split(np.arange(len(one)), ends):
        rank, near = int(one[few[0]]), other[few]
        near = near[may_meet(extents[rank], extents[near], repeats)]
        if len(near):
            found.append((rank, near))
    return found


def _candidates(extents: Floats, shape: BoxShape) -> tuple[Integers, Integers]:
    """Return sorted pairs of ranks, in both directions, with boxes that overlap when widened by their reaches."""
    full = np.flatnonzero(extents[:, 0] <= extents[:, 3])
    if len(full) < 2:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    wide = _WIDER * extents[full, 6:7] + 1e-9 * np.abs(extents[full, :6]).max(axis=1, keepdims=True)
    lower, upper = extents[full, :3] - wide, extents[full, 3:6] + wide
    tree = BoxTree(lower, upper)
    keys = []
    for shift in shape.images():
        moved = BoxTree(lower + shift, upper + shift)
        for one, other in pairs_between(tree, moved):
            different = one != other
            keys.append(full[one[different]] * len(extents) + full[other[different]])
    found = np.unique(np.concatenate(keys)) if keys else np.empty(0, np.int64)
    return found // len(extents), found % len(extents)


def neighbour_seconds(levels: int) -> float:
    """Return the cost of a detection for a rank per neighbour, even if nothing is copied to the neighbour [s].

    Parameters
    ----------
    levels : int
        Number of levels of size.

    Returns
    -------
    float
        Measured here on empty lists: the work of `RankExchange.make_ghosts`, without messages.
    """
    none, sizes = Particles(), Sizes(lambda radius, *_: radius, np.ones(levels))
    extents = with_levels_below(extents_of_levels(none.position, none.radius, none.id, levels))
    neighbours, theirs = np.arange(_TIMED_NEIGHBOURS), np.array([extents] * _TIMED_NEIGHBOURS)

    def copies() -> None:
        selection = Selection(none, sizes, extents, Repeats.upright(np.zeros(3)))
        exchange_copies(_Nobody(), selection, neighbours, theirs)

    return _best(copies) / _TIMED_NEIGHBOURS


class _Nobody:
    """Substitute for messages, without any receiver."""

    def swap(self, partners: Integers, rows: NDArray[Any], sent: Integers) -> tuple[NDArray[Any], Integers]:
        """Return the arguments: nothing arrives."""
        return rows, sent


def copy_seconds() -> float:
    """Return the time to gather the row of one particle for a message [s], measured here by the code of a step."""
    rows, order = np.zeros((_TIMED_ROWS, PACKED)), np.arange(_TIMED_ROWS)
    gathered = np.empty_like(rows)
    gather_rows(rows, order, gathered)  # includes the compilation, if necessary
    return _best(lambda: gather_rows(rows, order, gathered)) / _TIMED_ROWS


def _best(work: Callable[[], None]) -> float:
    seconds = []
    for _ in range(_REPETITIONS):
        clock = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - clock)
    return min(seconds)
