"""Rules of the case file on forces, without opening other files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.case.messages import Problem, nearest_key_hint
from pdem.case.python_files import FROM_FILE, is_python_name
from pdem.case.rules.region_rules import region_problems
from pdem.features.external_forces.section import ARRAY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.case.sections.schema import CaseData
    from pdem.features.external_forces.section import Force

KEYS = {
    "uniform": ("force", "acceleration"),
    "drag": ("linear", "quadratic", "viscosity", "density", "fluid_velocity"),
    ARRAY: (),
}
"""Keys of each kind."""


def force_problems(case: CaseData) -> Iterator[Problem]:
    """Yield the problems of all forces; `.parameters.forces_of` checks functions in files."""
    for index, force in enumerate(case.forces):
        where = ("forces", index)
        yield from _kind_problems(force, where)
        if force.kind == ARRAY:
            yield from _array_problems(case, index)
        if force.material is not None and force.material not in case.materials:
            hint = nearest_key_hint(force.material, list(case.materials))
            yield Problem((*where, "material"), f"is not a material of the case; {hint}")
        if force.region is not None:
            yield from region_problems(force.region, (*where, "region"))
        if force.end is not None and force.end <= force.start:
            yield Problem((*where, "end"), f"must be after start ({force.start:g} s)")


def _kind_problems(force: Force, where: tuple[str | int, ...]) -> Iterator[Problem]:
    kind = force.kind
    is_python = kind.startswith(FROM_FILE)
    if is_python and not is_python_name(kind):
        yield Problem((*where, "kind"), 'must be "python:FILE.py:NAME", a file and a function in it')
    if not is_python and kind not in KEYS:
        hint = nearest_key_hint(kind, [*KEYS, "python:FILE.py:NAME"])
        yield Problem((*where, "kind"), f"is no kind of force; {hint}")
        return
    for other, keys in KEYS.items():
        for key in keys if other != kind else ():
            if getattr(force, key) is not None:
                yield Problem((*where, key), f'belongs to kind = "{other}"; this one has no use for it')
    if kind == "uniform" and (force.force is None) == (force.acceleration is None):
        yield Problem(where, "needs exactly one of force (N) and acceleration (m/s^2)")
    if kind == "drag":
        yield from _drag_problems(force, where)


def _array_problems(case: CaseData, index: int) -> Iterator[Problem]:
    """Yield the problems of an array: a second one, and limits, since a script sets it for each particle."""
    force, where = case.forces[index], ("forces", index)
    if any(other.kind == ARRAY for other in case.forces[:index]):
        yield Problem((*where, "kind"), "is there already; particles have one array of forces")
    for key in ("material", "region", "start", "end"):
        if getattr(force, key) not in (None, 0.0):  # a case that is written has the start that all have
            text = 'belongs to other kinds; of kind = "array" a script gives the force of each particle, or zero'
            yield Problem((*where, key), text)


def _drag_problems(force: Force, where: tuple[str | int, ...]) -> Iterator[Problem]:
    by_speed = force.linear is not None or force.quadratic is not None
    if by_speed == (force.viscosity is not None):
        text = "needs linear (kg/s), quadratic (kg/m) or both, or else viscosity (Pa s)"
        yield Problem(where, text)
    elif force.density is not None and by_speed:
        yield Problem((*where, "density"), "goes with viscosity, not with linear and quadratic")
