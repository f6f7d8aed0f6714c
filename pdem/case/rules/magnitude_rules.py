"""The rule that numbers of a case are neither so small nor so large that their products underflow or overflow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.case.gravity import gravity_tables
from pdem.case.messages import Problem
from pdem.case.sections.base import Section

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeAlias

    from pdem.case.sections.particles import ParticleGroup
    from pdem.case.sections.schema import CaseData

    Location: TypeAlias = tuple[str | int, ...]

SMALLEST, LARGEST = 1e-20, 1e20
BEYOND_REASON = f"is beyond all reason ({SMALLEST:g} to {LARGEST:g} in SI units); check the unit"


def magnitude_problems(case: CaseData) -> Iterator[Problem]:
    """Reject numbers so small or large that their products would underflow or overflow."""
    values: list[tuple[Location, float]] = [(("time", "end"), case.time.end)]
    if not isinstance(case.time.step, str):
        values.append((("time", "step"), case.time.step))
    for key in ("lower", "upper", "gravity"):
        values += [(("domain", key, axis), value) for axis, value in enumerate(getattr(case.domain, key))]
    for kind in ("materials", "interactions"):
        for name, table in getattr(case, kind).items():
            values += [((kind, name, key), value) for key, value in table if isinstance(value, float)]
    for index, group in enumerate(case.particles):
        values += _group_magnitudes(group, ("particles", index))
    for index, wall in enumerate(case.walls):
        values += _numbers(wall, ("walls", index))
    for index, insertion in enumerate(case.insertions):
        values += _numbers(insertion, ("insertions", index))
    for index, sensor in enumerate(case.sensors):
        values += _numbers(sensor, ("sensors", index))
    for index, fields in enumerate(case.fields):
        values += _numbers(fields, ("fields", index))
    for index, force in enumerate(case.forces):
        values += _numbers(force, ("forces", index))
    for section in ("motions", "shapes"):
        for name, one in getattr(case, section).items():
            values += _numbers(one, (section, name))
    for location, table in gravity_tables(case):
        values += _numbers(table, location)
    for index, stage in enumerate(case.stages):
        values += _numbers(stage, ("stages", index))
    for where, value in values:
        if value != 0.0 and not SMALLEST <= abs(value) <= LARGEST:
            yield Problem(where, BEYOND_REASON)


def _group_magnitudes(group: ParticleGroup, where: Location) -> Iterator[tuple[Location, float]]:
    if isinstance(group.radius, float):
        yield (*where, "radius"), group.radius
    elif group.radius is not None:
        yield from _numbers(group.radius, (*where, "radius"))
    velocity = group.velocity
    parts = velocity if isinstance(velocity, tuple) else () if velocity is None else (velocity.random,)
    yield from (((*where, "velocity"), part) for part in parts)
    yield from (((*where, "angular_velocity", axis), part) for axis, part in enumerate(group.angular_velocity or ()))


def _numbers(section: Section, where: Location) -> Iterator[tuple[Location, float]]:
    """Yield every number of a section with its location."""
    for key, part in section:
        if key in ("inertia", "below", "above"):  # may be much smaller, as for a grain of dust
            continue
        if isinstance(part, tuple) and any(isinstance(one, str) for one in part):
            continue
        if isinstance(part, Section):
            yield from _numbers(part, (*where, key))
        elif isinstance(part, tuple) and any(isinstance(one, Section) for one in part):
            for number, one in enumerate(part):
                yield from _numbers(one, (*where, key, number))
        elif isinstance(part, (float, int, tuple)):
            for index, number in np.ndenumerate(np.array(part)):
                yield (*where, key, *index), float(number)
