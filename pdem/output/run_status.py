"""State of a run, for monitoring: the file ``status.json`` of its output folder.

The file is written when the state changes: while kernels are compiled, when the run begins, and when it ends, however
it ends. A killed run cannot write it: then the file still has a running state, but its process does not exist.
"""

from __future__ import annotations

import json
import os
import platform
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Self

from pdem.foundation.files import write_file
from pdem.foundation.processes import ENDED, boot, namespace, state_of
from pdem.output.lock_owner import has_other_writer

STATUS_FILE = "status.json"
"""Name of the file in an output folder."""

COMPILING, READY, RUNNING, FINISHED, STOPPED, FAILED = (
    "compiling", "ready", "running", "finished", "stopped", "failed",
)  # fmt: skip
"""States: kernels are compiled; kernels are ready, and the first step is next; steps are computed; the run has
finished; the run was stopped on request and has written a checkpoint; the run has failed with an error."""


@dataclass(frozen=True)
class RunStatus:
    """State of a run.

    Attributes
    ----------
    state : str
        `COMPILING`, `READY`, `RUNNING`, `FINISHED`, `STOPPED` or `FAILED`.
    since : float
        Start of this state [s since 1970].
    detail : str
        Description of the end of the run.
    kernels : int
        Number of kernels compiled so far.
    begin, end : float
        Simulated time at which its process began, and the latest time at which it ends [s].
    starts : int
        Number of times that a run was started or continued in this folder.
    host, boot, namespace : str
        Machine of the process, identifier of its boot, and namespace in which the process id is unique, since
        containers have their own; empty if the system does not provide them.
    process, started : int
        Process id, and start time of the process in ticks of its machine.
    """

    state: str
    since: float
    detail: str = ""
    kernels: int = 0
    begin: float = 0.0
    end: float = 0.0
    starts: int = 1
    host: str = ""
    boot: str = ""
    namespace: str = ""
    process: int = 0
    started: int = 0

    @classmethod
    def of_this_process(cls, state: str) -> RunStatus:
        """Return a state of this process that begins now."""
        process = os.getpid()
        return cls(
            state, time.time(), host=platform.node(), boot=boot(), namespace=namespace(), process=process,
            started=state_of(process)[1],
        )  # fmt: skip

    @property
    def goes_on(self) -> bool:
        """Whether the run has not ended."""
        return self.state in (COMPILING, READY, RUNNING)

    @property
    def is_here(self) -> bool:
        """Whether this process can see the process of the run, now or while it existed."""
        return (self.host, self.boot, self.namespace) == (platform.node(), boot(), namespace())

    @property
    def is_alive(self) -> bool | None:
        """Whether the process of the run exists; None for a process of a different machine."""
        if not self.is_here:
            return None
        state, started = state_of(self.process)
        return state not in ENDED and started == self.started


def read_status(folder: Path | str) -> RunStatus | None:
    """Return the state of the run in a folder, None if it is unknown."""
    with suppress(OSError, ValueError, TypeError):
        found = RunStatus(**json.loads((Path(folder) / STATUS_FILE).read_text(encoding="utf-8")))
        numbers = (found.since, found.begin, found.end, found.kernels, found.starts, found.process, found.started)
        if all(isinstance(one, int | float) for one in numbers):
            return found
    return None


def write_status(folder: Path | str, status: RunStatus) -> None:
    """Write the state of a run; a full disk does not end the run."""
    path = Path(folder) / STATUS_FILE
    with suppress(OSError):
        write_file(path, json.dumps(asdict(status), indent=1) + "\n")


class CompilingStatus:
    """Writes to an output folder that kernels are compiled for a run that has not begun yet.

    As a context it removes all traces at its end, if the run has not begun.

    Parameters
    ----------
    folder : path
        The folder, which is created at the first write.
    """

    def __init__(self, folder: Path | str) -> None:
        self._folder = Path(folder)
        self._before: bytes | None = None
        self._made: list[Path] = []
        self._status: RunStatus | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.undo()

    def count(self, kernels: int) -> None:
        """Write the number of kernels compiled so far."""
        if self._status is None:
            self._keep()
            self._status = RunStatus.of_this_process(COMPILING)
        self._status = replace(self._status, kernels=kernels)
        self._write(self._status)

    def finish(self) -> None:
        """Write that kernels are ready."""
        if self._status is not None:
            self._write(replace(self._status, state=READY, since=time.time()))

    def undo(self) -> None:
        """Restore the former state of the folder, unless the run has begun since."""
        told, self._status = self._status, None
        now = read_status(self._folder)
        if told is None or has_other_writer(self._folder) or now is None or now.state not in (COMPILING, READY):
            return
        path = self._folder / STATUS_FILE
        with suppress(OSError):
            if self._before is None:
                path.unlink()
            else:
                path.write_bytes(self._before)
            for folder in self._made:
                folder.rmdir()

    def _write(self, status: RunStatus) -> None:
        """Write the status, unless a different process has started to write here."""
        if not has_other_writer(self._folder):
            write_status(self._folder, status)

    def _keep(self) -> None:
        """Store the state of the folder, and create it if it is missing."""
        with suppress(OSError):
            self._before = (self._folder / STATUS_FILE).read_bytes()
        with suppress(OSError):
            places = [self._folder, *self._folder.parents]
            self._made = [place for place in places if not place.exists()]
            self._folder.mkdir(parents=True, exist_ok=True)
