"""Check of a restart from a state with a deformed periodic box."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.case.deformation import AXES, deforms, shear_axes
from pdem.foundation.errors import CaseError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from numpy.typing import NDArray

    from pdem.case.model import Case


def check_box(old: Case, new: Case, box: Mapping[str, NDArray[Any]]) -> None:
    """Check that a case is compatible with the shape of the box in a state.

    Parameters
    ----------
    old, new : Case
        Case of the state, and case of the continued run.
    box : mapping
        Box of the state, see `pdem.engine.box.state.box_group`. Empty if the box does not deform.

    Raises
    ------
    CaseError
        If the new case has no deforming box, shears along other axes, or moves the box.
    """
    if not len(box.get("offset", ())):
        return
    if not deforms(new):
        raise box_would_rest()
    for key in ("lower", "upper"):
        if any(
            a != b and periodic
            for a, b, periodic in zip(
                *(getattr(one.domain, key) for one in (old, new)), old.domain.periodic, strict=True
            )
        ):
            raise CaseError(
                f"domain.{key}: a restart keeps the box, which has lengths of its own since it deforms; strain it by "
                "domain.deformation, or leave this as it was"
            )
    axes = shear_axes(old)
    if axes is not None and float(box["offset"][0]) and shear_axes(new) != axes:
        raise _leans(*axes)


def check_axes(box: Mapping[str, Any], axes: tuple[int, int]) -> None:
    """Check that a case shears along the axes of velocity and gradient along which the box of a state is sheared.

    Parameters
    ----------
    box : mapping
        The row of the box in a state; states of earlier versions have no axes.
    axes : (int, int)
        Axes of the case, negative for none.

    Raises
    ------
    CaseError
        If the axes differ.
    """
    if "gradient_axis" not in box or not float(box["offset"]):
        return
    leans = int(box["velocity_axis"]), int(box["gradient_axis"])
    if leans != axes:
        raise _leans(*leans)


def box_would_rest() -> CaseError:
    """Return the error that the box of a state has deformed, but the case has no deforming box."""
    return CaseError(
        "domain.deformation: the box has deformed, and a restart keeps its shape; give {} to keep it at rest"
    )


def _leans(velocity: int, gradient: int) -> CaseError:
    """Return the error that the box of a state is sheared along other axes than the shear of the case."""
    along, across = AXES[velocity], AXES[gradient]
    return CaseError(
        f"domain.deformation.shear: the box leans along {along} across {across}, and a restart keeps these "
        f'axes; give a shear with velocity_along = "{along}" and gradient_along = "{across}", and rate = 0 '
        "to keep it at rest"
    )
