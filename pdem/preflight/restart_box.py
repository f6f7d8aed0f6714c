"""Check of a case that continues from a state whose periodic box has deformed."""

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
    """Require that a case knows the shape of the box of a state.

    Parameters
    ----------
    old, new : Case
        Case of the state, and of the run that goes on from it.
    box : mapping
        Of the state: see `pdem.engine.box.state.box_group`. Empty if the box does not deform.

    Raises
    ------
    CaseError
        If the box would no longer deform, lean along the same axes, or be about the same place.
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
    """Require that a case shears along the axes of velocity and gradient along which the box of a state leans.

    Parameters
    ----------
    box : mapping
        The row of the box in a state; those that earlier versions wrote have no axes.
    axes : (int, int)
        Those of the case, negative for none.

    Raises
    ------
    CaseError
        If these are others.
    """
    if "gradient_axis" not in box or not float(box["offset"]):
        return
    leans = int(box["velocity_axis"]), int(box["gradient_axis"])
    if leans != axes:
        raise _leans(*leans)


def box_would_rest() -> CaseError:
    """Return the error that a box has deformed, and the case has none that does."""
    return CaseError(
        "domain.deformation: the box has deformed, and a restart keeps its shape; give {} where it shall rest"
    )


def _leans(velocity: int, gradient: int) -> CaseError:
    """Return the error that a box leans along other axes than a case shears it."""
    along, across = AXES[velocity], AXES[gradient]
    return CaseError(
        f"domain.deformation.shear: the box leans along {along} across {across}, and a restart keeps these "
        f'axes; give a shear with velocity_along = "{along}" and gradient_along = "{across}", of the rate 0 '
        "where it shall rest"
    )
