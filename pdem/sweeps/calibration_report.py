"""Output of a calibration: a page in Markdown, and tables."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pdem.output.pictures.figure import can_draw
from pdem.output.saving import save_file
from pdem.report.table import Table
from pdem.sweeps.calibration_pictures import draw_fit, draw_parameters
from pdem.sweeps.calibration_result import correlation_table, match_table, parameter_table, rounded, verdict
from pdem.sweeps.report import REPORT_FILE, remark_items, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.sweeps.calibration_result import Calibration

FIT_PICTURE, PARAMETER_PICTURE, PARAMETER_TABLE = "fit.png", "parameters.png", "parameters.csv"
"""Names of files in the folder of a calibration."""


def write_calibration(done: Calibration, title: str) -> None:
    """Write the tables, the page and, if matplotlib is installed, the pictures of a calibration.

    Raises
    ------
    InputError
        If a file cannot be written.
    """
    done.table.write(done.folder)
    save_file(done.folder / PARAMETER_TABLE, _table(done).csv())
    pictures = []
    if can_draw():
        draw_fit(done, title, done.folder / FIT_PICTURE)
        draw_parameters(done, title, done.folder / PARAMETER_PICTURE)
        pictures = [FIT_PICTURE, PARAMETER_PICTURE]
    save_file(done.folder / REPORT_FILE, "\n".join(_page(done, title, pictures)) + "\n")


def _table(done: Calibration) -> Table:
    names = [one.name for one in done.parameters]
    ends = ["68 % from", "68 % to", "95 % from", "95 % to"]
    correlations = (f"correlation with {name}" for name in names)
    head = ["parameter", "value", "error", *ends, "min", "max", *correlations]
    each = zip(done.parameters, done.correlations.tolist(), strict=True)
    rows = [
        [
            one.name, one.value, one.error, one.likely[0][0], one.likely[-1][1], one.very_likely[0][0],
            one.very_likely[-1][1], one.low, one.high, *row,
        ]
        for one, row in each
    ]  # fmt: skip
    return Table(head, rows)


def _page(done: Calibration, title: str, pictures: list[str]) -> Iterator[str]:
    yield f"# {title}: calibration\n"
    yield from (f"* {line.strip()}" for line in verdict(done))
    yield ""
    yield parameter_table(done).markdown()
    yield (
        "\nValues are the most probable ones. They lie in the intervals with 68 and 95 % probability, by the "
        "uncertainties of the targets and by what chance leaves unknown of the responses, fitted through all runs."
    )
    if len(done.parameters) > 1:
        yield "\n## Correlations of the errors\n"
        yield correlation_table(done).markdown()
    yield "\n## Targets\n"
    yield match_table(done).markdown()
    yield "\nFound is the fitted response at the values above, with its standard error."
    if done.freedom:
        yield (
            "p is how often targets that are right would be missed by as much: a small one says that the case cannot "
            "have them all, or that their uncertainties are larger."
        )
    for name in pictures:
        yield f"\n![{name.removesuffix('.png')}]({name})"
    yield "\n## All points\n"
    yield _points(done).markdown()
    if done.table.remarks:
        yield "\n## Remarks\n"
        yield from remark_items(done.table)
    failed = [row for row in done.table.rows if row.message]
    if failed:
        yield "\n## Failed\n"
        yield from (f"* `{row.folder}`: {' '.join(row.message.split())}" for row in failed)


def _points(done: Calibration) -> Table:
    rows = []
    found = {one.name: done.table.at_points(one.name) for one in done.matches}
    for number, point in enumerate(done.table.points):
        numbers = []
        for one in done.matches:
            some = found[one.name][number]
            error = one.scatter / math.sqrt(len(some)) if some else math.nan
            numbers.append(rounded(float(np.mean(some)), error) if some else "none")
        rows.append([str(number), *map(shown, point[0].values.values()), *numbers])
    return Table(["point", *(one.name for one in done.parameters), *found], rows)
