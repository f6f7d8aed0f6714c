"""The tangential force of a contact: a spring with a history, damping, and Coulomb's limit.

Stiffness is a part of the normal one: Mindlin's for elastic spheres (k_t = 8 G* sqrt(R delta), 1/G* = sum of (2 -
nu)/G), or a given part of a linear spring. The force itself is `pdem.contact.law.kinds.spring_force.spring_force`.

With a dynamic friction below the static one a contact sticks up to the static limit, and then slips at the dynamic one
until the force of the spring is below the dynamic limit (Luding, Granular Matter 10 (2008) 235, sect. 3.2). Its history
records whether it slips.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from pdem.contact.law.kinds.two_frictions import DYNAMIC_FRICTION
from pdem.contact.law.parts import Energy, HistoryColumn, Key, TangentialPart, vector
from pdem.foundation import exact_math

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pdem.contact.law.parts import Pair

_HISTORY = vector("tangential_force", "N", -1)
_ENERGIES = Energy("tangential", "tangential", "sliding"), Energy("sliding", "sliding", "sliding")
_COEFFICIENTS = ("ratio", "ratio_root", "friction")
SLIPS = HistoryColumn("slips", "")
"""1 while a contact with two frictions slips."""


def mindlin_ratio(pair: Pair) -> float:
    """Return tangential over normal stiffness of elastic spheres, 4 G*/E*."""
    both = (pair.first, pair.second)
    normal = exact_math.total((1.0 - one.poisson_ratio * one.poisson_ratio) / one.youngs_modulus for one in both)
    shear = exact_math.total(
        (2.0 - one.poisson_ratio) * 2.0 * (1.0 + one.poisson_ratio) / one.youngs_modulus for one in both
    )
    return 4.0 * normal / shear


def _of_spheres(pair: Pair) -> tuple[float, float, float]:
    ratio = mindlin_ratio(pair)
    return ratio, math.sqrt(ratio), pair.keys["friction"]


def _of_springs(pair: Pair) -> tuple[float, float, float]:
    ratio = pair.keys["tangential_ratio"]
    return ratio, math.sqrt(ratio), pair.keys["friction"]


def _with_drop(values: Callable[[Pair], Sequence[float]], pair: Pair) -> tuple[float, ...]:
    """Return the coefficients, and the relative drop from static to dynamic friction."""
    static, dynamic = pair.keys["friction"], pair.keys["dynamic_friction"]
    return *values(pair), (1.0 - dynamic / static if static > 0.0 else 0.0)


def _with_two_frictions(part: TangentialPart) -> TangentialPart:
    """Return the part together with its variant for contacts that have two frictions."""
    values = partial(_with_drop, part.values)
    both = replace(part, coefficients=(*_COEFFICIENTS, "drop"), values=values, history=(*_HISTORY, SLIPS))
    return replace(part, two_frictions=both)


MINDLIN = _with_two_frictions(
    TangentialPart(
        role="tangential",
        model="mindlin",
        text="Mindlin's stiffness of elastic spheres, with memory, and Coulomb's limit.",
        keys=(DYNAMIC_FRICTION,),
        coefficients=_COEFFICIENTS,
        values=_of_spheres,
        history=_HISTORY,
        energies=_ENERGIES,
    )
)

SPRING = _with_two_frictions(
    TangentialPart(
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
            DYNAMIC_FRICTION,
        ),
        coefficients=_COEFFICIENTS,
        values=_of_springs,
        history=_HISTORY,
        energies=_ENERGIES,
    )
)
