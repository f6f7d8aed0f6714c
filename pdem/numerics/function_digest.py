"""Identity of a function: its code, and the numbers and functions that it refers to."""

from __future__ import annotations

import dis
import hashlib
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def referenced(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the objects outside of a function that it refers to, by name."""
    found = {name: function.__globals__[name] for name in _names(function.__code__) if name in function.__globals__}
    return {**found, **dict(cells_of(function))}


def digest_of(*functions: Callable[..., Any]) -> str:
    """Return a digest of the behaviour of functions: their code, and the numbers and functions that they refer to."""
    digest = hashlib.blake2b(digest_size=8)
    for function in functions:
        _add(function, digest, set())
    return digest.hexdigest()


def _add(function: Callable[..., Any], digest: Any, seen: set[Any]) -> None:
    if function in seen:
        return
    seen.add(function)
    _add_code(function.__code__, digest)
    digest.update(repr(function.__defaults__).encode())
    for name, value in sorted(referenced(function).items()):
        digest.update(name.encode())
        if isinstance(value, types.FunctionType):
            _add(value, digest, seen)
        else:
            digest.update((value.__name__ if isinstance(value, types.ModuleType) else repr(value)).encode())


def _add_code(code: types.CodeType, digest: Any) -> None:
    digest.update(code.co_code)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            _add_code(constant, digest)
        else:
            digest.update(repr(constant).encode())
    digest.update(repr((code.co_names, code.co_varnames)).encode())


def _names(code: types.CodeType) -> Iterator[str]:
    """Yield the names that code looks up in its module, but not the names of fields."""
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield instruction.argval
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def cells_of(function: Callable[..., Any]) -> list[tuple[str, Any]]:
    """Return names and contents of the variables that a function has from its enclosing function."""
    cells = function.__closure__ or ()
    return [(name, cell.cell_contents) for name, cell in zip(function.__code__.co_freevars, cells, strict=True)]


def function_within(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that a wrapper was made from: the first function in its closure, or else itself."""
    within = (one for _, one in cells_of(function) if isinstance(one, types.FunctionType))
    return next(within, function)
