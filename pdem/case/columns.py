"""Quantities of contacts that a case writes, and the names of columns of the series: stress, box, masses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.case.deformation import deforms, shear_axes
from pdem.case.messages import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import TypeAlias

    from pdem.case.sections.schema import CaseData

    Column = tuple[str, str, str]
    Location: TypeAlias = tuple[str | int, ...]

COMPONENTS = {"xx": (0, 0), "yy": (1, 1), "zz": (2, 2), "xy": (0, 1), "xz": (0, 2), "yz": (1, 2)}
"""Components of a symmetric tensor in the series."""

STRESSES = "contact_stress", "kinetic_stress", "stress"
"""Names of the tensors of stress, in the order of their columns."""

COORDINATION = "coordination", "mechanical_coordination", "coordination_without_rattlers"

RESERVED = "contact", "kinetic", "mechanical"
"""First parts of the names of columns for all particles; a sensor with such a name would have the same columns."""


SIDES = "-x", "+x", "-y", "+y", "-z", "+z"
"""Sides of the domain."""

LEFT = "left"
"""First parts of the names of columns for particles that have left the domain."""


NO_NAME = frozenset(',"\n[]')
"""Letters that names of columns must not contain."""


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


def box_columns(case: CaseData) -> list[Column]:
    """Return names, units and types of the columns of the box; the list is empty if the box does not deform.

    Strains are logarithmic and count from time 0. They are positive where the box has grown.
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


def open_sides(case: CaseData) -> list[str]:
    """Return the sides of the domain through which particles can leave it; in 2D at most four."""
    domain = case.domain
    return [side for axis in range(domain.dimension) if not domain.periodic[axis] for side in SIDES[2 * axis :][:2]]


def balance_columns(case: CaseData) -> list[Column]:
    """Return names, units and types of the columns of mass: inside, outside in total, and by open side."""
    found: list[Column] = [("mass", "kg", "f8"), (LEFT, "1", "i8"), (f"{LEFT}_mass", "kg", "f8")]
    for side in open_sides(case):
        found += [(f"{LEFT}_{side}", "1", "i8"), (f"{LEFT}_mass_{side}", "kg", "f8")]
    return found


def column_name_problems(name: str, where: Location, taken: Mapping[str, str]) -> Iterator[Problem]:
    """Yield the problems of a name that begins columns of the series; `taken` maps used names to their owners."""
    if name in taken:
        yield Problem((*where, "name"), f"({name!r}) is taken by {taken[name]}; give each its own name")
    if set(name) & NO_NAME:
        yield Problem((*where, "name"), "names columns of the series; leave out commas, quotes and brackets")
