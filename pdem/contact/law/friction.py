"""The tangential force of a contact: a spring that remembers, damping, and Coulomb's limit.

Stiffness is a part of the normal one: Mindlin's for elastic spheres (k_t = 8 G* sqrt(R delta), 1/G* = sum of (2 -
nu)/G), or a given part of a linear spring. The force itself is `pdem.contact.law.spring_force.spring_force`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pdem.contact.law.parts import Energy, Key, TangentialPart, vector

if TYPE_CHECKING:
    from pdem.contact.law.parts import Pair

_HISTORY = vector("tangential_force", "N", -1)
_ENERGIES = Energy("tangential", "tangential", "sliding"), Energy("sliding", "sliding", "sliding")
_COEFFICIENTS = ("ratio", "ratio_root", "friction")


def mindlin_ratio(pair: Pair) -> float:
    """Return tangential over normal stiffness of elastic spheres, 4 G*/E*."""
    both = (pair.first, pair.second)
    normal = sum((1.0 - one.poisson_ratio**2) / one.youngs_modulus for one in both)
    shear = sum(
        (2.0 - one.poisson_ratio) * 2.0 * (1.0 + one.poisson_ratio) / one.youngs_modulus for one in both
    )
    return 4.0 * normal / shear


def _of_spheres(pair: Pair) -> tuple[float, float, float]:
    ratio = mindlin_ratio(pair)
    return ratio, math.sqrt(ratio), pair.keys["friction"]


def _of_springs(pair: Pair) -> tuple[float, float, float]:
    ratio = pair.keys["tangential_ratio"]
    return ratio, math.sqrt(ratio), pair.keys["friction"]


MINDLIN = TangentialPart(
    role="tangential",
    model="mindlin",
    text="Mindlin's stiffness of elastic spheres, with memory, and Coulomb's limit.",
    coefficients=_COEFFICIENTS,
    values=_of_spheres,
    history=_HISTORY,
    energies=_ENERGIES,
)

SPRING = TangentialPart(
    role="tangential",
    model="spring",
    text="A spring with memory, its stiffness a given part of the normal one, and Coulomb's limit.",
    keys=(
        Key(
            "tangential_ratio",
            "",
            "Tangential over normal stiffness.",
            default=2.0 / 7.0,
            required=False,
            above=0.0,
        ),
    ),
    coefficients=_COEFFICIENTS,
    values=_of_springs,
    history=_HISTORY,
    energies=_ENERGIES,
)
