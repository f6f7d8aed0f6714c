"""Peak speed of this machine, measured by simple loops: bandwidth, multiply-adds, divisions, square roots.

The loops are compiled with the same options and processor features as kernels. They are not cached on disk, because
they compile in a second, and because the key of the kernel cache would depend on them.
"""

from __future__ import annotations

import math
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from threading import Barrier
from typing import TYPE_CHECKING, Any

import numba
import numpy as np

from pdem.containers.group import wait_for_all

if TYPE_CHECKING:
    from collections.abc import Callable

    from pdem.containers.exchange import Exchange
    from pdem.foundation.array_types import Floats

    Arrays = tuple[Floats, Floats, Floats]
    Loop = Callable[[Floats, Floats, Floats, int], None]

CHAIN = 6
"""Dependent multiply-adds per number: few enough that chains of several numbers overlap, enough that loads and stores
do not matter."""

TRIAD_BYTES = 24
"""Bytes of the triad per entry: two numbers read, one number written."""

LARGEST_TRIAD = 1 << 28
"""Largest size of the arrays of the triad [bytes]: larger than any cache."""

_SMALL = 512  # numbers in an array that fits into the first-level cache
_ROUNDS = 25
_ROUND_SECONDS = 0.008

# not the decorators of kernels: sources of decorated functions are part of the key of the kernel cache
_compiled: Any = numba.njit(fastmath={"contract"}, error_model="numpy", nogil=True)


@_compiled
def _triad(a: Floats, b: Floats, c: Floats, passes: int) -> None:
    for one in range(passes):
        scale = 0.5 + one
        for i in range(len(a)):
            a[i] = b[i] + scale * c[i]


@_compiled
def _multiply_adds(a: Floats, b: Floats, c: Floats, passes: int) -> None:
    x, y = b[0], c[0]
    for _ in range(passes):
        for i in range(len(a)):
            v = a[i]
            a[i] = (((((v * x + y) * x + y) * x + y) * x + y) * x + y) * x + y


@_compiled
def _divisions(a: Floats, b: Floats, c: Floats, passes: int) -> None:
    for _ in range(passes):
        for i in range(len(a)):
            a[i] = b[i] / c[i]


@_compiled
def _square_roots(a: Floats, b: Floats, c: Floats, passes: int) -> None:
    for _ in range(passes):
        for i in range(len(a)):
            a[i] = math.sqrt(abs(b[i]))


@dataclass(frozen=True)
class MachineSpeed:
    """Speed of all workers together, and memory bandwidth of a single worker.

    Attributes
    ----------
    workers : int
        Total number of threads of all ranks.
    array_bytes : int
        Size of the arrays of the triad, for all workers together.
    bandwidth, bandwidth_of_one : float
        Bytes read and written by the triad per second, for all workers and for one alone. Cache lines fetched only to
        be overwritten are not counted, neither here nor in the work of a step (`pdem.benchmark.roofline`).
    multiply_adds, divisions, square_roots : float
        Operations per second of all workers together.
    """

    workers: int
    array_bytes: int
    bandwidth: float
    bandwidth_of_one: float
    multiply_adds: float
    divisions: float
    square_roots: float


def machine_speed(exchange: Exchange, array_bytes: int) -> MachineSpeed:
    """Measure this machine on all ranks and threads at the same time. Collective.

    Parameters
    ----------
    exchange : Exchange
        The ranks.
    array_bytes : int
        Size of the arrays of the triad on all ranks, at most `LARGEST_TRIAD`. It should equal the size of the measured
        case, because caches are faster than memory.
    """
    workers = exchange.workers
    size_per_worker = min(array_bytes, LARGEST_TRIAD) // (TRIAD_BYTES * workers) + 1
    together = [
        _sum_over_ranks(exchange, partial(_rate, loop, size), per_number)
        for loop, size, per_number in (
            (_triad, size_per_worker, TRIAD_BYTES),
            (_multiply_adds, _SMALL, CHAIN),
            (_divisions, _SMALL, 1),
            (_square_roots, _SMALL, 1),
        )
    ]
    one_worker = TRIAD_BYTES * _rate(_triad, size_per_worker, 1) if exchange.rank == 0 else 0.0
    return MachineSpeed(
        workers, size_per_worker * TRIAD_BYTES * workers, together[0], float(exchange.share(one_worker)), *together[1:]
    )


def _sum_over_ranks(exchange: Exchange, measure: Callable[[int], float], per_number: int) -> float:
    """Return the sum of a rate over ranks, which measure at the same time."""
    wait_for_all(exchange)
    rate = per_number * measure(exchange.threads)
    return float(exchange.add(np.array([[round(rate)]], np.int64))[0, 0])


def _rate(loop: Loop, size: int, workers: int) -> float:
    """Return the numbers per second of `workers` threads, in the best of several rounds."""
    loop(*_arrays(1), 1)  # compile before threads start
    passes = _passes(loop, size)
    together = Barrier(workers)
    with ThreadPoolExecutor(workers) as pool:
        clocks = list(pool.map(lambda _: _round_times(loop, _arrays(size), passes, together), range(workers)))
    seconds = min(max(end for _, end in one) - min(start for start, _ in one) for one in zip(*clocks, strict=True))
    return workers * size * passes / seconds


def _passes(loop: Loop, size: int) -> int:
    """Return a number of passes for which a loop takes long enough for timing."""
    arrays, passes, seconds = _arrays(size), 1, 0.0
    while seconds < 0.2 * _ROUND_SECONDS:
        passes *= 2 if seconds else 1
        clock = time.perf_counter()
        loop(*arrays, passes)
        seconds = max(time.perf_counter() - clock, 1e-9)
    return max(1, round(passes * _ROUND_SECONDS / seconds))


def _round_times(loop: Loop, arrays: Arrays, passes: int, together: Barrier) -> list[tuple[float, float]]:
    """Return begin and end of each round [s] on the arrays of this thread."""
    times = []
    for _ in range(_ROUNDS):
        together.wait()
        start = time.perf_counter()
        loop(*arrays, passes)
        times.append((start, time.perf_counter()))
    return times


def _arrays(size: int) -> Arrays:
    """Return arrays of numbers near 1 that stay near 1 under the multiply-adds."""
    places = np.linspace(0.0, 1.0, size)
    return 1.0 + places, 0.875 + 0.0625 * places, 0.125 + 0.0625 * places
