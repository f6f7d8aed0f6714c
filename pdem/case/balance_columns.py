"""Names of the columns of the series that tell how much is in a run, and how much has left the domain."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pdem.case.sections.schema import CaseData

    Column = tuple[str, str, str]

SIDES = "-x", "+x", "-y", "+y", "-z", "+z"
"""Sides of the domain."""

LEFT = "left"
"""With which the names of columns of what has left the domain begin."""


def open_sides(case: CaseData) -> list[str]:
    """Return the sides of the domain through which particles can leave it: in 2D four at most."""
    domain = case.domain
    return [
        side
        for axis in range(domain.dimension)
        if not domain.periodic[axis]
        for side in SIDES[2 * axis :][:2]
    ]


def balance_columns(case: CaseData) -> list[Column]:
    """Return names, units and types of these columns: the mass inside, what has left, and that by each open side."""
    found: list[Column] = [("mass", "kg", "f8"), (LEFT, "1", "i8"), (f"{LEFT}_mass", "kg", "f8")]
    for side in open_sides(case):
        found += [(f"{LEFT}_{side}", "1", "i8"), (f"{LEFT}_mass_{side}", "kg", "f8")]
    return found
