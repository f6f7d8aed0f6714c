"""Calibration: values of a case with which what is measured comes nearest to targets, with their errors."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.case.model import Case
from pdem.foundation.arguments import whole_number
from pdem.foundation.errors import InputError, name_hint
from pdem.simulation.ranks import on_first
from pdem.sweeps.calibration_report import write_calibration
from pdem.sweeps.calibration_result import Calibration, Fitted, Match, error_of
from pdem.sweeps.design import ends_of, share_of, value_at
from pdem.sweeps.least_squares import covariance_of, minimise
from pdem.sweeps.measure_sections import OwnMeasure
from pdem.sweeps.sections import CalibrationPlan, plan_of_document
from pdem.sweeps.setup import Setup, holds_folder
from pdem.sweeps.sweep import compute, table_of
from pdem.sweeps.table import Row, Table, spread

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.sweeps.least_squares import Minimum
    from pdem.sweeps.sections import Varied

    Floats = NDArray[np.float64]


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
    """Find values of a case with which what is measured comes nearest to targets. Collective.

    The sum of squares of deviations, each over the error of target and chance together, is least: by SciPy's trust
    region method, within ranges. Runs that are in the folder already are not run again: one that was stopped goes on.

    Parameters
    ----------
    case : Case or path
        What all runs change.
    ranges : mapping
        By keys of the case: ``{"min": .., "max": .., "start": .., "scale": "linear"}``.
    targets : mapping
        By names of what is measured: value and standard error.
    measures : mapping
        As for `pdem.sweep`.
    folder : path, optional
        Where everything is written; by default the output folder of the case with ``-calibration`` behind its name.
    jobs, comm, threads
        As for `pdem.sweep`.
    **more
        ``difference``, ``tolerance``, ``iterations``, ``replicas``, ``perturbation``, ``at``, ``settings``, as in the
        file of a calibration.

    Returns
    -------
    Calibration
        ``calibration["key"]`` is a value; its text is the report.

    Raises
    ------
    CaseError, InputError, Interrupted
        As `pdem.sweep`; also if something cannot be measured at a point.
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
    """Calibrate, and write tables and report. Collective.

    Parameters and errors are those of `pdem.sweeps.sweep.play_sweep`.
    """
    plan = setup.plan
    assert isinstance(plan, CalibrationPlan)
    points = _Points(setup, lambda some: compute(some, at_once, comm, threads, tell), comm, tell)
    check_calibration(setup)
    start = np.array([_start(one) for one in plan.vary.values()])
    found = minimise(points.residuals, start, plan.difference, plan.tolerance, plan.iterations)
    done = points.calibration(found)
    on_first(comm, lambda: write_calibration(done, setup.case.title or setup.base.name))
    return done


def check_calibration(setup: Setup) -> None:
    """Require that what is aimed at is measured, and that both ends of all ranges are values of the case.

    Raises
    ------
    CaseError, InputError
        If not.
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


class _Points:
    """Points that have been computed, and their deviations from the targets."""

    def __init__(
        self, setup: Setup, compute: Callable[[Setup], Any], comm: Any, tell: Callable[[str], object]
    ) -> None:
        self._setup, self._compute, self._comm, self._tell = setup, compute, comm, tell
        plan = setup.plan
        assert isinstance(plan, CalibrationPlan)
        self._varied, self._targets = plan.vary, plan.targets
        self._rows: list[Row] = []
        self._units: dict[str, str] = {}
        self._found: dict[tuple[float, ...], list[list[float]]] = {}
        self._errors: Floats | None = None

    def residuals(self, places: list[Floats]) -> Floats:
        """Return the deviations (places, targets) at some places, each over its error. Collective."""
        keys = on_first(self._comm, lambda: [tuple(place.tolist()) for place in places])
        new = [key for key in dict.fromkeys(keys) if key not in self._found]
        if new:
            self._add(new)
        if self._errors is None:
            self._errors = self._errors_of_targets()
        means = np.array([[np.mean(some) for some in self._found[key]] for key in keys])
        wanted = np.array([one.value for one in self._targets.values()])
        found: Floats = (means - wanted) / self._errors
        where = ", ".join(f"{name} {value:.6g}" for name, value in self._point(keys[0]).items())
        if len(places) == 1:
            self._tell(f"{where}: sum of squares {float((found**2).sum()):.4g}")
        return found

    def _add(self, keys: list[tuple[float, ...]]) -> None:
        """Compute and measure new points."""
        points = [self._point(key) for key in keys]
        setup = replace(self._setup, points=points)
        names, done = self._compute(setup)
        table, problems = on_first(self._comm, lambda: table_of(setup, names, done))
        first = len(self._found)
        self._rows += [replace(row, point=row.point + first) for row in table.rows]
        self._units |= table.units
        for key, rows in zip(keys, table.points, strict=True):
            self._found[key] = [self._values(rows, name, problems) for name in self._targets]

    def _point(self, shares: tuple[float, ...]) -> dict[str, float]:
        pairs = zip(self._varied.items(), shares, strict=True)
        return {name: float(value_at(one, share)) for (name, one), share in pairs}

    def _values(self, rows: list[Row], name: str, problems: tuple[str, ...]) -> list[float]:
        """Return a measure in the runs of a point.

        Raises
        ------
        InputError
            If a run failed, or has no such number.
        """
        for row in rows:
            if not math.isfinite(row.measures.get(name, math.nan)):
                where = ", ".join(f"{key} = {value:.6g}" for key, value in row.values.items())
                there = ", ".join(f"{key} is {value:g}" for key, value in row.measures.items())
                why = row.message or next(iter(problems), "") or there or "nothing is measured"
                raise InputError(
                    f"target {name} has no number at {where} ({row.folder}): {why}; "
                    "give narrower ranges, a longer run, or another measure"
                )
        return [row.measures[name] for row in rows]

    def _errors_of_targets(self) -> Floats:
        """Return the errors of deviations: of the targets, and of means by chance at the points so far."""
        uncertainties = np.array([one.uncertainty for one in self._targets.values()])
        return np.array(list(map(error_of, uncertainties, self._chances())))

    def _chances(self) -> list[float]:
        """Return the standard error by chance of the mean of a point, from all points; NaN without replicas."""
        found = []
        for number in range(len(self._targets)):
            some = [np.array(point[number]) for point in self._found.values()]
            freedom = sum(len(one) - 1 for one in some)
            squares = sum(float(((one - one.mean()) ** 2).sum()) for one in some)
            found.append(math.sqrt(squares / freedom / len(some[0])) if freedom else math.nan)
        return found

    def calibration(self, minimum: Minimum) -> Calibration:
        """Return what has been found."""
        assert self._errors is not None
        values = list(map(value_at, self._varied.values(), minimum.place.tolist()))
        scales = np.array(list(map(_slope, self._varied.values(), values)))
        errors = self._errors_of_targets()  # by now more is known of chance
        slopes = minimum.slopes * self._errors[:, None]
        covariance = covariance_of(slopes / errors[:, None])
        deviations = np.sqrt(np.diag(covariance))
        parameters = tuple(
            Fitted(name, value, float(error), *ends_of(one))
            for (name, one), value, error in zip(
                self._varied.items(), values, deviations * scales, strict=True
            )
        )
        with np.errstate(invalid="ignore"):
            correlations = covariance / np.outer(deviations, deviations)
        logarithmic = tuple(name for name, one in self._varied.items() if one.scale == "log")
        table, matches = Table(tuple(self._rows), self._units, logarithmic), self._matches(minimum)
        folder, converged = self._setup.base, minimum.converged
        return Calibration(folder, parameters, correlations, matches, slopes / scales, converged, table)

    def _matches(self, minimum: Minimum) -> tuple[Match, ...]:
        there = self._found[tuple(minimum.place.tolist())]
        each = zip(self._targets.items(), there, self._chances(), strict=True)
        return tuple(
            Match(name, self._units[name], one.value, one.uncertainty, spread(some)[0], chance)
            for (name, one), some, chance in each
        )


def _slope(varied: Varied, value: float) -> float:
    """Return the derivative of a value by its share of the range."""
    low, high = ends_of(varied)
    return value * math.log(high / low) if varied.scale == "log" else high - low
