"""How pdem compiles its kernels: one decorator for serial and one for threaded loops.

Kernels take arrays and scalars, return arrays, numbers or status codes, and never raise.
Contraction (fused multiply-add) is the only floating-point freedom granted to the compiler: sums keep
their order and NaN checks stay valid.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numba

if TYPE_CHECKING:
    from collections.abc import Callable

_OPTIONS = {"cache": True, "fastmath": {"contract"}, "error_model": "numpy", "nogil": True}

prange = numba.prange


def kernel(function: Callable[..., Any]) -> Any:
    """Compile `function` as a serial kernel, cached on disk."""
    return numba.njit(**_OPTIONS)(function)


def inlined(function: Callable[..., Any]) -> Any:
    """Compile `function` so that its body becomes part of the kernels that call it."""
    return numba.njit(inline="always", **_OPTIONS)(function)


def threaded_kernel(function: Callable[..., Any]) -> Any:
    """Compile `function` with its ``prange`` loops spread over threads, cached on disk."""
    return numba.njit(parallel=True, **_OPTIONS)(function)
