"""Refreshing ghosts: one message per neighbour and direction in every step, from buffers that are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from decomposition.mpi import load_mpi
from decomposition.packing import GHOST
from pdem.containers.exchange import Traffic
from pdem.foundation.fields import PACKED
from pdem.foundation.kernels import prange, threaded_kernel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pdem.containers.particles import Particles

_TAG = 7

ROW_BYTES = 8 * PACKED
"""Bytes of one ghost in the message of a step."""


def append_ghosts(particles: Particles, copies: NDArray[Any]) -> None:
    """Put copies of particles of others, rows of the type `decomposition.packing.GHOST`, behind the owned ones."""
    particles.reserve(particles.count + len(copies))
    particles.ghosts = len(copies)
    for name in GHOST.names or ():
        particles.column(name)[particles.count : particles.count + len(copies)] = copies[name]


@threaded_kernel
def gather_rows(rows: NDArray[np.float64], chosen: NDArray[np.int64], gathered: NDArray[np.float64]) -> None:
    """Copy chosen rows one behind the other: many are on their way from memory at once, unlike with `numpy.take`."""
    for place in prange(len(chosen)):
        row = chosen[place]
        for column in range(rows.shape[1]):
            gathered[place, column] = rows[row, column]


class _Link:
    """Rows of so many numbers that go to a neighbour, or that come from it."""

    def __init__(self, other: int, count: int, width: int) -> None:
        self.other, self.count, self._width = other, count, width

    @property
    def bytes(self) -> int:
        """Length of the message of a step."""
        return 8 * self.count * self._width


class _Sending(_Link):
    """Rows that are gathered for a neighbour."""

    def __init__(self, other: int, rows: NDArray[np.int64], width: int) -> None:
        super().__init__(other, len(rows), width)
        self.rows = rows
        self.buffer = np.empty((len(rows), width))


class _Receiving(_Link):
    """Rows that come from a neighbour to where they belong, from row `first` on."""

    def __init__(self, other: int, first: int, count: int, width: int) -> None:
        super().__init__(other, count, width)
        self.rows = slice(first, first + count)


class Ghosts:
    """The messages that keep the ghosts of this rank and of its neighbours up to date.

    Parameters
    ----------
    communicator
        Of all ranks.
    tag : int
        Of the messages, which no other use of the communicator has.
    width : int
        Numbers of a row.
    """

    def __init__(self, communicator: Any, tag: int = _TAG, width: int = PACKED) -> None:
        self._communicator, self._tag, self._width = communicator, tag, width
        self._sending: list[_Sending] = []
        self._receiving: list[_Receiving] = []
        self._requests: list[Any] = []
        self._target: NDArray[np.float64] | None = None
        self._mpi = load_mpi()

    def connect(
        self,
        neighbours: NDArray[np.int64],
        rows: Sequence[NDArray[np.int64]],
        numbers: NDArray[np.int64],
        begins: NDArray[np.int64],
    ) -> None:
        """Say what goes where.

        Parameters
        ----------
        neighbours : (k,) int64 array
            Ranks, rising.
        rows : sequence of k int64 arrays
            Owned rows to send to each.
        numbers : (k,) array
            Ghosts from each.
        begins : (k,) array
            First row of the ghosts from each; the others follow.
        """
        ranks, width = neighbours.tolist(), self._width
        self._sending = [_Sending(*link, width) for link in zip(ranks, rows, strict=True) if len(link[1])]
        self._receiving = [
            _Receiving(other, begin, number, width)
            for other, begin, number in zip(ranks, begins.tolist(), numbers.tolist(), strict=True)
            if number
        ]
        self._target = None

    def _prepare(self, rows: NDArray[np.float64]) -> None:
        """Make persistent messages, which arrive in these rows."""
        for request in self._requests:
            request.Free()
        self._target = rows
        self._requests = [
            self._communicator.Recv_init(rows[link.rows], link.other, self._tag) for link in self._receiving
        ] + [self._communicator.Send_init(link.buffer, link.other, self._tag) for link in self._sending]

    @property
    def targets(self) -> NDArray[np.int64]:
        """Ranks that have ghosts of this rank's particles, rising."""
        return np.array([link.other for link in self._sending], np.int64)

    @property
    def sources(self) -> NDArray[np.int64]:
        """Ranks of whose particles there are ghosts here, rising."""
        return np.array([link.other for link in self._receiving], np.int64)

    def traffic(self) -> Traffic:
        """Return what crosses ranks in a step, as seen from here."""
        out, into = sum(link.bytes for link in self._sending), sum(link.bytes for link in self._receiving)
        return Traffic(len(self._sending), len(self._receiving), out, into)

    def begin_update(self, rows: NDArray[np.float64]) -> None:
        """Send owned rows to the neighbours, and begin to receive theirs."""
        if self._target is None or self._target.ctypes.data != rows.ctypes.data:
            self._prepare(rows)
        for link in self._sending:
            gather_rows(rows, link.rows, link.buffer)
        if self._requests:
            self._mpi.Prequest.Startall(self._requests)

    def finish_update(self) -> None:
        """Wait for what the neighbours send."""
        if self._requests:
            self._mpi.Prequest.Waitall(self._requests)
