"""The elastic contact of two bodies in plain numbers, for limits of the time step and checks before a run."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pdem.contact.law.parts import MaterialProperties, Pair, fields_of, tuple_type

if TYPE_CHECKING:
    from pdem.contact.law.contact_law import PartUse, Recipe

_HALVINGS = 60
_SAMPLES = 200
_SMALL = 1e-3  # overlap over radius at which stiffness is taken where nothing moves


class ContactSpring:
    """The elastic force between two materials, as their law has it.

    Parameters
    ----------
    recipe : Recipe
        Of the pair.
    first, second : MaterialProperties
        The materials.
    """

    def __init__(self, recipe: Recipe, first: MaterialProperties, second: MaterialProperties) -> None:
        self._recipe, self._materials = recipe, (first, second)
        self._normal = recipe.normal.part
        self.coefficients = self._coefficients_of(recipe.normal)

    def _coefficients_of(self, use: PartUse) -> Any:
        values = dict(zip(use.part.coefficients, self.values_of(use), strict=True))
        names = fields_of(use.part)
        if "modulus" in names and "modulus" not in values:
            values["modulus"] = self.coefficients.modulus
        return tuple_type(names)(**values)

    def force(self, overlap: float, radius: float) -> float:
        """Return the elastic force [N] at an overlap [m] of a pair of effective radius [m], without adhesion."""
        return float(self._normal.elastic(overlap, radius, self.coefficients)[0])

    def stiffness(self, overlap: float, radius: float) -> float:
        """Return the stiffness [N/m]."""
        _, factor = self._normal.elastic(overlap, radius, self.coefficients)
        return float(self.coefficients.modulus * factor)

    def energy(self, overlap: float, radius: float) -> float:
        """Return the elastic energy [J] at an overlap [m], without adhesion."""
        return float(self._normal.energy(overlap, radius, self.coefficients))

    def values_of(self, use: PartUse, *, swapped: bool = False) -> list[float]:
        """Return the coefficients of a part of the recipe; `swapped` with the materials in the other order."""
        keys = {**self._recipe.keys, **self._recipe.normal.keys, **use.keys}
        materials = self._materials[::-1] if swapped else self._materials
        return [float(value) for value in use.part.values(Pair(*materials, keys))]

    def depth(self, mass: float, radius: float, speed: float) -> float:
        """Return the largest overlap [m] of an elastic impact of effective mass [kg] at a speed [m/s]."""
        wanted, low, high = 0.5 * mass * speed * speed, 0.0, radius
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            enough = self._normal.energy(middle, radius, self.coefficients) >= wanted
            low, high = (low, middle) if enough else (middle, high)
        return high

    def duration(self, mass: float, radius: float, speed: float) -> float:
        """Return about how long an impact lasts [s]: pi sqrt(m / k) with the stiffness at its largest overlap.

        That is less than it is where the stiffness grows.
        """
        deepest = self.depth(mass, radius, speed) if speed > 0.0 else _SMALL * radius
        stiffness = self.stiffness(deepest, radius)
        return math.pi * math.sqrt(mass / stiffness) if stiffness > 0.0 else math.inf

    def adhesive_stiffness(self, radius: float) -> float:
        """Return the largest stiffness that adhesion alone brings about [N/m], 0 without any."""
        use = self._recipe.adhesion
        if use is None or use.part.stiffness is None:
            return 0.0
        return float(use.part.stiffness(radius, self._coefficients_of(use)))

    def adhesive_energy(self, radius: float) -> float:
        """Return about what adhesion gives away when two bodies of this effective radius touch [J], 0 without any.

        It is the largest depth of the energy below that at the touch.
        """
        use = self._recipe.adhesion
        if use is None:
            return 0.0
        c, reach = self._coefficients_of(use), 4.0 * float(use.part.gap(radius, self._coefficients_of(use)))
        overlaps = [reach * number / _SAMPLES for number in range(_SAMPLES + 1)]
        return -min(
            float(use.part.energy(at, radius, c, self._normal.energy(at, radius, self.coefficients)))
            for at in overlaps
        )
