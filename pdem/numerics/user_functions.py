"""Functions that kernels are given, such as those of a user's contact law, compiled into the kernels that call them.

A function may call other plain functions of its module, and read numbers of it: they are compiled with it. All are
compiled without contraction of products and sums: what they return then has the same bits whatever else is computed
beside it, with the energy ledger or without.
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
    """Return a plain function compiled as a part of the kernels that call it, and with it the functions it calls."""
    names = {
        name: compiled(value)
        for name, value in referenced(function).items()
        if isinstance(value, types.FunctionType) and value is not function
    }
    # machine code is read back where the module of a user's function cannot be imported: it counts as of this one
    copy = types.FunctionType(
        function.__code__, {**function.__globals__, **names, "__name__": __name__}, function.__name__,
        function.__defaults__,
        tuple(types.CellType(names.get(name, value)) for name, value in cells_of(function)) or None,
    )  # fmt: skip
    return inlined_exactly(copy)
