"""Decorators by which pdem compiles its kernels: among them one for serial and one for threaded loops.

Kernels take arrays and scalars, return arrays, numbers or status codes, and never raise.
Sums keep their order, NaN checks stay valid, and a rule decides where a product and a sum become a fused multiply-add
(`pdem.numerics.portable.contraction`).

`pdem.numerics.numba_private` decides where machine code is stored and for which processor it is compiled;
`pdem.numerics.thread_pool` decides which threads run the parallel loops.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numba

from pdem.numerics.garbage import no_search_for_garbage
from pdem.numerics.kernel_cache import kept_on_disk
from pdem.numerics.machine_code import generate_when_called, inlined_dispatcher
from pdem.numerics.numba_private import compile_event, misfit, parallel_options

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager


class _Compiling(compile_event.Listener):  # type: ignore[misc]
    """Disables Python's garbage collector while a kernel is compiled: it used a seventh of the time."""

    def __init__(self) -> None:
        self._blocks: list[AbstractContextManager[None]] = []

    def on_start(self, event: Any) -> None:
        """Handle the start of the compilation of a kernel; compilations may be nested."""
        self._blocks.append(no_search_for_garbage())
        self._blocks[-1].__enter__()

    def on_end(self, event: Any) -> None:
        """Handle the end of the compilation of a kernel."""
        self._blocks.pop().__exit__(None, None, None)


generate_when_called()
compile_event.register("numba:compile", _Compiling())

_OPTIONS: dict[str, Any] = {"fastmath": {"contract"}, "error_model": "numpy", "nogil": True, "no_cfunc_wrapper": True}

LOOPS_ONLY = parallel_options(
    dict.fromkeys(("comprehension", "reduction", "inplace_binop", "setitem", "numpy", "stencil", "fusion"), False)
)
"""Only ``prange`` runs on threads: sums of array expressions keep their order."""

UNCOUNTED: dict[str, Any] = {} if misfit() else {"_nrt": False}
"""Options of kernels without reference counts."""

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
    """Compile like `threaded_kernel`, without reference counts, cached on disk.

    Counting references to the arrays that a loop passes to other kernels can cost more than these kernels. Without
    reference counts a kernel can neither allocate nor reduce to a number (numba refuses to compile it).
    """
    return kept_on_disk(numba.njit(parallel=LOOPS_ONLY, **UNCOUNTED, **_OPTIONS)(function))


def uncounted_serial_kernel(function: Callable[..., Any]) -> Any:
    """Compile as a serial kernel, cached on disk, without reference counts; see `uncounted_kernel`."""
    return kept_on_disk(numba.njit(**UNCOUNTED, **_OPTIONS)(function))


def plain(*arguments: Any) -> tuple[Any, ...]:
    """Return arguments of a kernel with named tuples converted to plain tuples; the kernel names the fields again.

    In a call numba determines the types of plain tuples in compiled code, but the types of named tuples in Python,
    which takes as long as some hundred contacts.
    """
    return tuple(tuple(one) if isinstance(one, tuple) else one for one in arguments)
