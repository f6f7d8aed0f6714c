"""One order for the rows of all ranks, in contiguous parts: each rank writes its part into a common file.

Rows of a rank may go to all other ranks, so the messages are all-to-all, and row counts are arrays with one entry per
rank. Only output and initial fills need such an order; steps and detections do not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from decomposition.bisection import cut
from decomposition.mpi import load_mpi
from pdem.containers.global_order import order_of, taken

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pdem.containers.group import Group
    from pdem.foundation.array_types import Integers


class RankRows:
    """Rows sorted by keys over all ranks, in equal parts; see `containers.global_order.OrderedRows`. Collective.

    No rank receives more than its part, for any keys.

    Parameters
    ----------
    communicator : mpi4py communicator
        Communicator of the ranks.
    over : Group
        The same ranks.
    keys : sequence of (n,) int64 arrays
        Keys of the sort, the most significant first. Among equal keys, rows of lower ranks come first.
    block : int
        Parts begin at multiples of this number of rows.

    Attributes
    ----------
    begin, count, total : int
        First row of this rank's part, number of its rows, and number of all rows.
    """

    def __init__(self, communicator: Any, over: Group, keys: Sequence[Integers], block: int) -> None:
        self._communicator = communicator
        place = places_of(communicator, over, keys)
        self.total = int(communicator.allreduce(len(place)))
        ends = ends_of_parts(self.total, communicator.size, block)
        self.begin = int(ends[communicator.rank - 1]) if communicator.rank else 0
        self.count = int(ends[communicator.rank]) - self.begin
        self._order = np.argsort(place)
        self._sent = np.bincount(np.searchsorted(ends, place, side="right"), minlength=communicator.size)
        arrived, self._received = hand_over(communicator, place[self._order], self._sent)
        self._row = np.empty(self.count, np.int64)
        self._row[arrived - self.begin] = np.arange(self.count)

    def take(self, column: NDArray[Any]) -> NDArray[Any]:
        """Redistribute a column; return this rank's part of it. Collective."""
        rows = taken(column, self._order)
        return taken(hand_over(self._communicator, rows, self._sent, self._received)[0], self._row)


def ends_of_parts(total: int, size: int, block: int) -> Integers:
    """Return the end of each rank's part: equal numbers of blocks of rows, as nearly as possible.

    Parameters
    ----------
    total, size, block : int
        Number of rows, number of ranks, and rows of a block.
    """
    blocks = -(-total // block)
    return np.minimum(np.arange(1, size + 1, dtype=np.int64) * blocks // size * block, total)


def places_of(communicator: Any, over: Group, keys: Sequence[Integers]) -> Integers:
    """Return the index of each row in the common order of all ranks' rows. Collective.

    Only keys are sent: each to the rank that sorts its range of the first key. The indices are sent back.
    """
    owner = _ranges(keys[0], over)
    order = np.argsort(owner, kind="stable")
    sent = np.bincount(owner, minlength=over.size)
    arrived, received = hand_over(communicator, np.stack(keys, axis=1)[order], sent)
    place = np.empty(len(arrived), np.int64)
    begin = communicator.exscan(len(arrived)) or 0
    place[order_of(list(arrived.T))] = begin + np.arange(len(arrived))
    numbers, _ = hand_over(communicator, place, received, sent)
    result = np.empty(len(order), np.int64)
    result[order] = numbers
    return result


def _ranges(keys: Integers, over: Group) -> Integers:
    """Return the rank (n,) that sorts the range of each key. Ranges rise with ranks and have about equal sizes.

    Keys are divided like space, as coordinates on a line. Equal keys are in one range.
    """
    line = np.zeros((len(keys), 3))
    line[:, 0] = keys
    return cut(line, over.size, axes=(0,), over=over).owners(line)


def hand_over(
    communicator: Any, rows: NDArray[Any], sent: Integers, received: Integers | None = None
) -> tuple[NDArray[Any], Integers]:
    """Send rows, sorted by rank, to all ranks; return the received rows and their number per rank. Collective.

    Parameters
    ----------
    communicator : mpi4py communicator
        Communicator of the ranks.
    rows : (n, ...) array
        Rows of any plain data type.
    sent, received : (P,) int64 arrays
        Number of rows for each rank, and optionally the number from each rank.
    """
    rows = np.ascontiguousarray(rows)
    if received is None:
        received = np.empty_like(sent)
        communicator.Alltoall(sent, received)
    result = np.empty((int(received.sum()), *rows.shape[1:]), rows.dtype)
    width = rows.dtype.itemsize * int(np.prod(rows.shape[1:]))
    out, into, byte = sent * width, received * width, load_mpi().BYTE
    communicator.Alltoallv([rows, out, np.cumsum(out) - out, byte], [result, into, np.cumsum(into) - into, byte])
    return result, received
