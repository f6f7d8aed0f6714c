"""The pair table: coefficients of the contact law for each two materials that can meet.

A wall is a material like any other; a rigid one has an infinite modulus.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pdem.contact.law.contact_law import ContactLaw, Recipe
    from pdem.contact.law.parts import MaterialProperties
    from pdem.foundation.array_types import Floats
    from pdem.motion.time_step import TimeStep

NO_TENSORS = np.zeros(0)
"""Empty inverse mass tensors: all particles are single spheres."""


class ContactParameters(NamedTuple):
    """Parameters of the contact law in a step.

    Attributes
    ----------
    density : (M,) array
        Density by material [kg/m^3].
    table : (M * M, columns) array
        The pair table, see `pair_table`.
    powers : (M * M,) array
        Power of the overlap in the elastic force, 1.5 or 1.
    step : TimeStep
        Time by which histories grow.
    largest_overlap : float
        Largest allowed overlap over the smaller radius.
    tensors : array
        Inverse mass tensors of particles by row, flat, see `pdem.motion.inverse_masses`; empty without clusters.
    images : (ROWS, 3) array or None
        Images of a deforming box at the end of the step, see `pdem.numerics.box_images`.
    sums : tuple of 2
        Fields of `pdem.contact.pairs.box_sums.BoxSums` of a deforming box.
    """

    density: Floats
    table: Floats
    powers: Floats
    step: TimeStep
    largest_overlap: float
    tensors: Floats = NO_TENSORS
    images: Floats | None = None
    sums: tuple[Any, Any] = (None, None)


def pair_table(
    law: ContactLaw, materials: Sequence[MaterialProperties], recipes: Mapping[tuple[int, int], Recipe]
) -> Floats:
    """Return the coefficients of all pairs of materials.

    Parameters
    ----------
    law : ContactLaw
        Law of these recipes, and of further ones perhaps.
    materials : sequence of MaterialProperties
        Materials by index.
    recipes : mapping
        Recipes by both indices, in either order; pairs that never meet may be missing.

    Returns
    -------
    ndarray, shape (M * M, law.width)
        Row ``a * M + b`` holds the coefficients ``law.coefficients`` of the materials a and b.
    """
    count = len(materials)
    table = np.zeros((count * count, law.width))
    for (a, b), recipe in recipes.items():
        table[a * count + b] = table[b * count + a] = law.row(recipe, materials[a], materials[b])
    return table
