"""Functions of one contact, compiled as parts of the kernels of an exchange, and how amounts become whole quanta."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.numerics.function_digest import digest_of
from pdem.numerics.kernel_factory import inlined_exactly
from pdem.numerics.kernels import inlined
from pdem.numerics.quanta import MOST
from pdem.numerics.user_functions import compiled

if TYPE_CHECKING:
    from collections.abc import Callable

    from pdem.foundation.array_types import Integers

NO_ID = np.iinfo(np.int64).max
"""Instead of an id, if all flows are finite."""


def version_of(function: Callable[..., Any], *, remembers: bool = False) -> str:
    """Return the name of the kernels that are compiled from a plain function."""
    return f"{function.__name__}_{digest_of(function)}{'_remembers' * remembers}"


def amount_of(flow: Callable[..., Any], *, remembers: bool) -> Any:
    """Compile a flow with the memory of a contact as its last argument; it returns amount and memory."""
    given = compiled(flow)
    if remembers:
        return given

    @inlined_exactly
    def forgetful(
        value: float, other: float, radius: float, other_radius: float, overlap: float, pair: int, dt: float,
        parameters: Any, memory: float,
    ) -> tuple[float, float]:  # fmt: skip
        return given(value, other, radius, other_radius, overlap, pair, dt, parameters), memory

    return forgetful


def wall_amount_of(flow: Callable[..., Any], *, remembers: bool) -> Any:
    """Compile a flow into walls as `amount_of` does; it has one radius."""
    given = compiled(flow)
    if remembers:
        return given

    @inlined_exactly
    def forgetful(
        value: float, wall_value: float, radius: float, overlap: float, pair: int, dt: float, parameters: Any,
        memory: float,
    ) -> tuple[float, float]:  # fmt: skip
        return given(value, wall_value, radius, overlap, pair, dt, parameters), memory

    return forgetful


@inlined
def is_possible(quanta: float) -> bool:
    """Return whether a flow is finite, and its number of quanta is counted exactly."""
    return abs(quanta) <= MOST


@inlined
def note_bad(bad: Integers, first: int, second: int) -> None:
    """Record a contact with an invalid flow, unless one with lower ids (or wall) is recorded already."""
    if first < bad[0] or (first == bad[0] and second < bad[1]):
        bad[0], bad[1] = first, second
