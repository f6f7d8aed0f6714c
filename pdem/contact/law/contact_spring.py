"""The elastic contact of two bodies in plain numbers, for limits of the time step and checks before a run."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pdem.contact.law.parts import MaterialProperties, Pair, fields_of, tuple_type

if TYPE_CHECKING:
    from pdem.contact.law.contact_law import PartUse, Recipe

_HALVINGS = 60
_LEAST = 1e-15  # overlap over radius below which there is no adhesion
_SAMPLES = 1000  # of the curve of adhesion
_SMALL = 1e-3  # overlap over radius at which stiffness is taken where nothing moves


class ContactSpring:
    """The elastic force of the law of two materials.

    Parameters
    ----------
    recipe : Recipe
        Recipe of the pair.
    first, second : MaterialProperties
        The materials.
    """

    def __init__(self, recipe: Recipe, first: MaterialProperties, second: MaterialProperties) -> None:
        self._recipe, self._materials = recipe, (first, second)
        self._normal = recipe.normal.part
        self.coefficients = self._coefficients_of(recipe.normal)

    @property
    def is_straight(self) -> bool:
        """Whether the force is a built-in model that consists of straight lines."""
        return bool(self._normal.power == 1.0 and not self._normal.digest)

    def _coefficients_of(self, use: PartUse) -> Any:
        values = dict(zip(use.part.coefficients, self.values_of(use), strict=True))
        names = fields_of(use.part)
        if "modulus" in names and "modulus" not in values:
            values["modulus"] = self.coefficients.modulus
        if use.part.role == "adhesion":
            values |= dict.fromkeys(use.part.remembered, math.inf)  # the largest bridge
        return tuple_type(names)(**values)

    def force(self, overlap: float, radius: float) -> float:
        """Return the force [N] of the first loading at an overlap [m], of effective radius [m], without adhesion."""
        return float(self._loaded(overlap, radius)[0])

    def _loaded(self, overlap: float, radius: float) -> tuple[Any, ...]:
        """Return the results of the normal part for a new contact."""
        history = (tuple(0.0 for _ in self._normal.history),) if self._normal.history else ()
        found: tuple[Any, ...] = self._normal.elastic(overlap, radius, self.coefficients, *history)
        return found

    def stiffness(self, overlap: float, radius: float) -> float:
        """Return the largest stiffness [N/m] up to an overlap: that of unloading where the contact is plastic."""
        if self._normal.steepest is not None:
            return float(self._normal.steepest(overlap, radius, self.coefficients))
        return float(self.coefficients.modulus * self._loaded(overlap, radius)[1])

    def work(self, overlap: float, radius: float) -> float:
        """Return the work [J] of the first loading up to an overlap."""
        if not self._normal.history:
            return float(self._normal.energy(overlap, radius, self.coefficients))
        *_, history, lost = self._loaded(overlap, radius)
        return float(self._normal.energy(overlap, radius, self.coefficients, history) + lost)

    def values_of(self, use: PartUse, *, swapped: bool = False) -> list[float]:
        """Return the coefficients of a part of the recipe; `swapped` with the materials in the other order."""
        keys = {**self._recipe.keys, **self._recipe.normal.keys, **use.keys}
        materials = self._materials[::-1] if swapped else self._materials
        return [float(value) for value in use.part.values(Pair(*materials, keys, self._normal.from_materials))]

    def depth(self, mass: float, radius: float, speed: float) -> float:
        """Return the largest overlap [m] of an elastic impact of effective mass [kg] at a speed [m/s]."""
        wanted, low, high = 0.5 * mass * speed * speed, 0.0, radius
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            enough = self.work(middle, radius) >= wanted
            low, high = (low, middle) if enough else (middle, high)
        return high

    def duration(self, mass: float, radius: float, speed: float) -> float:
        """Return the approximate duration of an impact [s]: pi sqrt(m / k) with the stiffness at its largest overlap.

        The true duration is longer if the stiffness grows with the overlap.
        """
        deepest = self.depth(mass, radius, speed) if speed > 0.0 else _SMALL * radius
        stiffness = self.stiffness(deepest, radius)
        return math.pi * math.sqrt(mass / stiffness) if stiffness > 0.0 else math.inf

    def rotational_stiffnesses(self, overlap: float, radius: float) -> dict[str, float]:
        """Return the stiffness [N m/rad] of each resistance that has one, by its role, at an overlap [m]."""
        _, factor, *_ = self._loaded(overlap, radius)
        normal = float(self.coefficients.modulus * factor)
        return {
            use.part.role: float(use.part.stiffness(overlap, radius, normal, self._coefficients_of(use)))
            for use in self._recipe.resistances
            if use.part.stiffness is not None
        }

    def adhesive_stiffness(self, radius: float) -> float:
        """Return the largest stiffness by adhesion alone [N/m], 0 without adhesion."""
        use = self._recipe.adhesion
        if use is None:
            return 0.0
        if use.part.stiffness is not None:
            return float(use.part.stiffness(radius, self._coefficients_of(use)))
        resting = self.resting_overlap(radius)
        return self.stiffness(resting, radius) if math.isfinite(resting) else 0.0

    def sticking_force(self, overlap: float, radius: float) -> float:
        """Return the elastic force with adhesion [N]; the overlap is negative where the contact is stretched."""
        force, factor = self._normal.elastic(max(overlap, 0.0), radius, self.coefficients)
        use = self._recipe.adhesion
        if use is None:
            return float(force)
        return float(use.part.elastic(overlap, radius, self._coefficients_of(use), force, factor)[0])

    def sticking_energy(self, overlap: float, radius: float) -> float:
        """Return the elastic energy with adhesion [J], 0 at the touch."""
        energy = self._normal.energy(max(overlap, 0.0), radius, self.coefficients)
        use = self._recipe.adhesion
        if use is None:
            return float(energy)
        return float(use.part.energy(overlap, radius, self._coefficients_of(use), energy))

    def gap(self, radius: float) -> float:
        """Return how far a contact can be stretched at most [m], 0 without adhesion."""
        use = self._recipe.adhesion
        if use is None:
            return 0.0
        return float((use.part.reach or use.part.gap)(radius, self._coefficients_of(use)))

    def resting_overlap(self, radius: float) -> float:
        """Return the overlap at which adhesion and elastic force balance [m]; infinite if that is beyond 4 radii."""
        high = 4.0 * radius
        if self.sticking_force(high, radius) <= 0.0:
            return math.inf
        while self.sticking_force(0.5 * high, radius) > 0.0 and high > _LEAST * radius:
            high *= 0.5
        low = 0.5 * high
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            low, high = (low, middle) if self.sticking_force(middle, radius) > 0.0 else (middle, high)
        return high

    def stretches(self, radius: float) -> list[float]:
        """Return overlaps [m] from where a contact ends to where adhesion and elastic force balance."""
        first, last = -self.gap(radius), min(self.resting_overlap(radius), radius)
        return [first + (last - first) * number / _SAMPLES for number in range(_SAMPLES + 1)]

    def pull_off(self, radius: float) -> float:
        """Return the largest pull of adhesion [N], 0 without any."""
        if self._recipe.adhesion is None:
            return 0.0
        return max(0.0, -min(self.sticking_force(overlap, radius) for overlap in self.stretches(radius)))

    @property
    def effective_modulus(self) -> float:
        """Effective modulus of both materials [Pa]."""
        return Pair(*self._materials, {}).effective_modulus

    @property
    def work_of_adhesion(self) -> float:
        """Work of adhesion [J/m^2], 0 where the law has none."""
        use = self._recipe.adhesion
        return 0.0 if use is None else float(use.keys.get("work_of_adhesion") or 0.0)

    def sticking_speed(self, mass: float, radius: float) -> float:
        """Return the speed [m/s] up to which a body of effective mass [kg] sticks, without damping.

        Its kinetic energy equals the energy that adhesion takes when a contact is pulled apart.
        """
        lost = self.sticking_energy(-self.gap(radius), radius) if self._recipe.adhesion is not None else 0.0
        return math.sqrt(2.0 * max(lost, 0.0) / mass)

    def lent_energy(self, radius: float) -> float:
        """Return the largest energy that adhesion gives to two bodies between touch and separation [J]."""
        if self._recipe.adhesion is None:
            return 0.0
        return max(0.0, -min(self.sticking_energy(overlap, radius) for overlap in self.stretches(radius)))
