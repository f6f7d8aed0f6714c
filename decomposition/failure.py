"""One rank fails, all ranks end: with one message, a non-zero exit code, and never a hang."""

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

# How long a failed rank waits for the others to fail as well. An error that all ranks meet, such as a bad
# case file, reaches them within milliseconds; the rest is for a crowded machine.
GRACE_SECONDS = 0.4
# How long the launcher gets to pass a message on: once it is told to end the ranks, it drops what they wrote.
FORWARD_SECONDS = 0.2
_POLL_SECONDS = 0.005
_KEYBOARD_INTERRUPT = 130
_NOBODY_READS = 141  # as of a program that SIGPIPE has ended
_NO_ROOM = 2  # as of wrong input: the user can help it
_UNEXPECTED = "unexpected error, please report it"


@dataclass(frozen=True)
class Failure:
    """What one rank has to say about its end."""

    text: str
    code: int
    title: str = "error"

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        """Describe `error`: the one line of an error of pdem's own, the traceback of any other."""
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
        """Return the text for the user; `ranks` says whose it is, empty if everyone's."""
        if not self.text:
            return ""
        where = f"{ranks}: " if ranks else ""
        if self.title == _UNEXPECTED:
            return f"pdem: {where}{self.title}\n{self.text}"
        return f"pdem: {self.title}: {where}{self.text}"


def _full_place(error: OSError) -> str:
    """Return what has no room: a file, or standard output, which then still holds what it could not write."""
    if error.filename:
        return f"{error.filename}:"
    try:
        sys.stdout.flush()
    except OSError:
        return "standard output"
    return "standard output, or a file,"


@dataclass(frozen=True)
class Guard:
    """How failing ranks reach each other, and end those that have not failed.

    Attributes
    ----------
    communicator : mpi4py.MPI.Intracomm
        All ranks, used for nothing else: no message of the run can be mistaken for one about its end.
    abort : callable
        Ends every rank, this one too, with an exit code; does not return.
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
        # who has read the output has gone, as `head` does: nothing is wrong, and nobody left to tell
        _silence(1)
        return _NOBODY_READS
    except BaseException as error:
        return end(Failure.of(error), guard)


def guard_uncaught(guard: Guard) -> None:
    """Let an exception that nobody catches end all ranks."""

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        end(Failure.of(error.with_traceback(trace)), guard)

    sys.excepthook = hook


def end(failure: Failure, guard: Guard | None) -> int:
    """Report `failure` once for all ranks and return its code, or abort if other ranks have not failed."""
    if guard is None:
        _print(failure.message())
        return failure.code
    ranks = guard.communicator
    # Higher ranks wait longer: where several fail, but not all, one of them aborts before the others speak.
    if all_come(ranks, GRACE_SECONDS + 0.02 * min(ranks.rank, 10)):
        failures = ranks.allgather(failure)
        if ranks.rank == 0:
            _print("\n".join(_grouped(failures)))
        all_come(ranks)  # nobody leaves, and makes the launcher end the others, before the message is out
        return int(failures[0].code)
    _print(failure.message(f"rank {ranks.rank}"))
    time.sleep(FORWARD_SECONDS)
    _silence(2)  # MPI's own words about the abort: the user has just been told the reason
    guard.abort(failure.code)
    return failure.code


def all_come(ranks: Any, seconds: float = math.inf, poll_seconds: float = _POLL_SECONDS) -> bool:
    """Wait until all ranks have called this, without keeping a core busy; return False if not after some time [s]."""
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
    """Send what is still written to standard output (1) or error (2) nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream)
    os.close(nowhere)
