"""The table of a sweep: varied values and measures of each run, means of points, effects."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.foundation.errors import InputError
from pdem.output.saving import save_file
from pdem.report.table import Table
from pdem.sweeps.effects import Analysis, analysed

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

RUN_TABLE, POINT_TABLE, EFFECT_TABLE = "table.csv", "points.csv", "effects.csv"
"""Names of the files in the folder of a sweep."""


@dataclass(frozen=True)
class SweepRow:
    """One run of a sweep.

    Attributes
    ----------
    point, replica : int
        Number of its point and of the replica; replica 0 is the unperturbed case.
    values : dict
        Values of the varied quantities, by name.
    folder : str
        Output folder of the run, relative to the folder of the sweep.
    state, message : str
        ``finished``, ``failed`` or ``missing``, and the reason.
    measures : dict of str to float
        Values of the measures, by name; NaN if there is no number.
    remarks : dict of str to tuple of str
        Why a number is missing or doubtful, by name of the measure.
    """

    point: int
    replica: int
    values: dict[str, Any]
    folder: str
    state: str
    message: str = ""
    measures: dict[str, float] = field(default_factory=dict)
    remarks: dict[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class RunTable:
    """All runs of a sweep.

    Attributes
    ----------
    rows : tuple of SweepRow
        Rows ordered by point.
    units : dict of str to str
        Units by name of the measure.
    logarithmic : tuple of str
        Quantities that are varied over decades.
    details : dict of str to str
        Units of numbers that only describe measures, such as the residual of a fit; only the table of runs has
        them.
    """

    rows: tuple[SweepRow, ...]
    units: dict[str, str]
    logarithmic: tuple[str, ...] = ()
    details: dict[str, str] = field(default_factory=dict)

    @cached_property
    def points(self) -> list[list[SweepRow]]:
        """Rows of the runs, grouped by point."""
        found: dict[int, list[SweepRow]] = {}
        for row in self.rows:
            found.setdefault(row.point, []).append(row)
        return list(found.values())

    def column(self, name: str) -> Any:
        """Return a varied quantity or a measure for all runs, shape (runs,).

        Raises
        ------
        InputError
            If there is no such name.
        """
        if name in self.units or name in self.details:
            return np.array([row.measures.get(name, math.nan) for row in self.rows])
        if self.rows and name in self.rows[0].values:
            return np.array([row.values[name] for row in self.rows])
        raise InputError(f"{name!r} was neither varied nor measured; there are {', '.join(self.names)}")

    @property
    def names(self) -> list[str]:
        """Names of the varied quantities, then of the measures, then of the numbers that describe measures."""
        return [*(self.rows[0].values if self.rows else ()), *self.units, *self.details]

    @property
    def remarks(self) -> list[tuple[str, SweepRow, str]]:
        """Measure name, run and text of every remark, ordered by run."""
        return [(name, row, text) for row in self.rows for name, texts in row.remarks.items() for text in texts]

    def at_points(self, name: str) -> list[list[float]]:
        """Return the values of a measure in the finished runs of each point."""
        return [
            [row.measures[name] for row in point if math.isfinite(row.measures.get(name, math.nan))]
            for point in self.points
        ]

    @cached_property
    def analyses(self) -> list[Analysis]:
        """Effects on each measure that has values at two or more points."""
        values = [point[0].values for point in self.points]
        if not values or not values[0]:
            return []
        found = (
            analysed(name, unit, values, self.at_points(name), self.logarithmic) for name, unit in self.units.items()
        )
        return [one for one in found if one is not None]

    def write(self, folder: Path) -> None:
        """Write all tables as CSV files.

        Raises
        ------
        InputError
            If a file cannot be written.
        """
        for name, table in (
            (RUN_TABLE, self._runs()), (POINT_TABLE, self._points()), (EFFECT_TABLE, self._effects())
        ):  # fmt: skip
            save_file(folder / name, table.csv())

    def _runs(self) -> Table:
        units = self.units | self.details
        measures = [f"{name} [{unit}]" for name, unit in units.items()]
        rows = []
        for row in self.rows:
            numbers = [row.measures.get(name, math.nan) for name in units]
            remarks = "; ".join(f"{name}: {text}" for name, texts in row.remarks.items() for text in texts)
            first = [row.folder, row.point, row.replica, row.state]
            rows.append([*first, *row.values.values(), *numbers, remarks])
        return Table(["run", "point", "replica", "state", *self._varied, *measures, "remarks"], rows)

    def _points(self) -> Table:
        each = ("mean", "deviation", "error")
        heads = [f"{name} {what} [{unit}]" for name, unit in self.units.items() for what in each]
        rows = []
        for point in self.points:
            finished = sum(row.state == "finished" for row in point)
            found = [spread(row.measures.get(name, math.nan) for row in point) for name in self.units]
            numbers = [one for some in found for one in some]
            rows.append([point[0].point, finished, *point[0].values.values(), *numbers])
        return Table(["point", "runs", *self._varied, *heads], rows)

    def _effects(self) -> Table:
        rows = [
            (found.measure, found.unit, one.name or "rest", one.size, one.error, one.probability, found.chance)
            for found in self.analyses
            for one in found.effects
        ]
        head = ("measure", "unit", "quantity", "effect", "error", "probability", "chance of one run")
        return Table(head, rows)

    @property
    def _varied(self) -> list[str]:
        return list(self.rows[0].values) if self.rows else []


def spread(values: Iterable[float]) -> tuple[float, float, float]:
    """Return mean, standard deviation and standard error of the finite values."""
    finite = np.array([one for one in values if math.isfinite(one)])
    if not len(finite):
        return math.nan, math.nan, math.nan
    if len(finite) < 2:
        return float(finite[0]), math.nan, math.nan
    deviation = float(finite.std(ddof=1))
    return float(finite.mean()), deviation, deviation / math.sqrt(len(finite))
