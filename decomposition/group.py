"""Collective operations of ranks that do not depend on the positions of particles: sums, broadcasts, routing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from decomposition.global_order import RankRows
from decomposition.messages import Messages
from decomposition.mpi import load_mpi
from decomposition.nodes import layout_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from decomposition.mpi import World
    from pdem.foundation.array_types import Integers

    Columns = dict[str, NDArray[Any]]

Number = TypeVar("Number", bound=np.generic)


class RankGroup:
    """All ranks of a run, with the operations that output and initial states need.

    Parameters
    ----------
    world : World
        The ranks.
    """

    def __init__(self, world: World) -> None:
        self._communicator = world.communicator.Dup()
        self._mpi = load_mpi()
        self.rank, self.size = world.rank, world.size
        self.threads, self.crowded = world.threads, world.crowded
        self.workers, self.layout = world.workers, layout_text(world.nodes)
        self.on_one_node = world.node_size == world.size
        self._messages = Messages(self._communicator)

    def largest(self, values: NDArray[Number]) -> NDArray[Number]:
        """Return the largest of each entry over the ranks."""
        result = np.empty_like(values)
        self._communicator.Allreduce(values, result, self._mpi.MAX)
        return result

    def add(self, limbs: Integers) -> Integers:
        """Return the sum of integers over the ranks."""
        result = np.empty_like(limbs)
        self._communicator.Allreduce(np.ascontiguousarray(limbs), result, self._mpi.SUM)
        return result

    def share(self, value: Any) -> Any:
        """Broadcast rank 0's value to every rank."""
        return self._communicator.bcast(value)

    def first(self, value: Any) -> Any:
        """Return on every rank the value of the first rank that has one; None if no rank has one."""
        source = self._communicator.allreduce(self.size if value is None else self.rank, self._mpi.MIN)
        return None if source == self.size else self._communicator.bcast(value, source)

    def before(self, count: int) -> int:
        """Return the sum of the counts of all lower ranks."""
        return int(self._communicator.exscan(count) or 0)

    def in_order(self, keys: Sequence[Integers], block: int = 1) -> RankRows:
        """Return the rows of all ranks sorted by keys, in equal parts; see `decomposition.global_order`."""
        return RankRows(self._communicator, self, keys, block)

    def collect(self, columns: Columns) -> Columns | None:
        """Join the columns of all ranks in the order of ranks; return them on rank 0, and None elsewhere."""
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

    def route(self, columns: Columns, targets: Integers) -> Columns:
        """Send each row to a rank, and return the received rows in the order of ranks; see `Messages.route`."""
        return self._messages.route(columns, targets)
