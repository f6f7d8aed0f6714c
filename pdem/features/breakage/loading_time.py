"""The longest time in which a load that has reached the strength of a sphere may still grow before it breaks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pdem.case.groups.particle_sources import largest_radii
from pdem.case.rules.checks import contact_pairs
from pdem.case.sections.breakage import BreakageLimits
from pdem.case.timestep import effective_mass_and_radius, impact_limit, reference_speed
from pdem.features.breakage.strength_models import models_of

if TYPE_CHECKING:
    from pdem.case.sections.schema import CaseData


def median_speed(case: CaseData, material: str, radius: float) -> float:
    """Return the impact speed of two equal spheres [m/s] whose shares of the energy are the median fracture energy.

    For strengths that are no energies it is the reference speed of the case.
    """
    model = models_of(case)[list(case.materials).index(material)]
    if model is None or model.by_force:
        return reference_speed(case)
    energy = float(model.quantile(np.array([radius]), np.array([0.5]))[0])
    return math.sqrt(8.0 * energy)  # both shares are energy times mass, and the effective mass is half of the mass


def loading_time(case: CaseData) -> float:
    """Return the loading time of a case [s].

    By default the duration of the longest impact of the largest spheres of a material at `median_speed`.

    Raises
    ------
    CaseError
        If a file of particles cannot be read.
    """
    given = (case.breakage or BreakageLimits()).loading_time
    if given != "auto":
        return given
    radii, longest = largest_radii(case), 0.0
    for first, second, is_wall in contact_pairs(case):
        if case.materials[first].breakage is None or first not in radii or (second not in radii and not is_wall):
            continue
        other = None if is_wall else radii[second]
        mass, radius = effective_mass_and_radius(case, (first, second), radii[first], other)
        time = impact_limit(case, (first, second), mass, radius, median_speed(case, first, radii[first]), first).time
        longest = max(longest, time if math.isfinite(time) else 0.0)
    return longest
