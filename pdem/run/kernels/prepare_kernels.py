"""Compilation of missing kernels before the first step of a simulation, with progress on the terminal.

Each machine compiles once per version. `pdem.run.kernels.precompile` contains the calls that compile.
"""

from __future__ import annotations

import threading
import time
import warnings
from typing import TYPE_CHECKING, Any, Self

from pdem.engine.ranks import warm_up
from pdem.foundation.errors import PdemWarning
from pdem.foundation.signals import SignalFlag
from pdem.foundation.terminal import ERRORS
from pdem.numerics.cache import cache_directory
from pdem.numerics.numba_private import warning_of_misfit
from pdem.output.summary import counted
from pdem.run.kernels import precompile

if TYPE_CHECKING:
    from types import TracebackType

    from pdem.case.model import Case
    from pdem.output.run_status import CompilingStatus
    from pdem.run.kernels.precompile import MakeSimulation

_SECONDS_BETWEEN_LINES = 30.0
_SECONDS_BETWEEN_UPDATES = 1.0
_MACHINE_CODE = "*.nbc"  # numba's suffix of files with machine code

_prepared: set[str] = set()  # tags of kernels that this process has prepared, even if no mark can be stored
_preparing = threading.Lock()  # preparation makes simulations, which must not prepare kernels again


def prepare_kernels(
    make: MakeSimulation,
    communicator: Any,
    case: Case | None,
    threads: int,
    flag: SignalFlag | None = None,
    status: CompilingStatus | None = None,
) -> bool:
    """Compile all kernels of a run that are missing in the cache; return whether there were any. Collective.

    If the cache is complete, no kernel is called; the run loads each kernel at its first use.

    Parameters
    ----------
    make : callable
        The class of simulations. Tiny simulations are made and run to compile the kernels.
    communicator : mpi4py communicator or None
        The ranks of the run.
    case : Case or None
        Its contact law, detection method and walls determine the kernels; None: all kernels.
    threads : int
        Number of threads of this rank.
    flag : SignalFlag, optional
        A signal in it ends the compilation early.
    status : CompilingStatus, optional
        Receives the progress of the compilation.
    """
    if not _preparing.acquire(blocking=False):
        return False
    try:
        return _prepare(make, communicator, case, threads, SignalFlag() if flag is None else flag, status)
    finally:
        _preparing.release()


def prepare_start_kernels(communicator: Any, flag: SignalFlag) -> None:
    """Compile the few kernels with which several ranks make their particles, one rank per node first. Collective.

    Otherwise every rank would compile these kernels, because particles are made and checked before the other kernels
    are compiled.
    """
    if communicator is None or communicator.size == 1:
        return
    warm_up(
        communicator, lambda: flag.unless_stopped(precompile.compile_start_kernels), precompile.start_tag(),
        bool, lambda: flag.requested,
    )  # fmt: skip


def _prepare(
    make: MakeSimulation,
    communicator: Any,
    case: Case | None,
    threads: int,
    flag: SignalFlag,
    status: CompilingStatus | None,
) -> bool:
    tag, alone = precompile.kernel_tag(case), communicator is None or communicator.size == 1
    if alone and tag in _prepared:
        return False
    _warn_of_numba(communicator)
    with _Progress(status) as progress:
        compiled = warm_up(
            communicator, lambda: flag.unless_stopped(lambda: precompile.compile_kernels(make, case, threads)), tag,
            progress.begin, lambda: flag.requested,
        )  # fmt: skip
        progress.finished = not flag.requested
    if not flag.requested:
        _prepared.add(tag)
    return compiled


def _warn_of_numba(communicator: Any) -> None:
    """Warn once, on rank 0, if the installed numba does not allow kernels to be stored on disk."""
    text = "" if _prepared or (communicator is not None and communicator.rank) else warning_of_misfit()
    if text:
        warnings.warn(text, PdemWarning, stacklevel=2)


class _Progress:
    """Progress lines on standard error while kernels are compiled; silent until `begin` is called."""

    def __init__(self, status: CompilingStatus | None) -> None:
        self.finished, self._status = False, status
        self._end = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        return self

    def begin(self) -> None:
        """Announce the compilation, and start to report its progress."""
        self._start, self._stored_at_start = time.monotonic(), _stored_kernels()
        self._updates = ERRORS.isatty()
        _print(
            "compiling kernels for this machine: one to three minutes, once per version; "
            f"they are kept in {cache_directory()}"
        )
        if self._status is not None:
            self._status.count(0)
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._thread is None:
            return
        self._end.set()
        self._thread.join()
        if self._status is not None:
            (self._status.finish if self.finished else self._status.undo)()
        if self._updates:
            ERRORS.write("\r\033[K")
        if self.finished:
            _print(f"kernels are ready after {time.monotonic() - self._start:.0f} s")

    def _watch(self) -> None:
        said = self._start
        while not self._end.wait(min(_SECONDS_BETWEEN_UPDATES, _SECONDS_BETWEEN_LINES)):
            compiled, now = _stored_kernels() - self._stored_at_start, time.monotonic()
            if self._status is not None:
                self._status.count(compiled)
            text = _progress_text(compiled, now - self._start)
            if self._updates:
                ERRORS.write(f"\r\033[Kpdem: {text}")
                ERRORS.flush()
            elif now - said >= _SECONDS_BETWEEN_LINES:
                said = now
                _print(text)


def _progress_text(compiled: int, seconds: float) -> str:
    """Return the progress as text; a kernel counts when it is stored, the first after many seconds."""
    if compiled < 1:
        return f"compiling the first kernels, for {seconds:.0f} s until now"
    return f"{counted(compiled, 'kernel')} compiled and stored after {seconds:.0f} s"


def _stored_kernels() -> int:
    """Return the number of kernels that all processes have stored in the cache folder."""
    return sum(1 for _ in cache_directory().rglob(_MACHINE_CODE))


def _print(text: str) -> None:
    ERRORS.line(f"pdem: {text}")
