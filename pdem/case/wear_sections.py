"""``[walls.wear]`` and ``[output.collision_energies]``: what collisions do to walls, and what they lose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from pdem.case.base import Positive, Section
from pdem.case.messages import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.case.schema import CaseData
    from pdem.case.value_rules import Location
    from pdem.case.walls import Wall

MOST_GROUPS = 1000
"""Groups of collisions of a case."""


class Wear(Section):
    """``wear``: what particles take off a wall, as a depth by facet in ``walls.vtkhdf``. The mesh stays as it is.

    Attributes
    ----------
    model : {"archard", "finnie"}
        By sliding, ``coefficient * normal force * way``; or by impacts, ``coefficient * m v**2 * f(angle)``, with
        Finnie's function of the angle.
    coefficient : float
        In 1/Pa. Archard: the wear coefficient over the hardness of the wall, K / H. Finnie: the part of the particles
        that cuts, over four times the plastic flow pressure, c / (4 p).
    """

    model: Literal["archard", "finnie"]
    coefficient: Positive


class CollisionEnergies(Section):
    """``collision_energies``: numbers of collisions by the energy they lose, in ``collisions.csv``.

    They are counted by pair of materials, for walls apart, and by normal, tangential and total loss.

    Attributes
    ----------
    lowest, highest : float
        Energies, in J, between which bins have ends; what is outside is counted in one bin on each side.
    per_decade : int
        Bins in a factor of ten.
    sizes : tuple of float
        Radii, in m, rising: particles are counted by classes of size between these as well.
    """

    lowest: Positive = 1e-12
    highest: Positive = 1e3
    per_decade: Annotated[int, Field(ge=1, le=100)] = 5
    sizes: Annotated[tuple[Positive, ...], Field(strict=False)] = ()


def wear_problems(case: CaseData, wall: Wall, where: Location) -> Iterator[Problem]:
    """Yield what is wrong with the wear of a wall."""
    if wall.wear is None or wall.wear.model != "archard":
        return
    if not case.output.energies:
        text = "needs the energy that contacts lose by sliding, which output.energies = false leaves out; set it true"
        yield Problem((*where, "wear", "model"), text)
    found = [case.interaction(name, wall.material) for name in case.materials]
    frictions = [one.friction for one in found if one is not None]
    if frictions and not any(frictions):
        text = (
            f"follows from the work of friction, and nothing has friction with {wall.material}; give it some"
        )
        yield Problem((*where, "wear", "model"), text)


def collision_problems(case: CaseData) -> Iterator[Problem]:
    """Yield what is wrong with the counting of collisions."""
    wanted, where = case.output.collision_energies, ("output", "collision_energies")
    if wanted is None:
        return
    if not case.output.energies:
        text = (
            "needs the energies that contacts lose, which output.energies = false leaves out; set it to true"
        )
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
