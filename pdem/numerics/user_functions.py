"""Functions passed to kernels, such as parts of a user's contact law, compiled into the kernels that call them.

A function may call plain functions of its module and read numbers from it: they are compiled with it. All are compiled
without contraction of products and sums. Results then have the same bits for any surrounding code, with or without the
energy ledger.
"""

from __future__ import annotations

import types
from functools import cache
from typing import TYPE_CHECKING, Any

from pdem.numerics.function_digest import cells_of, referenced
from pdem.numerics.kernel_factory import inlined_exactly

if TYPE_CHECKING:
    from collections.abc import Callable


@cache
def compiled(function: Callable[..., Any]) -> Any:
    """Return a plain function compiled as a part of the kernels that call it, together with the functions it calls."""
    names = {
        name: compiled(value)
        for name, value in referenced(function).items()
        if isinstance(value, types.FunctionType) and value is not function
    }
    # stored machine code may be loaded where a user's module cannot be imported: the copy belongs to this module
    copy = types.FunctionType(
        function.__code__, {**function.__globals__, **names, "__name__": __name__}, function.__name__,
        function.__defaults__,
        tuple(types.CellType(names.get(name, value)) for name, value in cells_of(function)) or None,
    )  # fmt: skip
    return inlined_exactly(copy)
