"""Checks of measures before any run: their sensors, walls, stages and functions exist."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pdem.features.sensors.columns import counts_passage
from pdem.foundation.errors import CaseError, name_hint
from pdem.sweeps.measure_sections import DischargeRate, DynamicAngle, MixingTime, OwnMeasure, Power, Torque, Window
from pdem.sweeps.measures import function_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pdem.case.model import Case


def check_measures(measures: Mapping[str, Any], case: Case) -> None:
    """Check that a case has the sensors, walls and stages that measures refer to.

    Raises
    ------
    CaseError
        Names the measure, and the names available in the case.
    """
    for name, section in measures.items():
        where = f"measures.{name}"
        if isinstance(section, Window) and section.stage is not None:
            _require(section.stage, [stage.name for stage in case.stages], f"{where}.stage", "stage")
        if isinstance(section, DischargeRate):
            counting = [one.name for one in case.sensors if counts_passage(one)]
            _require(section.sensor, counting, f"{where}.sensor", "sensor that counts what passes")
        if isinstance(section, MixingTime):
            mixing = [one.name for one in case.sensors if one.mixing is not None]
            _require(section.sensor, mixing, f"{where}.sensor", "sensor with mixing")
            _require_both(section.sensor, case, where)
        if isinstance(section, (Torque, Power, DynamicAngle)):
            _require(section.wall, [wall.name for wall in case.walls], f"{where}.wall", "wall")
        if isinstance(section, OwnMeasure):
            function_of(section, case)


def _require(name: str, names: Sequence[str], where: str, what: str) -> None:
    if name not in names:
        hint = name_hint(name, names) if names else "it has none"
        raise CaseError(f"{where} = {name!r}: the case has no {what} of this name; {hint}")


def _require_both(sensor: str, case: Case, where: str) -> None:
    """Check that a case has particles of both materials in the mixing index of a sensor."""
    there = {getattr(one, "material", "") for one in (*case.particles, *case.insertions)}
    mixing = next(one.mixing for one in case.sensors if one.name == sensor)
    assert mixing is not None
    for material in mixing.materials:
        if material not in there:
            raise CaseError(
                f"{where}.sensor = {sensor!r}: the case has no particles of {material}, so that nothing mixes; give "
                "groups in [[particles]] or [[insertions]] both materials of the sensor"
            )
