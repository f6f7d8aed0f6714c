"""Static and dynamic friction of resistances: what holds up to the first goes on with the second."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from pdem.contact.law.parts import HistoryColumn, Key, ResistancePart

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pdem.contact.law.parts import Pair

DYNAMIC_FRICTION = Key(
    "dynamic_friction",
    "",
    "Friction of a contact that slips, at most that of one that sticks; the same unless given.",
    required=False,
    at_least=0.0,
)


def frictions_rule(keys: Mapping[str, Any]) -> str:
    """Return what is wrong with the two frictions, or ""."""
    static, dynamic = keys.get("friction"), keys.get("dynamic_friction")
    if static is None or dynamic is None or dynamic <= static:
        return ""
    return f"dynamic_friction is {dynamic:g}, more than friction, {static:g}: what slips cannot hold better; give less"


def _with_dynamic(values: Callable[[Pair], Sequence[float]], pair: Pair) -> tuple[float, ...]:
    return *values(pair), pair.keys["dynamic_friction"]


def with_two_frictions(part: ResistancePart, torque: Callable[..., Any]) -> ResistancePart:
    """Return a resistance with another one for contacts that have two frictions.

    Parameters
    ----------
    part : ResistancePart
        With one friction.
    torque : callable
        Of the one with two: its coefficients end with ``dynamic``, its history with 1 where the contact slips.
    """
    values = partial(_with_dynamic, part.values)
    both = replace(
        part, model=f"{part.model}-dynamic", coefficients=(*part.coefficients, "dynamic"), values=values,
        history=(*part.history, HistoryColumn(f"{part.role}_slips", "")), torque=torque,
    )  # fmt: skip
    return replace(part, two_frictions=both)
