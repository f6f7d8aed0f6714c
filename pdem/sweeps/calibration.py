"""Calibration: values of a case, with errors, for which the measures meet their targets."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Container, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.case.model import Case
from pdem.engine.ranks import on_first
from pdem.foundation.arguments import whole_number
from pdem.foundation.errors import CaseError, InputError, name_hint
from pdem.output.saving import save_file
from pdem.sweeps.calibration_report import write_calibration
from pdem.sweeps.calibration_solution import calibration_of
from pdem.sweeps.design import ends_of, share_of, value_at
from pdem.sweeps.fitting.search import FitProblem, FitSearch, Point
from pdem.sweeps.measure_sections import OwnMeasure
from pdem.sweeps.play import FINISHED, outcome_of
from pdem.sweeps.sections import CalibrationPlan, plan_of_document
from pdem.sweeps.setup import Setup, holds_folder, jobs_of_setup
from pdem.sweeps.sweep import compute, table_of
from pdem.sweeps.table import RunTable, SweepRow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pdem.foundation.array_types import Floats
    from pdem.sweeps.calibration_result import Calibration
    from pdem.sweeps.sections import Varied

TRIED_FILE = "tried.json"
"""Name of the file in the folder of a calibration that lists its points, written before the points are computed."""

_FINE, _COARSE = 1e-6, 1e-3
"""Finest and coarsest precision to which values are rounded, as shares of a range."""


def calibrate(
    case: Case | str | Path,
    ranges: Mapping[str, Mapping[str, Any]],
    targets: Mapping[str, tuple[float, float]],
    measures: Mapping[str, Any],
    *,
    folder: str | Path | None = None,
    jobs: int = 1,
    comm: Any = None,
    threads: int | None = None,
    **more: Any,
) -> Calibration:
    """Find values of a case for which the measures meet their targets. Collective.

    After a scan of the whole ranges, further runs are placed where they are most informative. A smooth response is
    fitted through all runs; the fit also estimates the random scatter of single runs. The scatter and the
    uncertainties of the targets give the probabilities of the values. Finished runs in the folder are not repeated: an
    interrupted calibration continues.

    Parameters
    ----------
    case : Case or path
        Base case of all runs.
    ranges : mapping
        By key of the case: ``{"min": .., "max": .., "start": .., "scale": "linear"}``.
    targets : mapping
        By name of a measure: value and standard error.
    measures : mapping
        As for `pdem.sweep`.
    folder : path, optional
        Folder of all results; by default the output folder of the case with the suffix ``-calibration``.
    jobs, comm, threads
        As for `pdem.sweep`.
    **more
        ``runs``, ``replicas``, ``perturbation``, ``at``, ``settings``, as in the file of a calibration.

    Returns
    -------
    Calibration
        ``calibration["key"]`` is the value of a key; ``str(calibration)`` is the report.

    Raises
    ------
    CaseError, InputError, Interrupted
        As `pdem.sweep`; also if a target cannot be measured.
    """
    base_case = case if isinstance(case, Case) else Case.read(case)
    sections = {name: one for name, one in measures.items() if not callable(one)}
    document = {
        "case": "case", "folder": f"{base_case.output.folder}-calibration" if folder is None else str(folder),
        "vary": {key: dict(one) for key, one in ranges.items()}, "measures": sections,
        "targets": {name: _target(name, one) for name, one in targets.items()}, **more,
    }  # fmt: skip
    plan = plan_of_document(CalibrationPlan, document, "calibrate")
    keys = {name: one.keys_of(name) for name, one in plan.vary.items()}
    functions = {name: one for name, one in measures.items() if callable(one)}
    changed = base_case.changed(plan.settings)
    setup = Setup(plan, changed, Path(plan.folder), [], keys, {**plan.measures, **functions})
    return play_calibration(setup, whole_number("jobs", jobs, 1), comm, threads)


def _target(name: str, given: Any) -> dict[str, float]:
    try:
        value, uncertainty = given
    except (TypeError, ValueError):
        raise InputError(f"targets: {name} is {given!r}; give (value, uncertainty)") from None
    return {"value": value, "uncertainty": uncertainty}


@holds_folder
def play_calibration(
    setup: Setup,
    at_once: int = 1,
    comm: Any = None,
    threads: int | None = None,
    tell: Callable[[str], object] = lambda text: None,
) -> Calibration:
    """Run a calibration, and write its tables and report. Collective.

    Parameters and errors are the same as for `pdem.sweeps.sweep.play_sweep`.
    """
    plan = setup.plan
    assert isinstance(plan, CalibrationPlan)
    check_calibration(setup)
    problem = _problem(plan)
    points = _Points(setup, lambda some: compute(some, at_once, comm, threads, tell), comm)
    tell(f"a scan of {problem.least} runs, at most {max(problem.most, problem.least)} in all (runs)")
    search = FitSearch(problem, points.measured(on_first(comm, lambda: _earlier(setup, problem))))
    while wanted := on_first(comm, lambda: points.new(search, tell)):
        search.points += points.measured(wanted)
    return on_first(comm, lambda: _finished(setup, search, points))


def _finished(setup: Setup, search: FitSearch, points: _Points) -> Calibration:
    done = calibration_of(setup, search, points.table)
    write_calibration(done, setup.case.title or setup.base.name)
    return done


def _problem(plan: CalibrationPlan) -> FitProblem:
    """Return the fit problem of a plan, with parameters as shares of their ranges."""
    return FitProblem(
        np.array([one.value for one in plan.targets.values()]),
        np.array([one.uncertainty for one in plan.targets.values()]),
        np.array([_start(one) for one in plan.vary.values()]), plan.replicas, plan.runs,
    )  # fmt: skip


def check_calibration(setup: Setup) -> None:
    """Check that each target has a measure, and that both ends of all ranges are valid values of the case.

    Raises
    ------
    CaseError, InputError
        If a target has no measure, or an end of a range is not valid.
    """
    plan = setup.plan
    assert isinstance(plan, CalibrationPlan)
    own = [one for one in setup.measures.values() if callable(one) or isinstance(one, OwnMeasure)]
    for name in plan.targets:
        if name not in setup.measures and not own:
            hint = name_hint(name, list(setup.measures))
            raise InputError(f"targets.{name}: nothing of this name is measured; {hint}")
    middle = {name: value_at(one, _start(one)) for name, one in plan.vary.items()}
    for name, one in plan.vary.items():
        for value in ends_of(one):
            replace(setup, points=[middle | {name: value}]).case_of(0, 0)


def _start(varied: Varied) -> float:
    return 0.5 if varied.start is None else share_of(varied, varied.start)


def _point(plan: CalibrationPlan, location: Floats, precision: Floats) -> dict[str, float]:
    """Return the values of the parameters at shares `location` of their ranges, rounded to the given precision."""
    each = zip(plan.vary.items(), location.tolist(), precision.tolist(), strict=True)
    return {name: _rounded(one, share, fine) for (name, one), share, fine in each}


def _untaken(
    plan: CalibrationPlan, location: Floats, precision: Floats, taken: Container[tuple[float, ...]]
) -> dict[str, float]:
    """Return the values at `location`, or near it if they are in `taken`: a repeated point adds no information."""
    point = _point(plan, location, precision)
    while tuple(point.values()) in taken:
        step = np.clip(precision, _FINE, _COARSE)
        location = np.where(location < 0.5, location + step, location - step)
        point = _point(plan, location, precision)
    return point


def _rounded(varied: Varied, share: float, precision: float) -> float:
    value, (low, high) = float(value_at(varied, share)), ends_of(varied)
    if share in (0.0, 1.0):
        return value
    step = min(max(precision, _FINE), _COARSE)
    size = step * (value * math.log(high / low) if varied.scale == "log" else high - low)
    return min(max(round(value, max(math.ceil(-math.log10(size)), 0)), low), high)


def _earlier(setup: Setup, problem: FitProblem) -> list[dict[str, float]]:
    """Return the points of earlier calibrations in the folder that belong to this case, within the limit of runs."""
    try:
        document = json.loads((setup.base / TRIED_FILE).read_text(encoding="utf-8"))
        tried = [{name: float(point[name]) for name in setup.plan.vary} for point in document]
    except (OSError, ValueError, TypeError, KeyError):
        return []
    found, missing = list[dict[str, float]](), 0
    for point in tried:
        try:
            _, names = jobs_of_setup(replace(setup, points=[point]))
        except CaseError:
            continue
        lacking = sum(outcome_of(setup.base, name) is None for name in names)
        begun = any((setup.base / name).exists() for name in names)
        if not lacking or (begun and (len(found) + 1) * problem.replicas <= problem.most):
            found.append(point)
            missing += lacking
    return found


class _Points:
    """The points computed and measured so far."""

    def __init__(self, setup: Setup, compute: Callable[[Setup], Any], comm: Any) -> None:
        self._setup, self._compute, self._comm = setup, compute, comm
        plan = setup.plan
        assert isinstance(plan, CalibrationPlan)
        self._plan = plan
        self._rows: list[SweepRow] = []
        self._units: dict[str, str] = {}
        self._details: dict[str, str] = {}

    def measured(self, points: list[dict[str, float]]) -> list[Point]:
        """Compute points, and return their measured values. Collective.

        Raises
        ------
        InputError
            If the first point of the calibration has no number for a target.
        """
        if not points:
            return []
        setup = replace(self._setup, points=points)
        on_first(self._comm, lambda: self._note(points))
        names, done = self._compute(setup)
        return on_first(self._comm, lambda: self._add(setup, *table_of(setup, names, done)))

    def new(self, search: FitSearch, tell: Callable[[str], object]) -> list[dict[str, float]]:
        """Return the next points to compute, without points already present; report the progress."""
        locations, found = search.wanted(), search.found
        spread = np.full(locations.shape[1], 1.0)
        if found is not None:
            spread = np.sqrt(np.diag(found.samples.covariance))
            best = ", ".join(f"{name} {value:.4g}" for name, value in _point(self._plan, found.best, spread).items())
            reached = "can be reached" if found.is_reached else f"cannot be reached (p = {found.probability:.1g})"
            tell(f"most probable so far: {best}; the targets {reached}")
        taken = {tuple(point[0].values.values()) for point in self.table.points}
        points = []
        for location in locations:
            points.append(_untaken(self._plan, location, 0.05 * spread, taken))
            taken.add(tuple(points[-1].values()))
        return points

    def _note(self, points: list[dict[str, float]]) -> None:
        """Write all points into the folder, new and earlier ones, so that an interrupted calibration can continue."""
        path = self._setup.base / TRIED_FILE
        before = [point[0].values for point in self.table.points]
        save_file(path, json.dumps([*before, *points]))

    def _add(self, setup: Setup, table: RunTable, problems: Sequence[str]) -> list[Point]:
        is_first, first = not self._rows, len(self.table.points)
        self._rows += [replace(row, point=row.point + first) for row in table.rows]
        self._units |= table.units
        self._details |= table.details
        for name in self._plan.targets if is_first else ():
            self._require_number(table.points[0], name, problems)
        return [
            Point(
                np.array([share_of(one, rows[0].values[name]) for name, one in self._plan.vary.items()]),
                np.array([[row.measures.get(name, math.nan) for row in rows] for name in self._plan.targets]),
            )
            for rows in table.points
        ]

    def _require_number(self, rows: Sequence[SweepRow], name: str, problems: Sequence[str]) -> None:
        """Check that the runs of the first point have a number for a target.

        Raises
        ------
        InputError
            If a run failed, no measure has this name, or the measurement failed.
        """
        for row in rows:
            if row.state == FINISHED and (name in row.measures and not problems):
                continue
            raise InputError(f"{no_number(row, name, problems)}; correct the measure, or give other ranges")

    @property
    def table(self) -> RunTable:
        """Table of all runs."""
        logarithmic = tuple(name for name, one in self._plan.vary.items() if one.scale == "log")
        return RunTable(tuple(self._rows), self._units, logarithmic, self._details)


def no_number(row: SweepRow, name: str, problems: Sequence[str] = ()) -> str:
    """Return a message that a run has no number for a target, with the reason."""
    where = ", ".join(f"{key} = {value:.6g}" for key, value in row.values.items())
    there = ", ".join(f"{key} is {value:g}" for key, value in row.measures.items())
    remark = next(iter(row.remarks.get(name, ())), "")
    why = row.message or next(iter(problems), "") or remark or there or "nothing is measured"
    return f"target {name} has no number at {where} ({row.folder}): {why}"
