"""A pull in proportion to the area of contact: a cohesion energy density times that area, as in calibrated decks.

``F = F_elastic - k A`` while the spheres touch, with the cohesion energy density k [J/m^3 = Pa] and

* ``A = 2 pi R overlap`` for ``area = "lens"``: the circle in which the surfaces of two spheres cut each other, and a
  sphere a plane, to the first order of overlap over radius (``sjkr`` of LIGGGHTS has that circle itself, which for
  equal spheres is smaller by overlap / (4 radius));
* ``A = 4 pi R overlap`` for ``area = "double"`` (``sjkr2``), twice that.

``U = U_elastic - k A overlap / 2``; nothing is lost. It is no theory of adhesion: with Hertz's force the largest pull
is ``(2/3) pi^3 k^3 R^2 / E^2`` at the overlap ``pi^2 k^2 R / E^2``, eight and four times that with the double area. It
depends on the modulus, so that softer spheres for larger steps stick more.

Frictions are proportional to the elastic force, without the pull.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pdem.contact.law.adhesion_part import AdhesionPart
from pdem.contact.law.kinds.dmt import no_gap
from pdem.contact.law.parts import Key

if TYPE_CHECKING:
    from pdem.contact.law.parts import Pair


def elastic(overlap: float, radius: float, c: Any, force: float, factor: float) -> tuple[float, float, float]:
    """Return the force [N], the factor of the stiffness, and the pull [N]."""
    pull = c.gradient * radius * overlap
    return force - pull, factor, pull


def energy(overlap: float, radius: float, c: Any, elastic_energy: float) -> float:
    """Return the energy [J], 0 at the touch."""
    return elastic_energy - 0.5 * c.gradient * radius * overlap * overlap


def _values(pair: Pair) -> tuple[float]:
    shape = 4.0 if pair.keys["area"] == "double" else 2.0
    return (shape * math.pi * pair.keys["cohesion_energy_density"],)


CONTACT_AREA_ADHESION = AdhesionPart(
    role="adhesion",
    model="linear",
    text="A pull in proportion to the contact area, of cases that were calibrated with it.",
    keys=(
        Key("cohesion_energy_density", "J/m3", "Pull over contact area.", above=0.0),
        Key(
            "area",
            "",
            "The circle in which two spheres cut each other, or twice that.",
            default="lens",
            required=False,
            choices=("lens", "double"),
        ),
    ),
    coefficients=("gradient",),
    values=_values,
    elastic=elastic,
    energy=energy,
    gap=no_gap,
    normal=("hertz", "linear"),
)
"""``gradient`` is the pull over radius and overlap."""
