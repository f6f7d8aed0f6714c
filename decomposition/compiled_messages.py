"""Communication of ranks in steps with unchanged lists, called by kernels: agreement and updates of ghosts.

Python between two kernels takes some tens of microseconds a step, more than the messages themselves. Therefore kernels
call functions of MPI by their addresses, with mpi4py's handles of the communicator, types and persistent requests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from decomposition.mpi import load_mpi
from pdem.containers.exchange import AGREED, FAILURE, MINE, ExchangeCalls, new_status
from pdem.numerics.c_calls import address_in, address_of, call_c
from pdem.numerics.kernel_calls import call_kernel, call_of
from pdem.numerics.kernels import prange, threaded_kernel, uncounted_serial_kernel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pdem.foundation.array_types import Floats, Integers
    from pdem.numerics.kernel_calls import Call

_FUNCTIONS = "MPI_Iallreduce", "MPI_Waitall", "MPI_Startall", "MPI_Testall"

IALLREDUCE, WAITALL, STARTALL, TESTALL, COMMUNICATOR, TYPE, MAXIMUM = range(7)
"""Indices of the constant entries of `handles`: functions of MPI, communicator, type of numbers, operation."""

STATUS, STATES, FLAG, QUESTION, SENDS, SENDING, RECEIVES, RECEIVING = range(7, 15)
"""Indices of the entries of `handles` for memory that MPI reads and writes: the status of this rank, MPI's statuses of
requests, the flag of `MPI_Testall`, the request of the all-reduce, send requests and their number, receive requests and
their number."""

HANDLES = 15


@threaded_kernel
def gather_rows(rows: Floats, chosen: Integers, gathered: Floats) -> None:
    """Copy chosen rows to consecutive rows of `gathered`. Many memory accesses overlap, unlike with `numpy.take`."""
    for place in prange(len(chosen)):
        row = chosen[place]
        for column in range(rows.shape[1]):
            gathered[place, column] = rows[row, column]


@uncounted_serial_kernel
def ask(gather: Call, status: Integers, handles: Integers, rows: Floats, chosen: Integers, gathered: Floats) -> None:
    """Start the all-reduce of this rank's status, and meanwhile gather the owned rows that neighbours need."""
    mine, entries = handles[STATUS], np.int64(status.shape[1])
    failed = call_c(
        handles[IALLREDUCE],
        (
            mine + 8 * entries * MINE, mine + 8 * entries * AGREED, entries, handles[TYPE], handles[MAXIMUM],
            handles[COMMUNICATOR], handles[QUESTION],
        ),
    )  # fmt: skip
    failed = max(failed, call_c(handles[WAITALL], (handles[SENDING], handles[SENDS], handles[STATES])))
    call_kernel(gather, (rows, chosen, gathered))
    status[FAILURE, 0] = max(status[FAILURE, 0], failed)


@uncounted_serial_kernel
def agree(gather: Call, status: Integers, handles: Integers, rows: Floats, chosen: Integers, gathered: Floats) -> None:
    """Wait for the result of the all-reduce."""
    failed = call_c(handles[WAITALL], (np.int64(1), handles[QUESTION], handles[STATES]))
    status[FAILURE, 0] = max(status[FAILURE, 0], failed)


@uncounted_serial_kernel
def begin_update(
    gather: Call, status: Integers, handles: Integers, rows: Floats, chosen: Integers, gathered: Floats
) -> None:
    """Start to send the gathered rows to the neighbours, and to receive theirs."""
    failed = call_c(handles[STARTALL], (handles[RECEIVING], handles[RECEIVES]))
    failed = max(failed, call_c(handles[STARTALL], (handles[SENDING], handles[SENDS])))
    status[FAILURE, 0] = max(status[FAILURE, 0], failed)


@uncounted_serial_kernel
def poll(gather: Call, status: Integers, handles: Integers, rows: Floats, chosen: Integers, gathered: Floats) -> None:
    """Let MPI progress its messages: it transfers large ones in several pieces, and only while it is called."""
    states = handles[STATES]
    failed = call_c(handles[TESTALL], (handles[RECEIVING], handles[RECEIVES], handles[FLAG], states))
    failed = max(failed, call_c(handles[TESTALL], (handles[SENDING], handles[SENDS], handles[FLAG], states)))
    status[FAILURE, 0] = max(status[FAILURE, 0], failed)


@uncounted_serial_kernel
def gather_only(
    gather: Call, status: Integers, handles: Integers, rows: Floats, chosen: Integers, gathered: Floats
) -> None:
    """Gather the rows that neighbours need, as `ask` does, for a rank in a rehearsal, which runs alone."""
    call_kernel(gather, (rows, chosen, gathered))


@uncounted_serial_kernel
def finish_update(
    gather: Call, status: Integers, handles: Integers, rows: Floats, chosen: Integers, gathered: Floats
) -> None:
    """Wait for the rows of the neighbours; see `decomposition.ghosts.Ghosts.finish_update`."""
    states, sends, receives = handles[STATES], handles[SENDS], handles[RECEIVES]
    failed = call_c(handles[WAITALL], (handles[RECEIVING], receives, states))
    failed = max(failed, call_c(handles[TESTALL], (handles[SENDING], sends, handles[FLAG], states)))
    status[FAILURE, 0] = max(status[FAILURE, 0], failed)


def gathering(rows: Floats, chosen: Integers, gathered: Floats) -> ExchangeCalls:
    """Return calls for a rank in a rehearsal: they gather rows and send nothing."""
    status, none = new_status(), np.zeros(0, np.int64)
    given = call_of(gather_rows, (rows, chosen, gathered)), status, none, rows, chosen, gathered
    return ExchangeCalls(call_of(gather_only, given), 0, 0, 0, 0, given, status)


def calls_of(status: Integers, handles: Integers, rows: Floats, chosen: Integers, gathered: Floats) -> ExchangeCalls:
    """Compile the calls that agree and send, for arguments of these types, without calling them; return them."""
    given = call_of(gather_rows, (rows, chosen, gathered)), status, handles, rows, chosen, gathered
    return ExchangeCalls(
        call_of(ask, given), call_of(agree, given), call_of(begin_update, given), call_of(finish_update, given),
        call_of(poll, given), given, status,
    )  # fmt: skip


class CompiledMessages:
    """Calls of MPI that kernels make in the steps of one rank.

    Parameters
    ----------
    communicator : mpi4py communicator
        Communicator of all ranks.
    """

    def __init__(self, communicator: Any) -> None:
        self._mpi = load_mpi()
        is_mpi = isinstance(communicator, self._mpi.Comm)
        library = (self._mpi.__file__ or "") if is_mpi else ""
        self._status, (self._flag, self._question) = new_status(), np.zeros((2, 1), np.int64)
        self._handles = np.zeros(HANDLES, np.int64)
        self._handles[: len(_FUNCTIONS)] = [address_in(library, name) for name in _FUNCTIONS]
        constants = communicator if is_mpi else self._mpi.COMM_NULL, self._mpi.INT64_T, self._mpi.MAX
        self._handles[COMMUNICATOR : MAXIMUM + 1] = self._handles_of(constants)
        places = self._status, self._flag, self._question
        self._handles[[STATUS, FLAG, QUESTION]] = [address_of(one) for one in places]
        self._kept: list[NDArray[Any]] = []

    @property
    def are_possible(self) -> bool:
        """Whether the functions of MPI have addresses in this process, and the communicator belongs to MPI."""
        return bool(self._handles[: len(_FUNCTIONS)].all())

    def _handles_of(self, objects: Sequence[Any]) -> Integers:
        """Return the handles of MPI objects: 32-bit numbers or pointers."""
        return np.array([self._mpi._handleof(one) for one in objects], np.uint64).view(np.int64)

    def take_requests(self, sends: Sequence[Any], receives: Sequence[Any]) -> None:
        """Use these persistent requests for all further messages."""
        kind = np.int32 if self._mpi._sizeof(self._mpi.Request) == 4 else np.int64
        self._kept = [self._handles_of(some).astype(kind) for some in (sends, receives)]
        room = max(len(sends), len(receives)) * self._mpi._sizeof(self._mpi.Status)
        self._kept.append(np.zeros(room + 8, np.uint8))
        addresses = [address_of(one) for one in self._kept]
        self._handles[[SENDS, RECEIVES, STATES]] = addresses
        self._handles[SENDING], self._handles[RECEIVING] = len(sends), len(receives)

    def calls(self, rows: Floats, chosen: Integers, gathered: Floats) -> ExchangeCalls:
        """Return the calls by which kernels agree and send the chosen rows.

        Parameters
        ----------
        rows : (n, w) array
            Rows of owned particles and ghosts.
        chosen : (k,) int64 array
            Indices of the rows to send.
        gathered : (k, w) array
            Buffer from which the rows are sent.
        """
        self._status[:] = 0
        return calls_of(self._status, self._handles, rows, chosen, gathered)

    def check(self, status: Integers) -> None:
        """Raise the MPI error that a call has recorded, if any."""
        if status[FAILURE, 0]:
            raise self._mpi.Exception(int(status[FAILURE, 0]))
