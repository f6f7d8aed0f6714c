"""Messages between ranks of which no rank knows all: to those that are named, from those that turn up.

========== ================================= ==========================================================================
method     who sends to this rank            how much comes
========== ================================= ==========================================================================
notify     nobody knows before               one row from each: sparse data exchange (NBX) by synchronous sends, probes
                                             and a barrier that does not block
introduce  nobody knows before               one row from each, and one in return
swap       the ranks that it sends to        found by matched probes (``MPI_Mprobe``)
tell       others than it sends to, known    found by matched probes
deliver    others than it sends to, known    known
route      nobody knows before               told by `notify`, then as `deliver`
========== ================================= ==========================================================================

Nothing here has the length of the number of ranks. Neighbourhood collectives of MPI are not used: they want a new
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
    """Rows of one length that come from anywhere, received while something else is waited for.

    It probes for messages rather than have a receive from any source wait for them: of such a receive MPICH over UCX
    (5.0) loses what arrives while it is cancelled, and what comes from the own node while others send from outside.
    """

    def __init__(self, communicator: Any, row: tuple[int, Any], tag: int) -> None:
        self._communicator, self._tag, self._mpi = communicator, tag, load_mpi()
        width, kind = row
        self._rows, self._sources, self._count = np.empty((_ROOM, width), kind), np.empty(_ROOM, np.int64), 0
        self._status = self._mpi.Status()

    def _receive(self) -> bool:
        """Receive a row if one is there; return whether there was."""
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
        """Receive until a request is done."""
        idle = 0
        while not request.Test():
            idle = 0 if self._receive() else idle + 1
            if idle > _EAGER_PROBES:  # what is waited for may need this core
                time.sleep(_PAUSE_SECONDS)

    def received(self) -> tuple[Integers, NDArray[Any]]:
        """Return who has sent something, rising, and what; nothing may be on its way any more."""
        order = np.argsort(self._sources[: self._count])
        return self._sources[: self._count][order], self._rows[: self._count][order]


class Messages:
    """Messages of a rank to others, by their numbers.

    Parameters
    ----------
    communicator : mpi4py communicator
        Of all ranks.
    """

    def __init__(self, communicator: Any) -> None:
        self._communicator, self._mpi = communicator, load_mpi()
        self._rounds = itertools.cycle((NOTICE, NEXT_NOTICE))

    def notify(self, targets: Integers, rows: NDArray[Any]) -> tuple[Integers, NDArray[Any]]:
        """Send a row to each of some ranks, which do not know of it; return who has sent one here, and it. Collective.

        A rank whose rows have all been received joins a barrier that it does not wait in, and goes on receiving until
        all have come there (T. Hoefler, C. Siebert, A. Lumsdaine, ACM SIGPLAN Not. 45 (2010) 159).

        Parameters
        ----------
        targets : (k,) int64 array
            The ranks, each once.
        rows : (k, w) array
            What each gets: on all ranks rows of the same length and type.

        Returns
        -------
        sources : (m,) int64 array
            Rising.
        rows : (m, w) array
            From each.
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
        """Do as `notify` among ranks that know each other; all zeros are nothing. Not collective.

        Parameters
        ----------
        partners : (k,) int64 array
            Ranks, rising; each has this one among its own.
        targets : (m,) int64 array
            Some of them, rising.
        rows : (m, w) array
            What each of these gets.
        """
        mine = np.zeros((len(partners), rows.shape[1]), rows.dtype)
        mine[np.searchsorted(partners, targets)] = rows
        theirs = self.swap(partners, mine, np.ones(len(partners), np.int64))[0]
        some = theirs.any(axis=1)
        return partners[some], theirs[some]

    def introduce(self, targets: Integers, row: NDArray[Any]) -> tuple[Integers, NDArray[Any]]:
        """Send a row to some ranks, and to those that send theirs here; return all of these, and theirs. Collective.

        Parameters
        ----------
        targets : (k,) int64 array
            The ranks, rising.
        row : (w,) array
            On all ranks of the same length and type.

        Returns
        -------
        others : (m,) int64 array
            The targets and those for which this rank is one, rising: each of them has this rank among its own.
        rows : (m, w) array
            From each.
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
        """Send rows to ranks that send some here, maybe none; return theirs in the order of ranks, and how many.

        Parameters
        ----------
        partners : (k,) int64 array
            The ranks, rising; each has this one among its own.
        rows : (n, ...) array
            Of any type that is bytes, sorted by partner.
        sent : (k,) int64 array
            Rows for each.
        """
        return self._await(partners, rows, list(self._sends(partners, rows, sent, SWAP)), SWAP)

    def tell(self, targets: Integers, rows: NDArray[Any], sources: Integers) -> NDArray[Any]:
        """Send the same rows to each of some ranks, and return the rows of others that do so, in the order of ranks.

        Parameters
        ----------
        targets, sources : (k,) and (m,) int64 arrays
            The ranks, rising: this one is among the targets of its sources and the sources of its targets.
        rows : (n, ...) array
            Of any type that is bytes, maybe none.
        """
        whole = [np.ascontiguousarray(rows), len(rows) * _row_bytes(rows), self._mpi.BYTE]
        sends = [self._communicator.Isend(whole, target, TELL) for target in targets.tolist()]
        return self._await(sources, rows, sends, TELL)[0]

    def _await(
        self, sources: Integers, like: NDArray[Any], requests: list[Any], tag: int
    ) -> tuple[NDArray[Any], Integers]:
        """Return the rows that each source sends, and how many, when these requests are done as well."""
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
        """Send rows to some ranks, and return what comes from others, who have said how much that is.

        Parameters
        ----------
        targets, sources : (k,) and (m,) int64 arrays
            The ranks, rising.
        rows : (n, ...) array
            Of any type that is bytes, sorted by target.
        sent, received : (k,) and (m,) int64 arrays
            Rows for each target, and from each source.
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
        """Send each row of some columns to a rank, and return those that come, in the order of ranks. Collective.

        Rows from one rank keep their order. A rank may send rows to itself.

        Parameters
        ----------
        columns : mapping of (n, ...) arrays
            On all ranks the same names and types in the same order, of any type that is bytes.
        targets : (n,) int64 array
            Rank for each row.
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
        """Yield so many rows after the other as messages."""
        width, begin = _row_bytes(rows), 0
        for number in numbers.tolist():
            yield [rows[begin : begin + number], number * width, self._mpi.BYTE]
            begin += number


def _row_bytes(rows: NDArray[Any]) -> int:
    return int(rows.dtype.itemsize * np.prod(rows.shape[1:], dtype=np.int64))
