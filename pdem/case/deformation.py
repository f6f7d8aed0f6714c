"""Deformation of the box of a case in each of its stages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.case.sections.deformation import Deformation

if TYPE_CHECKING:
    from pdem.case.sections.schema import CaseData

    Location = tuple[str | int, ...]

AXES = "xyz"

AT_REST = Deformation()


def deformations(case: CaseData) -> list[tuple[Location, Deformation]]:
    """Return all deformations in a case, with their locations."""
    found: list[tuple[Location, Deformation | None]] = [
        (("domain", "deformation"), case.domain.deformation),
        *((("stages", index, "deformation"), stage.deformation) for index, stage in enumerate(case.stages)),
    ]
    return [(where, one) for where, one in found if one is not None]


def deforms(case: CaseData) -> bool:
    """Return whether the box of a case ever deforms."""
    return bool(deformations(case))


def strains(case: CaseData) -> bool:
    """Return whether the lengths of the box of a case ever change."""
    return any(bool(one.axes) or one.mean_stress is not None for _, one in deformations(case))


def deformation_in(case: CaseData, stage: int) -> Deformation:
    """Return the deformation of a stage, which may be inherited from an earlier stage."""
    found = case.domain.deformation
    for one in case.stages[: stage + 1]:
        found = found if one.deformation is None else one.deformation
    return AT_REST if found is None else found


def free_axes(case: CaseData, deformation: Deformation) -> tuple[int, ...]:
    """Return the axes that strain for the mean stress: periodic axes without a strain or stress of their own."""
    axes = range(case.domain.dimension)
    return tuple(a for a in axes if case.domain.periodic[a] and AXES[a] not in deformation.axes)


def shear_axes(case: CaseData) -> tuple[int, int] | None:
    """Return the axes of velocity and gradient of the shear, None if the box never shears."""
    for _, one in deformations(case):
        if one.shear is not None:
            return AXES.index(one.shear.velocity_along), AXES.index(one.shear.gradient_along)
    return None
