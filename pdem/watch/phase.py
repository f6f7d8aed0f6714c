"""How a run is getting on, in one sentence: it waits, compiles, goes on, has ended, or is gone."""

from __future__ import annotations

import time as clock
from typing import TYPE_CHECKING, NamedTuple

from pdem.output.checkpoints.checkpoint_folder import CheckpointFolder
from pdem.output.run_status import COMPILING, FAILED, FINISHED, READY, RUNNING, STOPPED
from pdem.output.summary import counted, duration

if TYPE_CHECKING:
    from pathlib import Path

    from pdem.output.run_status import RunStatus

WAITING, KILLED = "waiting", "killed"
"""Nothing has begun yet; the process of a run is gone, and has not said why."""


class Reached(NamedTuple):
    """How far the series of a run has come.

    Attributes
    ----------
    time, end : float
        Simulated time of its last line, and at which the run ends at the latest [s].
    is_complete : bool
        Whether that was the last line, as far as times and log tell.
    """

    time: float
    end: float
    is_complete: bool

    def __str__(self) -> str:
        return f"{self.time:.5g} of {self.end:g} s"


class Phase(NamedTuple):
    """Name of a phase, and a sentence on it; of a run that goes on, what stands before its speed."""

    name: str
    text: str


def phase_of(folder: Path, status: RunStatus | None, reached: Reached | None, reason: str = "") -> Phase:
    """Return the phase of the run in a folder.

    Parameters
    ----------
    folder : Path
        The output folder.
    status : RunStatus or None
        What the run says of itself; None of runs of earlier versions, and of scripts.
    reached : Reached or None
        How far its series has come, None while there is none.
    reason : str
        Why there is none.
    """
    if status is not None and status.goes_on and status.is_alive is False:
        return _gone(folder, status, reached)
    if status is not None and status.state in (COMPILING, READY):
        return Phase(status.state, _before_first_step(status))
    if status is not None and status.state in (FINISHED, STOPPED, FAILED):
        return _ended(status, reached)
    if reached is None:
        return Phase(RUNNING if status is not None else WAITING, f"nothing to show yet: {reason}")
    if status is None and reached.is_complete:
        return Phase(FINISHED, f"finished at {reached}")
    begun = "" if status is None else _continued(status)
    where = f"on {status.host}" if status is not None and not status.is_here else ""
    return Phase(RUNNING, ", ".join(one for one in (str(reached), begun, where) if one))


def _continued(status: RunStatus) -> str:
    """Return from where a run was continued, and how often if more than once."""
    again = f", restart {status.starts - 1}" if status.starts > 2 else ""
    return f"continued from {status.begin:.5g} s{again}" if status.begin > 0.0 else ""


def _before_first_step(status: RunStatus) -> str:
    if status.state == READY:
        return "kernels are ready, the first step is next"
    so_far = duration(clock.time() - status.since)
    if status.kernels < 1:
        return f"compiling the first kernels, for {so_far} so far"
    return f"compiling kernels, {status.kernels:,} so far, for {so_far}"


def _ended(status: RunStatus, reached: Reached | None) -> Phase:
    at = "" if reached is None else f" at {reached}"
    return Phase(status.state, f"{status.state}{at}{f': {status.detail}' if status.detail else ''}")


def _gone(folder: Path, status: RunStatus, reached: Reached | None) -> Phase:
    """Return the phase of a run whose process is gone without a word."""
    process = f"its process {status.process} is gone, and has not said why (killed, or out of memory)"
    if status.state in (COMPILING, READY):
        return Phase(
            KILLED, f"ended before the first step: {process}; start it again, compiled kernels are kept"
        )
    at = "" if reached is None else f" at {reached}"
    many = len(CheckpointFolder(folder).paths())
    if not many:
        return Phase(KILLED, f"ended{at}: {process}; there is no checkpoint, start it again")
    remedy = f"pdem restart {folder} goes on from the last of {counted(many, 'checkpoint')}"
    return Phase(KILLED, f"ended{at}: {process}; {remedy}")
