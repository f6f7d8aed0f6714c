"""Gravity of a case: constant, by a table, or changed by stages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.case.time_tables import read_table
from pdem.foundation.interpolation import interpolated

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pdem.case.sections.gravity import GravityTable
    from pdem.case.sections.schema import CaseData
    from pdem.foundation.array_types import Floats


def table_values(case: CaseData, table: GravityTable) -> tuple[Floats, Floats]:
    """Return times (n,) [s] and accelerations (n, 3) [m/s^2] of a table.

    Raises
    ------
    CaseError
        If its file cannot be used.
    """
    if table.file is None:
        return np.array(table.times, np.float64), np.array(table.values, np.float64)
    times, rows = read_table(case.file(table.file), ("x", "y", "z"))
    return np.array(times), np.array(rows)


def gravity_tables(case: CaseData) -> list[tuple[tuple[str | int, ...], GravityTable]]:
    """Return all tables of gravity, with their locations."""
    found: list[tuple[tuple[str | int, ...], GravityTable | None]] = [
        (("domain", "gravity_table"), case.domain.gravity_table),
        *((("stages", index, "gravity_table"), one.gravity_table) for index, one in enumerate(case.stages)),
    ]
    return [(where, table) for where, table in found if table is not None]


def gravity_changes(case: CaseData) -> bool:
    """Return whether gravity changes during the run."""
    return bool(gravity_tables(case)) or any(stage.gravity is not None for stage in case.stages[1:])


def first_gravity(case: CaseData) -> Floats:
    """Return gravity at time 0, (3,) [m/s^2].

    Raises
    ------
    CaseError
        If the file of a table cannot be used.
    """
    first = case.stages[0] if case.stages else None
    if first is not None and first.gravity is not None:
        return np.array(first.gravity, np.float64)
    table = case.domain.gravity_table if first is None or first.gravity_table is None else first.gravity_table
    if table is None:
        return np.array(case.domain.gravity, np.float64)
    times, values = table_values(case, table)
    return np.asarray(interpolated(0.0, times, values))


def gravity_at(case: CaseData, time: float, begins: Sequence[float]) -> Floats:
    """Return gravity at a time of a run, (3,) [m/s^2].

    Parameters
    ----------
    case : CaseData
        The case.
    time : float
        Time from the begin of the run [s].
    begins : sequence of float
        Times at which the stages of the case have begun so far [s].

    Raises
    ------
    CaseError
        If the file of a table cannot be used.
    """
    since, given = 0.0, (case.domain.gravity, case.domain.gravity_table)
    for stage, begin in zip(case.stages, begins, strict=False):
        if stage.gravity is not None or stage.gravity_table is not None:
            since, given = begin, (stage.gravity or case.domain.gravity, stage.gravity_table)
    constant, table = given
    if table is None:
        return np.array(constant, np.float64)
    times, values = table_values(case, table)
    return np.asarray(interpolated(time - since, times, values))


def largest_gravity(case: CaseData, *, files: bool = True) -> Floats:
    """Return the largest magnitude of each component of gravity at any time, (3,) [m/s^2].

    Parameters
    ----------
    case : CaseData
        The case.
    files : bool
        Include tables in files, which are opened for this.

    Raises
    ------
    CaseError
        If the file of a table cannot be used.
    """
    return np.max([np.abs(one) for one in _all_gravities(case, files)], axis=0)


def _all_gravities(case: CaseData, files: bool) -> Iterator[Floats]:
    yield np.array(case.domain.gravity, np.float64)
    for stage in case.stages:
        if stage.gravity is not None:
            yield np.array(stage.gravity, np.float64)
    for _, table in gravity_tables(case):
        if files if table.file is not None else table.values is not None:
            yield from table_values(case, table)[1]
