"""A helper process for a part of some long work: a new interpreter that ends with this process.

Its only results are files. If it cannot be started, this process does all the work.
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
from typing import TYPE_CHECKING, Any

from pdem.foundation.errors import PdemWarning
from pdem.foundation.machine import available_cores
from pdem.foundation.signals import STOP_SIGNALS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

_PROGRAM = """
from pdem.run.kernels.helper_process import end_with_parent
end_with_parent()
from {0} import {1}
{1}(*{2!r})
"""
_TIMEOUT = 600.0  # s; a process that takes longer hangs
_STDERR_LINES = 15


class HelperProcess:
    """A context in which a helper process calls a function.

    The helper has the modules and the kernel cache of this process, but not the environment variables of an MPI
    launcher. The end of the context kills it. On a single core no process is started.

    Parameters
    ----------
    function : callable
        Function to call, at the top level of a module.
    arguments : sequence of str
        Arguments of the function.
    needed : bool
        If False, no process is started, because there is no work for it.
    """

    def __init__(self, function: Callable[..., object], arguments: Sequence[str] = (), *, needed: bool = True) -> None:
        self._program = _PROGRAM.format(function.__module__, function.__qualname__, list(arguments))
        self._needed = needed and available_cores() > 1 and bool(sys.executable)
        self._process: subprocess.Popen[bytes] | None = None
        self._stderr: Any = None

    def __enter__(self) -> HelperProcess:
        if self._needed:
            with suppress(OSError):  # no room for a file or process: this process does all the work
                self._start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._process is not None:
            self._process.kill()
            with self._process:  # wait for its end and close its pipe
                pass
        if self._stderr is not None:
            self._stderr.close()

    def wait(self) -> None:
        """Wait until the function has returned, if the process was started.

        Warns
        -----
        RuntimeWarning
            If the process failed, with the last lines of its standard error.
        """
        if self._process is None:
            return
        try:
            code: Any = self._process.wait(_TIMEOUT)
        except subprocess.TimeoutExpired:
            code = "missing"
        if code:
            warnings.warn(self._problem(code), PdemWarning, stacklevel=2)

    def _start(self) -> None:
        # no fork, which is unsafe with MPI and threads; the helper ends when its stdin is closed
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed at the end of the context
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", self._program], env=helper_environment(),
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=self._stderr,
        )  # fmt: skip

    def _problem(self, code: object) -> str:
        self._stderr.seek(0)
        lines = self._stderr.read().decode(errors="replace").strip().splitlines()[-_STDERR_LINES:]
        return "\n".join([f"a helping process failed (exit code {code}); this one does its work", *lines])


def end_with_parent() -> None:
    """Make the helper process exit when its parent has ended, and leave stop signals to the parent."""
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)  # both processes receive them; the parent decides
    threading.Thread(target=_exit_with_parent, daemon=True).start()


def _exit_with_parent() -> None:
    while os.read(sys.stdin.fileno(), 1):
        pass
    os._exit(1)


def helper_environment() -> dict[str, str]:
    """Return the environment for a process with the modules and the kernel cache of this process, but not as a rank."""
    from pdem.engine.ranks import without_launcher
    from pdem.numerics.cache import cache_environment

    modules = os.pathsep.join(path or os.getcwd() for path in sys.path)
    return {**without_launcher(os.environ), **cache_environment(), "PYTHONPATH": modules}
