"""Observers: functions of a script that are called between steps, and their intervals."""

from __future__ import annotations

import math
import types
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from pdem.foundation.arguments import real_number, shown, whole_number
from pdem.foundation.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Function = Callable[[Any], Any]

LONGEST_NAME = 128
"""Bytes of a name of an observer or a column."""


@dataclass(frozen=True)
class Observer:
    """A function of a simulation, and the interval of its calls.

    Attributes
    ----------
    function : callable
        ``function(simulation)``.
    time : float or None
        Interval of simulated time [s].
    steps : int or None
        Interval in steps, instead of `time`.
    """

    function: Function
    time: float | None = None
    steps: int | None = None

    def __call__(self, simulation: Any) -> Any:
        """Call the function."""
        return self.function(simulation)

    @property
    def name(self) -> str:
        """Name of the function, or of the class of a callable object."""
        function: Any = self.function
        while isinstance(function, partial):
            function = function.func
        name = str(getattr(function, "__name__", type(function).__name__))
        return name.encode()[:LONGEST_NAME].decode(errors="ignore")

    @property
    def code(self) -> types.CodeType | None:
        """Its code, if it is written in Python."""
        function: Any = self.function
        while isinstance(function, (partial, types.MethodType)):
            function = function.func if isinstance(function, partial) else function.__func__
        if not isinstance(function, types.FunctionType):
            function = vars(type(function)).get("__call__")
        return getattr(function, "__code__", None)

    def steps_of(self, length: float, usual: float) -> int:
        """Return the number of steps between two calls, for a time step and a usual interval [s]."""
        if self.steps is not None:
            return self.steps
        return max(1, round((usual if self.time is None else self.time) / length))


def every(time: float | None = None, *, steps: int | None = None) -> Callable[[Function], Observer]:
    """Set how often an observer is called: ``@pdem.every(0.01)`` or ``@pdem.every(steps=100)``.

    Parameters
    ----------
    time : float, optional
        Interval of simulated time [s]; calls are at whole numbers of steps, as output is.
    steps : int, optional
        Number of steps, instead of `time`.

    Returns
    -------
    callable
        Decorator that makes an `Observer` of a function. Without it, an observer is called at each line of the series.

    Raises
    ------
    InputError
        Unless exactly one of both is a positive number.

    Examples
    --------
    >>> import pdem
    >>> @pdem.every(0.01)
    ... def height(simulation):
    ...     return {"height": ("m", simulation.maximum(simulation.particles.position[:, 2]))}
    """
    if (time is None) == (steps is None):
        raise InputError("pdem.every takes an interval in s, pdem.every(0.01), or steps: pdem.every(steps=100)")
    if steps is not None:
        whole_number("steps of pdem.every", steps, 1)
    elif real_number("the interval of pdem.every", time) <= 0.0:
        raise InputError(f"the interval of pdem.every is {time} s; give a positive one")

    def decorate(function: Function) -> Observer:
        return observer_of(function, time, steps)

    return decorate


def observer_of(function: Any, time: float | None = None, steps: int | None = None) -> Observer:
    """Return an observer for a callable of a user.

    Raises
    ------
    InputError
        If it cannot be called.
    """
    if isinstance(function, Observer):
        return function if time is None and steps is None else Observer(function.function, time, steps)
    if not callable(function):
        raise InputError(f"an observer is {shown(function)}; give a function of the simulation")
    return Observer(function, time, steps)


def named(observers: Sequence[Observer]) -> dict[str, Observer]:
    """Return observers by name, in their order; the second observer with a name gets the suffix ``#2``."""
    found: dict[str, Observer] = {}
    for one in observers:
        number, name = 1, one.name
        while name in found:
            number += 1
            name = f"{one.name}#{number}"
        found[name] = one
    return found


def column_of(name: object, value: object) -> tuple[str, float]:
    """Return unit and value of a column that an observer returns: a number, or ``(unit, number)``.

    Raises
    ------
    InputError
        If the name is invalid for a column, or the value is no number; NaN and infinity are allowed.
    """
    if not isinstance(name, str) or not name or set(name) & set(',"\n[]') or len(name.encode()) > LONGEST_NAME:
        raise InputError(
            f"the column {shown(name)}: a name is a text without commas, quotes and brackets, of up to {LONGEST_NAME} "
            "bytes"
        )
    unit = "1"
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str):
        unit, value = value
        if set(unit) & set(',"\n[]') or len(unit.encode()) > LONGEST_NAME:
            raise InputError(f"the column {name} has the unit {shown(unit)}; leave out commas, quotes and brackets")
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise InputError(
            f"the column {name} is {shown(value)}; return a number, or a unit and a number: ('kg', 0.5)"
        ) from None
    return unit, math.nan if math.isnan(number) else number
