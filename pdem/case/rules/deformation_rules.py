"""Rules of the case file on a box that deforms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.case.deformation import AXES, deformations, deforms, free_axes, shear_axes
from pdem.case.gravity import gravity_tables
from pdem.case.messages import Problem
from pdem.contact.law.models import LAWS
from pdem.foundation import exact_math

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.case.sections.deformation import AxisDeformation, Deformation, ShearDeformation
    from pdem.case.sections.schema import CaseData

    Location = tuple[str | int, ...]

SHEARED_METHODS = "hgrid", "linked-cell"
"""Methods of detection that support a box that shears."""


def deformation_problems(case: CaseData) -> Iterator[Problem]:
    """Yield the problems of all deformations of the box."""
    if not deforms(case):
        return
    for where, deformation in deformations(case):
        for name, axis in deformation.axes.items():
            yield from _open_axis(case, name, (*where, name), "deforms")
            yield from _one_of(axis, ("strain_rate", "stress"), (*where, name))
        if deformation.shear is not None:
            yield from _shear(case, deformation.shear, (*where, "shear"))
            yield from _one_of(deformation.shear, ("rate", "stress"), (*where, "shear"))
        yield from _stresses(case, deformation, where)
    yield from _same_shear(case)
    yield from _gravity(case)
    yield from _others(case)


def _open_axis(case: CaseData, name: str, where: Location, what: str) -> Iterator[Problem]:
    axis = AXES.index(name)
    if case.domain.dimension == 2 and axis == 2:
        yield Problem(where, "must not be given in a case of dimension 2, which lies in the x-y plane")
    elif not case.domain.periodic[axis]:
        yield Problem(
            where, f"{what} along {name}, and the box is not periodic there; set domain.periodic, or use walls"
        )


def _shear(case: CaseData, shear: ShearDeformation, where: Location) -> Iterator[Problem]:
    if shear.velocity_along == shear.gradient_along:
        text = f"must be another axis than velocity_along ({shear.velocity_along})"
        yield Problem((*where, "gradient_along"), text)
    for key in ("velocity_along", "gradient_along"):
        yield from _open_axis(case, getattr(shear, key), (*where, key), "shears")


def _one_of(section: AxisDeformation | ShearDeformation, keys: tuple[str, str], where: Location) -> Iterator[Problem]:
    given = [key for key in keys if getattr(section, key) is not None]
    if len(given) != 1:
        found = "both" if given else "none of them"
        text = f"needs exactly one of {keys[0]} and {keys[1]}, has {found}: at a given rate the stress follows"
        yield Problem(where, text)


def _stresses(case: CaseData, deformation: Deformation, where: Location) -> Iterator[Problem]:
    """Yield problems of wanted stresses that cannot be reached, or that no axis is left to reach."""
    wanted: dict[tuple[str, ...], float] = {
        (name, "stress"): axis.stress for name, axis in deformation.axes.items() if axis.stress is not None
    }
    if deformation.mean_stress is not None:
        wanted[("mean_stress",)] = deformation.mean_stress
        if not free_axes(case, deformation):
            text = "has no axis left that may strain for it, periodic and without anything of its own"
            yield Problem((*where, "mean_stress"), f"{text}: give it one, or leave this out")
        yield from _tension_of_others(case, deformation, where)
    for key, stress in wanted.items():
        if stress < 0.0 and not grains_may_pull(case):
            text = "is a tension, which grains without adhesion cannot bear: pressure is positive; give another one"
            yield Problem((*where, *key), f"{text}, or adhesion, or bonds")
    if deformation.stresses and not any(deformation.stresses) and deformation.largest_rate is None:
        text = "is missing: it follows from the largest of the wanted stresses, and all are 0; give it (1/s)"
        yield Problem((*where, "largest_rate"), text)
    if deformation.largest_rate is not None and not deformation.stresses:
        yield Problem((*where, "largest_rate"), "limits what is driven by stress, and there is none; leave it out")


def _tension_of_others(case: CaseData, deformation: Deformation, where: Location) -> Iterator[Problem]:
    """Yield the problem of a mean stress below the value that the stresses of some axes alone produce."""
    given = {name: axis.stress for name, axis in deformation.axes.items() if axis.stress is not None}
    dimension, mean = case.domain.dimension, deformation.mean_stress or 0.0
    least = exact_math.total(given.values()) / dimension
    if 0.0 <= mean < least and not grains_may_pull(case):
        text = (
            f"is less than the {least:.6g} that the stress along {', '.join(given)} alone makes of it: the other axes "
            "would have to be under tension, which grains without adhesion cannot bear; ask for more, or for less "
            "along these axes, or give adhesion or bonds"
        )
        yield Problem((*where, "mean_stress"), text)


def grains_may_pull(case: CaseData) -> bool:
    """Return whether contacts or bonds of a case may pull."""
    if case.bonds:
        return True
    for one in case.interactions.values():
        model = LAWS.get(one.law)
        if model is None or model.adhesion is not None or model.normal.history or "adhesion" in one.parts:
            return True
    return False


def _same_shear(case: CaseData) -> Iterator[Problem]:
    first: ShearDeformation | None = None
    for where, deformation in deformations(case):
        shear = deformation.shear
        first = shear if first is None else first
        if shear is None or first is None:
            continue
        axes, others = ((one.velocity_along, one.gradient_along) for one in (shear, first))
        if axes != others:
            text = f"shears along other axes than before (velocity_along {others[0]}, gradient_along {others[1]}); "
            yield Problem((*where, "shear"), f"{text}keep these: a box leans along one axis only")


def _gravity(case: CaseData) -> Iterator[Problem]:
    """Reject gravity along axes along which the box moves, because it would have no potential."""
    moving = _moving_axes(case)
    given: list[tuple[Location, tuple[float, float, float]]] = [(("domain", "gravity"), case.domain.gravity)]
    given += [(("stages", i, "gravity"), one.gravity) for i, one in enumerate(case.stages) if one.gravity]
    given += [
        ((*where, "values", row), value)
        for where, table in gravity_tables(case)
        for row, value in enumerate(table.values or ())
    ]
    for location, gravity in given:
        for axis in moving:
            if gravity[axis]:
                text = f"must be 0: the box deforms along {AXES[axis]}, where particles would fall for ever"
                yield Problem((*location, axis), text)


def _moving_axes(case: CaseData) -> list[int]:
    """Return the axes along which the box moves in any stage."""
    found: set[int] = set()
    for _, one in deformations(case):
        found |= {AXES.index(name) for name in one.axes}
        found |= set() if one.mean_stress is None else set(free_axes(case, one))
        found |= set() if one.shear is None else {AXES.index(one.shear.velocity_along)}
    return sorted(found)


def _others(case: CaseData) -> Iterator[Problem]:
    """Reject parts of a case that do not support a box that deforms."""
    if shear_axes(case) is not None and case.detection.method not in SHEARED_METHODS:
        allowed = " or ".join(f'"{name}"' for name in SHEARED_METHODS)
        yield Problem(("detection", "method"), f"does not know boxes that shear; take {allowed}")
    for index, sensor in enumerate(case.sensors):
        if shear_axes(case) is not None and sensor.region is None:
            text = "counts what passes a plane, and images of a box that shears are not behind it; give a region"
            yield Problem(("sensors", index), text)
    for index in range(len(case.insertions)):
        text = "cannot be together with a box that deforms: regions and faces stay where they are; fill it before"
        yield Problem(("insertions", index), text)
