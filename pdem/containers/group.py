"""Communication between ranks that is independent of the positions of particles: sums, shared values, routed rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

import numpy as np

from pdem.containers.global_order import OwnRows, order_of
from pdem.foundation.errors import PdemError
from pdem.foundation.machine import available_cores

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from pdem.containers.global_order import OrderedRows
    from pdem.foundation.array_types import Integers

    Columns = dict[str, NDArray[Any]]

Number = TypeVar("Number", bound=np.generic)
Result = TypeVar("Result")


class Group(Protocol):
    """Ranks, with communication that is independent of the positions of particles. Every method is collective.

    Attributes
    ----------
    rank, size : int
        Index of this rank, and number of ranks.
    threads : int
        Threads of this rank.
    crowded : bool
        Whether the ranks of this node have more threads than the node has cores.
    on_one_node : bool
        Whether all ranks are on this node.
    workers : int
        Sum of the threads of all ranks; nodes may differ.
    layout : str
        Ranks and threads of each node, as one line; empty for a single node.
    """

    rank: int
    size: int
    threads: int
    crowded: bool
    on_one_node: bool
    workers: int
    layout: str

    def route(self, columns: Columns, targets: Integers) -> Columns:
        """Send each row of some columns to a rank; return the received rows, in the order of the sending ranks.

        Parameters
        ----------
        columns : mapping of (n, ...) arrays
            Columns with the same names and types on all ranks, in the same order.
        targets : (n,) int64 array
            Target rank of each row; may be this rank. Rows between two ranks keep their order.
        """
        ...

    def largest(self, values: NDArray[Number]) -> NDArray[Number]:
        """Return the largest of each entry over the ranks."""
        ...

    def add(self, limbs: Integers) -> Integers:
        """Return the sum of integers over the ranks, which is exact."""
        ...

    def collect(self, columns: Columns) -> Columns | None:
        """Return the columns of all ranks, joined in the order of ranks, on rank 0; None elsewhere."""
        ...

    def share(self, value: Any) -> Any:
        """Return rank 0's value on every rank."""
        ...

    def first(self, value: Any) -> Any:
        """Return the value of the first rank with a value other than None, on every rank; None if there is none."""
        ...

    def before(self, count: int) -> int:
        """Return the sum of the counts of lower ranks."""
        ...

    def in_order(self, keys: Sequence[Integers], block: int = 1) -> OrderedRows:
        """Return the exchange that sorts the rows of all ranks by their keys; each rank gets a part.

        Parameters
        ----------
        keys : sequence of (n,) int64 arrays
            Keys of this rank's rows: the order is by the first key, then by the next. Rows of one rank with the same
            keys keep their order.
        block : int
            The parts of ranks begin at multiples of this number.
        """
        ...


class OneRank:
    """A process without other ranks.

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

    def route(self, columns: Columns, targets: Integers) -> Columns:
        """Return the columns."""
        return columns

    def largest(self, values: NDArray[Number]) -> NDArray[Number]:
        """Return the values."""
        return values

    def add(self, limbs: Integers) -> Integers:
        """Return the values."""
        return limbs

    def collect(self, columns: Columns) -> Columns | None:
        """Return the columns."""
        return columns

    def share(self, value: Any) -> Any:
        """Return the value."""
        return value

    def first(self, value: Any) -> Any:
        """Return the value."""
        return value

    def before(self, count: int) -> int:
        """Return 0: there are no lower ranks."""
        return 0

    def in_order(self, keys: Sequence[Integers], block: int = 1) -> OwnRows:
        """Return the order of the rows, which are all on this rank."""
        return OwnRows(len(keys[0]), order_of(keys))


def on_each_rank(group: Group, work: Callable[[], Result]) -> Result:
    """Call `work` on every rank and return the result of this one. Collective.

    Raises
    ------
    PdemError
        On all ranks, if `work` raised it on any rank: the error of the first such rank.
    """
    result, problem = None, None
    try:
        result = work()
    except PdemError as error:
        problem = error
    problem = group.first(problem)
    if problem is not None:
        raise problem
    return cast("Result", result)


def on_first_rank(group: Group, work: Callable[[], Result]) -> Result:
    """Call `work` on rank 0 and return its result on every rank. Collective.

    Raises
    ------
    PdemError
        On all ranks, if `work` raised it.
    """
    mine = on_each_rank(group, lambda: work() if group.rank == 0 else None)
    return cast("Result", group.share(mine))


def route_in_one(group: Group, columns: Columns, targets: Integers) -> Columns:
    """Route rows like `Group.route`, but with all columns in one message. Collective.

    For this the rows are copied twice.
    """
    if group.size == 1:
        return group.route(columns, targets)
    kind = np.dtype([(name, column.dtype, column.shape[1:]) for name, column in columns.items()])
    rows = np.empty(len(targets), kind)
    for name, column in columns.items():
        rows[name] = column
    rows = group.route({"rows": rows}, targets)["rows"]
    return {name: np.ascontiguousarray(rows[name]) for name in columns}


def wait_for_all(group: Group) -> None:
    """Wait until all ranks have reached this call. Collective."""
    group.largest(np.zeros(1, np.int64))
