"""Rows of all ranks in one order, divided anew: what the ranks write into one file, each a part without gaps.

Rows of a rank may go to all others, so that messages are all-to-all, and numbers of rows are arrays with an entry for
each rank. Only output and fills at the beginning need such an order, no step and no detection.
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
    """Rows by their keys over all ranks, in equal parts; see `containers.global_order.OrderedRows`. Collective.

    No rank gets more than its part, whatever the keys are.

    Parameters
    ----------
    communicator : mpi4py communicator
        The ranks.
    over : Group
        The same ranks.
    keys : sequence of (n,) int64 arrays
        The order is by the first, then by the next; of the same keys the rows of lower ranks come first.
    block : int
        Parts begin at multiples of it.

    Attributes
    ----------
    begin, count, total : int
        First row of this rank's part, its rows, and all.
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
        """Hand over a column; return this rank's part of it. Collective."""
        rows = taken(column, self._order)
        return taken(hand_over(self._communicator, rows, self._sent, self._received)[0], self._row)


def ends_of_parts(total: int, size: int, block: int) -> Integers:
    """Return where the part of each rank ends: equal numbers of blocks of rows, as far as they go.

    Parameters
    ----------
    total, size, block : int
        Rows, ranks, and rows of a block.
    """
    blocks = -(-total // block)
    return np.minimum(np.arange(1, size + 1, dtype=np.int64) * blocks // size * block, total)


def places_of(communicator: Any, over: Group, keys: Sequence[Integers]) -> Integers:
    """Return the number that each row has among those of all ranks. Collective.

    Only the keys travel: to ranks by ranges of the first, where they are sorted and counted, and the numbers back.
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
    """Return for each key (n,) the rank in whose range it is; ranges rise with ranks and hold about equal numbers.

    Space is cut in the same way: keys are places on a line. Equal keys are in one range.
    """
    line = np.zeros((len(keys), 3))
    line[:, 0] = keys
    return cut(line, over.size, axes=(0,), over=over).owners(line)


def hand_over(
    communicator: Any, rows: NDArray[Any], sent: Integers, received: Integers | None = None
) -> tuple[NDArray[Any], Integers]:
    """Send rows, sorted by rank, to all ranks; return what they have sent and the numbers of rows. Collective.

    Parameters
    ----------
    communicator : mpi4py communicator
        The ranks.
    rows : (n, ...) array
        Of any type that is bytes.
    sent, received : (P,) int64 arrays
        Rows for each rank, and from each if that is known.
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
