"""Evaluation of measures of a run, both the sections of a sweep file and functions of users."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pdem.case.python_files import FROM_FILE, variables_of
from pdem.foundation.errors import CaseError, InputError, name_hint
from pdem.sweeps.measure_sections import (
    AngleOfRepose,
    ColumnOfSeries,
    DischargeRate,
    DynamicAngle,
    Measured,
    MixingTime,
    OwnMeasure,
    Power,
    Torque,
)
from pdem.sweeps.series_measures import discharge_rate, mixing_time, of_column, power, torque
from pdem.sweeps.surface_measures import angle_of_repose, dynamic_angle

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pdem.case.model import Case
    from pdem.run.reading.results import Results


def measured(name: str, section: Any, results: Results) -> dict[str, Measured]:
    """Evaluate a measure for a run; return its number by the name of the measure, and further numbers.

    Numbers that describe the main number (such as the residual of a fit) have its name with a suffix. A function of a
    user chooses its own names.

    Parameters
    ----------
    name : str
        Name of the measure.
    section : measure or callable
        Section of a sweep file, or a function of `pdem.Results`.
    results : Results
        Results of the run.

    Raises
    ------
    InputError, CaseError
        If the run has no such sensor, wall or column, or a user's function fails or returns another type.
    """
    if isinstance(section, OwnMeasure):
        return _own(name, function_of(section, results.case), results)
    if callable(section):
        return _own(name, section, results)
    found = _MEASURES[type(section)](section, results)
    if isinstance(found, Measured):
        return {name: found}
    return {f"{name}_{key}" if key else name: one for key, one in found.items()}


def function_of(section: OwnMeasure, case: Case) -> Callable[[Any], Any]:
    """Load the function of a measure from a file beside the case.

    Raises
    ------
    CaseError
        If the file cannot be read, or has no such function.
    """
    file, _, function = section.kind.removeprefix(FROM_FILE).rpartition(":")
    variables = variables_of(case.file(file), f'kind = "{section.kind}"')
    if not callable(variables.get(function)):
        known = [key for key, value in variables.items() if callable(value)]
        raise CaseError(f'kind = "{section.kind}": {file} has no function {function}; {name_hint(function, known)}')
    found: Callable[[Any], Any] = variables[function]
    return found


def _own(name: str, function: Callable[[Any], Any], results: Results) -> dict[str, Measured]:
    try:
        found = function(results)
    except Exception as error:
        raise InputError(f"measure {name}: {type(error).__name__}: {error}") from error
    table = found if isinstance(found, dict) else {name: found}
    return {str(key): _number(f"measure {name}", key, value) for key, value in table.items()}


def _number(where: str, key: str, value: Any) -> Measured:
    unit, number = value if isinstance(value, tuple) and len(value) == 2 else ("1", value)
    try:
        value = float(number)
    except (TypeError, ValueError):
        raise InputError(
            f"{where}: {key} is {value!r}; return a number, (unit, number), or a mapping of names to these"
        ) from None
    remarks = () if math.isfinite(value) else (f"no number: the function returned {value} for {key}",)
    return Measured(str(unit), value, remarks)


_MEASURES: Mapping[type, Any] = {
    DischargeRate: discharge_rate, AngleOfRepose: angle_of_repose, DynamicAngle: dynamic_angle, MixingTime: mixing_time,
    Torque: torque, Power: power, ColumnOfSeries: of_column,
}  # fmt: skip
