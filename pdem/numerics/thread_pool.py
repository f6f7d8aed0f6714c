"""The threads that run the parallel loops of kernels: their number, and the number of parts of each loop."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numba

from pdem.foundation.errors import LaunchError
from pdem.numerics.loop_calls import call_directly
from pdem.numerics.numba_private import misfit, openmp_pool, thread_pool

if TYPE_CHECKING:
    from collections.abc import Iterator

_WAITING = "OMP_WAIT_POLICY"
_asked = [0]  # number of threads of `set_threads`; numba needs a microsecond to return it


def set_threads(count: int, *, crowded: bool = False) -> None:
    """Set the number of threads for the threaded kernels of this process.

    The pool of threads is created once per process: with ``NUMBA_NUM_THREADS`` threads if the user has set that, or
    else with the `count` of the first call. Later calls may not exceed that size.

    The pool is OpenMP's if the system has it, unless ``NUMBA_THREADING_LAYER`` says otherwise. Its threads stay
    awake for some milliseconds after a loop. Threads of numba's own pool sleep immediately, and waking them takes as
    long as a thousand contacts.

    Parameters
    ----------
    count : int
        Number of threads, at least 1.
    crowded : bool
        Whether the ranks of this node together have more threads than cores: idle threads then sleep.

    Raises
    ------
    LaunchError
        If `count` is below 1 or above the size of a pool that already exists.
    """
    if count < 1:
        raise LaunchError(f"{count} threads asked for: at least 1 is needed; give a positive number of threads")
    started = _started_threads()
    if not started:
        started = _start_pool(max(count, int(os.environ.get("NUMBA_NUM_THREADS", "0"))), crowded)
    if count > started:
        raise LaunchError(
            f"{count} threads asked for, but this process has started {started}: "
            f"set NUMBA_NUM_THREADS={count} before it begins"
        )
    run_on(count)
    _asked[0] = count


def run_on(count: int) -> None:
    """Run the threaded kernels on `count` threads, at most the size of the pool.

    Loops stay divided into the number of parts that `set_threads` has set.
    """
    if misfit():
        numba.set_num_threads(count)
    else:
        thread_pool._set_num_threads(count)  # the public function checks the cores, not this pool


def threads() -> int:
    """Return the number of parts of threaded loops; `run_on` may run them on fewer threads."""
    return _asked[0] or int(numba.get_num_threads())


@contextmanager
def divided_for(workers: int) -> Iterator[None]:
    """Divide loops into `workers` parts within this block, and run them on one thread.

    Results do not depend on the threads, which such a run can demonstrate. Loops too short for threads do not wait for
    any.
    """
    asked = _asked[0]
    if not _started_threads():
        set_threads(1)
    running = int(numba.get_num_threads())
    run_on(1)
    _asked[0] = workers
    try:
        yield
    finally:
        run_on(running)
        _asked[0] = asked


def _started_threads() -> int:
    """Return the number of threads of the pool, 0 before its start. Numba's own pool starts by itself."""
    if misfit():
        return int(numba.config.NUMBA_NUM_THREADS)
    return int(thread_pool.NUM_THREADS) if thread_pool._is_initialized else 0


def _start_pool(count: int, crowded: bool) -> int:
    """Start `count` threads and return their number; by itself numba starts one thread per core in every rank."""
    numba.config.NUMBA_NUM_THREADS = thread_pool.NUM_THREADS = count
    # Set in numba's configuration, not in the environment: child processes choose for themselves.
    if "NUMBA_THREADING_LAYER" not in os.environ:
        numba.config.THREADING_LAYER = "omp" if count > 1 and _load_openmp(crowded) else "workqueue"
    thread_pool._launch_threads()
    call_directly()
    return count


def _load_openmp(crowded: bool) -> bool:
    """Load OpenMP, if available. It reads from the environment how its threads wait."""
    if sys.platform != "linux":
        return False
    told = crowded and _WAITING not in os.environ
    if told:
        os.environ[_WAITING] = "passive"
    try:
        return openmp_pool()
    finally:
        if told:
            del os.environ[_WAITING]
