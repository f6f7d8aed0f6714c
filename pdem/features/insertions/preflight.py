"""Checks of insertions before a run: whether rate, speed and region fit together, and the number of particles."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pdem.case.groups.group_sizes import insertion_sizes, mean_room, sphere_limits
from pdem.case.groups.inlets import face_of, inlet_of, interval_of, largest_insertion_speed, rate_of
from pdem.case.groups.shapes import member_count
from pdem.case.messages import shown_key
from pdem.features.insertions.rules import geometry_problems
from pdem.particles.fill_limits import CLOSEST_FRACTION, USUAL_FRACTION
from pdem.preflight.findings import Finding
from pdem.preflight.particle_checks import PARTICLE_DISPLACEMENT_ERROR, PARTICLE_DISPLACEMENT_WARNING, level_of, share
from pdem.preflight.unit_checks import radius_unit_warnings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.case.model import Case
    from pdem.features.insertions.section import Insertion
    from pdem.particles.faces import Face


def insertion_findings(case: Case, step: float) -> Iterator[Finding]:
    """Yield the findings on the insertions of a case with a time step [s].

    Raises
    ------
    CaseError
        If a file that an insertion names cannot be used, or its face is no plane.
    """
    limits = [sphere_limits(case, one) for one in case.insertions]
    radii = np.array([radius for both in limits for radius in both or ()])
    yield from radius_unit_warnings(case, radii)
    for index, insertion in enumerate(case.insertions):
        face = face_of(case, index)
        problems = list(geometry_problems(case, insertion, face, ("insertions", index)))
        for one in problems:
            yield Finding("error", shown_key(one.location), one.text)
        if not problems:
            yield from _of_one(case, insertion, face, step)


def _of_one(case: Case, insertion: Insertion, face: Face | None, step: float) -> Iterator[Finding]:
    subject = f"insertion {insertion.name}"
    yield from _travel(case, insertion, step, subject)
    if insertion.start >= case.time.end:
        text = f"begins at {insertion.start:g} s, not before the end of the run at {case.time.end:g} s"
        yield Finding("warning", subject, f"{text}: nothing comes in")
        return
    every = max(1, round(interval_of(case, insertion, face) / step))
    number = expected_number(case, insertion)
    text = f"about {number:,.0f} particles until the end, at events every {every:,} steps ({every * step:.3g} s)"
    yield Finding("info", subject, text)
    yield from _crowding(case, insertion, face, every * step, subject)


def _travel(case: Case, insertion: Insertion, step: float, subject: str) -> Iterator[Finding]:
    """Report inserted particles that are too fast for the time step [s]."""
    speed, radius = largest_insertion_speed(case, insertion), (sphere_limits(case, insertion) or (0.0,))[0]
    part = speed * step / radius
    level = level_of(part, PARTICLE_DISPLACEMENT_WARNING, PARTICLE_DISPLACEMENT_ERROR)
    if level != "info":
        most = PARTICLE_DISPLACEMENT_WARNING * radius
        text = f"at {speed:.3g} m/s particles move {share(part)} of the smallest radius in one step"
        yield Finding(level, subject, f"{text}; use a step of at most {most / speed:.3g} s, or {most / step:.3g} m/s")


def _crowding(case: Case, insertion: Insertion, face: Face | None, interval: float, subject: str) -> Iterator[Finding]:
    """Compare the requested volume between two events [s] with the room for it."""
    rate = rate_of(case, insertion)
    if rate is None:
        return
    each, dimension = mean_room(case, insertion, insertion_sizes(case, insertion)), case.domain.dimension
    number = rate.largest / (_mean_mass(case, insertion) if insertion.count_rate is None else 1.0)
    room = inlet_of(case, insertion, face, interval).room
    fraction = number * interval * each / room
    usual, most = USUAL_FRACTION[dimension], CLOSEST_FRACTION[dimension]
    # a single particle may fill a small room
    level = level_of(fraction, usual, most) if number * interval > 1.0 else "info"
    if level == "info":
        return
    key, unit = ("mass_rate", "kg/s") if insertion.count_rate is None else ("count_rate", "1/s")
    what = "region" if face is None else "face"
    remedy = "widen it, or clear it faster (velocity, every)" if face is None else "raise velocity or widen the face"
    fits = rate.largest * usual / fraction
    text = f"{key} of up to {rate.largest:g} {unit} is {number:.3g} particles per s, {share(fraction)} of the volume "
    text += f"that the {what} lets in; random places hold about {share(usual)}, which is {fits:.3g} {unit}"
    wait = "they can never come in" if level == "error" else "some will wait"
    yield Finding(level, subject, f"{text}: {wait}; lower the rate, {remedy}")


def _mean_mass(case: Case, insertion: Insertion) -> float:
    density = case.materials[insertion.material].density
    assert density is not None, "a checked case has densities of all materials of particles"
    return 4.0 / 3.0 * math.pi * density * insertion_sizes(case, insertion).mean_cube


def expected_number(case: Case, insertion: Insertion) -> float:
    """Return the number of particles that an insertion requests until the end of the run."""
    return expected_mass(case, insertion) / _mean_mass(case, insertion)


def expected_mass(case: Case, insertion: Insertion) -> float:
    """Return the mass that an insertion requests until the end of the run, with particles of the mean mass [kg]."""
    limits = [math.inf if insertion.mass is None else insertion.mass]
    mean = _mean_mass(case, insertion)
    if insertion.count is not None:
        limits.append(insertion.count * mean)
    rate = rate_of(case, insertion)
    if rate is not None:
        last = min(case.time.end, insertion.end or math.inf)
        amount = rate.integral(insertion.start, max(insertion.start, last))
        limits.append(amount * (1.0 if insertion.count_rate is None else mean))
    return min(limits)


def largest_mass(case: Case, insertion: Insertion) -> float:
    """Return the mass of the largest particle of an insertion [kg]."""
    sizes = insertion_sizes(case, insertion)
    return _mean_mass(case, insertion) * sizes.largest**3 / sizes.mean_cube


def inserted_number(case: Case, *, members: bool = False) -> int:
    """Return the number of particles inserted until the end of a run; with `members` the spheres of clusters."""
    sizes = (member_count(case, one) if members else 1 for one in case.insertions)
    return round(sum(expected_number(case, one) * size for one, size in zip(case.insertions, sizes, strict=True)))
