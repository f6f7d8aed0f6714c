"""Static and dynamic friction of resistances: a contact sticks up to the first limit and slips at the second."""

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
    """Return an error in the two frictions, or ""."""
    static, dynamic = keys.get("friction"), keys.get("dynamic_friction")
    if static is None or dynamic is None or dynamic <= static:
        return ""
    return f"dynamic_friction is {dynamic:g}, more than friction, {static:g}: what slips cannot hold better; give less"


def _with_dynamic(values: Callable[[Pair], Sequence[float]], pair: Pair) -> tuple[float, ...]:
    return *values(pair), pair.keys["dynamic_friction"]


def torques_of(limited: Callable[..., Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Make the torque of a resistance with one friction, and the torque with two frictions.

    Parameters
    ----------
    limited : callable
        ``limited(step, contact, c, load, held, frictions)`` returns the torque on the second body (3) [N m], the new
        history of the spring, a tuple like `held`, the energy in it [J], and whether the contact sticks. Frictions are
        the static and the dynamic one.
    """

    def torque(step: Any, contact: Any, c: Any, load: Any, history: tuple[float, ...]) -> tuple[Any, ...]:
        """Return the torque, the new history, and the energy."""
        value, now, stored, _ = limited(step, contact, c, load, history, (c.friction, c.friction))
        return value, now, stored

    def torque_of_two(step: Any, contact: Any, c: Any, load: Any, history: tuple[float, ...]) -> tuple[Any, ...]:
        """Return torque, history and energy with two frictions; the last history column is 1 if the contact slips."""
        frictions = (c.dynamic if history[-1] > 0.5 else c.friction), c.dynamic
        value, now, stored, sticks = limited(step, contact, c, load, history[:-1], frictions)
        return value, (*now, 0.0 if sticks else 1.0), stored

    return torque, torque_of_two


def with_two_frictions(part: ResistancePart, torque: Callable[..., Any]) -> ResistancePart:
    """Return a resistance together with its variant for contacts that have two frictions.

    Parameters
    ----------
    part : ResistancePart
        Resistance with one friction.
    torque : callable
        Torque with two frictions: its coefficients end with ``dynamic``, its history with 1 if the contact slips.
    """
    values = partial(_with_dynamic, part.values)
    both = replace(
        part, model=f"{part.model}-dynamic", coefficients=(*part.coefficients, "dynamic"), values=values,
        history=(*part.history, HistoryColumn(f"{part.role}_slips", "")), torque=torque,
    )  # fmt: skip
    return replace(part, two_frictions=both)
