"""Names of the columns of the series for a box that deforms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.case.deformation import deforms, shear_axes

if TYPE_CHECKING:
    from pdem.case.sections.schema import CaseData

    Column = tuple[str, str, str]


def box_columns(case: CaseData) -> list[Column]:
    """Return names, units and types of the columns of the box, none if it does not deform.

    Strains are logarithmic, since time 0, and positive where the box has grown.
    """
    if not deforms(case):
        return []
    axes = "xyz"[: case.domain.dimension]
    found = [(f"box_length_{axis}", "m", "f8") for axis in axes]
    found += [(f"strain_{axis}{axis}", "1", "f8") for axis in axes]
    found += [(f"strain_rate_{axis}{axis}", "1/s", "f8") for axis in axes]
    if shear_axes(case) is not None:
        found += [("shear_strain", "1", "f8"), ("shear_rate", "1/s", "f8")]
    return [*found, ("solid_fraction", "1", "f8")]
