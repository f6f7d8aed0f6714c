"""Rows of all ranks in one order, divided anew: what the ranks write into one file, each a part without gaps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from decomposition.mpi import load_mpi
from pdem.containers.global_order import order_of, taken

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_SAMPLES = 64


class RankRows:
    """Rows by their keys over all ranks, in equal parts; implements `pdem.containers.global_order.Rows`. Collective.

    No rank gets more than its part, whatever the keys are.

    Parameters
    ----------
    communicator : mpi4py communicator
        The ranks.
    keys : sequence of (n,) int64 arrays
        The order is by the first, then by the next; of the same keys the rows of lower ranks come first.
    block : int
        Parts begin at multiples of it.

    Attributes
    ----------
    begin, count, total : int
        First row of this rank's part, its rows, and all.
    """

    def __init__(self, communicator: Any, keys: Sequence[NDArray[np.int64]], block: int) -> None:
        self._communicator = communicator
        place = places_of(communicator, keys)
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


def ends_of_parts(total: int, size: int, block: int) -> NDArray[np.int64]:
    """Return where the part of each rank ends: equal numbers of blocks of rows, as far as they go.

    Parameters
    ----------
    total, size, block : int
        Rows, ranks, and rows of a block.
    """
    blocks = -(-total // block)
    return np.minimum(np.arange(1, size + 1, dtype=np.int64) * blocks // size * block, total)


def places_of(communicator: Any, keys: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return the number that each row has among those of all ranks. Collective.

    Only the keys travel: to ranks by ranges of the first, where they are sorted and counted, and the numbers back.
    """
    size = communicator.size
    owner = np.searchsorted(_splits(communicator, keys[0]), keys[0], side="right")
    order = np.argsort(owner, kind="stable")
    sent = np.bincount(owner, minlength=size)
    arrived, received = hand_over(communicator, np.stack(keys, axis=1)[order], sent)
    place = np.empty(len(arrived), np.int64)
    begin = communicator.exscan(len(arrived)) or 0
    place[order_of(list(arrived.T))] = begin + np.arange(len(arrived))
    numbers, _ = hand_over(communicator, place, received, sent)
    result = np.empty(len(order), np.int64)
    result[order] = numbers
    return result


def _splits(communicator: Any, key: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return values of a key that divide all rows into about equal numbers, one fewer than ranks."""
    count = min(len(key), _SAMPLES)
    ranked = np.sort(key)
    mine = ranked[(2 * np.arange(count) + 1) * len(key) // (2 * max(count, 1))]
    samples = communicator.allgather((mine, len(key) / max(count, 1)))
    values = np.concatenate([sample for sample, _ in samples])
    if not len(values):
        return np.zeros(communicator.size - 1, np.int64)
    weights = np.concatenate([np.full(len(sample), weight) for sample, weight in samples])
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    wanted = reached[-1] * np.arange(1, communicator.size) / communicator.size
    return values[order][np.minimum(np.searchsorted(reached, wanted), len(values) - 1)]


def hand_over(
    communicator: Any,
    rows: NDArray[Any],
    sent: NDArray[np.int64],
    received: NDArray[np.int64] | None = None,
) -> tuple[NDArray[Any], NDArray[np.int64]]:
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
    communicator.Alltoallv(
        [rows, out, np.cumsum(out) - out, byte], [result, into, np.cumsum(into) - into, byte]
    )
    return result, received
