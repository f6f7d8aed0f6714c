"""Elastic spheres in contact: ``F = (4/3) E sqrt(R) overlap^1.5``.

Hertz 1882; Johnson, Contact Mechanics, 1985, sect. 4.2.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pdem.contact.law.parts import NormalPart
from pdem.contact.law.restitution import damping_factor

if TYPE_CHECKING:
    from pdem.contact.law.parts import Pair


def elastic(overlap: float, radius: float, c: Any) -> tuple[float, float]:
    """Return the force [N] and the radius of the contact area [m]; stiffness is 2 E times that."""
    contact_radius = math.sqrt(abs(radius * overlap))
    return c.modulus * contact_radius * overlap * (2.0 / 3.0), contact_radius


def energy(overlap: float, radius: float, c: Any) -> float:
    """Return the stored energy [J], 2/5 of force times overlap."""
    return 4.0 / 15.0 * c.modulus * math.sqrt(abs(radius * overlap)) * overlap * overlap


def _values(pair: Pair) -> tuple[float]:
    return (2.0 * pair.effective_modulus,)


def _damped(pair: Pair) -> float:
    return damping_factor(pair.keys["restitution"], True)


HERTZ = NormalPart(
    role="normal",
    model="hertz",
    text="Elastic spheres; the stiffness follows from the elastic constants of both materials.",
    coefficients=("modulus",),
    values=_values,
    damped=_damped,
    elastic=elastic,
    energy=energy,
    power=1.5,
    onset=0.8,
    from_materials=True,
)
"""With ``modulus`` = 2 E."""
