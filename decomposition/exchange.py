"""Ranks at work: who owns what, balance, migration with contacts, ghosts, and what is agreed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from decomposition.balance import Balance, sample
from decomposition.ghosts import Ghosts
from decomposition.global_order import RankRows, hand_over
from decomposition.layers import (
    Cells,
    extents_by_level,
    levels_of,
    mark_layer,
    may_meet,
)
from decomposition.mpi import load_mpi
from decomposition.packing import (
    GHOST,
    PARTICLE,
    pack,
    pack_for_ranks,
    pack_pairs,
    pack_walls,
    unpack_pairs,
    unpack_walls,
)
from decomposition.partitioners import PARTITIONERS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from decomposition.mpi import World
    from decomposition.partitioners import Parts
    from pdem.containers.exchange import PartitionMethod, Traffic
    from pdem.containers.particles import Particles
    from pdem.containers.records import PairRecords, WallRecords

    Columns = dict[str, NDArray[Any]]
    Records = tuple[PairRecords, WallRecords]


class RankExchange:
    """Ranks that own parts of space; implements `pdem.containers.exchange.Exchange`.

    Parameters
    ----------
    world : World
        The ranks.
    lower, upper : (3,) sequences
        Box [m].
    periodic : three bool
        Which axes are periodic.
    method : str
        How space is cut, a name in `decomposition.partitioners.PARTITIONERS`.
    balance : {"auto", "always", "never"}
        When it is cut anew.
    """

    def __init__(
        self,
        world: World,
        lower: Sequence[float],
        upper: Sequence[float],
        periodic: Sequence[bool],
        method: PartitionMethod = "bisection",
        balance: str = "auto",
    ) -> None:
        self._communicator = world.communicator.Dup()
        self._mpi = load_mpi()
        self.rank, self.size = world.rank, world.size
        self.threads, self.crowded = world.threads, world.crowded
        self.on_one_node = world.node_size == world.size
        self._partition = PARTITIONERS[method](lower, upper)
        self._parts: Parts = self._partition(np.zeros((0, 3)), self.size)
        self._period = np.where(periodic, np.subtract(upper, lower), 0.0)
        self._ghosts = Ghosts(self._communicator)
        self._balance = Balance(balance)

    def divide(self, columns: Columns) -> NDArray[np.int64]:
        """Cut all particles into parts of equal numbers; return the rows of this rank's."""
        self._parts = self._partition(columns["position"], self.size)
        return np.flatnonzero(self._parts.owners(columns["position"]) == self.rank)

    def rebalance(
        self,
        position: NDArray[np.float64],
        seconds: NDArray[np.float64],
        counts: Callable[[], NDArray[np.float64]],
    ) -> bool:
        """Cut anew if the imbalance has cost more than that would; return whether that was done."""
        since = self._balance.since(seconds)
        total, most = np.empty_like(since), np.empty(1)
        self._communicator.Allreduce(since, total, self._mpi.SUM)
        self._communicator.Allreduce(np.array([since.sum()]), most, self._mpi.MAX)
        cost = self.largest(np.array([self._balance.cost]).view(np.int64)).view(np.float64)
        if not self._balance.is_due(float(most[0] - total.sum() / self.size), float(cost[0])):
            return False
        self._balance.begin()
        held = counts()
        all_counts = np.empty(held.shape[1])
        self._communicator.Allreduce(held.sum(axis=0), all_counts, self._mpi.SUM)
        taken = sample(position, held @ (total / np.maximum(all_counts, 1.0)))
        rows = self._from_all(taken)
        self._parts = self._partition(rows["position"], self.size, rows["work"], self._parts)
        return True

    def largest(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the largest of each entry over the ranks."""
        result = np.empty_like(values)
        self._communicator.Allreduce(values, result, self._mpi.MAX)
        return result

    def add(self, limbs: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the sum of integers over the ranks."""
        result = np.empty_like(limbs)
        self._communicator.Allreduce(np.ascontiguousarray(limbs), result, self._mpi.SUM)
        return result

    def share(self, value: Any) -> Any:
        """Return rank 0's value on every rank."""
        return self._communicator.bcast(value)

    def first(self, value: Any) -> Any:
        """Return the value of the first rank that has one, on every rank; None if all gave None."""
        source = self._communicator.allreduce(self.size if value is None else self.rank, self._mpi.MIN)
        return None if source == self.size else self._communicator.bcast(value, source)

    def in_order(self, keys: Sequence[NDArray[np.int64]], block: int = 1) -> RankRows:
        """Return how rows get into the order of their keys, in equal parts; see `decomposition.global_order`."""
        return RankRows(self._communicator, keys, block)

    def collect(self, columns: Columns) -> Columns | None:
        """Return the columns of all ranks, joined in the order of ranks, on rank 0; None elsewhere."""
        joined = {name: self._collect_column(column) for name, column in columns.items()}
        return None if self.rank else {name: column for name, column in joined.items() if column is not None}

    def _collect_column(self, column: NDArray[Any]) -> NDArray[Any] | None:
        mine = np.ascontiguousarray(column)
        sizes = np.array(self._communicator.allgather(mine.nbytes))
        result = None
        if self.rank == 0:
            width = max(1, mine.dtype.itemsize * int(np.prod(mine.shape[1:])))
            result = np.empty((int(sizes.sum()) // width, *mine.shape[1:]), mine.dtype)
        byte = self._mpi.BYTE
        receive = None if result is None else [result, sizes, np.cumsum(sizes) - sizes, byte]
        self._communicator.Gatherv([mine, mine.nbytes, byte], receive)
        return result

    def _from_all(self, mine: NDArray[Any]) -> NDArray[Any]:
        """Return the rows of all ranks, joined in the order of ranks, on every rank."""
        sizes = np.array(self._communicator.allgather(mine.nbytes))
        result = np.empty(int(sizes.sum()) // mine.dtype.itemsize, mine.dtype)
        byte = self._mpi.BYTE
        self._communicator.Allgatherv(
            [mine, mine.nbytes, byte], [result, sizes, np.cumsum(sizes) - sizes, byte]
        )
        return result

    def _to_all(self, parts: list[NDArray[Any]]) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Send part p to rank p; return what all have sent, in the order of ranks, and the numbers of rows."""
        sent = np.array([len(part) for part in parts], np.int64)
        return hand_over(self._communicator, np.concatenate(parts), sent)

    def migrate(self, particles: Particles, records: Callable[[], Records]) -> Records | None:
        """Hand particles that have left to their new owners, with their contacts; return this rank's if changed."""
        owner = self._parts.owners(particles.position)
        if not self.largest(np.array([np.any(owner != self.rank)], np.int64))[0]:
            return None
        pairs, walls = records()
        ids = particles.id.copy()
        leaving = [np.empty(0, np.int64)] * self.size
        for other in np.unique(owner[owner != self.rank]).tolist():
            leaving[other] = np.flatnonzero(owner == other)

        def pairs_of(rows: NDArray[np.int64]) -> NDArray[Any]:
            here = np.isin(pairs.lower, ids[rows]) | np.isin(pairs.higher, ids[rows])
            return pack_pairs(pairs.take(here))

        def walls_of(rows: NDArray[np.int64]) -> NDArray[Any]:
            return pack_walls(walls.take(np.isin(walls.id, ids[rows])))

        arrived, _ = self._to_all(pack_for_ranks(leaving, lambda rows: pack(particles, rows, PARTICLE)))
        new_pairs, _ = self._to_all(pack_for_ranks(leaving, pairs_of))
        new_walls, _ = self._to_all(pack_for_ranks(leaving, walls_of))
        stay = owner == self.rank
        if len(arrived) == 0 and stay.all():
            return None
        names = PARTICLE.names or ()
        particles.replace({name: np.concatenate((particles[name][stay], arrived[name])) for name in names})
        here = walls.take(np.isin(walls.id, ids[stay]))
        return unpack_pairs(pairs, new_pairs), unpack_walls(here, new_walls)

    def make_ghosts(
        self, particles: Particles, reach: Callable[[NDArray[np.float64]], Any], radii: NDArray[np.float64]
    ) -> None:
        """Append copies of all particles of other ranks that may touch owned ones; see `decomposition.layers`."""
        position, reaches = particles.position, reach(particles.radius)
        level = levels_of(particles.radius, radii)
        extents = extents_by_level(position, reaches, level, len(radii))
        others = np.empty((self.size, *extents.shape))
        self._communicator.Allgather(extents, others)
        near = may_meet(extents[-1], others[:, -1], self._period)
        near[self.rank] = False
        marks = {int(other): np.zeros(particles.count, bool) for other in np.flatnonzero(near)}
        for other, mark in marks.items():
            mark_layer(position, reaches, level, others[other], self._period, mark)
        rows = self._rows(marks)
        copies, numbers = self._to_all(pack_for_ranks(rows, lambda one: pack(particles, one, GHOST)))
        if len(radii) > 1:
            self._mark_partners(particles, reach, radii, extents, copies, numbers, marks)
            more = self._rows(marks, rows)
            late, late_numbers = self._to_all(pack_for_ranks(more, lambda one: pack(particles, one, GHOST)))
            copies, numbers = _interleaved(copies, numbers, late, late_numbers)
            rows = [np.concatenate(both) for both in zip(rows, more, strict=True)]
        self._append_ghosts(particles, copies)
        self._ghosts.connect(rows, numbers, particles.count)
        self._balance.end()

    def _rows(
        self, marks: dict[int, NDArray[np.bool_]], besides: list[NDArray[np.int64]] | None = None
    ) -> list[NDArray[np.int64]]:
        """Return the marked rows for each rank, without those given."""
        rows = [np.empty(0, np.int64)] * self.size
        for other, mark in marks.items():
            if besides is not None:
                mark[besides[other]] = False
            rows[other] = np.flatnonzero(mark)
        return rows

    def _mark_partners(
        self,
        particles: Particles,
        reach: Callable[[NDArray[np.float64]], Any],
        radii: NDArray[np.float64],
        extents: NDArray[np.float64],
        copies: NDArray[Any],
        numbers: NDArray[np.int64],
        marks: dict[int, NDArray[np.bool_]],
    ) -> None:
        """Mark the owned particles that may touch a copy of a larger one, for the rank it came from."""
        if particles.count == 0 or len(copies) == 0:
            return
        copy_level = levels_of(copies["radius"], radii)
        if copy_level.max() == 0:
            return
        level = levels_of(particles.radius, radii)
        cells = Cells(particles.position, reach(particles.radius), level, extents[:, 6].copy(), self._period)
        ends = np.cumsum(numbers)
        for other, mark in marks.items():
            part = slice(ends[other] - numbers[other], ends[other])
            place = np.ascontiguousarray(copies["position"][part])
            radius = np.ascontiguousarray(copies["radius"][part])
            cells.mark_partners(place, reach(radius), copy_level[part], mark)

    @staticmethod
    def _append_ghosts(particles: Particles, copies: NDArray[Any]) -> None:
        particles.reserve(particles.count + len(copies))
        particles.ghosts = len(copies)
        for name in GHOST.names or ():
            particles.column(name)[particles.count : particles.count + len(copies)] = copies[name]

    def begin_update(self, rows: NDArray[np.float64]) -> None:
        """Begin to refresh the rows of ghosts; they must be left alone meanwhile."""
        self._ghosts.begin_update(rows)

    def finish_update(self) -> None:
        """Return when the ghosts are as `begin_update` found their originals."""
        self._ghosts.finish_update()

    def traffic(self) -> Traffic:
        """Return what this rank sends and receives in a step, for the present ghosts."""
        return self._ghosts.traffic()


def _interleaved(
    one: NDArray[Any], numbers: NDArray[np.int64], other: NDArray[Any], more: NDArray[np.int64]
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return rows that have come from each rank in two messages, by rank, and their numbers."""
    rank = np.concatenate([np.repeat(np.arange(len(counts)), counts) for counts in (numbers, more)])
    return np.concatenate((one, other))[np.argsort(rank, kind="stable")], numbers + more
