"""Trial of numba's private parts, for untested versions, in processes that `numba_private` starts.

The first process compiles kernels of each kind, stores them on disk and calls them. The second process must load them
from disk and compute the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.numerics.kernel_calls import PythonCall, ask_python, call_kernel, call_of
from pdem.numerics.kernel_factory import inlined_closure, versioned_kernel
from pdem.numerics.kernels import inlined, kernel, prange, uncounted_kernel
from pdem.numerics.thread_pool import set_threads

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats

_NUMBERS = 1000


@inlined
def _root(number: float) -> float:
    return float(np.sqrt(number)) + 1.0


@uncounted_kernel
def _fill_in_threads(values: Floats) -> None:
    for k in prange(len(values)):
        values[k] = _root(k)


@kernel
def _call(address: Any, arguments: Any, question: int) -> int:
    call_kernel(address, arguments)
    return ask_python(question)


def _filling() -> Any:
    """Return a kernel that is an inner function."""

    @inlined_closure
    def double(number: float) -> float:
        return 2.0 * number

    @versioned_kernel("trial")
    def fill(values: Floats) -> None:
        for k in range(len(values)):
            values[k] = double(_root(k))

    return fill


def try_kernels(expect_stored: bool) -> str:
    """Return the reason of a misfit; empty if everything fits.

    Parameters
    ----------
    expect_stored : bool
        Whether an earlier process has compiled the kernels, so that this process must load all of them from disk.
    """
    set_threads(2)
    expected = np.sqrt(np.arange(_NUMBERS)) + 1.0
    threaded, filled, fill = np.zeros(_NUMBERS), np.zeros(_NUMBERS), _filling()
    question = PythonCall(lambda: 7)
    _fill_in_threads(threaded)
    answer = _call(call_of(fill, (filled,)), (filled,), question.address)
    if answer != 7 or not np.array_equal(filled, 2.0 * expected) or not np.array_equal(threaded, expected):
        return "kernels compute other numbers"
    loaded = sum(sum(one.stats.cache_hits.values()) for one in (_fill_in_threads, _call, fill))
    return "kernels that were kept on disk are not found again" if expect_stored and loaded < 3 else ""
