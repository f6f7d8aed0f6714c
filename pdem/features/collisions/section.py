"""``[output.collision_energies]``: what collisions lose."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from pdem.case.sections.base import Positive, Section, entry


class CollisionsToCount(Section):
    """``collision_energies``: numbers of collisions by the energy that they lose, in ``collisions.csv``.

    They are counted by pair of materials, for walls apart, and by normal, tangential and total loss.
    """

    lowest: Positive = entry(
        "Smallest energy of the bins, in J; collisions below are counted in one bin.", default=1e-12, unit="J"
    )
    highest: Positive = entry(
        "Largest energy of the bins, in J; collisions above are counted in one bin.", default=1e3, unit="J"
    )
    per_decade: Annotated[int, Field(ge=1, le=100)] = entry("Number of bins per factor of ten.", default=5)
    sizes: Annotated[tuple[Positive, ...], Field(strict=False)] = entry(
        "Radii in increasing order, in m: collisions are counted by size classes between these as well.",
        default=(),
        unit="m",
    )
