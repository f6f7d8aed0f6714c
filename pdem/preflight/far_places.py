"""Warning of cases far from the origin, where rounding of positions affects overlaps."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pdem.case.groups.particle_sources import smallest_radii
from pdem.preflight.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.case.model import Case
    from pdem.preflight.population import Population

DULL_RADIUS = 1e-7
"""Rounding of positions in smallest radii above which there is a warning: overlaps are often 1e-4 of a radius."""


def place_findings(case: Case, particles: Population) -> Iterator[Finding]:
    """Warn if the rounding of positions in double precision affects contact forces.

    Parameters
    ----------
    case : Case
        The case.
    particles : Population
        Particles at time 0.
    """
    ends = np.array([case.domain.lower, case.domain.upper])
    if particles.count and not case.insertions:
        ends = np.array([particles.lower, particles.upper])
    largest = float(np.abs(ends).max())
    radius = min([*smallest_radii(case).values(), float(particles.radii.min(initial=math.inf))])
    rounding = 0.5 * math.ulp(largest)
    if math.isfinite(radius) and rounding > DULL_RADIUS * radius:
        yield Finding(
            "warning", "domain",
            f"coordinates of {largest:.3g} m are rounded to {rounding:.2g} m, which is {rounding / radius:.1g} of the "
            f"smallest radius ({radius:.3g} m): overlaps, and forces with them, lose digits; put the origin near the "
            "particles, meshes by offset (a key of [[walls]])",
        )  # fmt: skip
