"""Report of a sweep: text for the terminal, a page in Markdown, a picture of the main effects."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.output.pictures.figure import can_draw, empty_figure, save_figure
from pdem.output.saving import save_file
from pdem.report.table import Table
from pdem.sweeps.table import spread

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pdem.sweeps.effects import Analysis
    from pdem.sweeps.table import RunTable, SweepRow

REPORT_FILE, EFFECTS_PICTURE = "report.md", "effects.png"
"""Names of the report and the picture in the folder of a sweep."""

STATES = "finished", "failed", "missing"
"""Possible states of runs in a table."""

_WIDTH, _HEIGHT = 3.0, 2.5
_MOST_POINTS = 60


def summary(table: RunTable) -> str:
    """Return the report of a sweep as text for the terminal."""
    return "\n".join(_lines(table))


def _lines(table: RunTable) -> Iterator[str]:
    states = [row.state for row in table.rows]
    counts = [f"{states.count(state)} {state}" for state in STATES if state in states]
    yield f"{len(table.rows)} runs: {', '.join(counts)}"
    yield point_table(table).text(None)
    for analysis in table.analyses:
        yield _head(analysis)
        yield _effect_table(analysis)._replace(head=()).text(None, "  ")
    yield from remark_lines(table)
    failed = [row for row in table.rows if row.state == "failed"]
    for row in failed[:3]:
        yield f"{row.folder} failed: {row.message.splitlines()[0] if row.message else ''}"
    if len(failed) > 3:
        yield f"and {len(failed) - 3} more failed"


def remark_lines(table: RunTable) -> Iterator[str]:
    """Yield a line for each kind of remark on a measure: the number of runs, and the text of the first run."""
    kinds: dict[tuple[str, str], list[tuple[SweepRow, str]]] = {}
    for name, row, text in table.remarks:
        fact, _, details = text.partition(": ")
        kinds.setdefault((name, fact), []).append((row, details))
    for (name, fact), some in kinds.items():
        row, details = some[0]
        where = f"point {row.point}" + (f", replica {row.replica}" if row.replica else "")
        count = f"{len(some)} of {len(table.rows)} runs"
        yield f"remark: {name}: {fact} in {count}; {where}: {details}"


def remark_items(table: RunTable) -> Iterator[str]:
    """Yield all remarks on measures as list items in Markdown."""
    for name, row, text in table.remarks:
        yield f"* `{row.folder}` (point {row.point}, replica {row.replica}), {name}: {text}"


def _head(analysis: Analysis) -> str:
    unit = "" if analysis.unit == "1" else f" {analysis.unit}"
    chance = (
        "chance of one run is not known: give replicas"
        if math.isnan(analysis.chance)
        else f"one run is off by {analysis.chance:.3g}{unit} by chance"
    )
    return f"{analysis.measure}: {analysis.mean:.6g}{unit} in the mean; {chance}"


def _effect_table(analysis: Analysis) -> Table:
    unit = "" if analysis.unit == "1" else f" {analysis.unit}"
    errors = ("" if math.isnan(one.error) else f" +- {one.error:.2g}" for one in analysis.effects)
    rows = [
        (one.name or "rest", f"{one.size:.4g}{error}{unit}", one.verdict())
        for one, error in zip(analysis.effects, errors, strict=True)
    ]
    return Table(("quantity", "effect", "beside chance"), rows)


def point_table(table: RunTable) -> Table:
    """Return a table with a row for each point: means and errors of the measures."""
    varied = list(table.rows[0].values) if table.rows else []
    head = ["point", *varied, *(f"{name} [{unit}]" for name, unit in table.units.items())]
    rows = []
    for point in table.points[:_MOST_POINTS]:
        numbers = []
        for name in table.units:
            mean, _, error = spread([row.measures.get(name, math.nan) for row in point])
            numbers.append(with_error(mean, error))
        rows.append([str(point[0].point), *map(shown, point[0].values.values()), *numbers])
    if len(table.points) > _MOST_POINTS:
        rows.append(["...", *[""] * (len(head) - 1)])
    return Table(head, rows)


def with_error(mean: float, error: float) -> str:
    """Return a mean and its error as text; a dash if there is no mean."""
    if math.isnan(mean):
        return "-"
    return f"{mean:.5g}" + ("" if math.isnan(error) else f" +- {error:.2g}")


def shown(value: Any) -> str:
    """Return a value of a varied quantity as text."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def write_report(table: RunTable, folder: Path, title: str, *, picture: bool = True) -> list[Path]:
    """Write the report, and the picture if matplotlib is installed; return the paths of the files.

    Raises
    ------
    InputError
        If a file cannot be written.
    """
    paths = [folder / REPORT_FILE]
    if picture and table.analyses and can_draw():
        _draw(table, title, folder / EFFECTS_PICTURE)
        paths.append(folder / EFFECTS_PICTURE)
    save_file(paths[0], "\n".join(_page(table, title, has_picture=len(paths) > 1)) + "\n")
    return paths


def _page(table: RunTable, title: str, *, has_picture: bool) -> Iterator[str]:
    yield f"# {title}\n"
    yield point_table(table).markdown()
    yield "\nValues are means over the runs of a point, with the standard error by chance."
    for analysis in table.analyses:
        yield f"\n## {analysis.measure}\n\n{_head(analysis)}.\n"
        yield _effect_table(analysis).markdown()
    if table.analyses:
        yield (
            "\nThe effect of a quantity is the largest less the smallest mean over its values; `rest` is what the "
            "effects of single quantities do not explain, as a root of the mean square."
        )
    if has_picture:
        yield f"\n![Main effects]({EFFECTS_PICTURE})"
    if table.remarks:
        yield "\n## Remarks\n"
        yield from remark_items(table)
    failed = [row for row in table.rows if row.state == "failed"]
    if failed:
        yield "\n## Failed\n"
        yield from (f"* `{row.folder}`: {' '.join(row.message.split())}" for row in failed)


def _draw(table: RunTable, title: str, path: Path) -> None:
    """Draw each measure against each quantity: all runs, point means with errors, and means over other quantities."""
    names, measures = list(table.rows[0].values), [one.measure for one in table.analyses]
    figure = empty_figure(max(_WIDTH * len(names), 2.0 * _WIDTH) + 0.6, _HEIGHT * len(measures) + 1.1)
    figure.suptitle(f"{title}: main effects", fontsize="medium")
    axes: Any = None
    for row, (measure, analysis) in enumerate(zip(measures, table.analyses, strict=True)):
        for column, name in enumerate(names):
            axes = figure.add_subplot(len(measures), len(names), row * len(names) + column + 1)
            _panel(axes, table, name, measure)
            effect = next(one for one in analysis.effects if one.name == name)
            verdict = f"effect of {name}: {effect.verdict()}"
            axes.set_title(verdict, fontsize="small", color="black" if effect.is_larger else "0.5")
            if row == len(measures) - 1:
                axes.set_xlabel(name)
            if column == 0:
                axes.set_ylabel(with_unit(measure, analysis.unit))
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize="small")
    save_figure(figure, path)


def with_unit(name: str, unit: str) -> str:
    """Return the name of a measure with its unit for an axis label."""
    return name if unit == "1" else f"{name} [{unit}]"


def _panel(axes: Any, table: RunTable, name: str, measure: str) -> None:
    values = [point[0].values[name] for point in table.points]
    keys = list(dict.fromkeys(map(repr, values)))
    is_number = all(isinstance(one, (int, float)) and not isinstance(one, bool) for one in values)
    x = np.array(values, float) if is_number else np.array([keys.index(repr(one)) for one in values], float)
    found = table.at_points(measure)
    label = "runs"
    for place, some in zip(x, found, strict=True):
        axes.plot([place] * len(some), some, ".", color="0.6", markersize=4, label=label)
        label = ""
    numbers = np.array([spread(some) for some in found])
    axes.errorbar(
        x, numbers[:, 0], np.nan_to_num(numbers[:, 2]), fmt="o", markersize=4, color="tab:blue", capsize=2,
        label="mean of a point, with its error",
    )  # fmt: skip
    levels = np.unique(x)
    if len(levels) < len(x):
        means = [spread(numbers[x == level, 0].tolist())[0] for level in levels]
        axes.plot(levels, means, "-", color="black", linewidth=1.2, label="mean over all other quantities")
    if not is_number:
        axes.set_xticks(range(len(keys)), [key.strip("'")[:12] for key in keys])
    if name in table.logarithmic:
        axes.set_xscale("log")
    axes.grid(alpha=0.3)
