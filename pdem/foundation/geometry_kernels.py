"""How kernels are compiled that decide something by geometry and are called from inside other kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numba

from pdem.foundation.kernels import _OPTIONS

if TYPE_CHECKING:
    from collections.abc import Callable


def geometry_kernel(function: Callable[..., Any]) -> Any:
    """Compile `function` without contraction and without reference counts, cached on disk.

    A comparison then falls the same way in whichever kernel it ends up. Counting references to the many
    arrays that such functions are given costs several times their arithmetic; in return they cannot
    allocate (numba refuses to compile what does).
    """
    return numba.njit(**{**_OPTIONS, "fastmath": False, "_nrt": False})(function)
