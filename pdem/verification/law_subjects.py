"""Subjects of the proofs: the interactions of a case, each between spheres with radii and speeds of the case."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pdem.case.laws import law_of, material_properties, recipe_by_key
from pdem.case.rules.checks import contact_pairs
from pdem.case.stage_cases import cases_of_stages
from pdem.case.timestep import impact_conditions
from pdem.contact.law.contact_spring import ContactSpring
from pdem.contact.law.pair_table import pair_table
from pdem.verification.law_pairs import LawTable, SeparatePairs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pdem.case.model import Case
    from pdem.case.sections.schema import CaseData
    from pdem.case.timestep import ImpactConditions
    from pdem.contact.law.contact_law import ContactLaw, Recipe
    from pdem.foundation.array_types import Floats

SIZE_RATIOS = (1.0, 10.0)
"""Ratios of the radius of the second body to the radius of the first, for pairs of particles."""

WALL_RATIO = 100.0
"""Radius ratio for a wall: a sphere so large and heavy that it acts as a plane."""

FALLBACK_SPEED = 0.1
"""Impact speed if nothing in the case moves [m/s]."""


@dataclass(frozen=True)
class Subject:
    """One interaction of a case, between two materials.

    Attributes
    ----------
    key : str
        Key of the interaction.
    materials : (str, str)
        Material of the first body, a particle, and of the second body.
    is_wall : bool
        Whether the second body is a wall.
    recipe : Recipe
        Law and coefficients of the contacts.
    spring : ContactSpring
        The elastic contact evaluated in Python floats.
    table : LawTable
        Law for `SeparatePairs`: the first body has material 0, the second body material 1.
    radius : float
        Smallest radius of the first body [m].
    speed : float
        Largest impact speed [m/s].
    step : float
        Time step of the case [s].
    """

    key: str
    materials: tuple[str, str]
    is_wall: bool
    recipe: Recipe
    spring: ContactSpring
    table: LawTable
    radius: float
    speed: float
    step: float

    @property
    def ratios(self) -> tuple[float, ...]:
        """Ratios of the radius of the second body to the radius of the first."""
        return (WALL_RATIO,) if self.is_wall else SIZE_RATIOS

    def radii(self, number: int) -> Floats:
        """Return the radii of `number` pairs (n, 2) [m], cycling through all ratios."""
        ratio = np.array([self.ratios[k % len(self.ratios)] for k in range(number)])
        return self.radius * np.stack([np.ones(number), ratio], axis=1)

    def inertia(self, ratio: float) -> tuple[float, float]:
        """Return the effective mass [kg] and effective radius [m] of a pair with a ratio of radii."""
        first, second = self.table.density * 4.0 / 3.0 * math.pi * (self.radius * np.array([1.0, ratio])) ** 3
        return float(first * second / (first + second)), self.radius * ratio / (1.0 + ratio)

    def depths(self, number: int) -> Floats:
        """Return the largest overlaps of `number` pairs at the impact speed (n,) [m]."""
        each = [self.spring.depth(*self.inertia(ratio), self.speed) for ratio in self.ratios]
        return np.array([each[k % len(each)] for k in range(number)])

    def duration(self, speed: float) -> float:
        """Return the approximate duration of an impact of the smallest spheres [s]."""
        return self.spring.duration(*self.inertia(self.ratios[0]), speed)

    def pairs(self, radius: Floats, step: float, *, swapped: bool = False) -> SeparatePairs:
        """Return isolated pairs with radii (n, 2) [m]; `swapped` exchanges the bodies of each pair."""
        material = np.tile(np.array([0, 1], np.int32), (len(radius), 1))
        order = slice(None, None, -1 if swapped else 1)
        return SeparatePairs(self.table, radius[:, order].copy(), material[:, order].copy(), step)


def subjects_of(case: Case, keys: Sequence[str] | None = None) -> Iterator[Subject]:
    """Yield each interaction between materials that can touch in any stage of a case, without duplicates.

    Parameters
    ----------
    case : Case
        The case.
    keys : sequence of str, optional
        Interactions to include; by default all.

    Raises
    ------
    CaseError
        If a file of particles or of a law cannot be used, or the case has no time step.
    """
    law, step, conditions, done = (law_of(case, images=False), case.resolved_step(), impact_conditions(case), [])
    pairs = sorted(contact_pairs(case), key=lambda pair: pair[2])  # walls last
    for present in cases_of_stages(case):
        for first, second, is_wall in pairs:
            key = present.interaction_key(first, second)
            if key is None or (keys is not None and key not in keys):
                continue
            what = (key, present.interactions[key])
            if what not in done and first in conditions.smallest:
                done.append(what)
                yield _subject(present, law, (first, second, is_wall), key, conditions, step)


def _subject(
    case: CaseData, law: ContactLaw, pair: tuple[str, str, bool], key: str, conditions: ImpactConditions, step: float
) -> Subject:  # fmt: skip
    recipe = recipe_by_key(case, key)
    by_name = dict(zip(case.materials, material_properties(case), strict=True))
    both = by_name[pair[0]], by_name[pair[1]]
    table = pair_table(law, both, {(0, 1): recipe})
    density = np.array([both[0].density, both[1].density or both[0].density])
    return Subject(
        key, pair[:2], pair[2], recipe, ContactSpring(recipe, *both), LawTable(law, table, density),
        conditions.smallest[pair[0]], conditions.speed or FALLBACK_SPEED, step,
    )  # fmt: skip
