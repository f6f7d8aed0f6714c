"""What the simulation asks of the other ranks: the only protocol between physics and distribution.

`Alone` is the real thing for one rank, not a special case of the step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import numpy as np

from pdem.containers.global_order import OwnRows, order_of
from pdem.foundation.machine import available_cores

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from pdem.containers.global_order import Rows
    from pdem.containers.particles import Particles
    from pdem.containers.records import PairRecords, WallRecords

    Columns = dict[str, NDArray[Any]]
    Records = tuple[PairRecords, WallRecords]

PartitionMethod = Literal["bisection", "slabs"]
"""Names of the ways of cutting space among ranks; `decomposition.partitioners` has what they do."""


class Traffic(NamedTuple):
    """What one rank has to do with others in a step that makes no lists.

    Attributes
    ----------
    sends, receives : int
        Messages, one for each neighbour.
    sent, received : int
        Bytes.
    """

    sends: int = 0
    receives: int = 0
    sent: int = 0
    received: int = 0


@dataclass(frozen=True)
class Division:
    """What ranks have to do when they begin, counted without them; P ranks, L levels of size.

    Attributes
    ----------
    owner : (n,) int64 array
        Rank of each particle.
    owned, ghosts, sent : (P, L) int64 arrays
        Particles of each rank, copies it has of others', copies of its own that others have.
    sends, receives : (P,) int64 arrays
        Messages of each rank in a step.
    row_bytes : int
        Of one copy in the message of a step.
    """

    owner: NDArray[np.int64]
    owned: NDArray[np.int64]
    ghosts: NDArray[np.int64]
    sent: NDArray[np.int64]
    sends: NDArray[np.int64]
    receives: NDArray[np.int64]
    row_bytes: int

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return len(self.owned)

    def traffic(self, rank: int) -> Traffic:
        """Return what a rank has to do with others in a step."""
        rows = int(self.sent[rank].sum()), int(self.ghosts[rank].sum())
        sent, received = (self.row_bytes * many for many in rows)
        return Traffic(int(self.sends[rank]), int(self.receives[rank]), sent, received)


class Exchange(Protocol):
    """All that crosses ranks. Every method is collective.

    Attributes
    ----------
    rank, size : int
        Number of this rank, and how many there are.
    threads : int
        Threads of this rank.
    crowded : bool
        Whether the ranks of this node have more threads than cores.
    on_one_node : bool
        Whether all ranks are on this node.
    workers : int
        Threads of all ranks together; nodes may differ.
    layout : str
        Which nodes have how many ranks and threads, in a line; empty if there is one.
    """

    rank: int
    size: int
    threads: int
    crowded: bool
    on_one_node: bool
    workers: int
    layout: str

    def divide(self, columns: Columns) -> NDArray[np.int64]:
        """Return which of all particles, the same columns on every rank, this rank shall own."""
        ...

    def largest(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the largest of each entry over the ranks."""
        ...

    def add(self, limbs: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the sum of integers over the ranks, which is exact."""
        ...

    def migrate(self, particles: Particles, records: Callable[[], Records]) -> Records | None:
        """Hand particles that have left to their new owners, with their contacts, which `records` returns.

        Returns
        -------
        (PairRecords, WallRecords) or None
            All contacts of the particles of this rank now; None if these have not changed.
        """
        ...

    def rebalance(
        self,
        position: NDArray[np.float64],
        seconds: NDArray[np.float64],
        counts: Callable[[], NDArray[np.float64]],
    ) -> bool:
        """Divide the particles anew if the present division has cost more than that would.

        Nothing moves before `migrate`.

        Parameters
        ----------
        position : (n, 3) array
            Of the owned particles [m].
        seconds : (K,) array
            Time this rank has spent on each kind of work since the beginning [s], waiting not included.
        counts : callable
            Returns how much there is of each kind at each particle, (n, K).
        """
        ...

    def make_ghosts(
        self, particles: Particles, reach: Callable[[NDArray[np.float64]], Any], radii: NDArray[np.float64]
    ) -> None:
        """Append copies of all particles of other ranks that may touch owned ones.

        `reach` returns that of radii; `radii` (L,) are the largest of each level of size, rising.
        """
        ...

    def known_ids(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return ids of particles of this rank, with those that ranks give whose particles have ghosts here.

        Parameters
        ----------
        ids : (n,) int64 array
            Of owned particles that the present lists are for.

        Returns
        -------
        (m,) int64 array
            Rising, each once: all that are given anywhere and known here.
        """
        ...

    def begin_update(self, rows: NDArray[np.float64]) -> None:
        """Begin to refresh the rows of ghosts; they must be left alone meanwhile.

        Parameters
        ----------
        rows : (n, PACKED) array
            Packed rows of the owned particles and behind them those of the ghosts, see `pdem.motion.integration`.
        """
        ...

    def finish_update(self) -> None:
        """Return when the ghosts are as `begin_update` found their originals."""
        ...

    def traffic(self) -> Traffic:
        """Return what this rank sends and receives in a step, for the present ghosts."""
        ...

    def collect(self, columns: Columns) -> Columns | None:
        """Return the columns of all ranks, joined in the order of ranks, on rank 0; None elsewhere."""
        ...

    def share(self, value: Any) -> Any:
        """Return rank 0's value on every rank."""
        ...

    def first(self, value: Any) -> Any:
        """Return the value of the first rank that has one, on every rank; None if all gave None."""
        ...

    def in_order(self, keys: Sequence[NDArray[np.int64]], block: int = 1) -> Rows:
        """Return how the rows of all ranks get into the order of their keys, a part on each rank.

        Parameters
        ----------
        keys : sequence of (n,) int64 arrays
            Of the rows that this rank holds: the order is by the first key, then by the next. Rows of the same
            keys that are on one rank stay as they are.
        block : int
            Parts begin at multiples of it.
        """
        ...


class Alone:
    """One rank: nothing crosses anything.

    Parameters
    ----------
    threads : int
        Threads of this rank.
    """

    rank = 0
    size = 1
    on_one_node = True
    layout = ""

    def __init__(self, threads: int = 1) -> None:
        self.threads = self.workers = threads
        self.crowded = threads > available_cores()

    def divide(self, columns: Columns) -> NDArray[np.int64]:
        """Return all particles."""
        return np.arange(len(columns["id"]))

    def largest(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the values."""
        return values

    def add(self, limbs: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the values."""
        return limbs

    def migrate(self, particles: Particles, records: Callable[[], Records]) -> Records | None:
        """Return None: nothing leaves."""

    def rebalance(
        self,
        position: NDArray[np.float64],
        seconds: NDArray[np.float64],
        counts: Callable[[], NDArray[np.float64]],
    ) -> bool:
        """Return False: there is nothing to divide."""
        return False

    def make_ghosts(
        self, particles: Particles, reach: Callable[[NDArray[np.float64]], Any], radii: NDArray[np.float64]
    ) -> None:
        """There are none."""

    def known_ids(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the ids, rising."""
        return np.unique(ids)

    def begin_update(self, rows: NDArray[np.float64]) -> None:
        """There are none."""

    def finish_update(self) -> None:
        """There are none."""

    def traffic(self) -> Traffic:
        """Return that there is none."""
        return Traffic()

    def collect(self, columns: Columns) -> Columns | None:
        """Return the columns."""
        return columns

    def share(self, value: Any) -> Any:
        """Return the value."""
        return value

    def first(self, value: Any) -> Any:
        """Return the value."""
        return value

    def in_order(self, keys: Sequence[NDArray[np.int64]], block: int = 1) -> OwnRows:
        """Return the order of the rows, which are all here."""
        return OwnRows(len(keys[0]), order_of(keys))


def wait_for_all(exchange: Exchange) -> None:
    """Return when all ranks have come here. Collective."""
    exchange.largest(np.zeros(1, np.int64))
