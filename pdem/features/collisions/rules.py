"""Rules of the case file on the counting of collisions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.case.messages import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.case.sections.schema import CaseData

MOST_GROUPS = 1000
"""Largest number of groups of collisions of a case."""


def collision_problems(case: CaseData) -> Iterator[Problem]:
    """Yield the problems of the counting of collisions."""
    wanted, where = case.output.collision_energies, ("output", "collision_energies")
    if wanted is None:
        return
    if not case.output.energies:
        text = "needs the energies that contacts lose, which output.energies = false leaves out; set it to true"
        yield Problem(where, text)
    if wanted.highest <= wanted.lowest:
        yield Problem((*where, "highest"), f"must be greater than lowest ({wanted.lowest:g} J)")
    if any(low >= high for low, high in zip(wanted.sizes, wanted.sizes[1:], strict=False)):
        yield Problem((*where, "sizes"), "must rise")
    kinds = len(case.materials) * (len(wanted.sizes) + 1)
    groups = kinds * (kinds + 1) // 2 + kinds * len(case.materials)
    if groups > MOST_GROUPS:
        text = f"make {groups:,} groups of collisions, more than {MOST_GROUPS:,}; give fewer"
        yield Problem((*where, "sizes"), text)
