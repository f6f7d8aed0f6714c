"""Findings on lengths: particles, the box, and distances reached during the run."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pdem.case.groups.inlets import face_of, inlet_of, interval_of, largest_reach
from pdem.preflight.estimates.impacts import pull_of
from pdem.preflight.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.case.model import Case
    from pdem.foundation.array_types import Floats
    from pdem.preflight.population import Population

LARGE_RADIUS, LARGE_BOX = 0.1, 30.0
"""Radius and side of the domain [m] above which lengths are probably in mm, if nothing moves far in comparison."""

FEW_STEPS = 1000
"""Number of steps in which hardly anything can happen, unless particles are huge by mistake."""

SLOW = 3.0
"""Duration of a fall through the domain, relative to the run, above which a small number of steps is suspicious."""

THIN = 1e-8
"""Smallest share of its bounding box that a bed of many particles fills, even for dust in a cyclone."""

WIDE = 1e4
"""Size of a bed or an inlet in largest diameters, above which particles are probably too small."""

BULK = 20
"""Smallest number of particles for which a bed has a meaningful size."""

_UNITS = {"um": 1e-6, "mm": 1e-3, "m": 1.0, "km": 1e3}


def length_findings(case: Case, particles: Population, radius: Floats, step: float) -> Iterator[Finding]:
    """Yield the findings on lengths, with a time step [s]; identical on all ranks.

    Parameters
    ----------
    case : Case
        The case.
    particles : Population
        Particles at time 0.
    radius : (n,) array
        Their radii and the radii of inserted particles, or only the smallest and the largest [m].
    step : float
        Time step [s].
    """
    if not len(radius):
        return
    sides = np.subtract(case.domain.upper, case.domain.lower)[: case.domain.dimension]
    low, high = (length_text(2.0 * float(one)) for one in (radius.min(), radius.max()))
    sizes = low if low == high else f"{low} to {high}"
    text = f"diameters of {sizes} in a box of {' x '.join(length_text(side) for side in sides)}"
    yield Finding("info", "sizes", text)
    yield from _too_large(case, radius, sides, step)
    yield from _too_small(case, particles, radius)


def length_text(length: float) -> str:
    """Return a length as text in a convenient unit."""
    unit = next((one for one, size in reversed(_UNITS.items()) if length >= 0.999 * size), "um")
    return f"{length / _UNITS[unit]:.3g} {unit}"


def _too_large(case: Case, radius: Floats, sides: Floats, step: float) -> Iterator[Finding]:
    """Warn of lengths that seem to be in mm: nothing moves far during the run."""
    most, end = float(radius.max()), case.time.end
    if most < LARGE_RADIUS or sides.max() < LARGE_BOX:
        return
    pull = pull_of(case)[: case.domain.dimension]
    gravity = float(np.linalg.norm(pull))
    if gravity < 1.0:
        return
    height = float(np.abs(pull) @ sides) / gravity
    fall = math.sqrt(2.0 * height / gravity)
    if not (end < fall or (end < SLOW * fall and end / step < FEW_STEPS)):
        return
    text = f"particles are up to {length_text(2.0 * most)} in diameter, and a fall through the box of "
    text += f"{length_text(height)} takes {fall:.2g} s of a run of {end:g} s: all lengths are in m; are yours in mm? "
    text += f"Then give a thousandth of each (a radius of {most:g} mm is {most / 1000.0:g})"
    yield Finding("warning", "units", text)


def _too_small(case: Case, particles: Population, radius: Floats) -> Iterator[Finding]:
    """Warn of particles that are tiny compared with their bed or inlet."""
    largest = float(radius.max())
    bed = particles.upper - particles.lower
    if particles.count >= BULK and float(bed.max()) > WIDE * 2.0 * largest:
        filled = particles.count * 4.0 / 3.0 * math.pi * largest**3 / float(bed.prod())
        if filled < THIN:
            yield _dust(f"{particles.count:,} particles", largest, float(bed.max()))
    for index, insertion in enumerate(case.insertions):
        face, reach = face_of(case, index), largest_reach(case, insertion)
        lower, upper = inlet_of(case, insertion, face, interval_of(case, insertion, face)).bounds
        if float((upper - lower).max()) > WIDE * 2.0 * reach:
            yield _dust(f"particles of insertion {insertion.name}", reach, float((upper - lower).max()))


def _dust(what: str, radius: float, size: float) -> Finding:
    text = f"{what} of {length_text(2.0 * radius)} diameter at most are spread over {length_text(size)}"
    return Finding("warning", "units", f"{text}; check the unit of the radius (m; 5 mm is 0.005)")
