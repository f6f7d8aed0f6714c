"""Rules of the case file on wear of walls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.case.messages import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.case.rules.value_rules import Location
    from pdem.case.sections.schema import CaseData
    from pdem.case.sections.walls import Wall


def wear_problems(case: CaseData, wall: Wall, where: Location) -> Iterator[Problem]:
    """Yield the problems of the wear of a wall."""
    if wall.wear is None or wall.wear.model != "archard":
        return
    if not case.output.energies:
        text = "needs the energy that contacts lose by sliding, which output.energies = false leaves out; set it true"
        yield Problem((*where, "wear", "model"), text)
    found = [case.interaction(name, wall.material) for name in case.materials]
    frictions = [one.friction for one in found if one is not None]
    if frictions and not any(frictions):
        text = f"follows from the work of friction, and nothing has friction with {wall.material}; give it some"
        yield Problem((*where, "wear", "model"), text)
