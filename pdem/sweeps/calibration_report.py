"""What a calibration says: text for the terminal, a page in Markdown, tables, pictures of the fit."""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.output.figure import can_draw, empty_figure, save_figure
from pdem.output.storage import save_file
from pdem.sweeps.calibration_result import correlation_rows, match_rows, parameter_rows, verdict
from pdem.sweeps.report import REPORT_FILE, markdown, shown, with_unit
from pdem.sweeps.table import write_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.sweeps.calibration_result import Calibration, Fitted, Match

FIT_PICTURE, PARAMETER_PICTURE, PARAMETER_TABLE = "fit.png", "parameters.png", "parameters.csv"
"""Names of files in the folder of a calibration."""

_WIDTH, _HEIGHT = 3.2, 2.6
_RADII = 1.5152, 2.4860
"""Of the ellipses that hold 68 % and 95 % of a normal distribution in two dimensions, in standard errors."""


def write_calibration(done: Calibration, title: str) -> None:
    """Write tables, page and pictures, the latter where matplotlib is installed.

    Raises
    ------
    InputError
        If one cannot be written.
    """
    done.table.write(done.folder)
    write_rows(done.folder / PARAMETER_TABLE, _table(done))
    pictures = _pictures(done) if can_draw() else []
    save_file(done.folder / REPORT_FILE, "\n".join(_page(done, title, pictures)) + "\n")


def _table(done: Calibration) -> list[list[Any]]:
    names = [one.name for one in done.parameters]
    head = ["parameter", "value", "error", "min", "max", *(f"correlation with {name}" for name in names)]
    each = zip(done.parameters, done.correlations.tolist(), strict=True)
    return [head, *([one.name, one.value, one.error, one.low, one.high, *row] for one, row in each)]


def _page(done: Calibration, title: str, pictures: list[str]) -> Iterator[str]:
    yield f"# {title}: calibration\n"
    yield from markdown(parameter_rows(done))
    yield (
        "\nErrors are standard errors: of the targets, and of chance as far as replicas show it, carried over to the "
        "parameters by the slopes at the solution."
    )
    if len(done.parameters) > 1:
        yield "\n## Correlations of the errors\n"
        yield from markdown(correlation_rows(done))
    yield "\n## Targets\n"
    yield from markdown(match_rows(done))
    yield f"\n{verdict(done)[0].upper()}{verdict(done)[1:]}."
    if done.freedom:
        yield (
            "p is how often targets that are right would be missed by as much: a small one says that the case cannot "
            "have them all, or that their uncertainties are larger."
        )
    for name in pictures:
        yield f"\n![{name.removesuffix('.png')}]({name})"
    yield "\n## All points\n"
    yield from markdown(_point_rows(done))


def _point_rows(done: Calibration) -> list[list[str]]:
    names = [one.name for one in done.matches]
    rows = [["point", *(one.name for one in done.parameters), *names]]
    means = {
        name: [float(np.mean(some)) if some else math.nan for some in done.table.at_points(name)]
        for name in names
    }
    for number, point in enumerate(done.table.points):
        numbers = (f"{means[name][number]:.6g}" for name in names)
        rows.append([str(number), *map(shown, point[0].values.values()), *numbers])
    return rows


def _pictures(done: Calibration) -> list[str]:
    save_figure(_fit_figure(done), done.folder / FIT_PICTURE)
    pairs = [
        pair for pair in combinations(range(len(done.parameters)), 2)
        if all(math.isfinite(done.parameters[one].error) for one in pair)
    ]  # fmt: skip
    if not pairs:
        return [FIT_PICTURE]
    figure = empty_figure(_WIDTH * len(pairs) + 0.6, _HEIGHT + 0.6)
    for number, (first, second) in enumerate(pairs):
        _ellipses(figure.add_subplot(1, len(pairs), number + 1), done, first, second)
    save_figure(figure, done.folder / PARAMETER_PICTURE)
    return [FIT_PICTURE, PARAMETER_PICTURE]


def _fit_figure(done: Calibration) -> Any:
    """Draw each target against each parameter: band of the target, all points, value found, slope there."""
    across, down = len(done.parameters), len(done.matches)
    figure = empty_figure(_WIDTH * across + 0.8, _HEIGHT * down + 0.4)
    for row, match in enumerate(done.matches):
        for column, parameter in enumerate(done.parameters):
            axes = figure.add_subplot(down, across, row * across + column + 1)
            _panel(axes, done, match, parameter, float(done.slopes[row, column]))
            if row == down - 1:
                axes.set_xlabel(parameter.name)
            if column == 0:
                axes.set_ylabel(with_unit(match.name, match.unit))
    return figure


def _panel(axes: Any, done: Calibration, match: Match, parameter: Fitted, slope: float) -> None:
    places = np.array([point[0].values[parameter.name] for point in done.table.points])
    found = done.table.at_points(match.name)
    axes.axhspan(
        match.target - match.uncertainty,
        match.target + match.uncertainty,
        color="tab:green",
        alpha=0.25,
        lw=0,
    )
    axes.axhline(match.target, color="tab:green", linewidth=1.0)
    for place, some in zip(places, found, strict=True):
        axes.plot([place] * len(some), some, ".", color="0.75", markersize=4)
    axes.scatter(
        places, [np.mean(some) for some in found], c=np.arange(len(found)), cmap="viridis", s=18, zorder=3
    )
    axes.plot(parameter.value, match.found, "*", color="tab:red", markersize=11, zorder=4)
    reach = 0.15 * (parameter.high - parameter.low)
    line = np.clip(
        np.array([parameter.value - reach, parameter.value + reach]), parameter.low, parameter.high
    )
    axes.plot(line, match.found + slope * (line - parameter.value), "-", color="tab:red", linewidth=1.0)
    if math.isfinite(parameter.error):
        axes.axvspan(
            parameter.value - parameter.error,
            parameter.value + parameter.error,
            color="tab:red",
            alpha=0.1,
            lw=0,
        )
    if parameter.name in done.table.logarithmic:
        axes.set_xscale("log")
    axes.set_xlim(parameter.low, parameter.high)
    axes.grid(alpha=0.3)


def _ellipses(axes: Any, done: Calibration, first: int, second: int) -> None:
    """Draw where two parameters lie together, with 68 and 95 %."""
    one, other = done.parameters[first], done.parameters[second]
    correlation = float(done.correlations[first, second])
    turn = np.linspace(0.0, 2.0 * np.pi, 181)
    along = np.cos(turn)
    across = correlation * np.cos(turn) + math.sqrt(max(1.0 - correlation**2, 0.0)) * np.sin(turn)
    for radius, share in zip(_RADII, ("68 %", "95 %"), strict=True):
        axes.plot(
            one.value + radius * one.error * along, other.value + radius * other.error * across, label=share
        )
    axes.plot(one.value, other.value, "*", color="tab:red", markersize=11)
    axes.set(xlabel=one.name, ylabel=other.name, title=f"correlation {correlation:.2f}")
    axes.legend(fontsize="small")
    axes.grid(alpha=0.3)
