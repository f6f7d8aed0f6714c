"""The pair table: what a contact law needs to know about each two materials that can meet.

A wall is a material like any other; a rigid one has an infinite modulus.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pdem.contact.law.restitution import damping_factor

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

HERTZIAN, STIFFNESS, TANGENTIAL_RATIO, DAMPING, FRICTION, ROLLING, TANGENTIAL_ROOT = range(7)
"""Columns of the pair table."""

COEFFICIENTS = 7
"""Number of columns of the pair table."""


@dataclass(frozen=True)
class MaterialProperties:
    """Of one material: density [kg/m^3], Young's modulus [Pa] (infinite: rigid), Poisson's ratio."""

    density: float = 0.0
    youngs_modulus: float = math.inf
    poisson_ratio: float = 0.0


@dataclass(frozen=True)
class InteractionProperties:
    """Of two materials: law, friction, restitution, rolling friction, and the linear law's stiffness.

    `normal_stiffness` is in N/m; `tangential_ratio` is tangential over normal stiffness.
    """

    law: str
    friction: float
    restitution: float
    rolling_friction: float = 0.0
    normal_stiffness: float = 0.0
    tangential_ratio: float = 2.0 / 7.0


def pair_table(
    materials: Sequence[MaterialProperties],
    interactions: Mapping[tuple[int, int], InteractionProperties],
) -> NDArray[np.float64]:
    """Return the coefficients of all pairs of materials.

    Parameters
    ----------
    materials : sequence of MaterialProperties
        By index.
    interactions : mapping
        By both indices, in either order; pairs that never meet may be missing.

    Returns
    -------
    ndarray, shape (M * M, COEFFICIENTS)
        Row ``a * M + b`` holds, in the columns `HERTZIAN`, `STIFFNESS`, `TANGENTIAL_RATIO`, `DAMPING`,
        `FRICTION`, `ROLLING`, `TANGENTIAL_ROOT`: 1 for stiffness growing with the contact radius; the factor 2 E* of
        that radius [Pa] or the stiffness [N/m]; tangential over normal stiffness; gamma; both frictions; the root of
        the third.

    Notes
    -----
    Hertz: k_n = 2 E* sqrt(R* delta), 1/E* = sum of (1 - nu^2)/E. Mindlin: k_t = 8 G* sqrt(R* delta),
    1/G* = sum of (2 - nu)/G, so that the ratio 4 G*/E* is a constant of the pair.
    """
    count = len(materials)
    table = np.zeros((count * count, COEFFICIENTS))
    for (a, b), interaction in interactions.items():
        row = _coefficients(materials[a], materials[b], interaction)
        table[a * count + b] = table[b * count + a] = row
    return table


def _coefficients(a: MaterialProperties, b: MaterialProperties, law: InteractionProperties) -> list[float]:
    hertzian = law.law == "hertz-mindlin"
    stiffness, ratio = law.normal_stiffness, law.tangential_ratio
    if hertzian:
        normal = sum((1.0 - one.poisson_ratio**2) / one.youngs_modulus for one in (a, b))
        shear = sum(
            (2.0 - one.poisson_ratio) * 2.0 * (1.0 + one.poisson_ratio) / one.youngs_modulus for one in (a, b)
        )
        stiffness, ratio = 2.0 / normal, 4.0 * normal / shear
    gamma = damping_factor(law.restitution, hertzian)
    return [float(hertzian), stiffness, ratio, gamma, law.friction, law.rolling_friction, math.sqrt(ratio)]
