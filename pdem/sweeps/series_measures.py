"""Measures of the series of a run: rates, times, means; each adds remarks if its number is doubtful."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.case.sections.motions import Rotation, RotationKind
from pdem.foundation.errors import InputError, name_hint
from pdem.sweeps.measure_sections import Measured

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from pdem.foundation.array_types import Booleans, Floats
    from pdem.run.reading.results import Results
    from pdem.sweeps.measure_sections import ColumnOfSeries, DischargeRate, MixingTime, Power, Torque, Window

    Rows = NDArray[np.intp]

STEADY = 0.1
"""Relative difference between both halves of a window above which a signal is not steady."""

_ERRORS = 3.0
"""The halves must also differ by this number of standard errors."""

_STILL = 0.2
"""Share of a window: a longer pause of the flow is reported as a blockage."""

_FEW_LINES, _FEW_GRAINS, _BATCHES = 3, 20, 10
_BELOW, _MIXED_BEFORE = 0.25, 0.5


def column(results: Results, name: str) -> Floats:
    """Return a column of the series as floats.

    Raises
    ------
    InputError
        If there is no column of this name.
    """
    found: Floats = np.asarray(results.series[name], np.float64)
    return found


def rows_of(window: Window, results: Results, *, half: bool = False) -> Rows:
    """Return the indices of the series lines in a window; with `half`, its second half unless the window has a start.

    Raises
    ------
    InputError
        If there is no such stage, or the window contains no line.
    """
    time = column(results, "time")
    begin, end = span_of(window, results, half=half)
    rows = np.flatnonzero((time >= begin) & (time <= end) & _in_stage(window, results))
    if not len(rows):
        raise InputError(f"the series has no line in the window ({window.model_dump(exclude_none=True)})")
    return rows


def span_of(window: Window, results: Results, *, half: bool = False) -> tuple[float, float]:
    """Return begin and end of a window [s]; see `rows_of`."""
    time, inside = column(results, "time"), _in_stage(window, results)
    if not inside.any():
        raise InputError(f"the series has no line in the window ({window.model_dump(exclude_none=True)})")
    first, last = float(time[inside][0]), float(time[inside][-1])
    origin = first if window.stage is not None else 0.0
    begin = first if window.start is None else origin + window.start
    end = last if window.end is None else min(last, origin + window.end)
    return (0.5 * (begin + end) if half and window.start is None else begin), end


def _in_stage(window: Window, results: Results) -> Booleans:
    """Return a mask of the series lines in the stage of a window."""
    if window.stage is None:
        return np.ones(len(results.series), np.bool_)
    names = [stage.name for stage in results.case.stages]
    if window.stage not in names:
        raise InputError(f"{window.stage!r} is no stage of the case; {name_hint(window.stage, names or ['none'])}")
    return np.asarray(column(results, "stage") == names.index(window.stage))


def _cut_short(window: Window, results: Results, time: Floats) -> Iterator[str]:
    """Yield a remark if the run or the stage ended before the end of the window."""
    if window.end is None:
        return
    every = float(np.diff(column(results, "time")[-2:]).sum())
    origin = span_of(window.model_copy(update={"start": None}), results)[0] if window.stage else 0.0
    if time[-1] < origin + window.end - 1.5 * every:
        yield f"cut short: the lines end at {time[-1]:.6g} s, before the window does"


def discharge_rate(section: DischargeRate, results: Results) -> Measured:
    """Return the mass flow through a sensor: the slope of the passed mass in its steady part.

    Raises
    ------
    InputError
        If the run has no such sensor, or the window contains no line.
    """
    kinds = [kind for kind in ("passed", "removed") if f"{section.sensor}_{kind}" in results.series.names]
    if not kinds:
        names = " or ".join(f"{section.sensor}_{kind}" for kind in ("passed", "removed"))
        raise InputError(f"the series has no column {names}; give a sensor that counts what passes")
    rows = rows_of(section, results)
    time, passed = column(results, "time")[rows], column(results, f"{section.sensor}_{kinds[0]}")[rows]
    total = passed[-1] - passed[0]
    if total == 0.0:
        return Measured("kg/s", 0.0, ("no flow: nothing has passed in the window",))
    progress = (passed - passed[0]) / total
    first = int(np.argmax(progress >= section.shares[0]))
    last = len(progress) - 1 - int(np.argmax(progress[::-1] <= section.shares[1]))
    steady = slice(first, last + 1)
    if last - first + 1 < _FEW_LINES:
        text = f"{max(last - first + 1, 0)} between the shares, {_FEW_LINES} needed; give a smaller output.series_every"
        return Measured("kg/s", math.nan, (f"too few lines: {text}",))
    number = f"{section.sensor}_{kinds[0]}_count"
    grains = column(results, number)[rows][steady] if number in results.series.names else None
    remarks = (*_flow_remarks(time[steady], passed[steady], grains), *_cut_short(section, results, time))
    return Measured("kg/s", float(np.polyfit(time[steady], passed[steady], 1)[0]), remarks)


def _flow_remarks(time: Floats, passed: Floats, grains: Floats | None) -> Iterator[str]:
    """Yield remarks on a doubtful rate: it changes, has a long pause, or rests on few grains."""
    middle = int(np.searchsorted(time, 0.5 * (time[0] + time[-1])))
    mean = (passed[-1] - passed[0]) / (time[-1] - time[0])
    count = math.inf if grains is None else abs(float(grains[-1] - grains[0]))
    if 0 < middle < len(time) - 1:
        rates = [
            (passed[end] - passed[begin]) / (time[end] - time[begin]) for begin, end in ((0, middle), (middle, -1))
        ]
        chance = _ERRORS * 2.0 / math.sqrt(max(count, 1.0)) if math.isfinite(count) else 0.0
        if abs(rates[1] - rates[0]) > max(STEADY, chance) * abs(mean):
            text = f"{rates[0]:.3g} kg/s in its first half, {rates[1]:.3g} in the second"
            yield f"not steady: {text}; give shares, start or end of the steady part"
    changes = np.concatenate([[0], np.flatnonzero(np.diff(passed)) + 1, [len(time) - 1]])
    still = float(np.diff(time[changes]).max())
    if still > max(_STILL * (time[-1] - time[0]), 3.0 * float(np.diff(time).max())):
        yield f"blocked: nothing passed for {still:.3g} of {time[-1] - time[0]:.3g} s"
    if count < _FEW_GRAINS:
        yield f"few grains: only {count:.0f} passed"


def mixing_time(section: MixingTime, results: Results) -> Measured:
    """Return the time from the begin of the window until Lacey's index first reaches a level.

    Raises
    ------
    InputError
        If the run has no such sensor, or the window contains no line.
    """
    rows = rows_of(section, results)
    time, index = column(results, "time")[rows], column(results, f"{section.sensor}_lacey")[rows]
    there = np.isfinite(index)
    if not there.any():
        text = "one of both materials is missing, or fewer than two cells have enough grains (mixing.least)"
        return Measured("s", math.nan, (f"no index: {text}",))
    short = tuple(_cut_short(section, results, time))
    above = np.flatnonzero(there & (index >= section.level))
    if not len(above):
        text = f"the largest index is {np.nanmax(index):.3g} at {time[np.nanargmax(index)]:.4g} s"
        return Measured("s", math.nan, (f"not reached: {text}, wanted {section.level:g}", *short))
    row, begin = int(above[0]), float(index[there][0])
    reached = time[row]
    if row and there[row - 1]:
        share = (section.level - index[row - 1]) / (index[row] - index[row - 1])
        reached = time[row - 1] + share * (time[row] - time[row - 1])
    remarks = [*short]
    if row == np.flatnonzero(there)[0]:
        remarks.append(f"mixed already: the index is {begin:.3g} in the first line of the window")
    elif begin > _MIXED_BEFORE * section.level:
        remarks.append(f"mixed in part: the index begins at {begin:.3g}, not near 0")
    later = index[row:][there[row:]]
    if np.mean(later < section.level) > _BELOW:
        remarks.append(f"falls again: the index is {later.min():.3g} after it had reached {section.level:g}")
    return Measured("s", float(reached - time[0]), tuple(remarks))


def torque(section: Torque, results: Results) -> Measured:
    """Return the mean torque that turns a wall against the particles.

    Raises
    ------
    InputError
        If the run has no such wall, or the window contains no line.
    """
    require_wall(section.wall, results)
    rows = rows_of(section, results, half=True)
    each = np.array([column(results, f"{section.wall}_torque_{axis}")[rows] for axis in "xyz"])
    axis, time = section.axis or axis_of(results, section.wall), column(results, "time")[rows]
    mean = np.array([_mean(time, one) for one in each])
    along = np.array(axis) / math.hypot(*axis) if axis is not None else mean / (np.linalg.norm(mean) or 1.0)
    remarks = _load_remarks(section, results, time, along @ each)
    return Measured("N m", float(np.linalg.norm(mean)) if axis is None else -float(mean @ along), remarks)


def power(section: Power, results: Results) -> Measured:
    """Return the mean power that a wall delivers to the particles.

    Raises
    ------
    InputError
        If the run has no such wall, or the window contains no line.
    """
    require_wall(section.wall, results)
    rows = rows_of(section, results, half=True)
    time, found = column(results, "time")[rows], column(results, f"{section.wall}_power")[rows]
    return Measured("W", _mean(time, found), _load_remarks(section, results, time, found))


def _load_remarks(section: Torque | Power, results: Results, time: Floats, load: Floats) -> tuple[str, ...]:
    """Return remarks on a doubtful mean load: few lines, less than a turn, a trend, no load at all."""
    remarks = [*_cut_short(section, results, time)]
    if len(load) < _FEW_LINES:
        remarks.append(f"too few lines: the mean is that of {len(load)} instants; give a smaller output.series_every")
    if not load.any():
        remarks.append("no load: no particle acts on the wall in the window")
    turns = _turns(results, section.wall, float(time[-1] - time[0]))
    if 0.0 < turns < 1.0:
        remarks.append(f"less than a turn: the wall turns {turns:.2g} times in the window")
    return (*remarks, *_trend(time, load))


def _trend(time: Floats, values: Floats) -> Iterator[str]:
    """Yield a remark if the means of both halves of a window differ by more than chance and by more than `STEADY`."""
    batches = [one for one in np.array_split(np.arange(len(time)), _BATCHES) if len(one) > 1]
    if len(batches) < _BATCHES:
        return
    means = np.array([_mean(time[one], values[one]) for one in batches])
    first, second = means[: _BATCHES // 2], means[_BATCHES // 2 :]
    change = abs(second.mean() - first.mean())
    error = math.sqrt((first.var(ddof=1) + second.var(ddof=1)) / (_BATCHES // 2))
    if change > STEADY * abs(means.mean()) and change > _ERRORS * error:
        text = f"{first.mean():.3g} in the first half of the window, {second.mean():.3g} in the second"
        yield f"not steady: {text}; begin the window later (start, stage)"


def axis_of(results: Results, wall: str) -> tuple[float, float, float] | None:
    """Return the axis of rotation of a wall or of the motion that carries it, None without rotation."""
    rotation = rotation_of(results, wall)
    return None if rotation is None else rotation.axis


def rotation_of(results: Results, wall: str) -> RotationKind | None:
    """Return the rotation of a wall, or of the motion that carries it; None without rotation."""
    case = results.case
    frame: Any = next(one for one in case.walls if one.name == wall)
    while frame is not None:
        for kind in frame.kinds().values():
            if isinstance(kind, RotationKind):
                return kind
        frame = case.motions.get(frame.on) if frame.on else None
    return None


def _turns(results: Results, wall: str, duration: float) -> float:
    """Return the number of turns of a wall in a time, NaN unless the rate is constant."""
    rotation = rotation_of(results, wall)
    return abs(rotation.rate) * duration / (2.0 * math.pi) if isinstance(rotation, Rotation) else math.nan


def require_wall(name: str, results: Results) -> None:
    """Check that a case has a wall of a name.

    Raises
    ------
    InputError
        If there is no such wall.
    """
    names = [wall.name for wall in results.case.walls]
    if name not in names:
        raise InputError(f"{name!r} is no wall of the case; {name_hint(name, names or ['none'])}")


def _mean(time: Floats, values: Floats) -> float:
    """Return the time average of values at times that need not be evenly spaced."""
    length = float(time[-1] - time[0])
    return float(np.trapezoid(values, time)) / length if length > 0.0 else float(values[-1])


def of_column(section: ColumnOfSeries, results: Results) -> Measured:
    """Return a statistic of a column; lines without a number in this column are ignored.

    Raises
    ------
    InputError
        If the series has no such column, or the window contains no line.
    """
    rows, unit = rows_of(section, results), results.series.units.get(section.column, "1")
    time, values = column(results, "time")[rows], column(results, section.column)[rows]
    remarks = [*_cut_short(section, results, time)]
    there = np.isfinite(values) & _is_filled(section.column, results)[rows]
    time, values = time[there], values[there]
    unit = f"{unit}/s" if section.statistic == "slope" else unit
    if not len(values):
        return Measured(unit, math.nan, (f"no number: {section.column} has none in {len(rows)} lines", *remarks))
    if len(values) < len(rows):
        remarks.append(f"lines left out: {section.column} has no number in {len(rows) - len(values)} of {len(rows)}")
    if section.statistic in ("slope", "deviation", "mean") and len(values) < _FEW_LINES:
        remarks.append(f"too few lines: a {section.statistic} of {len(values)}; give a smaller output.series_every")
    return Measured(unit, _statistic(section.statistic, time, values), tuple(remarks))


def _is_filled(name: str, results: Results) -> Booleans:
    """Return a mask of lines with a meaningful value: without particles, the mean velocity of a sensor is a mere 0."""
    for sensor in results.case.sensors:
        counts = {"velocity_x": "count", "velocity_y": "count", "velocity_z": "count", "mean_stay": "stays"}
        count = counts.get(name.removeprefix(f"{sensor.name}_")) if name.startswith(f"{sensor.name}_") else None
        if count is not None and f"{sensor.name}_{count}" in results.series.names:
            return np.asarray(column(results, f"{sensor.name}_{count}") > 0)
    return np.ones(len(results.series), np.bool_)


def _statistic(name: str, time: Floats, values: Floats) -> float:
    if name in ("slope", "deviation") and (len(values) < 2 or time[-1] <= time[0]):
        return math.nan
    if name == "slope":
        return float(np.polyfit(time, values, 1)[0])
    mean = _mean(time, values)
    numbers = {
        "last": values[-1], "largest": values.max(), "smallest": values.min(), "mean": mean,
        "deviation": math.sqrt(_mean(time, (values - mean) ** 2)),
    }  # fmt: skip
    return float(numbers[name])
