"""Checks of arguments of public functions: convert a value, or raise an error that names the argument."""

from __future__ import annotations

import math
import numbers
import warnings
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

from pdem.foundation.errors import InputError, PdemError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pdem.foundation.array_types import Integers

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

_LARGEST_ID = 2**63 - 1
_LONGEST = 60


def shown(value: object) -> str:
    """Return the representation of a value for an error message: one line of at most 60 characters."""
    text = " ".join(repr(value).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def whole_number(name: str, value: object, least: int = 0) -> int:
    """Return a value as int; integers of NumPy are accepted, floats and booleans are not.

    Raises
    ------
    InputError
        If the value is not a whole number, or is below `least`.
    """
    if not isinstance(value, numbers.Integral) or isinstance(value, bool):
        raise InputError(f"{name} is {shown(value)}; give a whole number of at least {least}")
    if value < least:
        raise InputError(f"{name} is {value}; give at least {least}")
    return int(value)


def real_number(name: str, value: object, error: type[PdemError] = InputError) -> float:
    """Return a value as a finite float.

    Raises
    ------
    InputError
        Or the class `error`, if the value is not a finite number.
    """
    if not isinstance(value, numbers.Real) or isinstance(value, bool) or not math.isfinite(value):
        raise error(f"{name} is {shown(value)}; give a finite number")
    return float(value)


def path_of(value: object, error: type[PdemError] = InputError) -> Path:
    """Return a value as a path.

    Raises
    ------
    InputError
        Or the class `error`, if the value is neither a string nor a path.
    """
    try:
        return Path(value)  # type: ignore[arg-type]
    except TypeError:
        raise error(f"{shown(value)} is no path of a file; give a text or a pathlib.Path") from None


def instance_of(name: str, value: Any, kind: type, remedy: str) -> Any:
    """Return a value unchanged if it is an instance of `kind`.

    Raises
    ------
    InputError
        If the value has a different type; the message ends with `remedy`.
    """
    if not isinstance(value, kind):
        raise InputError(f"{name} is {shown(value)}, not a {kind.__name__}; {remedy}")
    return value


def ids_of(name: str, values: Any) -> Integers:
    """Return particle ids as a sorted array without duplicates, shape (n,).

    Raises
    ------
    InputError
        If the values are not whole numbers, or an id exceeds the largest int64.
    """
    given = list(values) if isinstance(values, (set, frozenset, range)) else values
    try:
        array = np.asarray(given).reshape(-1)
    except (TypeError, ValueError):  # rows of different lengths
        array = np.array([None])
    if array.size and array.dtype.kind not in "iu":
        raise InputError(f"{name} is {shown(values)}; give ids of particles, which are whole numbers")
    if array.size and int(array.max()) > _LARGEST_ID:
        raise InputError(f"{name} holds {array.max()}; ids of particles are at most {_LARGEST_ID}")
    return np.unique(array.astype(np.int64))


def earlier_argument(old: str, new: str) -> Callable[[Callable[Parameters, Result]], Callable[Parameters, Result]]:
    """Return a decorator for a function with an argument that had a different name in earlier versions of pdem.

    Parameters
    ----------
    old, new : str
        Earlier and present name of the argument. The function accepts the earlier name as a keyword, with a
        `FutureWarning`; with both names it raises an `InputError`.
    """

    def accepting(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
        @wraps(function)
        def renamed(*arguments: Parameters.args, **named: Parameters.kwargs) -> Result:
            if old in named:
                if new in named:
                    raise InputError(f"{old} is the earlier name of {new}: give only {new}")
                warnings.warn(f"{old} is called {new} now", FutureWarning, stacklevel=2)
                named[new] = named.pop(old)
            return function(*arguments, **named)

        return renamed

    return accepting
