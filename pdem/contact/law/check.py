"""Functions of users' laws are tried before they meet a contact: do they run, return what they have to, and compile."""

from __future__ import annotations

import math
import os
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pdem.contact.law.parts import Contact, Load, NormalPart, Pair, Step, tuple_type
from pdem.foundation.errors import InputError

if TYPE_CHECKING:
    from pdem.contact.law.parts import Part

STEP = Step(1e-6, 1e6)
CONTACT = Contact(
    1e-5,
    0.99e-5,
    (0.0, 0.6, 0.8),
    (0.1, -0.08, 0.06),
    (0.1, -0.08, 0.06),
    (1.0, 2.0, 3.0),
    0.5,
    1e-3,
    1e-5,
    1e5,
    4e-12,
)
LOAD = Load(1e-3, 1e3, 1.0, 1e-6)
"""A contact as it might be, for trials."""


def check_part(part: Part, pair: Pair) -> None:
    """Try the functions of a part that a user has written.

    Parameters
    ----------
    part : Part
        One with a digest; nothing is done with parts of pdem's own.
    pair : Pair
        Materials and keys for which it is going to be used.

    Raises
    ------
    InputError
        If a function fails, returns what it may not, or cannot be compiled; it names file, function, line and remedy.
    """
    if not part.digest:
        return
    values = tuple(float(value) for value in part.values(pair))
    for function, arguments, wanted in _calls(part, tuple_type(part.coefficients)(*values)):
        _check_values(function, arguments, wanted)
        _check_compiles(function, arguments)


def _calls(part: Part, c: Any) -> list[tuple[Callable[..., Any], tuple[Any, ...], str]]:
    """Return the functions of a part, arguments to try them with, and what they have to return."""
    if isinstance(part, NormalPart):
        arguments = (CONTACT.overlap, CONTACT.radius, c)
        return [
            (part.elastic, arguments, "the force and the stiffness, two numbers"),
            (part.energy, arguments, "the energy, one number"),
        ]
    history = tuple(0.0 for _ in part.history)
    numbers = {0: "()", 1: "a tuple of one number"}.get(len(history), f"a tuple of {len(history)} numbers")
    wanted = f"three things: (x, y, z), the new history, {numbers}, and the energy"
    function = part.force if part.role == "tangential" else part.torque  # type: ignore[attr-defined]
    return [(function, (STEP, CONTACT, c, LOAD, history), wanted)]


def _check_values(function: Callable[..., Any], arguments: tuple[Any, ...], wanted: str) -> None:
    try:
        found = function(*arguments)
    except Exception as error:
        lines = [
            frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == _file(function)
        ]
        line = lines[-1].lineno if lines else function.__code__.co_firstlineno
        raise InputError(f"{_place(function, line)}: {type(error).__name__}: {error}; mend it") from None
    if _shape(found) != _shape_wanted(arguments, wanted):
        raise InputError(f"{_place(function)}: returns {found!r}; it has to return {wanted}")
    if not all(math.isfinite(one) for one in _flat(found)):
        raise InputError(
            f"{_place(function)}: returns {found!r} at an overlap of {CONTACT.overlap:g} m of a pair of radius "
            f"{CONTACT.radius:g} m; it has to be finite there"
        )


def _shape_wanted(arguments: tuple[Any, ...], wanted: str) -> Any:
    if wanted.startswith("the force"):
        return (0, 0)
    if wanted.startswith("the energy"):
        return 0
    return ((0, 0, 0), tuple(0 for _ in arguments[-1]), 0)


def _shape(found: Any) -> Any:
    """Return the structure of tuples of numbers, with 0 for each number and None for what is none."""
    if isinstance(found, tuple):
        return tuple(_shape(one) for one in found)
    return 0 if isinstance(found, (int, float)) and not isinstance(found, bool) else None


def _flat(found: Any) -> list[float]:
    return [number for one in found for number in _flat(one)] if isinstance(found, tuple) else [float(found)]


_tried: dict[Callable[..., Any], tuple[int, str] | None] = {}  # what is wrong with each function, tried once


def _check_compiles(function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    if function not in _tried:
        _tried[function] = _compile_problem(function, arguments)
    problem = _tried[function]
    if problem is not None:
        line, text = problem
        raise InputError(
            f"{_place(function, line)}: cannot be compiled: {text}; use numbers, tuples, math, and functions of these"
        )


def _compile_problem(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[int, str] | None:
    """Return line and reason if a function cannot be compiled, None if it can."""
    import numba

    from pdem.contact.law.compiled import compiled

    inner = compiled(function)
    try:
        numba.njit(lambda *given: inner(*given))(*arguments)
    except numba.core.errors.NumbaError as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        places = [
            line for line in lines if line.startswith("File ") and os.path.basename(_file(function)) in line
        ]
        number = places[-1].rpartition(", line ")[2].strip(":. ") if places else ""
        reasons = [line for line in lines if not line.startswith(("Failed in", "During", "File ", "["))]
        return int(number) if number.isdigit() else function.__code__.co_firstlineno, " ".join(reasons[:1])
    return None


def _file(function: Callable[..., Any]) -> str:
    return function.__code__.co_filename


def _place(function: Callable[..., Any], line: int | None = None) -> str:
    return f"{_file(function)}, {function.__name__}, line {line or function.__code__.co_firstlineno}"
