"""Kernels are there before a simulation takes its first step: announced, with progress, in two processes.

Each machine compiles once per version. What is compiled and how is in `pdem.simulation.warm`.
"""

from __future__ import annotations

import sys
import threading
import time
from importlib import import_module
from typing import TYPE_CHECKING, Any, Self

from pdem.foundation.cache import cache_directory
from pdem.foundation.signals import SignalFlag
from pdem.simulation.distributed import warm_up

if TYPE_CHECKING:
    from types import TracebackType

    from pdem.case.model import Case

_SECONDS_BETWEEN_LINES = 30.0
_SECONDS_BETWEEN_LOOKS = 1.0
_MACHINE_CODE = "*.nbc"  # numba's name for the files that hold it

_seen: set[str] = set()  # what this process has prepared, also where no mark can be stored
_under_way = threading.Lock()  # what prepares makes simulations itself


def prepare(communicator: Any, case: Case | None, threads: int, flag: SignalFlag | None = None) -> bool:
    """Have all kernels that are needed compiled; return whether any had to be. Collective.

    Where the cache has all of them none is called: a run loads them when it comes to them.

    Parameters
    ----------
    communicator : mpi4py communicator or None
        The ranks of the run.
    case : Case or None
        Its way of detection and whether it has walls decide; None: all kernels.
    threads : int
        Threads of this rank.
    flag : SignalFlag, optional
        A signal that it remembers ends this early.
    """
    if not _under_way.acquire(blocking=False):
        return False
    try:
        return _prepare(communicator, case, threads, SignalFlag() if flag is None else flag)
    finally:
        _under_way.release()


def _prepare(communicator: Any, case: Case | None, threads: int, flag: SignalFlag) -> bool:
    warm = import_module("pdem.simulation.warm")  # by its name: it makes simulations, which import this
    tag, alone = warm.tag(case), communicator is None or communicator.size == 1
    if alone and tag in _seen:
        return False
    with _Progress() as progress:
        compiled = warm_up(
            communicator, lambda: flag.unless_stopped(lambda: warm.exercise(case, threads)), tag, progress.begin,
            lambda: flag.requested,
        )  # fmt: skip
        progress.finished = not flag.requested
    if not flag.requested:
        _seen.add(tag)
    return compiled


class _Progress:
    """Lines on standard error while kernels are compiled; silent unless `begin` is called."""

    def __init__(self) -> None:
        self.finished = False
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        return self

    def begin(self) -> None:
        """Announce it, and say from now on how far it is."""
        self._begun, self._before = time.monotonic(), _stored()
        self._updates = sys.stderr.isatty()
        _say(
            "compiling kernels for this machine: one to three minutes, once per version; "
            f"they are kept in {cache_directory()}"
        )
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._thread is None:
            return
        self._over.set()
        self._thread.join()
        if self._updates:
            sys.stderr.write("\r\033[K")
        if self.finished:
            _say(f"kernels are ready after {time.monotonic() - self._begun:.0f} s")

    def _watch(self) -> None:
        pause = _SECONDS_BETWEEN_LOOKS if self._updates else _SECONDS_BETWEEN_LINES
        while not self._over.wait(pause):
            text = f"{_stored() - self._before} kernels compiled in {time.monotonic() - self._begun:.0f} s"
            if self._updates:
                sys.stderr.write(f"\r\033[Kpdem: {text}")
                sys.stderr.flush()
            else:
                _say(text)


def _stored() -> int:
    """Return how many kernels the cache folder has, by whichever process."""
    return sum(1 for _ in cache_directory().rglob(_MACHINE_CODE))


def _say(text: str) -> None:
    sys.stderr.write(f"pdem: {text}\n")
    sys.stderr.flush()
