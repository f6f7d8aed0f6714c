"""Trials of users' functions before a run: whether they run, return the required values, and compile."""

from __future__ import annotations

import math
import os
import traceback
from typing import TYPE_CHECKING, Any

from pdem.foundation.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable


def check_values(function: Callable[..., Any], arguments: tuple[Any, ...], shape: Any, wanted: str, at: str) -> None:
    """Require that a function runs, and returns finite numbers in the right structure.

    Parameters
    ----------
    function : callable
        A plain function.
    arguments : tuple
        Arguments for the call.
    shape : 0 or tuple
        Required structure of the result: tuples, with 0 for each number.
    wanted, at : str
        Required result, and conditions of the trial, for messages.

    Raises
    ------
    InputError
        With file, function and line.
    """
    try:
        found = function(*arguments)
    except Exception as error:
        line = line_of(error, function)
        raise InputError(f"{place_of(function, line)}: {type(error).__name__}: {error}; mend it") from None
    if _shape(found) != shape:
        raise InputError(f"{place_of(function)}: returns {found!r}; it has to return {wanted}")
    if not all(math.isfinite(one) for one in _flat(found)):
        raise InputError(f"{place_of(function)}: returns {found!r} {at}; it has to be finite there")


def line_of(error: BaseException, function: Callable[..., Any]) -> int:
    """Return the last line of the function's file in an error's traceback, or else the function's first line."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [one.lineno for one in frames if one.filename == file_of(function) and one.lineno is not None]
    return lines[-1] if lines else function.__code__.co_firstlineno


def _shape(found: Any) -> Any:
    """Return the structure of a value: nested tuples, with 0 for each number and None for anything else."""
    if isinstance(found, tuple):
        return tuple(_shape(one) for one in found)
    return 0 if isinstance(found, (int, float)) and not isinstance(found, bool) else None


def _flat(found: Any) -> list[float]:
    return [number for one in found for number in _flat(one)] if isinstance(found, tuple) else [float(found)]


_tried: dict[Callable[..., Any], tuple[int, str] | None] = {}  # problem of each function; each is tried once


def check_compiles(function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """Require that a function can be compiled.

    Raises
    ------
    InputError
        With file, function and line.
    """
    if function not in _tried:
        _tried[function] = _compile_problem(function, arguments)
    problem = _tried[function]
    if problem is not None:
        line, text = problem
        raise InputError(
            f"{place_of(function, line)}: cannot be compiled: {text}; use numbers, tuples, math, and functions of these"
        )


def _compile_problem(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[int, str] | None:
    """Return line and reason if a function cannot be compiled, None if it can."""
    import numba

    from pdem.numerics.user_functions import compiled

    inner = compiled(function)
    try:
        numba.njit(lambda *given: inner(*given))(*arguments)
    except numba.core.errors.NumbaError as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        places = [line for line in lines if line.startswith("File ") and os.path.basename(file_of(function)) in line]
        number = places[-1].rpartition(", line ")[2].strip(":. ") if places else ""
        reasons = [line for line in lines if not line.startswith(("Failed in", "During", "File ", "["))]
        return int(number) if number.isdigit() else function.__code__.co_firstlineno, " ".join(reasons[:1])
    return None


def file_of(function: Callable[..., Any]) -> str:
    """Return the file of a plain function."""
    return function.__code__.co_filename


def place_of(function: Callable[..., Any], line: int | None = None) -> str:
    """Return file, name and line of a plain function, by default its first line."""
    return f"{file_of(function)}, {function.__name__}, line {line or function.__code__.co_firstlineno}"
