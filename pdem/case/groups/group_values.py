"""Fields of particles that follow from keys of their group or insertion: one line for each feature with such keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.case.laws import takes_liquid
from pdem.contact.law.carried_liquid import carried_by

if TYPE_CHECKING:
    from pdem.case.sections.particles import ParticleGroup
    from pdem.case.sections.schema import CaseData
    from pdem.features.insertions.section import Insertion
    from pdem.foundation.array_types import Floats

GROUP_FIELDS = ("liquid", "temperature")
"""Names of these fields, scalars in double precision."""


def values_of_group(case: CaseData, group: ParticleGroup | Insertion, radius: Floats) -> dict[str, Floats]:
    """Return these fields for particles of a group with some radii (n,) [m]; other fields keep their defaults."""
    values = {}
    if takes_liquid(case):
        values["liquid"] = carried_by(radius, group.liquid)
    if case.heat is not None:
        values["temperature"] = np.full(len(radius), group.temperature or case.heat.temperature)
    return values
