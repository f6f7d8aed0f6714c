"""A linear spring: ``F = k overlap``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pdem.contact.law.parts import Key, NormalPart
from pdem.contact.law.restitution import damped_as_spring

if TYPE_CHECKING:
    from pdem.contact.law.parts import Pair


def elastic(overlap: float, radius: float, c: Any) -> tuple[float, float]:
    """Return the force [N]; the stiffness does not depend on the overlap."""
    return c.modulus * overlap, 1.0


def energy(overlap: float, radius: float, c: Any) -> float:
    """Return the stored energy [J], half of force times overlap."""
    return 0.5 * c.modulus * overlap * overlap


def _values(pair: Pair) -> tuple[float]:
    return (pair.keys["normal_stiffness"],)


LINEAR = NormalPart(
    role="normal",
    model="linear",
    text="A linear spring and dashpot.",
    keys=(Key("normal_stiffness", "N/m", "Force over overlap.", above=0.0),),
    coefficients=("modulus",),
    values=_values,
    damped=damped_as_spring,
    elastic=elastic,
    energy=energy,
    power=1.0,
    onset=1.0,
)
"""With ``modulus`` = k."""
