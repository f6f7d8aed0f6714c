"""One thing that has been proved of a contact law, or refuted: number, limit, and what to do."""

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
"""Overlap over the effective radius up to which functions are looked at."""

POINTS = 40

TOUCH = 1e-9
"""Force at the touch over that at the depth of an impact."""

SOFTER = 0.05
"""By how much a declared stiffness may be less than the derivative of the force, over that."""

UNLIKE = 1e-2
"""By how much the energy of a part may differ from the work of its force, over that."""


@dataclass(frozen=True)
class Proof:
    """The outcome of one check of a law.

    Attributes
    ----------
    name : str
        What was to be shown.
    value : float
        What was found.
    limit : float
        What `value` may be at most.
    remedy : str
        Where and what is to be done if it is more.
    fault : {"error", "warning"}
        What it is if it is more.
    """

    name: str
    value: float
    limit: float
    remedy: str
    fault: Level = "error"

    @property
    def holds(self) -> bool:
        """Whether the value is within its limit; one that is no number is not."""
        return self.value <= self.limit

    @property
    def level(self) -> Level:
        """Severity."""
        return "info" if self.holds else self.fault

    def __str__(self) -> str:
        """Return what was found in a line."""
        text = f"{self.name}: {self.value:.3g}, at most {self.limit:.3g} is allowed"
        return text if self.holds else f"{text}; {self.remedy}"


def places_of(recipe: Recipe, kind: str) -> str:
    """Return where the part of a law is computed that a kind of motion is about; for all motions all parts."""
    use = getattr(recipe, kind, None)
    uses = recipe.uses if use is None else [use]
    return " or ".join(place_of_part(one.part) for one in uses)


def place_of_part(part: Part) -> str:
    """Return where a part is computed: file, function and line of a user's, else its name."""
    functions = functions_of(part)
    return place_of(next(iter(functions.values()))) if functions else f"{part.role} {part.model}"


def functions_of(part: Part) -> dict[str, Callable[..., Any]]:
    """Return the functions of a part that a user has written, by the names of their fields.

    Where pdem has made a function of one of a user, it is that one.
    """
    fields = ("elastic", "force", "torque", "energy", "gap", "steepest")
    found = {name: _of_user(getattr(part, name, None)) for name in fields}
    return {name: one for name, one in found.items() if one is not None}


def _of_user(function: Callable[..., Any] | None) -> Callable[..., Any] | None:
    if function is None or not function.__module__.startswith("pdem."):
        return function
    within = function_within(function)
    return None if within.__module__.startswith("pdem.") else within
