"""Numbers that are taken from the results of a run: by the sections of a sweep, or by functions of users."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pdem.case.motions import RotationKind
from pdem.case.python_files import FROM_FILE, variables_of
from pdem.foundation.errors import CaseError, InputError, name_hint
from pdem.particles.heaps import slope_of
from pdem.sweeps.measure_sections import (
    AngleOfRepose,
    ColumnOfSeries,
    DischargeRate,
    MixingTime,
    OwnMeasure,
    Power,
    Torque,
    Window,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from pdem.case.model import Case
    from pdem.simulation.results import Results

    Floats = NDArray[np.float64]


class Measured(NamedTuple):
    """A number with its unit.

    Attributes
    ----------
    unit : str
        SI, ``"1"`` without dimension.
    value : float
        NaN where there is none.
    """

    unit: str
    value: float


def measured(name: str, section: Any, results: Results) -> dict[str, Measured]:
    """Return what a measure finds in the results of a run: one number by its name, or several of an own function.

    Parameters
    ----------
    name : str
        Of the measure.
    section : measure or callable
        As in a sweep, or a function of `pdem.Results`.
    results : Results
        Of the run.

    Raises
    ------
    InputError, CaseError
        If the run has no such sensor, wall or column, or the function fails or returns something else.
    """
    if isinstance(section, OwnMeasure):
        return _own(name, function_of(section, results.case), results)
    if callable(section):
        return _own(name, section, results)
    return {name: _MEASURES[type(section)](section, results)}


def function_of(section: OwnMeasure, case: Case) -> Callable[[Any], Any]:
    """Return the function that a measure names, in a file beside the case.

    Raises
    ------
    CaseError
        If it cannot be read, or has no such function.
    """
    file, _, function = section.kind.removeprefix(FROM_FILE).rpartition(":")
    variables = variables_of(case.file(file), f'kind = "{section.kind}"')
    if not callable(variables.get(function)):
        known = [key for key, value in variables.items() if callable(value)]
        raise CaseError(
            f'kind = "{section.kind}": {file} has no function {function}; {name_hint(function, known)}'
        )
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
        return Measured(str(unit), float(number))
    except (TypeError, ValueError):
        raise InputError(
            f"{where}: {key} is {value!r}; return a number, (unit, number), or a mapping of names to these"
        ) from None


def _column(results: Results, name: str) -> Floats:
    found: Floats = np.asarray(results.series[name], np.float64)
    return found


def _rows(window: Window, results: Results, *, half: bool = False) -> NDArray[np.intp]:
    """Return the lines of the series in a window; with `half` the last half, unless the window says when it begins."""
    time = _column(results, "time")
    inside, begin = np.ones(len(time), np.bool_), time[0] if len(time) else 0.0
    if window.stage is not None:
        names = [stage.name for stage in results.case.stages]
        if window.stage not in names:
            raise InputError(
                f"{window.stage!r} is no stage of the case; {name_hint(window.stage, names or ['none'])}"
            )
        inside = _column(results, "stage") == names.index(window.stage)
        begin = time[inside][0] if inside.any() else begin
    origin = begin if window.stage is not None else 0.0
    if window.start is not None:
        inside &= time >= origin + window.start
    if window.end is not None:
        inside &= time <= origin + window.end
    if half and window.start is None and inside.any():
        inside &= time >= 0.5 * (time[inside][0] + time[inside][-1])
    rows = np.flatnonzero(inside)
    if not len(rows):
        raise InputError(f"the series has no line in the window ({window.model_dump(exclude_none=True)})")
    return rows


def _discharge_rate(section: DischargeRate, results: Results) -> Measured:
    columns = [f"{section.sensor}_{one}" for one in ("passed", "removed")]
    column = next((one for one in columns if one in results.series.names), "")
    if not column:
        raise InputError(
            f"the series has no column {' or '.join(columns)}; give a sensor that counts what passes"
        )
    rows = _rows(section, results)
    time, passed = _column(results, "time")[rows], _column(results, column)[rows]
    total = passed - passed[0]
    between = (total >= section.shares[0] * total[-1]) & (total <= section.shares[1] * total[-1])
    if total[-1] <= 0.0 or between.sum() < 2:
        return Measured("kg/s", 0.0 if total[-1] <= 0.0 else math.nan)
    return Measured("kg/s", float(np.polyfit(time[between], passed[between], 1)[0]))


def _angle_of_repose(section: AngleOfRepose, results: Results) -> Measured:
    snapshot = results[-1] if section.time is None else results.at(section.time)
    places = np.asarray(snapshot.position, np.float64)
    if not len(places):
        return Measured("deg", math.nan)
    centre = places[:, :2].mean(axis=0) if section.centre is None else np.array(section.centre)
    away = places - np.array([*centre, 0.0])
    radius = section.radius or float(np.quantile(np.hypot(away[:, 0], away[:, 1]), 0.9))
    return Measured("deg", slope_of(away, radius))


def _mixing_time(section: MixingTime, results: Results) -> Measured:
    rows = _rows(section, results)
    time, index = _column(results, "time")[rows], _column(results, f"{section.sensor}_lacey")[rows]
    above = np.flatnonzero(index >= section.level)
    if not len(above):
        return Measured("s", math.nan)
    row = int(above[0])
    reached = time[row]
    if row and np.isfinite(index[row - 1]):
        share = (section.level - index[row - 1]) / (index[row] - index[row - 1])
        reached = time[row - 1] + share * (time[row] - time[row - 1])
    return Measured("s", float(reached - time[0]))


def _torque(section: Torque, results: Results) -> Measured:
    _require_wall(section.wall, results)
    rows = _rows(section, results, half=True)
    mean = np.array([_mean(results, f"{section.wall}_torque_{axis}", rows) for axis in "xyz"])
    axis = section.axis or _axis_of(results, section.wall)
    if axis is None:
        return Measured("N m", float(np.linalg.norm(mean)))
    unit = np.array(axis) / math.hypot(*axis)
    return Measured("N m", -float(mean @ unit))


def _axis_of(results: Results, wall: str) -> tuple[float, float, float] | None:
    """Return the axis about which a wall turns by itself, or by what carries it."""
    case = results.case
    frame: Any = next(one for one in case.walls if one.name == wall)
    while frame is not None:
        for kind in frame.kinds().values():
            if isinstance(kind, RotationKind):
                return kind.axis
        frame = case.motions.get(frame.on) if frame.on else None
    return None


def _power(section: Power, results: Results) -> Measured:
    _require_wall(section.wall, results)
    return Measured("W", _mean(results, f"{section.wall}_power", _rows(section, results, half=True)))


def _require_wall(name: str, results: Results) -> None:
    names = [wall.name for wall in results.case.walls]
    if name not in names:
        raise InputError(f"{name!r} is no wall of the case; {name_hint(name, names or ['none'])}")


def _mean(results: Results, name: str, rows: NDArray[np.intp]) -> float:
    """Return the mean over time of a column in some lines, which need not be evenly spaced."""
    time, column = _column(results, "time")[rows], _column(results, name)[rows]
    if len(rows) < 2:
        return float(column[-1])
    return float(np.trapezoid(column, time) / (time[-1] - time[0]))


def _of_column(section: ColumnOfSeries, results: Results) -> Measured:
    rows, unit = _rows(section, results), results.series.units.get(section.column, "1")
    time, column = _column(results, "time")[rows], _column(results, section.column)[rows]
    if section.statistic == "slope":
        slope = float(np.polyfit(time, column, 1)[0]) if len(rows) > 1 else math.nan
        return Measured(f"{unit}/s", slope)
    if section.statistic == "mean":
        return Measured(unit, _mean(results, section.column, rows))
    numbers = {
        "last": column[-1],
        "largest": column.max(),
        "smallest": column.min(),
        "deviation": column.std(),
    }
    return Measured(unit, float(numbers[section.statistic]))


_MEASURES: Mapping[type, Any] = {
    DischargeRate: _discharge_rate, AngleOfRepose: _angle_of_repose, MixingTime: _mixing_time, Torque: _torque,
    Power: _power, ColumnOfSeries: _of_column,
}  # fmt: skip
