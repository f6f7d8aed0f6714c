"""Arguments of public functions: taken as what they are meant to be, or refused by name before anything is done."""

from __future__ import annotations

import math
import numbers
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.foundation.errors import InputError, PdemError

if TYPE_CHECKING:
    from pdem.foundation.array_types import Integers

_LARGEST_ID = 2**63 - 1
_LONGEST = 60


def shown(value: object) -> str:
    """Return a value as an error message shows it: on one short line."""
    text = " ".join(repr(value).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def whole_number(name: str, value: object, least: int = 0) -> int:
    """Return a whole number; those of numpy are welcome, floats and truth values are not.

    Raises
    ------
    InputError
        If it is none, or below `least`.
    """
    if not isinstance(value, numbers.Integral) or isinstance(value, bool):
        raise InputError(f"{name} is {shown(value)}; give a whole number of at least {least}")
    if value < least:
        raise InputError(f"{name} is {value}; give at least {least}")
    return int(value)


def real_number(name: str, value: object, error: type[PdemError] = InputError) -> float:
    """Return a finite real number.

    Raises
    ------
    InputError
        Or another `error`, if it is none.
    """
    if not isinstance(value, numbers.Real) or isinstance(value, bool) or not math.isfinite(value):
        raise error(f"{name} is {shown(value)}; give a finite number")
    return float(value)


def path_of(value: object, error: type[PdemError] = InputError) -> Path:
    """Return a path.

    Raises
    ------
    InputError
        Or another `error`, if it is neither a text nor a path.
    """
    try:
        return Path(value)  # type: ignore[arg-type]
    except TypeError:
        raise error(f"{shown(value)} is no path of a file; give a text or a pathlib.Path") from None


def instance_of(name: str, value: Any, kind: type, remedy: str) -> Any:
    """Return a value of a type.

    Raises
    ------
    InputError
        If it is of another, with what to do.
    """
    if not isinstance(value, kind):
        raise InputError(f"{name} is {shown(value)}, not a {kind.__name__}; {remedy}")
    return value


def ids_of(name: str, values: Any) -> Integers:
    """Return ids of particles, each once, in rising order.

    Raises
    ------
    InputError
        If they are no whole numbers.
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
