"""Ranks at work: who owns what, balance, migration with contacts, ghosts, and what is agreed.

What a detection costs does not grow with the number of ranks: its messages go to ranks that get something, or that
follow from the parts of space, and what all agree on are a few numbers in all-reduces.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from decomposition.balance import Balance, sample
from decomposition.copies import Copier, Sizes
from decomposition.ghosts import Ghosts
from decomposition.global_order import RankRows
from decomposition.layers import extents_of_levels, levels_of, with_levels_below
from decomposition.messages import Messages
from decomposition.migration import migrate
from decomposition.mpi import load_mpi
from decomposition.neighbours import agree_on_space, find_neighbours
from decomposition.nodes import layout_text
from decomposition.packing import GHOST
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
        self.workers, self.layout = world.workers, layout_text(world.nodes)
        self.on_one_node = world.node_size == world.size
        self._partition = PARTITIONERS[method](lower, upper)
        self._parts: Parts = self._partition(np.zeros((0, 3)), self.size)
        self._period = np.where(periodic, np.subtract(upper, lower), 0.0)
        self._messages = Messages(self._communicator)
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
        total, most = np.empty_like(since), np.empty(2)
        self._communicator.Allreduce(since, total, self._mpi.SUM)
        self._communicator.Allreduce(np.array([since.sum(), self._balance.cost]), most, self._mpi.MAX)
        if not self._balance.is_due(float(most[0] - total.sum() / self.size), float(most[1])):
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
        sizes = np.empty(self.size if self.rank == 0 else 0, np.int64)
        self._communicator.Gather(np.array([mine.nbytes]), sizes)
        result = None
        if self.rank == 0:
            width = max(1, mine.dtype.itemsize * int(np.prod(mine.shape[1:])))
            result = np.empty((int(sizes.sum()) // width, *mine.shape[1:]), mine.dtype)
        byte = self._mpi.BYTE
        receive = None if result is None else [result, sizes, np.cumsum(sizes) - sizes, byte]
        self._communicator.Gatherv([mine, mine.nbytes, byte], receive)
        return result

    def _from_all(self, mine: NDArray[Any]) -> NDArray[Any]:
        """Return the rows of all ranks, joined in the order of ranks, on every rank: only where space is cut anew."""
        sizes = np.empty(self.size, np.int64)
        self._communicator.Allgather(np.array([mine.nbytes]), sizes)
        result = np.empty(int(sizes.sum()) // mine.dtype.itemsize, mine.dtype)
        byte = self._mpi.BYTE
        self._communicator.Allgatherv(
            [mine, mine.nbytes, byte], [result, sizes, np.cumsum(sizes) - sizes, byte]
        )
        return result

    def migrate(self, particles: Particles, records: Callable[[], Records]) -> Records | None:
        """Hand particles that have left to their new owners, with their contacts; return this rank's if changed."""
        owner = self._parts.owners(particles.position)
        if not self.largest(np.array([np.any(owner != self.rank)], np.int64))[0]:
            return None
        return migrate(self._messages, self.rank, owner, particles, records)

    def make_ghosts(
        self, particles: Particles, reach: Callable[[NDArray[np.float64]], Any], radii: NDArray[np.float64]
    ) -> None:
        """Append copies of all particles of other ranks that may touch owned ones; see `decomposition.layers`."""
        level = levels_of(particles.radius, radii)
        each = extents_of_levels(particles.position, reach(particles.radius), level, len(radii))
        extents = with_levels_below(each)
        space = agree_on_space(self._communicator, extents, self._period)
        neighbours, theirs = find_neighbours(self._messages, self.rank, self._parts, space, each)
        copier = Copier(self._messages, particles, Sizes(reach, radii), extents, self._period)
        copied = copier.exchange(neighbours, theirs)
        self._append_ghosts(particles, copied.ghosts)
        self._ghosts.connect(neighbours, copied.rows, copied.numbers, particles.count)
        self._balance.end()

    @staticmethod
    def _append_ghosts(particles: Particles, copies: NDArray[Any]) -> None:
        particles.reserve(particles.count + len(copies))
        particles.ghosts = len(copies)
        for name in GHOST.names or ():
            particles.column(name)[particles.count : particles.count + len(copies)] = copies[name]

    def known_ids(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return ids of particles of this rank, with those that ranks give whose particles have ghosts here; rising."""
        given = self._messages.tell(self._ghosts.targets, ids, self._ghosts.sources)
        return np.unique(np.concatenate((ids, given)))

    def begin_update(self, rows: NDArray[np.float64]) -> None:
        """Begin to refresh the rows of ghosts; they must be left alone meanwhile."""
        self._ghosts.begin_update(rows)

    def finish_update(self) -> None:
        """Return when the ghosts are as `begin_update` found their originals."""
        self._ghosts.finish_update()

    def traffic(self) -> Traffic:
        """Return what this rank sends and receives in a step, for the present ghosts."""
        return self._ghosts.traffic()
