"""Names of the columns of sensors in the series, and of their classes of particles."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from pdem.case.columns import stress_columns
from pdem.features.sensors.section import SizeClasses

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pdem.features.sensors.section import Sensor

    Column = tuple[str, str, str]

AXES = "xyz"


def classes_of(sensor: Sensor, materials: Iterable[str]) -> list[str]:
    """Return the names of the classes of a sensor beside all particles, in a case of some materials."""
    if sensor.by == "material":
        return list(materials)
    if not isinstance(sensor.by, SizeClasses):
        return []
    edges = [f"{edge:g}" for edge in sensor.by.radii]
    between = [f"{low}-{high}" for low, high in pairwise(edges)]
    return [f"below-{edges[0]}", *between, f"from-{edges[-1]}"]


def counts_passage(sensor: Sensor) -> bool:
    """Return whether a sensor counts particles that pass or are removed."""
    return sensor.region is None or sensor.remove


def passing_columns(sensor: Sensor, materials: Iterable[str], word: str = "") -> list[Column]:
    """Return the columns of passing sizes of a sensor: for each class the percents; `word` begins their names."""
    kinds = ["", *(f"_{name}" for name in classes_of(sensor, materials))]
    return [(f"{word}p{percent:g}{kind}", "m", "f8") for kind in kinds for percent in sensor.passing or ()]


def columns_of_sensor(
    sensor: Sensor, materials: Iterable[str], dimension: int = 3, *, heat: bool = False
) -> list[Column]:
    """Return names, units and types of the columns of a sensor in the series of a case of some materials.

    `dimension` is the dimension of the case, and `heat` whether its particles have temperatures.
    """
    kinds = ["", *(f"_{name}" for name in classes_of(sensor, materials))]
    found: list[Column] = []
    if sensor.region is not None:
        for kind in kinds:
            found += [(f"count{kind}", "1", "i8"), (f"mass{kind}", "kg", "f8")]
        found += [("solid_fraction", "1", "f8"), *((f"velocity_{axis}", "m/s", "f8") for axis in AXES)]
        found += passing_columns(sensor, materials)
    if counts_passage(sensor):
        word = "passed" if sensor.region is None else "removed"
        for kind in kinds:
            found += [(f"{word}_count{kind}", "1", "i8"), (f"{word}{kind}", "kg", "f8")]
        found.append(("flow", "kg/s", "f8"))
        found += passing_columns(sensor, materials, f"{word}_")
    if sensor.residence:
        found += [("stays", "1", "i8"), ("mean_stay", "s", "f8")]
    if sensor.mixing is not None:
        found += [("lacey", "1", "f8"), ("unlike_contacts", "1", "f8")]
    if sensor.stress:
        found += stress_columns(dimension)
    if heat and sensor.region is not None:
        found.append(("temperature", "K", "f8"))
    return [(f"{sensor.name}_{name}", unit, kind) for name, unit, kind in found]
