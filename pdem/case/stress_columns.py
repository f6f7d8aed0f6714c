"""What a case looks at of its contacts, and the names of the columns of stress, fabric and coordination."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.case.deformation import deforms

if TYPE_CHECKING:
    from pdem.case.sections.schema import CaseData

    Column = tuple[str, str, str]

COMPONENTS = {"xx": (0, 0), "yy": (1, 1), "zz": (2, 2), "xy": (0, 1), "xz": (0, 2), "yz": (1, 2)}
"""Components of a symmetric tensor that the series has."""

STRESSES = "contact_stress", "kinetic_stress", "stress"
"""Names of the tensors of stress, in the order of their columns."""

COORDINATION = "coordination", "mechanical_coordination", "coordination_without_rattlers"

RESERVED = "contact", "kinetic", "mechanical"
"""Names with which columns of all particles begin; those of a sensor would be the same."""


def stress_columns(dimension: int) -> list[Column]:
    """Return names, units and types of the columns of stress, fabric and coordination of a case in 2 or 3 dimensions.

    In two dimensions stresses are forces over lengths.
    """
    unit = "Pa" if dimension == 3 else "N/m"
    found: list[Column] = [(f"{name}_{axes}", unit, "f8") for name in STRESSES for axes in COMPONENTS]
    found += [("pressure", unit, "f8"), *((f"fabric_{axes}", "1", "f8") for axes in COMPONENTS)]
    return [*found, *((name, "1", "f8") for name in COORDINATION), ("rattlers", "1", "i8")]


def writes_stress(case: CaseData) -> bool:
    """Return whether the series of a case has stress, fabric and coordination of all particles."""
    return case.output.stress or deforms(case)


def looks_at_contacts(case: CaseData) -> bool:
    """Return whether the output of a case needs the forces of contacts."""
    output = case.output
    sensed = any(one.stress for one in case.sensors)
    return writes_stress(case) or output.contacts_every is not None or sensed or bool(case.fields)
