"""Rules between several keys of servo walls and free bodies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.case.messages import Problem
from pdem.case.rules.value_rules import direction_problems, table_problems
from pdem.case.sections.motions import MOTION_KEYS
from pdem.foundation import exact_math
from pdem.foundation.jacobi import eigenvalues

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeAlias

    from pdem.case.sections.driven_walls import Body, Servo
    from pdem.case.sections.schema import CaseData
    from pdem.case.sections.walls import Wall

    Location: TypeAlias = tuple[str | int, ...]

TOLERANCE = 1e-9
"""Tolerance for rounding in the rules of an inertia, over its largest moment."""

LOADS = ("force", "torque", "force_table", "torque_table")
_FLAT = "must be 0 in a case of dimension 2, which lies in the x-y plane"


def driven_problems(case: CaseData, wall: Wall, where: Location) -> Iterator[Problem]:
    """Yield the problems of a wall that is driven by particles."""
    if wall.servo is not None and wall.body is not None:
        yield Problem((*where, "body"), "and servo cannot be combined on one wall; keep one of them")
    if wall.servo is not None:
        if wall.on is not None:
            yield Problem((*where, "on"), "and servo cannot be combined: a servo rests on nothing that moves")
        yield from _servo(case, wall.servo, (*where, "servo"))
    if wall.body is not None:
        given = [key for key in MOTION_KEYS if getattr(wall, key) is not None]
        if given:
            text = f"and {given[0]} cannot be combined: a body moves by what pushes it; remove one of them"
            yield Problem((*where, "body"), text)
        yield from _body(case, wall.body, (*where, "body"))


def _servo(case: CaseData, servo: Servo, where: Location) -> Iterator[Problem]:
    yield from direction_problems(servo.axis, (*where, "axis"))
    given = [key for key in LOADS if getattr(servo, key) is not None]
    if len(given) != 1:
        found = " and ".join(given) if given else "none of them"
        yield Problem(where, f"needs exactly one of {', '.join(LOADS)}, has {found}")
        return
    turns = given[0].startswith("torque")
    if turns != (servo.centre is not None):
        text = f"is missing; {given[0]} turns the wall about the axis through it"
        yield Problem((*where, "centre"), text if turns else f"belongs to a torque; {given[0]} needs none")
    if (servo.force == 0.0 or servo.torque == 0.0) and servo.gain is None:
        yield Problem((*where, "gain"), f"is missing; with {given[0]} = 0 there is no load to take it from")
    table = getattr(servo, given[0])
    if given[0].endswith("table"):
        yield from table_problems(table, "values", (*where, given[0]))
    limits = servo.travel_limits
    if limits is not None and not limits[0] <= 0.0 <= limits[1]:
        yield Problem((*where, "travel_limits"), "must be a number up to 0 and one from 0 on: it begins at 0")
    if case.domain.dimension == 2 and (any(servo.axis[:2]) if turns else servo.axis[2] != 0.0):
        text = "must be [0, 0, 1] or its opposite" if turns else "must lie in the plane"
        yield Problem((*where, "axis"), f"{text} in a case of dimension 2")


def _body(case: CaseData, body: Body, where: Location) -> Iterator[Problem]:
    if (body.mass is None) == (body.density is None):
        yield Problem(where, "needs exactly one of mass and density")
    if body.density is not None:
        for key in ("centre", "inertia"):
            if getattr(body, key) is not None:
                yield Problem((*where, key), "is not allowed together with density, which takes it from the mesh")
    elif body.inertia is not None and body.centre is None:
        yield Problem((*where, "centre"), "is missing; inertia is about the centre of mass")
    elif body.centre is not None and body.inertia is None and body.turns:
        yield Problem((*where, "inertia"), "is missing; leave out centre as well to take both from the mesh")
    if body.inertia is not None:
        yield from _inertia(np.array(body.inertia), (*where, "inertia"))
    yield from _freedom(body, where)
    if case.domain.dimension == 2:
        yield from _plane(body, where)


def _inertia(inertia: np.ndarray, where: Location) -> Iterator[Problem]:
    scale = TOLERANCE * np.abs(inertia).max()
    if np.abs(inertia - inertia.T).max() > scale:
        yield Problem(where, "must be symmetric")
        return
    small, middle, large = eigenvalues(inertia).tolist()
    if small <= scale:
        yield Problem(where, f"has the principal moment {small:g} kg m^2; all three must be positive")
    elif small + middle < large - scale:
        text = f"has principal moments {small:g}, {middle:g}, {large:g} kg m^2"
        yield Problem(where, f"{text}: no body has one larger than the sum of the others")


def _freedom(body: Body, where: Location) -> Iterator[Problem]:
    if body.hinge is not None:
        yield from direction_problems(body.hinge.axis, (*where, "hinge", "axis"))
        for key in ("free_translation", "free_rotation"):
            if not all(getattr(body, key)):
                yield Problem((*where, key), "is not allowed together with hinge, which says what is free")
        if any(body.velocity):
            yield Problem((*where, "velocity"), "must be 0 with a hinge; give angular_velocity")
        off = exact_math.norm(np.cross(body.hinge.axis, body.angular_velocity))
        if off > TOLERANCE * exact_math.hypot(*body.hinge.axis) * exact_math.hypot(*body.angular_velocity):
            yield Problem((*where, "angular_velocity"), "must be along hinge.axis")
        return
    if sum(body.free_rotation) == 2:
        text = "has two free axes, which mean nothing once it has turned; free one or all, or give a hinge"
        yield Problem((*where, "free_rotation"), text)
    for key, free in (("velocity", body.free_translation), ("angular_velocity", body.free_rotation)):
        if any(value and not is_free for value, is_free in zip(getattr(body, key), free, strict=True)):
            name = "free_translation" if key == "velocity" else "free_rotation"
            yield Problem((*where, key), f"goes where {name} is false")


def _plane(body: Body, where: Location) -> Iterator[Problem]:
    if body.velocity[2] != 0.0:
        yield Problem((*where, "velocity", 2), _FLAT)
    for axis in range(2):
        if body.angular_velocity[axis] != 0.0:
            yield Problem((*where, "angular_velocity", axis), _FLAT)
    if body.hinge is not None and any(body.hinge.axis[:2]):
        yield Problem((*where, "hinge", "axis"), "must be along z in a case of dimension 2")
