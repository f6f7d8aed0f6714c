"""Adhesion of stiff elastic spheres after Derjaguin, Muller and Toporov, J. Colloid Interface Sci. 53 (1975) 314.

A constant pull ``F_c = 2 pi w R`` as long as the spheres touch, with the effective radius R and the work of adhesion w
per area [J/m^2] (twice the surface energy of like materials); the contact itself is as without adhesion:
``F = F_elastic - F_c``, ``U = U_elastic - F_c overlap``. It begins and ends at the touch and nothing is lost in it.

Forces of the surroundings of the contact pull in this limit, and the contact bears the load and the pull: frictions are
proportional to the elastic force, ``F + F_c`` (Derjaguin, Z. Phys. 88 (1934) 661).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pdem.contact.law.adhesion_part import AdhesionPart
from pdem.contact.law.kinds.jkr import WORK_OF_ADHESION

if TYPE_CHECKING:
    from pdem.contact.law.parts import Pair


def elastic(overlap: float, radius: float, c: Any, force: float, factor: float) -> tuple[float, float, float]:
    """Return the force [N], the factor of the stiffness, and the pull [N]."""
    pull = c.pull * radius
    return force - pull, factor, pull


def energy(overlap: float, radius: float, c: Any, elastic_energy: float) -> float:
    """Return the energy [J], 0 at the touch."""
    return elastic_energy - c.pull * radius * overlap


def no_gap(radius: float, c: Any) -> float:
    """Return how far a contact can be stretched [m]: 0, since this adhesion ends when the bodies separate."""
    return 0.0


def _values(pair: Pair) -> tuple[float]:
    return (2.0 * math.pi * pair.keys["work_of_adhesion"],)


DMT = AdhesionPart(
    role="adhesion",
    model="dmt",
    text="A constant pull while two spheres touch: of stiff, small, weakly adhesive ones.",
    keys=(WORK_OF_ADHESION,),
    coefficients=("pull",),
    values=_values,
    elastic=elastic,
    energy=energy,
    gap=no_gap,
    normal=("hertz", "linear"),
)
"""``pull`` is F_c over R."""
