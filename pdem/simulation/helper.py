"""A second process that does a part of some long work: a fresh interpreter, which ends when this process does.

Nothing depends on it: its work shows in files alone, and whoever starts it goes on without if it cannot be had.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import warnings
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pdem.foundation.machine import available_cores
from pdem.foundation.signals import STOP_SIGNALS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

_PROGRAM = "from pdem.simulation.helper import serve; serve({!r}, {!r}, {!r})"
_PATIENCE = 600.0  # s; a process that takes longer is stuck
_SHOWN_LINES = 15


class Helper:
    """Have a function called by another process while this one is entered as a context.

    The process is started with the modules and the folder of kernels of this one, and without what a launcher of ranks
    has told this one. Leaving the context ends it, whatever it does. None is started where there is one core only.

    Parameters
    ----------
    module, function : str
        What to call.
    arguments : sequence of str
        What to call it with.
    needed : bool
        Whether there is anything to do for it.
    """

    def __init__(
        self, module: str, function: str, arguments: Sequence[str] = (), *, needed: bool = True
    ) -> None:
        self._program = _PROGRAM.format(module, function, list(arguments))
        self._needed = needed and available_cores() > 1 and bool(sys.executable)
        self._process: subprocess.Popen[bytes] | None = None
        self._said: Any = None

    def __enter__(self) -> Helper:
        if self._needed:
            with suppress(OSError):  # no room for a file or another process: this one does all the work
                self._start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._process is not None:
            self._process.kill()
            with self._process:  # waits for its end and closes its pipe
                pass
        if self._said is not None:
            self._said.close()

    def wait(self) -> None:
        """Wait until the function has returned, if it was called at all.

        Warns
        -----
        RuntimeWarning
            If it failed, with what the process said.
        """
        if self._process is None:
            return
        try:
            code: Any = self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            code = "missing"
        if code:
            warnings.warn(self._problem(code), RuntimeWarning, stacklevel=2)

    def _start(self) -> None:
        # not by fork, which MPI and threads do not survive; stdin is the pipe by which it sees the end of this process
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed on leaving the context
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", self._program], env=_environment(),
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=self._said,
        )  # fmt: skip

    def _problem(self, code: object) -> str:
        self._said.seek(0)
        lines = self._said.read().decode(errors="replace").strip().splitlines()[-_SHOWN_LINES:]
        return "\n".join([f"a helping process failed (exit code {code}); this one does its work", *lines])


def serve(module: str, function: str, arguments: Sequence[str]) -> None:
    """Call a function as the helper of another process, and end when that has ended."""
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)  # they come to both; the other process decides what they mean
    threading.Thread(target=_end_with_the_other, daemon=True).start()
    getattr(import_module(module), function)(*arguments)


def _end_with_the_other() -> None:
    while os.read(sys.stdin.fileno(), 1):
        pass
    os._exit(1)


def _environment() -> dict[str, str]:
    from pdem.foundation.cache import cache_directory
    from pdem.simulation.distributed import without_launcher

    modules = os.pathsep.join(path or os.getcwd() for path in sys.path)
    own = {"PYTHONPATH": modules, "NUMBA_CACHE_DIR": str(cache_directory())}
    return {**without_launcher(os.environ), **own}
