"""Rules of the case file on sensors, without opening other files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.case.columns import LEFT, RESERVED, column_name_problems, writes_stress
from pdem.case.groups.inlets import face_given
from pdem.case.messages import Problem, nearest_key_hint
from pdem.case.rules.region_rules import region_problems
from pdem.case.rules.value_rules import direction_problems
from pdem.case.sections.faces import DiscFace, MeshFace, WallFace
from pdem.features.sensors.section import SizeClasses
from pdem.foundation.errors import InputError
from pdem.particles import regions

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeAlias

    from pdem.case.sections.schema import CaseData
    from pdem.features.sensors.section import Sensor

    Location: TypeAlias = tuple[str | int, ...]

PLACES = ("region", "plane", "face")


def sensor_problems(case: CaseData) -> Iterator[Problem]:
    """Yield the problems of all sensors."""
    taken = {wall.name: f"walls[{index}]" for index, wall in enumerate(case.walls)}
    taken |= {one.name: f"insertions[{index}]" for index, one in enumerate(case.insertions)}
    taken[LEFT] = "columns of what has left the domain"
    taken |= dict.fromkeys(RESERVED if writes_stress(case) else (), "columns of output.stress")
    for index, sensor in enumerate(case.sensors):
        where = ("sensors", index)
        yield from column_name_problems(sensor.name, where, taken)
        taken[sensor.name] = f"sensors[{index}]"
        given = [key for key in PLACES if getattr(sensor, key) is not None]
        if len(given) != 1:
            found = " and ".join(given) if given else "none of them"
            yield Problem(where, f"needs exactly one of region, plane and face, has {found}")
            continue
        yield from _place(case, sensor, where)
        yield from _classes(sensor, where)
        yield from _passing(sensor, where)
        yield from _stages(sensor, where)
        yield from _of_regions(case, sensor, where)


def _place(case: CaseData, sensor: Sensor, where: Location) -> Iterator[Problem]:
    if sensor.plane is not None:
        yield from direction_problems(sensor.plane.normal, (*where, "plane", "normal"))
        if _is_outside(case, sensor.plane.point, sensor.plane.point):
            yield Problem((*where, "plane", "point"), "is outside the domain, where no particles are; move it")
    elif sensor.face is not None:
        yield from _face(case, sensor, (*where, "face"))
    elif sensor.region is not None:
        problems = list(region_problems(sensor.region, (*where, "region")))
        yield from problems
        if not problems and _is_outside(case, *regions.bounds(sensor.region)):
            yield Problem((*where, "region"), "lies wholly outside the domain, where no particles are; move it")


def _face(case: CaseData, sensor: Sensor, where: Location) -> Iterator[Problem]:
    face = sensor.face
    if isinstance(face, DiscFace):
        problems = list(direction_problems(face.normal, (*where, "normal")))
        yield from problems
        if problems:
            return
    if isinstance(face, WallFace):
        yield from _wall(case, face.wall, (*where, "wall"))
        return
    if face is None or isinstance(face, MeshFace):  # its file is opened before the run
        return
    try:
        corners = face_given(face).corners
    except InputError as error:
        yield Problem(where, str(error))
        return
    if _is_outside(case, corners.min(axis=0), corners.max(axis=0)):
        yield Problem(where, "lies wholly outside the domain, where no particles are; move it")


def _wall(case: CaseData, name: str, where: Location) -> Iterator[Problem]:
    """Yield the problems of a sensor at a wall."""
    walls = {wall.name: wall for wall in case.walls}
    if name not in walls:
        yield Problem(where, f"is not the name of a wall; {nearest_key_hint(name, list(walls))}")
        return
    wall = walls[name]
    if wall.kinds() or wall.on is not None or wall.servo is not None or wall.body is not None:
        yield Problem(where, f"({name}) moves, and the face stays where it is; give a plane, or corners")


def _is_outside(case: CaseData, lower: object, upper: object) -> bool:
    axes = case.domain.dimension
    low, high = np.asarray(lower)[:axes], np.asarray(upper)[:axes]
    return bool(np.any((high < case.domain.lower[:axes]) | (low > case.domain.upper[:axes])))


def _classes(sensor: Sensor, where: Location) -> Iterator[Problem]:
    if isinstance(sensor.by, SizeClasses) and np.any(np.diff(sensor.by.radii) <= 0.0):
        yield Problem((*where, "by", "radii"), "must rise")


def _passing(sensor: Sensor, where: Location) -> Iterator[Problem]:
    percents = sensor.passing or ()
    if np.any(np.diff(percents) <= 0.0):
        yield Problem((*where, "passing"), "must rise")
    elif len({f"{one:g}" for one in percents}) < len(percents):
        yield Problem((*where, "passing"), "has percents with the same six digits, which name columns; leave one out")


def _stages(sensor: Sensor, where: Location) -> Iterator[Problem]:
    key = "stage" if sensor.stages is None else "stages"
    if sensor.stage is not None and sensor.stages is not None:
        yield Problem((*where, "stages"), "is not allowed together with stage; keep one of them")
    elif getattr(sensor, key) is not None and not sensor.has_events:
        text = "has no influence: a region alone is looked at for lines of the series; add remove or residence"
        yield Problem((*where, key), text)


def _of_regions(case: CaseData, sensor: Sensor, where: Location) -> Iterator[Problem]:
    if sensor.region is None:
        for key in ("residence", "mixing", "stress"):
            if getattr(sensor, key):
                yield Problem((*where, key), "is measured in a region; give region in place of the plane")
        return
    if sensor.mixing is None:
        return
    first, second = sensor.mixing.materials
    if first == second:
        yield Problem((*where, "mixing", "materials"), "must be two different ones")
    for number, name in enumerate((first, second)):
        if name not in case.materials:
            hint = nearest_key_hint(name, list(case.materials))
            yield Problem((*where, "mixing", "materials", number), f"is not a material of the case; {hint}")
