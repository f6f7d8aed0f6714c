"""The failure of one rank ends all ranks: with one message, a non-zero exit code, and without a hang."""

from __future__ import annotations

import math
import os
import sys
import time
import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pdem.foundation.errors import Interrupted, PdemError
from pdem.foundation.files import NO_ROOM
from pdem.foundation.terminal import ERRORS, OUTPUT

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

# Time that a failed rank waits for the other ranks to fail as well [s]. An error that all ranks meet, such as a bad
# case file, reaches all of them within milliseconds; the larger value allows for a busy machine.
GRACE_SECONDS = 0.4
# Time that the launcher gets to forward a message [s]. Once it ends the ranks, it discards their output.
FORWARD_SECONDS = 0.2
_POLL_SECONDS = 0.005
_KEYBOARD_INTERRUPT = 130
_NOBODY_READS = 141  # exit code of a program that SIGPIPE has ended
_NO_ROOM = 2  # exit code of wrong input: the user can correct it
_UNEXPECTED = "unexpected error, please report it"


@dataclass(frozen=True)
class Failure:
    """Message and exit code of a failed rank."""

    text: str
    code: int
    title: str = "error"

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        """Describe `error`: in one line if it is an error of pdem itself, otherwise by the traceback."""
        if isinstance(error, PdemError):
            return cls(str(error), error.exit_code, "stopped" if isinstance(error, Interrupted) else "error")
        if isinstance(error, KeyboardInterrupt):
            return cls("Ctrl-C, without a checkpoint", _KEYBOARD_INTERRUPT, "stopped")
        if isinstance(error, SystemExit):
            return cls("", error.code) if isinstance(error.code, int) else cls(str(error.code), 1)
        if isinstance(error, BrokenPipeError):
            return cls("", _NOBODY_READS)
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            return cls(f"{_full_place(error)} cannot be written ({os.strerror(error.errno)}); make room", _NO_ROOM)
        return cls("".join(traceback.format_exception(error)).rstrip(), 1, _UNEXPECTED)

    def message(self, ranks: str = "") -> str:
        """Return the text for the user. `ranks` names the failed ranks; it is empty if all ranks failed alike."""
        if not self.text:
            return ""
        where = f"{ranks}: " if ranks else ""
        if self.title == _UNEXPECTED:
            return f"pdem: {where}{self.title}\n{self.text}"
        return f"pdem: {self.title}: {where}{self.text}"


def _full_place(error: OSError) -> str:
    """Return the name of the file without room, or standard output if it cannot write its buffered text."""
    if error.filename:
        return f"{error.filename}:"
    try:
        sys.stdout.flush()
    except OSError:
        return "standard output"
    return "standard output, or a file,"


@dataclass(frozen=True)
class Guard:
    """Communication of failed ranks, and the means to end ranks that have not failed.

    Attributes
    ----------
    communicator : mpi4py.MPI.Intracomm
        All ranks. Used only for failures, so that no message of the run can be mistaken for one about its end.
    abort : callable
        Ends every rank, including this one, with an exit code; does not return.
    """

    communicator: Any
    abort: Callable[[int], object]


def run_guarded(function: Callable[[], int | None], guard: Guard | None) -> int:
    """Call `function` and return the exit code of the process; see `decomposition.mpi.run_or_abort`."""
    try:
        return function() or 0
    except SystemExit as stop:
        if not stop.code:
            return 0
        return end(Failure.of(stop), guard)
    except BrokenPipeError as error:
        if guard is not None:
            return end(Failure.of(error), guard)
        # the reader of the output, such as `head`, has ended: this is not an error, and nobody is left to be informed
        _silence(1)
        return _NOBODY_READS
    except BaseException as error:
        return end(Failure.of(error), guard)


def guard_uncaught(guard: Guard) -> None:
    """Install an exception hook by which an uncaught exception ends all ranks."""

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        end(Failure.of(error.with_traceback(trace)), guard)

    sys.excepthook = hook


def end(failure: Failure, guard: Guard | None) -> int:
    """Report `failure` once for all ranks and return its code; abort if some ranks have not failed."""
    if guard is None:
        _print(failure.message())
        return failure.code
    ranks = guard.communicator
    # Higher ranks wait longer: where several but not all ranks fail, the lowest one aborts before higher ones print.
    if all_come(ranks, GRACE_SECONDS + 0.02 * min(ranks.rank, 10)):
        failures = ranks.allgather(failure)
        if ranks.rank == 0:
            _print("\n".join(_grouped(failures)))
        all_come(ranks)  # no rank leaves before the message is out: the launcher would end the remaining ranks
        return int(failures[0].code)
    _print(failure.message(f"rank {ranks.rank}"))
    time.sleep(FORWARD_SECONDS)
    _silence(2)  # suppress MPI's own message about the abort: the user has read the reason
    guard.abort(failure.code)
    return failure.code


def all_come(ranks: Any, seconds: float = math.inf, poll_seconds: float = _POLL_SECONDS) -> bool:
    """Wait, without occupying a core, until all ranks have called this; return False if `seconds` pass before."""
    request, deadline = ranks.Ibarrier(), time.monotonic() + seconds
    while not request.Test():
        if time.monotonic() > deadline:
            return False
        time.sleep(poll_seconds)
    return True


def _grouped(failures: list[Failure]) -> list[str]:
    who: dict[Failure, list[int]] = {}
    for rank, failure in enumerate(failures):
        who.setdefault(failure, []).append(rank)
    if len(who) == 1:
        return [failures[0].message()]
    return [failure.message(_named(ranks)) for failure, ranks in who.items()]


def _named(ranks: list[int]) -> str:
    return f"rank {ranks[0]}" if len(ranks) == 1 else f"ranks {', '.join(map(str, ranks))}"


def _print(message: str) -> None:
    OUTPUT.flush()
    if message:
        ERRORS.line(message)


def _silence(stream: int) -> None:
    """Discard all further text for standard output (1) or standard error (2)."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream)
    os.close(nowhere)
