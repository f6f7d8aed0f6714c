"""What this machine can do at most, by loops that do nothing else: bandwidth, multiply-adds, divisions, roots.

The loops are compiled with the same options as kernels, for the same processor features, and are not kept on disk:
they take a second to compile, and would otherwise be one more thing that kernels' folder depends on.
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

from pdem.containers.exchange import wait_for_all

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from pdem.containers.exchange import Exchange

    Reals = NDArray[np.float64]
    Arrays = tuple[Reals, Reals, Reals]
    Loop = Callable[[Reals, Reals, Reals, int], None]

CHAIN = 6
"""Multiply-adds of one number, one after the other: so few that those of many numbers are under way at a time, so many
that loading and storing them does not count."""

TRIAD_BYTES = 24
"""Two numbers read and one written."""

LARGEST_TRIAD = 1 << 28
"""Bytes that its arrays have at most: no cache holds as much."""

_SMALL = 512  # numbers of an array that stays in the nearest cache
_ROUNDS = 25
_ROUND_SECONDS = 0.008

# Not the decorators of kernels: what carries these is part of every kernel's place on disk.
_compiled: Any = numba.njit(fastmath={"contract"}, error_model="numpy", nogil=True)


@_compiled
def _triad(a: Reals, b: Reals, c: Reals, passes: int) -> None:
    for one in range(passes):
        scale = 0.5 + one
        for i in range(len(a)):
            a[i] = b[i] + scale * c[i]


@_compiled
def _multiply_adds(a: Reals, b: Reals, c: Reals, passes: int) -> None:
    x, y = b[0], c[0]
    for _ in range(passes):
        for i in range(len(a)):
            v = a[i]
            a[i] = (((((v * x + y) * x + y) * x + y) * x + y) * x + y) * x + y


@_compiled
def _divisions(a: Reals, b: Reals, c: Reals, passes: int) -> None:
    for _ in range(passes):
        for i in range(len(a)):
            a[i] = b[i] / c[i]


@_compiled
def _square_roots(a: Reals, b: Reals, c: Reals, passes: int) -> None:
    for _ in range(passes):
        for i in range(len(a)):
            a[i] = math.sqrt(abs(b[i]))


@dataclass(frozen=True)
class MachineSpeed:
    """What all workers together can do, and one core alone.

    Attributes
    ----------
    workers : int
        Threads of all ranks.
    array_bytes : int
        Size of the arrays of the triad, all workers' together.
    bandwidth, bandwidth_of_one : float
        Bytes read and written by the triad per second. Lines of the cache that are fetched only to be overwritten are
        not counted, neither here nor in what is compared with it.
    multiply_adds, divisions, square_roots : float
        Numbers per second.
    """

    workers: int
    array_bytes: int
    bandwidth: float
    bandwidth_of_one: float
    multiply_adds: float
    divisions: float
    square_roots: float


def machine_speed(exchange: Exchange, array_bytes: int) -> MachineSpeed:
    """Measure this machine on all ranks and threads at once. Collective.

    Parameters
    ----------
    exchange : Exchange
        The ranks.
    array_bytes : int
        Size of the arrays of the triad on all ranks, as large as what it shall be compared with: caches are faster
        than memory. More than `LARGEST_TRIAD` is as that.
    """
    workers = exchange.size * exchange.threads
    each = min(array_bytes, LARGEST_TRIAD) // (TRIAD_BYTES * workers) + 1
    together = [
        _of_all(exchange, partial(_rate, loop, size), per_number)
        for loop, size, per_number in (
            (_triad, each, TRIAD_BYTES),
            (_multiply_adds, _SMALL, CHAIN),
            (_divisions, _SMALL, 1),
            (_square_roots, _SMALL, 1),
        )
    ]
    alone = TRIAD_BYTES * _rate(_triad, each, 1) if exchange.rank == 0 else 0.0
    return MachineSpeed(
        workers, each * TRIAD_BYTES * workers, together[0], float(exchange.share(alone)), *together[1:]
    )


def _of_all(exchange: Exchange, measure: Callable[[int], float], per_number: int) -> float:
    """Return the sum over ranks that measure at the same time."""
    wait_for_all(exchange)
    rate = per_number * measure(exchange.threads)
    return float(exchange.add(np.array([[round(rate)]], np.int64))[0, 0])


def _rate(loop: Loop, size: int, workers: int) -> float:
    """Return how many numbers so many threads take per second, in the best of several rounds."""
    loop(*_arrays(1), 1)  # compiled before any thread asks for it
    passes = _passes(loop, size)
    together = Barrier(workers)
    with ThreadPoolExecutor(workers) as pool:
        clocks = list(pool.map(lambda _: _clocked(loop, _arrays(size), passes, together), range(workers)))
    seconds = min(
        max(ended for _, ended in one) - min(begun for begun, _ in one) for one in zip(*clocks, strict=True)
    )
    return workers * size * passes / seconds


def _passes(loop: Loop, size: int) -> int:
    """Return how often a loop is taken so that it lasts long enough to be timed."""
    arrays, passes, seconds = _arrays(size), 1, 0.0
    while seconds < 0.2 * _ROUND_SECONDS:
        passes *= 2 if seconds else 1
        clock = time.perf_counter()
        loop(*arrays, passes)
        seconds = max(time.perf_counter() - clock, 1e-9)
    return max(1, round(passes * _ROUND_SECONDS / seconds))


def _clocked(loop: Loop, arrays: Arrays, passes: int, together: Barrier) -> list[tuple[float, float]]:
    """Return when each round began and ended [s]; this thread's own arrays are used."""
    times = []
    for _ in range(_ROUNDS):
        together.wait()
        begun = time.perf_counter()
        loop(*arrays, passes)
        times.append((begun, time.perf_counter()))
    return times


def _arrays(size: int) -> Arrays:
    """Return numbers near 1 that multiply-adds keep near 1."""
    places = np.linspace(0.0, 1.0, size)
    return 1.0 + places, 0.875 + 0.0625 * places, 0.125 + 0.0625 * places
