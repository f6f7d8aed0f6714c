"""One rank fails, all ranks end: with one message, a non-zero exit code, and never a hang."""

from __future__ import annotations

import os
import sys
import time
import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pdem.foundation.errors import Interrupted, PdemError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

# How long a failed rank waits for the others to fail as well. An error that all ranks meet, such as a bad
# case file, reaches them within milliseconds; the rest is for a crowded machine.
GRACE_SECONDS = 0.4
_POLL_SECONDS = 0.005
_KEYBOARD_INTERRUPT = 130
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
            return cls("before a checkpoint was complete", _KEYBOARD_INTERRUPT, "stopped")
        if isinstance(error, SystemExit):
            return cls("", error.code) if isinstance(error.code, int) else cls(str(error.code), 1)
        return cls("".join(traceback.format_exception(error)).rstrip(), 1, _UNEXPECTED)

    def message(self, ranks: str = "") -> str:
        """Return the text for the user; `ranks` says whose it is, empty if everyone's."""
        if not self.text:
            return ""
        where = f"{ranks}: " if ranks else ""
        if self.title == _UNEXPECTED:
            return f"pdem: {where}{self.title}\n{self.text}"
        return f"pdem: {self.title}: {where}{self.text}"


def run_or_abort(function: Callable[[], int | None], communicator: Any = None) -> int:
    """Call `function` on all ranks and return the exit code of the process. Collective.

    If `function` raises on some ranks only, the first of them prints its message and ends all ranks through
    ``MPI_Abort``, without returning. If it raises on all ranks, the message is printed once (each different
    one once, with its ranks), and the code is returned on all ranks, for an orderly end.

    Parameters
    ----------
    function : callable
        The run. May return an exit code; None counts as 0.
    communicator : mpi4py.MPI.Intracomm or None
        Ranks that call this; None for a serial run.

    Returns
    -------
    int
        What `function` returned, or the exit code of the error.
    """
    guard = (
        None if communicator is None else communicator.Dup()
    )  # no message of the run can be mistaken for ours
    try:
        return function() or 0
    except SystemExit as stop:
        if not stop.code:
            return 0
        return end(Failure.of(stop), guard)
    except BaseException as error:
        return end(Failure.of(error), guard)


def guard_script(communicator: Any) -> None:
    """Let an uncaught exception end all ranks of a user's own script, as `run_or_abort` does. Collective."""
    guard = communicator.Dup()

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        end(Failure.of(error.with_traceback(trace)), guard)

    sys.excepthook = hook


def end(failure: Failure, guard: Any) -> int:
    """Report `failure` once for all ranks and return its code, or abort if other ranks have not failed.

    Parameters
    ----------
    failure : Failure
        This rank's.
    guard : mpi4py.MPI.Intracomm or None
        A communicator used for nothing else.
    """
    if guard is None:
        _print(failure.message())
        return failure.code
    if _everyone_is_here(guard):
        failures = guard.allgather(failure)
        if guard.rank == 0:
            _print("\n".join(_grouped(failures)))
        _wait(guard)  # nobody leaves, and makes the launcher end the others, before the message is out
        return int(failures[0].code)
    _print(failure.message(f"rank {guard.rank}"))
    _silence_standard_error()
    guard.Abort(failure.code)
    return failure.code  # not reached: Abort ends this process too


def _everyone_is_here(guard: Any) -> bool:
    # later for higher ranks: where several fail, but not all, one of them aborts before the others speak
    deadline = time.monotonic() + GRACE_SECONDS + 0.02 * min(guard.rank, 10)
    request = guard.Ibarrier()
    while not request.Test():
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_SECONDS)
    return True


def _wait(guard: Any) -> None:
    request = guard.Ibarrier()
    while not request.Test():
        time.sleep(_POLL_SECONDS)


def _grouped(failures: list[Failure]) -> list[str]:
    ranks: dict[Failure, list[int]] = {}
    for rank, failure in enumerate(failures):
        ranks.setdefault(failure, []).append(rank)
    if len(ranks) == 1:
        return [failures[0].message()]
    return [failure.message(_named(who)) for failure, who in ranks.items()]


def _named(ranks: list[int]) -> str:
    return f"rank {ranks[0]}" if len(ranks) == 1 else f"ranks {', '.join(map(str, ranks))}"


def _print(message: str) -> None:
    sys.stdout.flush()
    if message:
        sys.stderr.write(f"{message}\n")  # in one piece: what ranks write at the same time is interleaved
        sys.stderr.flush()


def _silence_standard_error() -> None:
    """Keep MPI's own words about the abort away from the user, who has just been told the reason."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    os.close(nowhere)
