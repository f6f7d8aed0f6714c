"""Checks of functions of users' laws before a run: whether they run, return the right numbers, and compile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pdem.contact.law.adhesion_part import AdhesionPart
from pdem.contact.law.parts import Contact, Load, NormalPart, Pair, fields_of, tuple_type
from pdem.motion.time_step import TimeStep
from pdem.numerics.function_digest import function_within
from pdem.numerics.function_trials import check_compiles, check_values

if TYPE_CHECKING:
    from collections.abc import Callable

    from pdem.contact.law.parts import Part

STEP = TimeStep(1e-6, 1e6)
CONTACT = Contact(
    1e-5, 0.99e-5, (0.0, 0.6, 0.8), (0.1, -0.08, 0.06), (0.1, -0.08, 0.06), (1.0, 2.0, 3.0), 0.5, 1e-3, 1e-5, 1e5, 4e-12
)
LOAD = Load(1e-3, 1e3, 1.0, 1e-6)
"""The load of an example contact, for trials."""


def check_part(part: Part, pair: Pair) -> None:
    """Try the functions of a part that a user has written.

    Parameters
    ----------
    part : Part
        A part with a digest; parts of pdem itself are not tried.
    pair : Pair
        Materials and keys of its use.

    Raises
    ------
    InputError
        If a function fails, returns invalid values, or cannot be compiled; it names file, function, line and remedy.
    """
    if not part.digest:
        return
    values = tuple(float(value) for value in part.values(pair))
    at = f"at an overlap of {CONTACT.overlap:g} m of a pair of radius {CONTACT.radius:g} m"
    modulus = (1.0,) if part.role == "adhesion" else ()  # of the normal part
    for function, arguments, wanted in _calls(part, tuple_type(fields_of(part))(*modulus, *values)):
        check_values(function, arguments, _shape_wanted(arguments, wanted), wanted, at)
        check_compiles(function, arguments)


def _calls(part: Part, c: Any) -> list[tuple[Callable[..., Any], tuple[Any, ...], str]]:
    """Return the functions of a part, arguments for a trial, and a text on the required results."""
    if isinstance(part, NormalPart):
        return _normal_calls(part, c)
    if isinstance(part, AdhesionPart):
        pull = function_within(part.elastic)
        return [
            (pull, (CONTACT.overlap, CONTACT.radius, c), "the pull and its work, two numbers"),
            (part.gap, (CONTACT.radius, c), "the gap, one number"),
        ]
    history = tuple(0.0 for _ in part.history)
    wanted = f"three things: (x, y, z), the new history, {_numbers(part)}, and the energy"
    function = part.force if part.role == "tangential" else part.torque  # type: ignore[attr-defined]
    return [(function, (STEP, CONTACT, c, LOAD, history), wanted)]


def _normal_calls(part: NormalPart, c: Any) -> list[tuple[Callable[..., Any], tuple[Any, ...], str]]:
    arguments = CONTACT.overlap, CONTACT.radius, c
    unloading = [] if part.steepest is None else [(part.steepest, arguments, "the stiffness, one number")]
    if not part.history:
        return [
            (part.elastic, arguments, "the force and the stiffness, two numbers"),
            (part.energy, arguments, "the energy, one number"), *unloading,
        ]  # fmt: skip
    given, energy = (function_within(one) for one in (part.elastic, part.energy))
    remembering = *arguments, tuple(0.0 for _ in part.history)
    wanted = f"four things: the force, the stiffness, the new history, {_numbers(part)}, and the energy lost"
    return [(given, remembering, wanted), (energy, remembering, "the energy, one number"), *unloading]


def _numbers(part: Part) -> str:
    count = len(part.history)
    return {0: "()", 1: "a tuple of one number"}.get(count, f"a tuple of {count} numbers")


def _shape_wanted(arguments: tuple[Any, ...], wanted: str) -> Any:
    if wanted.endswith("two numbers"):
        return (0, 0)
    if wanted.endswith("one number"):
        return 0
    if wanted.startswith("four things"):
        return (0, 0, tuple(0 for _ in arguments[-1]), 0)
    return ((0, 0, 0), tuple(0 for _ in arguments[-1]), 0)
