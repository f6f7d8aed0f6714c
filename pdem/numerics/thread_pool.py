"""The threads that run the parallel loops of kernels: how many there are, and for how many loops are divided."""

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
_asked = [0]  # threads that `set_threads` has set, which numba takes a microsecond to tell


def set_threads(count: int, *, crowded: bool = False) -> None:
    """Run the threaded kernels of this process on `count` threads from now on.

    The pool of threads is made once per process: with ``NUMBA_NUM_THREADS`` threads where the user has set
    that, else with as many as the first call asks for. Later calls may ask for as many or fewer.

    The pool is OpenMP's where the system has it, unless ``NUMBA_THREADING_LAYER`` says otherwise: its threads stay
    awake for some milliseconds after a loop. Those of numba's own pool fall asleep at once, and to wake them takes
    as long as a thousand contacts.

    Parameters
    ----------
    count : int
        Number of threads, at least 1.
    crowded : bool
        Whether there are more threads than cores on this node, all ranks together: then they shall wait asleep.

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
    """Run the threaded kernels on so many threads from now on, at most those of the pool.

    Loops stay divided for the number that `set_threads` was given.
    """
    if misfit():
        numba.set_num_threads(count)
    else:
        thread_pool._set_num_threads(count)  # the public function knows the cores, not the pool started here


def threads() -> int:
    """Return the number of threads that loops are divided for; they run on as many unless `run_on` says otherwise."""
    return _asked[0] or int(numba.get_num_threads())


@contextmanager
def divided_for(workers: int) -> Iterator[None]:
    """Divide loops among so many workers within this block, and run them on one thread.

    What they compute is the same on any threads, which this can show. Loops that are too short for threads do not wait
    for any.
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
    """Return the number of threads of the pool, 0 before it is started. A pool of numba alone starts by itself."""
    if misfit():
        return int(numba.config.NUMBA_NUM_THREADS)
    return int(thread_pool.NUM_THREADS) if thread_pool._is_initialized else 0


def _start_pool(count: int, crowded: bool) -> int:
    """Start `count` threads and return their number; numba by itself starts one per core in every rank."""
    numba.config.NUMBA_NUM_THREADS = thread_pool.NUM_THREADS = count
    # Set on numba's configuration, not in the environment: programs started from here decide for themselves.
    if "NUMBA_THREADING_LAYER" not in os.environ:
        numba.config.THREADING_LAYER = "omp" if count > 1 and _load_openmp(crowded) else "workqueue"
    thread_pool._launch_threads()
    call_directly()
    return count


def _load_openmp(crowded: bool) -> bool:
    """Load OpenMP, if there is any. How its threads wait is read then, from the environment."""
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
