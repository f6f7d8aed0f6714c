"""How pdem compiles its kernels: one decorator for serial and one for threaded loops.

Kernels take arrays and scalars, return arrays, numbers or status codes, and never raise.
Contraction (fused multiply-add) is the only floating-point freedom granted to the compiler: sums keep
their order and NaN checks stay valid.

Importing this module decides, before anything is compiled, where machine code is kept (see
`pdem.foundation.cache`). Which threads run the parallel loops is decided when they start, see `set_threads`.
"""

from __future__ import annotations

import importlib
import os
import platform
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import llvmlite.binding
import numba
from numba.core import event
from numba.core.cpu_options import ParallelOptions
from numba.np.ufunc import parallel as _pool

from pdem.foundation.cache import cache_directory
from pdem.foundation.errors import LaunchError
from pdem.foundation.garbage import no_search_for_garbage
from pdem.foundation.kernel_cache import kept_on_disk
from pdem.foundation.loop_calls import call_directly
from pdem.foundation.machine_code import generate_when_called, inlined_dispatcher

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager


def _avoid_gathers() -> None:
    """Have vector code load scattered numbers one by one, unless the user has chosen processor features.

    Since the mitigations of 2023 the gather instructions of many x86 processors are several times slower than
    single loads, and the flag that tells which ones is not visible in a virtual machine.
    """
    if platform.machine() in ("x86_64", "AMD64") and numba.config.CPU_FEATURES is None:
        features = llvmlite.binding.get_host_cpu_features().flatten()
        numba.config.CPU_NAME = numba.config.CPU_NAME or llvmlite.binding.get_host_cpu_name()
        numba.config.CPU_FEATURES = f"{features},+prefer-no-gather,+prefer-no-scatter"


class _Compiling(event.Listener):  # type: ignore[misc]
    """Keeps Python from looking for garbage while a kernel is compiled: that took a seventh of the time."""

    def __init__(self) -> None:
        self._blocks: list[AbstractContextManager[None]] = []

    def on_start(self, event: event.Event) -> None:
        """Begin to compile a kernel, or one that another needs."""
        self._blocks.append(no_search_for_garbage())
        self._blocks[-1].__enter__()

    def on_end(self, event: event.Event) -> None:
        """Be done with one."""
        self._blocks.pop().__exit__(None, None, None)


_WAITING = "OMP_WAIT_POLICY"
_asked = [0]  # threads that `set_threads` has set, which numba takes a microsecond to tell

# Set on numba's configuration, not in the environment: programs started from here decide for themselves.
numba.config.CACHE_DIR = str(cache_directory())
generate_when_called()
_avoid_gathers()
event.register("numba:compile", _Compiling())

_OPTIONS: dict[str, Any] = {
    "fastmath": {"contract"},
    "error_model": "numpy",
    "nogil": True,
    "no_cfunc_wrapper": True,
}

LOOPS_ONLY = ParallelOptions(
    dict.fromkeys(
        ("comprehension", "reduction", "inplace_binop", "setitem", "numpy", "stencil", "fusion"), False
    )
)
"""``prange`` is spread over threads and nothing else: sums of array expressions keep their order."""

prange = numba.prange


def kernel(function: Callable[..., Any]) -> Any:
    """Compile `function` as a serial kernel, cached on disk."""
    return kept_on_disk(numba.njit(**_OPTIONS)(function))


def inlined(function: Callable[..., Any]) -> Any:
    """Compile `function` so that its body becomes part of the kernels that call it."""
    return kept_on_disk(inlined_dispatcher(function, **_OPTIONS))


def threaded_kernel(function: Callable[..., Any]) -> Any:
    """Compile `function` with its ``prange`` loops spread over threads, cached on disk."""
    return kept_on_disk(numba.njit(parallel=LOOPS_ONLY, **_OPTIONS)(function))


def uncounted_kernel(function: Callable[..., Any]) -> Any:
    """Compile like `threaded_kernel`, without reference counts, on disk.

    Counting references to the arrays that a loop hands to other kernels can cost more than these do. In return
    nothing can be allocated or reduced to one number (numba refuses to compile what does).
    """
    return kept_on_disk(numba.njit(parallel=LOOPS_ONLY, _nrt=False, **_OPTIONS)(function))


def uncounted_serial_kernel(function: Callable[..., Any]) -> Any:
    """Compile as a serial kernel, cached on disk, without reference counts; see `uncounted_kernel`."""
    return kept_on_disk(numba.njit(_nrt=False, **_OPTIONS)(function))


def plain(*arguments: Any) -> tuple[Any, ...]:
    """Return arguments of a kernel with tuples of named fields as plain ones; the kernel names the fields again.

    At a call numba tells the types of plain tuples in compiled code, and those of named ones in Python, which takes as
    long as some hundred contacts.
    """
    return tuple(tuple(one) if isinstance(one, tuple) else one for one in arguments)


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
        raise LaunchError(
            f"{count} threads asked for: at least 1 is needed; give a positive number of threads"
        )
    if not _pool._is_initialized:
        _start_pool(max(count, int(os.environ.get("NUMBA_NUM_THREADS", "0"))), crowded)
    if count > _pool.NUM_THREADS:
        raise LaunchError(
            f"{count} threads asked for, but this process has started {_pool.NUM_THREADS}: "
            f"set NUMBA_NUM_THREADS={count} before it begins"
        )
    _pool._set_num_threads(count)  # the public function knows the cores, not the pool started here
    _asked[0] = count


def run_on(count: int) -> None:
    """Run the threaded kernels on so many threads from now on, at most those of the pool.

    Loops stay divided for the number that `set_threads` was given.
    """
    _pool._set_num_threads(count)


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
    if not _pool._is_initialized:
        set_threads(1)
    running = int(_pool.get_num_threads())
    _pool._set_num_threads(1)
    _asked[0] = workers
    try:
        yield
    finally:
        _pool._set_num_threads(running)
        _asked[0] = asked


def _start_pool(count: int, crowded: bool) -> None:
    """Start `count` threads; numba by itself starts one per core in every rank, idle ones included."""
    numba.config.NUMBA_NUM_THREADS = _pool.NUM_THREADS = count
    # Set on numba's configuration, not in the environment: programs started from here decide for themselves.
    if "NUMBA_THREADING_LAYER" not in os.environ:
        numba.config.THREADING_LAYER = "omp" if count > 1 and _load_openmp(crowded) else "workqueue"
    _pool._launch_threads()
    call_directly()


def _load_openmp(crowded: bool) -> bool:
    """Load OpenMP, if there is any. How its threads wait is read then, from the environment."""
    if sys.platform != "linux":
        return False
    told = crowded and _WAITING not in os.environ
    if told:
        os.environ[_WAITING] = "passive"
    try:
        importlib.import_module("numba.np.ufunc.omppool")
    except ImportError:
        return False
    finally:
        if told:
            del os.environ[_WAITING]
    return True
