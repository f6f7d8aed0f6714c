"""Updates of ghosts: one message per neighbour and direction in every step, from reused buffers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from decomposition.compiled_messages import CompiledMessages, gather_rows
from decomposition.mpi import load_mpi
from decomposition.tags import GHOST_ROWS
from pdem.containers.exchange import Traffic
from pdem.foundation.packed_row import PACKED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pdem.containers.exchange import ExchangeCalls
    from pdem.containers.particles import Particles
    from pdem.foundation.array_types import Floats, Integers

ROW_BYTES = 8 * PACKED
"""Size of one ghost in the message of a step [bytes]."""


def append_ghosts(particles: Particles, copies: NDArray[Any]) -> None:
    """Append copies of other ranks' particles (rows of `decomposition.packing.ghost_type`) to the owned ones."""
    particles.reserve(particles.count + len(copies))
    particles.ghosts = len(copies)
    for name in copies.dtype.names or ():
        particles.column(name)[particles.count : particles.count + len(copies)] = copies[name]


class _Link(NamedTuple):
    """Consecutive rows of an array that are sent to a neighbour or received from it."""

    other: int
    first: int
    number: int

    def of(self, rows: Floats) -> Floats:
        """Return the linked rows of an array."""
        return rows[self.first : self.first + self.number]


def _links(ranks: Sequence[int], begins: Sequence[int], numbers: Sequence[int]) -> list[_Link]:
    return [_Link(*link) for link in zip(ranks, begins, numbers, strict=True) if link[2]]


class Ghosts:
    """Messages that keep the ghosts of this rank and of its neighbours up to date.

    Parameters
    ----------
    communicator
        Communicator of all ranks.
    tag : int
        Tag of the messages; see `decomposition.tags`.
    width : int
        Numbers per row.
    """

    def __init__(self, communicator: Any, tag: int = GHOST_ROWS, width: int = PACKED) -> None:
        self._communicator, self._tag, self._width = communicator, tag, width
        self._sending: list[_Link] = []
        self._receiving: list[_Link] = []
        self._rows, self._buffer = np.empty(0, np.int64), np.empty((0, width))
        self._receives: list[Any] = []
        self._sends: list[Any] = []
        self._target: Floats | None = None
        self._mpi = load_mpi()
        self._compiled = CompiledMessages(communicator)

    def connect(self, neighbours: Integers, rows: Sequence[Integers], numbers: Integers, begins: Integers) -> None:
        """Set up the messages.

        Parameters
        ----------
        neighbours : (k,) int64 array
            Neighbour ranks in increasing order.
        rows : sequence of k int64 arrays
            Owned rows to send to each neighbour.
        numbers : (k,) array
            Number of ghosts from each neighbour.
        begins : (k,) array
            First row of the ghosts from each neighbour; its further ghosts follow.
        """
        ranks, lengths = neighbours.tolist(), [len(one) for one in rows]
        self._rows = np.concatenate([np.empty(0, np.int64), *rows])
        self._buffer = np.empty((len(self._rows), self._width))
        self._sending = _links(ranks, (np.cumsum(lengths) - lengths).tolist(), lengths)
        self._receiving = _links(ranks, begins.tolist(), numbers.tolist())
        self._target = None

    def _arrive_in(self, rows: Floats) -> None:
        """Create persistent messages that arrive in these rows; no message may be in transit."""
        if self._target is not None and self._target.ctypes.data == rows.ctypes.data:
            return
        for request in (*self._receives, *self._sends):
            request.Free()
        self._target = rows
        self._receives = [
            self._communicator.Recv_init(link.of(rows), link.other, self._tag) for link in self._receiving
        ]
        self._sends = [
            self._communicator.Send_init(link.of(self._buffer), link.other, self._tag) for link in self._sending
        ]
        self._compiled.take_requests(self._sends, self._receives)

    @property
    def targets(self) -> Integers:
        """Ranks that have ghosts of this rank's particles, in increasing order."""
        return np.array([link.other for link in self._sending], np.int64)

    @property
    def sources(self) -> Integers:
        """Ranks that own this rank's ghosts, in increasing order."""
        return np.array([link.other for link in self._receiving], np.int64)

    def traffic(self) -> Traffic:
        """Return the messages and bytes of this rank in a step."""
        out, into = (8 * self._width * sum(link.number for link in side) for side in (self._sending, self._receiving))
        return Traffic(len(self._sending), len(self._receiving), out, into)

    def begin_update(self, rows: Floats) -> None:
        """Start to send owned rows to the neighbours, and to receive theirs."""
        if not self._sending and not self._receiving and not self._sends:
            return
        self._mpi.Prequest.Waitall(self._sends)
        self._arrive_in(rows)
        self._mpi.Prequest.Startall(self._receives)
        gather_rows(rows, self._rows, self._buffer)
        self._mpi.Prequest.Startall(self._sends)

    def finish_update(self) -> None:
        """Wait for the rows of the neighbours.

        The function does not wait for sends: a rank that is early would wait for ranks that are late. The next update
        waits until the send buffers are free.
        """
        self._mpi.Prequest.Waitall(self._receives)
        self._mpi.Prequest.Testall(self._sends)  # lets MPI progress messages that need their sender's help

    def calls(self, rows: Floats) -> ExchangeCalls | None:
        """Return the calls by which kernels update ghosts and agree; see `pdem.containers.exchange.Exchange.calls`."""
        if not self._compiled.are_possible:
            return None
        self._mpi.Prequest.Waitall(self._sends)
        self._arrive_in(rows)
        return self._compiled.calls(rows, self._rows, self._buffer)

    def check_calls(self, status: Integers) -> None:
        """Raise the MPI error that kernels have recorded, if any."""
        self._compiled.check(status)
