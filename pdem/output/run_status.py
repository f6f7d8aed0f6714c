"""What a run is doing, for those who watch it: the file ``status.json`` of its output folder.

It is written where something changes: while kernels are compiled, when the run begins, and when it ends, however it
ends. A run that is killed cannot say so: then the file still says that it goes on, and its process is gone.
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
"""Kernels are compiled; they are ready, and the first step is next; steps are taken; the run has come to its end, was
asked to stop and has written a checkpoint, or has ended with an error."""


@dataclass(frozen=True)
class RunStatus:
    """What a run is doing.

    Attributes
    ----------
    state : str
        `COMPILING`, `READY`, `RUNNING`, `FINISHED`, `STOPPED` or `FAILED`.
    since : float
        When this state began [s since 1970].
    detail : str
        How the run has ended, in words.
    kernels : int
        Number of kernels that have been compiled so far.
    begin, end : float
        Simulated times at which its process began, and at which it ends at the latest [s].
    starts : int
        How often a run was begun or continued in this folder.
    host, boot, namespace : str
        Machine of the process, which start of it, and in which its number is unique, since containers have their own;
        empty if the system does not tell.
    process, started : int
        Number of the process, and when it began in the ticks of its machine.
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
        """Whether it is not the end of a run."""
        return self.state in (COMPILING, READY, RUNNING)

    @property
    def is_here(self) -> bool:
        """Whether its process runs, or has run, where this one can see it."""
        return (self.host, self.boot, self.namespace) == (platform.node(), boot(), namespace())

    @property
    def is_alive(self) -> bool | None:
        """Whether its process runs; None for one of another machine."""
        if not self.is_here:
            return None
        state, started = state_of(self.process)
        return state not in ENDED and started == self.started


def read_status(folder: Path | str) -> RunStatus | None:
    """Return what the run in a folder is doing, None if that is not known."""
    with suppress(OSError, ValueError, TypeError):
        found = RunStatus(**json.loads((Path(folder) / STATUS_FILE).read_text(encoding="utf-8")))
        numbers = (found.since, found.begin, found.end, found.kernels, found.starts, found.process, found.started)
        if all(isinstance(one, int | float) for one in numbers):
            return found
    return None


def write_status(folder: Path | str, status: RunStatus) -> None:
    """Write what a run is doing; a disk that is full does not end it."""
    path = Path(folder) / STATUS_FILE
    with suppress(OSError):
        write_file(path, json.dumps(asdict(status), indent=1) + "\n")


class CompilingStatus:
    """Says in an output folder that kernels are compiled for a run that has not begun.

    As a context it leaves no trace of a run that has not begun at its end.

    Parameters
    ----------
    folder : path
        The folder, which is made when there is something to say.
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
        """Say that so many kernels have been compiled."""
        if self._status is None:
            self._keep()
            self._status = RunStatus.of_this_process(COMPILING)
        self._status = replace(self._status, kernels=kernels)
        self._write(self._status)

    def finish(self) -> None:
        """Say that kernels are ready."""
        if self._status is not None:
            self._write(replace(self._status, state=READY, since=time.time()))

    def undo(self) -> None:
        """Have the folder as it was, unless the run has begun since."""
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
        """Write the status, unless another process that was quicker writes here by now."""
        if not has_other_writer(self._folder):
            write_status(self._folder, status)

    def _keep(self) -> None:
        """Note what the folder is like, and make it if it is missing."""
        with suppress(OSError):
            self._before = (self._folder / STATUS_FILE).read_bytes()
        with suppress(OSError):
            places = [self._folder, *self._folder.parents]
            self._made = [place for place in places if not place.exists()]
            self._folder.mkdir(parents=True, exist_ok=True)
