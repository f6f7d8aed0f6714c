"""What is proved of a contact law: the interactions of a case, each between spheres as the case has them."""

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
"""Radius of the second body over that of the first, of pairs of particles."""

WALL_RATIO = 100.0
"""The same of a wall, which is a sphere so large and so heavy that it makes no difference to a plane."""

FALLBACK_SPEED = 0.1
"""Speed of impacts where nothing in the case moves [m/s]."""


@dataclass(frozen=True)
class Subject:
    """One interaction of a case, between two materials.

    Attributes
    ----------
    key : str
        Of the interaction.
    materials : (str, str)
        Of the first body, a particle, and of the second one.
    is_wall : bool
        Whether the second body is a wall.
    recipe : Recipe
        Of the contacts.
    spring : ContactSpring
        The elastic contact in plain numbers.
    table : LawTable
        For `SeparatePairs`, with the first body of material 0 and the second one of material 1.
    radius : float
        Smallest one of the first body [m].
    speed : float
        Largest one of impacts [m/s].
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
        """Radius of the second body over that of the first one."""
        return (WALL_RATIO,) if self.is_wall else SIZE_RATIOS

    def radii(self, number: int) -> Floats:
        """Return the radii of so many pairs (n, 2) [m], all ratios in turn."""
        ratio = np.array([self.ratios[k % len(self.ratios)] for k in range(number)])
        return self.radius * np.stack([np.ones(number), ratio], axis=1)

    def inertia(self, ratio: float) -> tuple[float, float]:
        """Return effective mass [kg] and radius [m] of a pair with this ratio of radii."""
        first, second = self.table.density * 4.0 / 3.0 * math.pi * (self.radius * np.array([1.0, ratio])) ** 3
        return float(first * second / (first + second)), self.radius * ratio / (1.0 + ratio)

    def depths(self, number: int) -> Floats:
        """Return the largest overlaps of so many pairs at the speed of impacts (n,) [m]."""
        each = [self.spring.depth(*self.inertia(ratio), self.speed) for ratio in self.ratios]
        return np.array([each[k % len(each)] for k in range(number)])

    def duration(self, speed: float) -> float:
        """Return about how long an impact of the smallest spheres lasts [s]."""
        return self.spring.duration(*self.inertia(self.ratios[0]), speed)

    def pairs(self, radius: Floats, step: float, *, swapped: bool = False) -> SeparatePairs:
        """Return separate pairs of radii (n, 2) [m]; `swapped` for the second body first."""
        material = np.tile(np.array([0, 1], np.int32), (len(radius), 1))
        order = slice(None, None, -1 if swapped else 1)
        return SeparatePairs(self.table, radius[:, order].copy(), material[:, order].copy(), step)


def subjects_of(case: Case, keys: Sequence[str] | None = None) -> Iterator[Subject]:
    """Yield the interactions of a case between materials that can touch, each once; of all its stages.

    Parameters
    ----------
    case : Case
        The case.
    keys : sequence of str, optional
        Of interactions, in place of all.

    Raises
    ------
    CaseError
        If a file of particles or of a law cannot be used, or there is no time step.
    """
    law, step, conditions, done = (law_of(case, images=False), case.resolved_step(), impact_conditions(case), [])
    pairs = sorted(contact_pairs(case), key=lambda pair: pair[2])  # with walls last
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
