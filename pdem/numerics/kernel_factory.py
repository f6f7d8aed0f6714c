"""Kernels that are made for one case: functions within functions, kept on disk by a name that says what is in them.

Numba tells the versions of a function that is made within another one apart by what it refers to, and compiled
functions that it refers to have another identity in every process. Here the name of the version takes the place of
that: two versions of one kernel have the same name if and only if they do the same.
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
    """Compile a function that is made within another one as part of the kernels that call it."""
    return inlined_dispatcher(function, **_OPTIONS)


def versioned_kernel(version: str, *, threaded: bool = False) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator for kernels that are made within another function, cached on disk.

    Parameters
    ----------
    version : str
        Name of the version, part of the names of its files.
    threaded : bool
        Whether its ``prange`` loops are spread over threads; then as `pdem.numerics.kernels.uncounted_kernel`.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        function.__qualname__ = f"{function.__name__}[{version}]"
        options = {"parallel": LOOPS_ONLY, **UNCOUNTED} if threaded else {}
        compiled = kept_on_disk(numba.njit(**options, **_OPTIONS)(function), _CacheByName)
        made.append(compiled)
        return compiled

    return decorate


def inlined_exactly(function: Callable[..., Any]) -> Any:
    """Compile like `inlined_closure`, without contraction: its results do not depend on what is computed beside it."""
    return inlined_dispatcher(function, **{**_OPTIONS, "fastmath": False})
