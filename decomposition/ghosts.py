"""Refreshing ghosts: one message per neighbour and direction in every step, from buffers that are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from decomposition.mpi import load_mpi
from pdem.foundation.fields import Ghosted, ghosted_fields
from pdem.simulation.exchange import Traffic

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.containers.particles import Particles

_TAG = 7
_FIELDS = tuple((field.name, int(np.prod(field.shape))) for field in ghosted_fields(Ghosted.EVERY_STEP))
_WIDTH = sum(width for _, width in _FIELDS)

ROW_BYTES = 8 * _WIDTH
"""Bytes of one ghost in the message of a step."""


class _Link:
    """A message buffer shared with one neighbour: a block of rows for each field."""

    def __init__(self, other: int, rows: NDArray[np.int64], count: int) -> None:
        self.other = other
        self.rows = rows
        self.first = int(rows[0])
        self.count = count
        self.buffer = np.empty(count * _WIDTH)
        starts = np.cumsum([0, *(width for _, width in _FIELDS)]) * count
        self.blocks = [
            (name, self.buffer[start : start + count * width].reshape(count, width))
            for start, (name, width) in zip(starts, _FIELDS, strict=False)
        ]


class Ghosts:
    """The messages that keep the ghosts of this rank and of its neighbours up to date.

    Parameters
    ----------
    communicator
        Of all ranks.
    """

    def __init__(self, communicator: Any) -> None:
        self._communicator = communicator
        self._sending: list[_Link] = []
        self._receiving: list[_Link] = []
        self._requests: list[Any] = []
        self._mpi = load_mpi()

    def connect(self, rows: list[NDArray[np.int64]], numbers: NDArray[np.int64], first: int) -> None:
        """Prepare persistent messages.

        Parameters
        ----------
        rows : list of (k,) int64 arrays
            Owned rows to send, by rank.
        numbers : (P,) array
            Ghosts from each rank, which stand in this order from row `first` on.
        first : int
            First row of the ghosts.
        """
        for request in self._requests:
            request.Free()
        self._sending = [_Link(other, one, len(one)) for other, one in enumerate(rows) if len(one)]
        ends = first + np.cumsum(numbers)
        self._receiving = [
            _Link(other, np.array([ends[other] - number]), int(number))
            for other, number in enumerate(numbers)
            if number
        ]
        self._requests = [
            self._communicator.Recv_init(link.buffer, link.other, _TAG) for link in self._receiving
        ] + [self._communicator.Send_init(link.buffer, link.other, _TAG) for link in self._sending]

    def traffic(self) -> Traffic:
        """Return what crosses ranks in a step, as seen from here."""
        out, into = (sum(link.buffer.nbytes for link in links) for links in (self._sending, self._receiving))
        return Traffic(len(self._sending), len(self._receiving), out, into)

    def begin_update(self, particles: Particles) -> None:
        """Send owned rows to the neighbours, and begin to receive theirs."""
        for link in self._sending:
            for name, block in link.blocks:
                np.take(particles.column(name), link.rows, axis=0, out=block, mode="clip")
        if self._requests:
            self._mpi.Prequest.Startall(self._requests)

    def finish_update(self, particles: Particles) -> None:
        """Take what the neighbours have sent for the ghosts."""
        if self._requests:
            self._mpi.Prequest.Waitall(self._requests)
        for link in self._receiving:
            for name, block in link.blocks:
                particles.column(name)[link.first : link.first + link.count] = block
