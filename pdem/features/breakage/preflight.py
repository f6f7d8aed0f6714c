"""Findings on breakage before a run: fracture energies, the first impact, numbers of fragments, and the time step."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pdem.case.groups.particle_sources import largest_radii, smallest_given_radii
from pdem.case.laws import has_breakage
from pdem.case.sections.materials import split_pair
from pdem.case.timestep import automatic_fraction, impact_conditions, reference_speed, step_limits, step_scale
from pdem.features.breakage.fragment_sizes import MOST_FRAGMENTS, mean_count
from pdem.features.breakage.loading_time import loading_time
from pdem.features.breakage.model_keys import SMALLEST_PARENT
from pdem.features.breakage.size_model import SizeModel
from pdem.features.breakage.size_tables import size_rows
from pdem.features.breakage.strength_models import models_of
from pdem.foundation.memory import BYTES_PER_PARTICLE
from pdem.preflight.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.case.model import Case
    from pdem.case.sections.breakage import BreakageSection
    from pdem.features.breakage.strength_models import StrengthModel
    from pdem.foundation.array_types import Floats
    from pdem.preflight.population import Population

MANY = 1_000_000
"""Number of fragments beyond which a warning is given."""

_SHARES = (0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0)
"""Shares of the largest t10 at which numbers of fragments are computed."""

LONG_LOADING = 0.2
"""Loading time over the length of the run beyond which a warning is given."""


def breakage_findings(case: Case, particles: Population, step: float) -> list[Finding]:
    """Return the findings on the breakage of a case, for a time step [s]. Collective.

    Raises
    ------
    CaseError
        On all ranks, if the function of a user or a file of particles cannot be used.
    """
    if not has_breakage(case):
        return []
    radii, speed = largest_radii(case), reference_speed(case)
    found: list[Finding] = []
    for (name, material), model in zip(case.materials.items(), models_of(case), strict=True):
        if model is None or material.breakage is None or name not in radii:
            continue
        least = SMALLEST_PARENT * material.breakage.smallest
        sizes = np.array([radii[name]] if radii[name] <= least else [radii[name], least])
        found += [
            *_strengths(name, model, sizes),
            *_first_impact(case, name, model, float(sizes[0]), speed),
            *_fragments(case, name, material.breakage, sizes[0], particles),
        ]
    return [*found, *_loading(case, step), *_step(case, step)]


def _strengths(name: str, model: StrengthModel, radii: Floats) -> Iterator[Finding]:
    """Report the medians of strengths."""
    unit = "Pa" if model.by_force else "J/kg"
    share = np.array([0.1, 0.5, 0.9])
    parts = []
    for radius in radii.tolist():
        low, median, high = model.quantile(np.full(3, radius), share).tolist()
        parts.append(f"{median:.4g} {unit} at {2e3 * radius:.3g} mm (80 % between {low:.3g} and {high:.3g})")
    kind = "force over squared diameter" if model.by_force else "fracture energy"
    yield Finding("info", "breakage", f"{name}: median {kind} {', '.join(parts)}")


def _first_impact(case: Case, name: str, model: StrengthModel, radius: float, speed: float) -> Iterator[Finding]:
    """Report the energy of an impact on a rigid wall at the largest speed of the case, and how many break by it.

    A Hertzian contact with damping stores about the restitution times the energy of the impact.
    """
    if model.by_force or not speed:
        return
    laws = [
        one for key, one in case.interactions.items() if any(name in pair for pair in split_pair(key, case.materials))
    ]
    restitution = max((one.restitution for one in laws), default=1.0)
    energy = 0.5 * speed * speed * restitution
    share = float(model.broken_share(np.array([radius]), np.array([energy]))[0])
    t10 = float(model.t10(np.array([radius]), np.array([energy]))[0])
    text = (
        f"{name}: an impact on a rigid wall at {speed:.3g} m/s has {0.5 * speed * speed:.3g} J/kg, of which a contact "
        f"with a restitution of {restitution:g} stores about {energy:.3g}; that breaks {100 * share:.3g} % of the "
        f"spheres of {2e3 * radius:.3g} mm, with a t10 of {t10:.3g} %"
    )
    yield Finding("info", "breakage", text)


def _fragments(
    case: Case, name: str, section: BreakageSection, radius: float, particles: Population
) -> Iterator[Finding]:
    """Report the numbers of fragments, of one sphere and at worst, and their memory."""
    sizes = SizeModel(size_rows(section.fragments.table), section.smallest, section.fines == "keep")
    largest = section.fragments.t10_largest
    usual = mean_count(sizes, radius, 0.2 * largest)
    worst = max(mean_count(sizes, radius, share * largest) for share in _SHARES)
    across = radius / section.smallest
    number = particles.marked(particles["material"] == case.material_index(name))[0]
    most = number * max(worst, 1.0) if section.fines == "count" else number * across * across * across
    memory = most * BYTES_PER_PARTICLE / 2**30
    text = (
        f"{name}: a sphere of {2e3 * radius:.3g} mm breaks into some {usual:.3g} fragments at a t10 of "
        f"{0.2 * largest:.3g} %, {worst:.3g} at most"
    )
    if number:
        text += f"; all {number:,} at once into {most:.3g} ({memory:.2g} GiB)"
    if worst > MOST_FRAGMENTS:
        text += f", more than {MOST_FRAGMENTS:,} of one sphere, at which a run stops"
    if most > MANY:
        text += "; a larger breakage.smallest leaves fewer"
    yield Finding("error" if worst > MOST_FRAGMENTS else ("warning" if most > MANY else "info"), "breakage", text)


def _loading(case: Case, step: float) -> Iterator[Finding]:
    """Report the loading time."""
    time = loading_time(case)
    text = (
        f"a sphere breaks when the load at its strength falls, or after {time:.3g} s ({max(1, round(time / step)):,} "
        "steps) if it stays"
    )
    is_long = time > LONG_LOADING * case.time.end
    text += "; that is long for this run: set breakage.loading_time" if is_long else ""
    yield Finding("warning" if is_long else "info", "breakage", text)


def _step(case: Case, step: float) -> Iterator[Finding]:
    """Report the cost of the fragments in time steps."""
    conditions = impact_conditions(case)
    limits = step_limits(case, replace(conditions, smallest=smallest_given_radii(case)))
    if not limits or not conditions.smallest:
        return
    without = automatic_fraction(case) * step_scale(limits)
    with_fragments = automatic_fraction(case) * step_scale(step_limits(case, conditions))
    ratio = without / with_fragments
    if not math.isfinite(ratio) or ratio < 1.0 + 1e-9:
        return
    least = min(conditions.smallest.values())
    text = (
        f"fragments of {2e3 * least:.3g} mm need steps of {with_fragments:.3g} s, 1/{ratio:.3g} of those without "
        f"breakage ({without:.3g} s)"
    )
    if step > 1.5 * with_fragments:
        text += f"; time.step is {step:.3g} s: too long once they come"
        yield Finding("warning", "breakage", text)
    else:
        yield Finding("info", "breakage", text)
