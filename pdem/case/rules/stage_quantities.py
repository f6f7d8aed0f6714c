"""Quantities that conditions of stages may name: their owner, and their least possible value."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, NamedTuple

from pdem.case.columns import balance_columns, box_columns, stress_columns, writes_stress
from pdem.case.groups.fixed_groups import fixed_columns
from pdem.case.laws import has_breakage
from pdem.features.breakage.columns import BREAKAGE_COLUMNS
from pdem.features.heat.columns import OF_ALL
from pdem.features.sensors.columns import AXES, columns_of_sensor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.case.sections.schema import CaseData
    from pdem.case.sections.walls import Wall

INSERTED = ("count", "mass", "waiting")
"""Columns of an insertion."""


class Quantity(NamedTuple):
    """A number that a condition may use.

    Attributes
    ----------
    kind : str
        Source of the number.
    owner : str
        Name of the wall, sensor or insertion; empty for the state of all particles.
    least : float
        Least possible value.
    """

    kind: Literal[
        "state", "balance", "fixed", "box", "stress", "load", "drive", "sensors", "insertions", "heat", "breakage"
    ]
    owner: str = ""
    least: float = 0.0


def quantities_of(case: CaseData) -> dict[str, Quantity]:
    """Return all quantities of a case by name: quantities of all particles, and columns of the series.

    The flow of a sensor is left out: it is a mean between lines of the series, and so depends on their interval.
    """
    found = {name: Quantity("state") for name in STATE_QUANTITIES}
    found |= {name: Quantity("balance") for name, *_ in balance_columns(case)}
    for name, *_ in box_columns(case):
        positive = name == "solid_fraction" or name.startswith("box_length")
        found[name] = Quantity("box", least=0.0 if positive else -math.inf)
    for name, *_ in stress_columns(case.domain.dimension) if writes_stress(case) else ():
        found[name] = Quantity("stress", least=-math.inf)
    for wall in case.walls:
        for quantity in ("force", "torque"):
            found |= {f"{wall.name}_{quantity}_{axis}": _any("load", wall.name) for axis in AXES}
        found[f"{wall.name}_power"] = _any("load", wall.name)
        found |= {f"{wall.name}_{name}": _any("drive", wall.name) for name in _driven(wall)}
    for name, _ in fixed_columns(case):
        found[name] = Quantity("fixed", least=-math.inf)
    for sensor in case.sensors:
        for name, *_ in columns_of_sensor(sensor, case.materials, heat=case.heat is not None):
            signed = "_velocity_" in name or "_passed" in name or name.endswith("_lacey")
            if name != f"{sensor.name}_flow":
                found[name] = Quantity("sensors", sensor.name, -math.inf if signed else 0.0)
    found |= {name: Quantity("heat") for name, _ in OF_ALL if case.heat is not None}
    found |= {name: Quantity("breakage") for name, *_ in BREAKAGE_COLUMNS if has_breakage(case)}
    for insertion in case.insertions:
        found |= {f"{insertion.name}_{name}": Quantity("insertions", insertion.name) for name in INSERTED}
    return found


STATE_QUANTITIES = ("kinetic_energy_per_particle", "contacts_per_particle", "particles")
"""Quantities of all particles."""


def _any(kind: Literal["load", "drive"], owner: str) -> Quantity:
    return Quantity(kind, owner, -math.inf)


def _driven(wall: Wall) -> Iterator[str]:
    if wall.servo is not None:
        yield from ("travel", "rate", "load")
    if wall.body is not None:
        yield from (f"{name}_{axis}" for name in ("position", "velocity", "angular_velocity") for axis in AXES)
        if wall.body.hinge is not None:
            yield "angle"
