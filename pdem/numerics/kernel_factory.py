"""Kernels made for one case: functions within functions, stored on disk by a name that describes their content.

Numba distinguishes the versions of an inner function by the objects that it refers to, and compiled functions among
them have a different identity in every process. Here the name of the version replaces that identity: two versions of a
kernel have the same name if and only if they compute the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numba

from pdem.numerics.kernel_cache import KernelCache, kept_on_disk
from pdem.numerics.kernels import _OPTIONS, LOOPS_ONLY, UNCOUNTED
from pdem.numerics.machine_code import inlined_dispatcher

if TYPE_CHECKING:
    from collections.abc import Callable

made: list[Any] = []
"""All versions of kernels that this process has made."""


class _CacheByName(KernelCache):
    """Machine code by the types of the arguments and the name of the version."""

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        return sig, codegen.magic_tuple(), self._py_func.__qualname__


def inlined_closure(function: Callable[..., Any]) -> Any:
    """Compile an inner function as part of the kernels that call it."""
    return inlined_dispatcher(function, **_OPTIONS)


def versioned_kernel(version: str, *, threaded: bool = False) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator for kernels that are inner functions, cached on disk.

    Parameters
    ----------
    version : str
        Name of the version, part of the names of its files.
    threaded : bool
        Whether its ``prange`` loops run on several threads, as with `pdem.numerics.kernels.uncounted_kernel`.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        function.__qualname__ = f"{function.__name__}[{version}]"
        options = {"parallel": LOOPS_ONLY, **UNCOUNTED} if threaded else {}
        compiled = kept_on_disk(numba.njit(**options, **_OPTIONS)(function), _CacheByName)
        made.append(compiled)
        return compiled

    return decorate


def inlined_exactly(function: Callable[..., Any]) -> Any:
    """Compile like `inlined_closure`, without contraction: results do not depend on the surrounding code."""
    return inlined_dispatcher(function, **{**_OPTIONS, "fastmath": False})
