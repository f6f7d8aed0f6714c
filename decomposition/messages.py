"""Point-to-point messages among ranks. The methods differ in the facts that the receiver has beforehand.

========== ================================= ==========================================================================
method     sources of a rank's messages      number of rows
========== ================================= ==========================================================================
notify     not announced                     one row from each: sparse data exchange (NBX) by synchronous sends, probes
                                             and a barrier that does not block
introduce  not announced                     one row from each, and one row in return
swap       the ranks that it sends to        determined by matched probes (``MPI_Mprobe``)
tell       an argument                       determined by matched probes
deliver    an argument                       an argument
route      not announced                     announced by `notify`, then as in `deliver`
========== ================================= ==========================================================================

No array here has the length of the number of ranks. Neighbourhood collectives of MPI are not used: they need a new
communicator, made by all ranks, whenever the neighbours of any rank change, and lengths that both sides know.
"""

from __future__ import annotations

import itertools
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from decomposition.mpi import load_mpi
from decomposition.tags import ANSWER, DELIVERY, NEXT_NOTICE, NOTICE, SWAP, TELL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from pdem.foundation.array_types import Integers

    Columns = dict[str, NDArray[Any]]

_ROOM = 32
_EAGER_PROBES = 100
_PAUSE_SECONDS = 2e-5


class _Inbox:
    """Rows of one length from any rank, received while this rank waits for a request.

    The inbox probes for messages instead of posting a receive from any source. With MPICH over UCX (5.0) such a receive
    loses messages that arrive while it is cancelled, and messages from the own node while other nodes send.
    """

    def __init__(self, communicator: Any, row: tuple[int, Any], tag: int) -> None:
        self._communicator, self._tag, self._mpi = communicator, tag, load_mpi()
        width, kind = row
        self._rows, self._sources, self._count = np.empty((_ROOM, width), kind), np.empty(_ROOM, np.int64), 0
        self._status = self._mpi.Status()

    def _receive(self) -> bool:
        """Receive a row if there is one; return whether a row was received."""
        if not self._communicator.Iprobe(self._mpi.ANY_SOURCE, self._tag, self._status):
            return False
        if self._count == len(self._rows):
            self._rows = np.concatenate((self._rows, np.empty_like(self._rows)))
            self._sources = np.concatenate((self._sources, np.empty_like(self._sources)))
        source = self._status.Get_source()
        self._communicator.Recv(self._rows[self._count], source, self._tag)
        self._sources[self._count] = source
        self._count += 1
        return True

    def wait(self, request: Any) -> None:
        """Receive rows until a request is complete."""
        idle = 0
        while not request.Test():
            idle = 0 if self._receive() else idle + 1
            if idle > _EAGER_PROBES:  # the awaited rank may need this core
                time.sleep(_PAUSE_SECONDS)

    def received(self) -> tuple[Integers, NDArray[Any]]:
        """Return the sources in increasing order, and their rows. No message may be in transit."""
        order = np.argsort(self._sources[: self._count])
        return self._sources[: self._count][order], self._rows[: self._count][order]


class Messages:
    """Messages between this rank and other ranks, which are addressed by their numbers.

    Parameters
    ----------
    communicator : mpi4py communicator
        Communicator of all ranks.
    """

    def __init__(self, communicator: Any) -> None:
        self._communicator, self._mpi = communicator, load_mpi()
        self._rounds = itertools.cycle((NOTICE, NEXT_NOTICE))

    def notify(self, targets: Integers, rows: NDArray[Any]) -> tuple[Integers, NDArray[Any]]:
        """Send a row to each of some ranks, which do not expect it; return sources and rows received here. Collective.

        A rank joins a non-blocking barrier when all its rows have been received, and continues to receive until all
        ranks have joined (T. Hoefler, C. Siebert, A. Lumsdaine, ACM SIGPLAN Not. 45 (2010) 159).

        Parameters
        ----------
        targets : (k,) int64 array
            Target ranks, without repetition.
        rows : (k, w) array
            Row for each target; the same length and type on all ranks.

        Returns
        -------
        sources : (m,) int64 array
            Source ranks in increasing order.
        rows : (m, w) array
            Row of each source.
        """
        tag = next(self._rounds)  # a rank may be a round ahead
        inbox = _Inbox(self._communicator, (rows.shape[1], rows.dtype), tag)
        sends = [
            self._communicator.Issend(row, target, tag) for target, row in zip(targets.tolist(), rows, strict=True)
        ]
        for send in sends:
            inbox.wait(send)
        inbox.wait(self._communicator.Ibarrier())
        return inbox.received()

    def tell_partners(self, partners: Integers, targets: Integers, rows: NDArray[Any]) -> tuple[Integers, NDArray[Any]]:
        """Send a row to some partners, as `notify` does, but without a collective call; a row of zeros is no message.

        Parameters
        ----------
        partners : (k,) int64 array
            Ranks in increasing order. The relation is symmetric: each of them has this rank as a partner.
        targets : (m,) int64 array
            Partners that get a row, in increasing order.
        rows : (m, w) array
            Row for each target.
        """
        mine = np.zeros((len(partners), rows.shape[1]), rows.dtype)
        mine[np.searchsorted(partners, targets)] = rows
        theirs = self.swap(partners, mine, np.ones(len(partners), np.int64))[0]
        some = theirs.any(axis=1)
        return partners[some], theirs[some]

    def introduce(self, targets: Integers, row: NDArray[Any]) -> tuple[Integers, NDArray[Any]]:
        """Exchange rows with the target ranks and with all ranks that have this rank as a target. Collective.

        Parameters
        ----------
        targets : (k,) int64 array
            Target ranks in increasing order.
        row : (w,) array
            Row of this rank; the same length and type on all ranks.

        Returns
        -------
        others : (m,) int64 array
            Targets and ranks that have this rank as a target, in increasing order. The relation is symmetric.
        rows : (m, w) array
            Row of each rank in `others`.
        """
        sources, heard = self.notify(targets, np.broadcast_to(row, (len(targets), len(row))))
        others = np.union1d(targets, sources)
        rows = np.empty((len(others), len(row)), row.dtype)
        rows[np.searchsorted(others, sources)] = heard
        silent = np.setdiff1d(targets, sources, assume_unique=True)
        places = np.searchsorted(others, silent).tolist()
        requests = [
            self._communicator.Irecv(rows[place], source, ANSWER)
            for place, source in zip(places, silent.tolist(), strict=True)
        ]
        for stranger in np.setdiff1d(sources, targets, assume_unique=True).tolist():
            requests.append(self._communicator.Isend(row, stranger, ANSWER))
        self._mpi.Request.Waitall(requests)
        return others, rows

    def swap(self, partners: Integers, rows: NDArray[Any], sent: Integers) -> tuple[NDArray[Any], Integers]:
        """Exchange rows with partners; return the received rows in the order of ranks, and their number per partner.

        Parameters
        ----------
        partners : (k,) int64 array
            Ranks in increasing order. The relation is symmetric: each of them has this rank as a partner.
        rows : (n, ...) array
            Rows of any plain data type, sorted by partner; there may be none.
        sent : (k,) int64 array
            Number of rows for each partner.
        """
        return self._await(partners, rows, list(self._sends(partners, rows, sent, SWAP)), SWAP)

    def tell(self, targets: Integers, rows: NDArray[Any], sources: Integers) -> NDArray[Any]:
        """Send the same rows to each target, and return the rows of all sources in the order of ranks.

        Parameters
        ----------
        targets, sources : (k,) and (m,) int64 arrays
            Ranks in increasing order. This rank is a target of its sources, and a source of its targets.
        rows : (n, ...) array
            Rows of any plain data type; there may be none.
        """
        whole = [np.ascontiguousarray(rows), len(rows) * _row_bytes(rows), self._mpi.BYTE]
        sends = [self._communicator.Isend(whole, target, TELL) for target in targets.tolist()]
        return self._await(sources, rows, sends, TELL)[0]

    def _await(
        self, sources: Integers, like: NDArray[Any], requests: list[Any], tag: int
    ) -> tuple[NDArray[Any], Integers]:
        """Receive the rows of each source, and complete `requests`; return the rows and their number per source."""
        status, width = self._mpi.Status(), _row_bytes(like)
        received, found = np.empty_like(sources), []
        for place, source in enumerate(sources.tolist()):
            found.append(self._communicator.Mprobe(source, tag, status))
            received[place] = status.Get_count(self._mpi.BYTE) // width
        result = np.empty((int(received.sum()), *like.shape[1:]), like.dtype)
        for message, part in zip(found, self._parts(result, received), strict=True):
            requests.append(message.Irecv(part))
        self._mpi.Request.Waitall(requests)
        return result, received

    def deliver(
        self, targets: Integers, rows: NDArray[Any], sent: Integers, sources: Integers, received: Integers
    ) -> NDArray[Any]:
        """Send rows to targets, and return rows from sources; both sides know the numbers of rows beforehand.

        Parameters
        ----------
        targets, sources : (k,) and (m,) int64 arrays
            Ranks in increasing order.
        rows : (n, ...) array
            Rows of any plain data type, sorted by target.
        sent, received : (k,) and (m,) int64 arrays
            Number of rows for each target, and from each source.
        """
        result = np.empty((int(received.sum()), *rows.shape[1:]), rows.dtype)
        some = received > 0
        parts = self._parts(result, received[some])
        requests = [
            self._communicator.Irecv(part, source, DELIVERY)
            for source, part in zip(sources[some].tolist(), parts, strict=True)
        ]
        some = sent > 0
        requests += self._sends(targets[some], rows, sent[some], DELIVERY)
        self._mpi.Request.Waitall(requests)
        return result

    def route(self, columns: Columns, targets: Integers) -> Columns:
        """Send each row of some columns to a rank, and return the received rows in the order of ranks. Collective.

        Rows from one rank keep their order. A rank may send rows to itself.

        Parameters
        ----------
        columns : mapping of (n, ...) arrays
            Columns of any plain data type, with the same names and types in the same order on all ranks.
        targets : (n,) int64 array
            Target rank of each row.
        """
        order = np.argsort(targets, kind="stable")
        ranks, sent = np.unique(targets, return_counts=True)
        sources, received = self.notify(ranks, sent[:, None])
        return {
            name: self.deliver(ranks, column[order], sent, sources, received[:, 0]) for name, column in columns.items()
        }

    def _sends(self, targets: Integers, rows: NDArray[Any], sent: Integers, tag: int) -> Iterator[Any]:
        rows = np.ascontiguousarray(rows)
        for target, part in zip(targets.tolist(), self._parts(rows, sent), strict=True):
            yield self._communicator.Isend(part, target, tag)

    def _parts(self, rows: NDArray[Any], numbers: Integers) -> Iterator[list[Any]]:
        """Yield consecutive parts with these numbers of rows, as buffers of messages."""
        width, begin = _row_bytes(rows), 0
        for number in numbers.tolist():
            yield [rows[begin : begin + number], number * width, self._mpi.BYTE]
            begin += number


def _row_bytes(rows: NDArray[Any]) -> int:
    return int(rows.dtype.itemsize * np.prod(rows.shape[1:], dtype=np.int64))
