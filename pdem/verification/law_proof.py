"""The outcome of one check of a contact law: value, limit and remedy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pdem.numerics.function_digest import function_within
from pdem.numerics.function_trials import place_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from pdem.contact.law.contact_law import Recipe
    from pdem.contact.law.parts import Part
    from pdem.preflight.findings import Level

DEEPEST = 0.3
"""Largest overlap at which functions are checked, in effective radii."""

POINTS = 40

TOUCH = 1e-9
"""Largest force at zero overlap, relative to the force at the overlap of an impact."""

SOFTER = 0.05
"""Largest relative amount by which a declared stiffness may be below the derivative of the force."""

UNLIKE = 1e-2
"""Largest relative difference between the derivative of the energy of a part and its force."""


@dataclass(frozen=True)
class Proof:
    """The outcome of one check of a law.

    Attributes
    ----------
    name : str
        The property to prove.
    value : float
        Measured value.
    limit : float
        Largest accepted value.
    remedy : str
        Location of the fault in the law, and its correction.
    fault : {"error", "warning"}
        Severity if the value exceeds the limit.
    """

    name: str
    value: float
    limit: float
    remedy: str
    fault: Level = "error"

    @property
    def holds(self) -> bool:
        """Whether the value is within its limit; NaN is not."""
        return self.value <= self.limit

    @property
    def level(self) -> Level:
        """Severity of the outcome."""
        return "info" if self.holds else self.fault

    def __str__(self) -> str:
        """Return the outcome in one line."""
        text = f"{self.name}: {self.value:.3g}, at most {self.limit:.3g} is allowed"
        return text if self.holds else f"{text}; {self.remedy}"


def places_of(recipe: Recipe, kind: str) -> str:
    """Return the source locations of the part of a law for a kind of motion, or of all parts for all motions."""
    use = getattr(recipe, kind, None)
    uses = recipe.uses if use is None else [use]
    return " or ".join(place_of_part(one.part) for one in uses)


def place_of_part(part: Part) -> str:
    """Return the source location of a part: file, function and line of a user's function, otherwise its name."""
    functions = functions_of(part)
    return place_of(next(iter(functions.values()))) if functions else f"{part.role} {part.model}"


def functions_of(part: Part) -> dict[str, Callable[..., Any]]:
    """Return the user's functions of a part, by name of their fields.

    If pdem has wrapped a function of a user, the original function is returned.
    """
    fields = ("elastic", "force", "torque", "energy", "gap", "steepest")
    found = {name: _of_user(getattr(part, name, None)) for name in fields}
    return {name: one for name, one in found.items() if one is not None}


def _of_user(function: Callable[..., Any] | None) -> Callable[..., Any] | None:
    if function is None or not function.__module__.startswith("pdem."):
        return function
    within = function_within(function)
    return None if within.__module__.startswith("pdem.") else within
