"""Rules of the case file on insertions, without opening other files."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pdem.case.columns import LEFT, column_name_problems
from pdem.case.groups.group_sizes import sphere_limits
from pdem.case.groups.inlets import face_of, interval_of, mean_velocity
from pdem.case.groups.shapes import is_in_file
from pdem.case.messages import Problem
from pdem.case.rules.region_rules import region_problems
from pdem.case.rules.shape_rules import shape_use_problems
from pdem.case.rules.value_rules import direction_problems, table_problems
from pdem.case.sections.faces import DiscFace, MeshFace, WallFace
from pdem.case.sections.sizes import sizes_of
from pdem.features.insertions.section import RateTable
from pdem.foundation import exact_math
from pdem.foundation.errors import CaseError, InputError
from pdem.particles import regions

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeAlias

    from pdem.case.sections.schema import CaseData
    from pdem.features.insertions.section import Insertion
    from pdem.particles.faces import Face

    Location: TypeAlias = tuple[str | int, ...]


def insertion_problems(case: CaseData) -> Iterator[Problem]:
    """Yield the problems of all insertions except problems of their materials."""
    taken = {wall.name: f"walls[{index}]" for index, wall in enumerate(case.walls)}
    taken[LEFT] = "columns of what has left the domain"
    for index, insertion in enumerate(case.insertions):
        where = ("insertions", index)
        yield from column_name_problems(insertion.name, where, taken)
        taken[insertion.name] = f"insertions[{index}]"
        shape = shape_use_problems(case, insertion, where)
        found = [*shape, *_sizes(insertion, where), *_amounts(insertion, where), *_place(case, insertion, where)]
        yield from found
        if not found:
            yield from _geometry(case, index, where)


def _sizes(insertion: Insertion, where: Location) -> Iterator[Problem]:
    if insertion.radius is None and insertion.shape is None:
        yield Problem((*where, "radius"), "is missing; give the radius in m, or a shape")
        return
    try:
        _ = None if insertion.radius is None else sizes_of(insertion.radius)
    except InputError as error:
        yield Problem((*where, "radius"), str(error))


def _amounts(insertion: Insertion, where: Location) -> Iterator[Problem]:
    if insertion.mass_rate is not None and insertion.count_rate is not None:
        yield Problem((*where, "count_rate"), "is not allowed together with mass_rate; give one of them")
    if insertion.rate is None and insertion.mass is None and insertion.count is None:
        yield Problem(where, "needs mass_rate or count_rate, or the mass or count of what comes in at once")
    if insertion.rate is None and insertion.end is not None:
        yield Problem((*where, "end"), "ends a rate; without mass_rate or count_rate give mass or count alone")
    if insertion.end is not None and not insertion.end > insertion.start:
        yield Problem((*where, "end"), f"must be later than start ({insertion.start:g} s)")
    key = "count_rate" if insertion.mass_rate is None else "mass_rate"
    if isinstance(insertion.rate, RateTable):
        yield from table_problems(insertion.rate, "values", (*where, key))
        if min(insertion.rate.values or (0.0,)) < 0.0:
            yield Problem((*where, key, "values"), "must not be negative")


def _place(case: CaseData, insertion: Insertion, where: Location) -> Iterator[Problem]:
    given = [key for key in ("region", "face") if getattr(insertion, key) is not None]
    if len(given) != 1:
        found = " and ".join(given) if given else "none of them"
        yield Problem(where, f"needs exactly one of region and face, has {found}")
        return
    if insertion.region is not None:
        yield from region_problems(insertion.region, (*where, "region"))
    if insertion.face is None and not isinstance(insertion.mean, tuple):
        yield Problem((*where, "velocity"), "is a speed through a face; in a region give a vector")
    if isinstance(insertion.face, DiscFace):
        yield from direction_problems(insertion.face.normal, (*where, "face", "normal"))
    if case.domain.dimension == 2:
        yield from _plane(insertion, where)


def _plane(insertion: Insertion, where: Location) -> Iterator[Problem]:
    flat = "must be 0 in a case of dimension 2, which lies in the x-y plane"
    if insertion.face is not None:
        yield Problem((*where, "face"), "needs three dimensions; in a case of dimension 2 give a region")
    elif isinstance(insertion.mean, tuple) and insertion.mean[2] != 0.0:
        yield Problem((*where, "velocity", 2), flat)
    for axis in range(2):
        if insertion.angular_velocity[axis] != 0.0:
            yield Problem((*where, "angular_velocity", axis), flat)


def _geometry(case: CaseData, index: int, where: Location) -> Iterator[Problem]:
    """Yield the problems of the region or face of an insertion, unless it is in a file, which is opened later."""
    insertion = case.insertions[index]
    if isinstance(insertion.face, MeshFace) or is_in_file(case, insertion.shape):
        return
    if isinstance(insertion.face, WallFace):
        text = "is a wall, which particles touch; give the corners of a face that lies a radius before it"
        yield Problem((*where, "face", "wall"), text)
        return
    try:
        face = face_of(case, index)
    except CaseError as error:
        yield Problem((*where, "face"), str(error).partition(f"insertions[{index}].face: ")[2])
        return
    yield from geometry_problems(case, insertion, face, where)


def geometry_problems(case: CaseData, insertion: Insertion, face: Face | None, where: Location) -> Iterator[Problem]:
    """Yield the problems of the region or face of an insertion, and of its velocity there."""
    if face is not None:
        velocity = mean_velocity(insertion, face)
        if not abs(exact_math.inner(velocity, face.normal)) > 1e-6 * exact_math.norm(velocity):
            yield Problem((*where, "velocity"), "does not lead through the face; give a speed along its normal")
            return
        low, high = face.bounds
        lower, upper = face.corners.min(axis=0), face.corners.max(axis=0)
        key = "face"
    else:
        assert insertion.region is not None
        lower, upper = low, high = regions.bounds(insertion.region)
        low, high, key = low[: case.domain.dimension], high[: case.domain.dimension], "region"
    width, diameter = float((high - low).min()), 2.0 * (sphere_limits(case, insertion) or (0.0, 0.0))[1]
    if width < diameter * (1.0 - 1e-9):
        text = f"is {width:.4g} m wide, less than the largest diameter {diameter:.4g} m; widen it"
        yield Problem((*where, key), text)
    yield from _inside_domain(case, lower, upper, (*where, key))
    if math.isinf(interval_of(case, insertion, face)):
        text = "is missing; particles stay where they come in, so that nothing says when to try again"
        yield Problem((*where, "every"), text)


def _inside_domain(case: CaseData, lower: np.ndarray, upper: np.ndarray, where: Location) -> Iterator[Problem]:
    for axis in range(case.domain.dimension):
        if case.domain.periodic[axis]:
            continue
        least, most = case.domain.lower[axis], case.domain.upper[axis]
        room = 1e-9 * (most - least)
        if lower[axis] < least - room or upper[axis] > most + room:
            text = f"reaches from {lower[axis]:g} to {upper[axis]:g} m along {'xyz'[axis]}, out of the domain "
            yield Problem(where, f"{text}({least:g} to {most:g} m); move it or widen the domain")
