"""The case with its box at present, for bonds that are made after the box has deformed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.foundation.errors import CaseError

if TYPE_CHECKING:
    from pdem.case.sections.schema import CaseData
    from pdem.engine.system import System


def case_in_box(system: System) -> CaseData:
    """Return the case of a run with the present corners of its box as its domain.

    Raises
    ------
    CaseError
        On all ranks, if the box leans: then pairs across its sides cannot be selected.
    """
    case, box = system.case, system.box.moving
    if box is None:
        return case
    step = system.progress.step
    lengths, shape = box.at(step).lengths, box.shape(step)
    if np.any(shape.across[np.arange(3) != shape.gradient]):
        raise CaseError(
            f"{case.source}: bonds: cannot be made in a box that leans, here by {shape.across[shape.velocity]:.4g} m; "
            "make them before the shear"
        )
    if np.array_equal(lengths, box.begin):
        return case
    lower = box.centre - 0.5 * np.array(lengths)
    corners = {"lower": tuple(lower.tolist()), "upper": tuple((lower + lengths).tolist())}
    return case.model_copy(update={"domain": case.domain.model_copy(update=corners)})
