"""Elastic spheres in contact: ``F = (4/3) E sqrt(R) overlap^1.5``.

Hertz 1882; Johnson, Contact Mechanics, 1985, sect. 4.2.

Viscoelastic spheres (Brilliantov, Spahn, Hertzsch, Poeschel, Phys. Rev. E 53 (1996) 5382) lose energy by the rate of
deformation everywhere in them: ``F = 4/3 E sqrt(R) (overlap^1.5 + 3/2 A sqrt(overlap) rate)``, in which damping is the
stiffness times A. A is a time of the material; the restitution falls with the impact speed v, at first as
``1 - 1.15344 beta v^(1/5)`` with ``beta = 3/2 A k^(2/5)``, ``k = 4/3 E sqrt(R) / m`` (Schwager, Poeschel, Phys. Rev. E
57 (1998) 650).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pdem.contact.law.parts import Key, NormalPart
from pdem.contact.law.restitution import damped_as_hertz, undamped

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


HERTZ = NormalPart(
    role="normal",
    model="hertz",
    text="Elastic spheres; the stiffness follows from the elastic constants of both materials.",
    coefficients=("modulus",),
    values=_values,
    damped=damped_as_hertz,
    elastic=elastic,
    energy=energy,
    power=1.5,
    onset=0.8,
    from_materials=True,
)
"""With ``modulus`` = 2 E."""


def _relaxation(pair: Pair) -> float:
    return float(pair.keys["dissipative_time"])


VISCOELASTIC = replace(
    HERTZ,
    model="viscoelastic",
    text="Elastic spheres of a material with internal friction: fast impacts rebound less.",
    keys=(Key("dissipative_time", "s", "Dissipative parameter A of the material.", at_least=0.0),),
    damped=undamped,
    relaxation=_relaxation,
    has_restitution=False,
    onset=2.0 / 3.0,
)
"""Its damping grows with the stiffness; its mean from the touch to an overlap is 2/3 of its value there."""
