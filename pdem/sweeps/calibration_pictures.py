"""Pictures of a calibration: the fitted responses with all runs, and the probable ranges of the parameters."""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.output.pictures.figure import empty_figure, save_figure
from pdem.sweeps.fitting.posterior import smooth_density
from pdem.sweeps.report import with_unit

if TYPE_CHECKING:
    from pathlib import Path

    from pdem.foundation.array_types import Floats
    from pdem.sweeps.calibration_result import Calibration, Fitted, Match

_WIDTH, _HEIGHT, _ALONG = 3.6, 2.8, 201
_CELLS = 60
_SHADES = "0.8", "0.55"


def draw_fit(done: Calibration, title: str, path: Path) -> None:
    """Draw each target against each parameter: target band, all runs, fitted response, and interval of the parameter.

    Raises
    ------
    InputError
        If the picture cannot be written.
    """
    across, down = len(done.parameters), len(done.matches)
    figure = empty_figure(_WIDTH * across + 0.6, _HEIGHT * down + 1.3)
    figure.suptitle(_headline(done, title), fontsize="medium")
    axes: Any = None
    for row, match in enumerate(done.matches):
        for column, parameter in enumerate(done.parameters):
            axes = figure.add_subplot(down, across, row * across + column + 1)
            _panel(axes, done, match, parameter, (row, column))
            if row == down - 1:
                axes.set_xlabel(parameter.name)
            if column == 0:
                axes.set_ylabel(with_unit(match.name, match.unit))
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize="small")
    save_figure(figure, path)


def _headline(done: Calibration, title: str) -> str:
    state = "targets are reached" if done.is_reached else "targets are NOT reached"
    return f"{title}\ncalibration: {state}, {len(done.table.rows)} runs"


def _panel(axes: Any, done: Calibration, match: Match, parameter: Fitted, location: tuple[int, int]) -> None:
    row, column = location
    response, best = done.solution.responses[row], done.solution.best
    axes.axhspan(
        match.target - match.uncertainty, match.target + match.uncertainty, color="tab:green", alpha=0.25, lw=0,
        label="target and its uncertainty",
    )  # fmt: skip
    for number, (low, high) in enumerate(parameter.likely):
        label = "" if number else "where the parameter lies, 68 %"
        axes.axvspan(low, high, color="tab:red", alpha=0.12, lw=0, label=label)
    shares = np.linspace(0.0, 1.0, _ALONG)
    line = np.repeat(best[None], _ALONG, axis=0)
    line[:, column] = shares
    found, values = response(line), _values_at(parameter, done, shares)
    error = np.sqrt(found.variance)
    axes.fill_between(values, found.mean - error, found.mean + error, color="tab:blue", alpha=0.25, lw=0)
    axes.plot(values, found.mean, color="tab:blue", linewidth=1.2, label="fit through all runs, with its error")
    _runs(axes, done, match, parameter, response, column)
    axes.plot(parameter.value, match.found, "*", color="tab:red", markersize=10, zorder=4, label="values found")
    if parameter.name in done.table.logarithmic:
        axes.set_xscale("log")
    axes.set_xlim(parameter.low, parameter.high)
    axes.grid(alpha=0.3)


def _runs(axes: Any, done: Calibration, match: Match, parameter: Fitted, response: Any, column: int) -> None:
    """Draw all runs, shifted along the fit to the fitted values of the other parameters."""
    points = done.solution.points
    locations = np.array([one.location for one in points])
    moved = np.repeat(done.solution.best[None], len(points), axis=0)
    moved[:, column] = locations[:, column]
    change = response(moved).mean - response(locations).mean
    label = "runs" if len(done.parameters) == 1 else "runs, moved by the fit to the other values found"
    for shift, some, rows in zip(change, done.table.at_points(match.name), done.table.points, strict=True):
        value = rows[0].values[parameter.name]
        axes.plot([value] * len(some), np.array(some) + shift, ".", color="0.25", markersize=5, label=label)
        label = ""


def _values_at(parameter: Fitted, done: Calibration, shares: Floats) -> Floats:
    if parameter.name in done.table.logarithmic:
        found: Floats = parameter.low * (parameter.high / parameter.low) ** shares
        return found
    return parameter.low + shares * (parameter.high - parameter.low)


def draw_parameters(done: Calibration, title: str, path: Path) -> None:
    """Draw the probability of the parameters, in pairs if there are several, with the regions of 68 and 95 %.

    Raises
    ------
    InputError
        If the picture cannot be written.
    """
    pairs = list(combinations(range(len(done.parameters)), 2))
    figure = empty_figure(_WIDTH * max(len(pairs), 1) + 0.6, _HEIGHT + 1.0)
    figure.suptitle(f"{title}\nprobability of the parameters", fontsize="medium")
    if not pairs:
        _density(figure.add_subplot(), done, done.parameters[0])
    for number, (first, second) in enumerate(pairs):
        _region(figure.add_subplot(1, len(pairs), number + 1), done, first, second)
    save_figure(figure, path)


def _density(axes: Any, done: Calibration, one: Fitted) -> None:
    samples = done.solution.samples
    edges, density = smooth_density(samples.locations[:, 0], samples.weights)
    values = _values_at(one, done, 0.5 * (edges[1:] + edges[:-1]))
    density /= density.max()
    for intervals, share, shade in ((one.very_likely, "95 %", _SHADES[0]), (one.likely, "68 %", _SHADES[1])):
        for number, (low, high) in enumerate(intervals):
            inside = (values >= low) & (values <= high)
            axes.fill_between(values, 0.0, density, where=inside, color=shade, lw=0, label="" if number else share)
    axes.plot(values, density, color="black", linewidth=1.0)
    axes.axvline(one.value, color="tab:red", linewidth=1.0, label="value found")
    axes.set(xlabel=one.name, ylabel="probability density", yticks=[], ylim=(0.0, 1.08))
    axes.legend(fontsize="small")


def _region(axes: Any, done: Calibration, first: int, second: int) -> None:
    """Draw the regions that contain 68 and 95 % of the samples of two parameters."""
    one, other = done.parameters[first], done.parameters[second]
    samples = done.solution.samples
    locations = samples.locations[:, [first, second]]
    drawn = locations[
        np.searchsorted(np.cumsum(samples.weights), (np.arange(4000) + 0.5) / 4000).clip(0, len(locations) - 1)
    ]
    low, high = drawn.min(axis=0), drawn.max(axis=0)
    low, high = np.maximum(low - 0.1 * (high - low), 0.0), np.minimum(high + 0.1 * (high - low), 1.0)
    edges = [np.linspace(*ends, _CELLS + 1) for ends in zip(low, high, strict=True)]
    counts = _smoothed(np.histogram2d(drawn[:, 0], drawn[:, 1], edges)[0])
    middles = [0.5 * (some[1:] + some[:-1]) for some in edges]
    order = np.sort(counts.ravel())[::-1]
    sums = np.cumsum(order) / order.sum()
    levels = [float(order[np.searchsorted(sums, share)]) for share in (0.9545, 0.6827)]
    x, y = _values_at(one, done, middles[0]), _values_at(other, done, middles[1])
    axes.contourf(x, y, counts.T, levels=[*levels, max(order[0], levels[1] * 1.001)], colors=_SHADES)
    for shade, share in zip(_SHADES, ("95 %", "68 %"), strict=True):
        axes.plot([], [], "s", color=shade, label=share)
    axes.plot(one.value, other.value, "*", color="tab:red", markersize=10, label="values found")
    correlation = float(done.correlations[first, second])
    axes.set(xlabel=one.name, ylabel=other.name)
    axes.set_title(f"correlation {correlation:.2f}", fontsize="small")
    axes.legend(fontsize="small")
    axes.grid(alpha=0.3)


def _smoothed(counts: Floats) -> Floats:
    from scipy.ndimage import gaussian_filter

    filled = math.sqrt(max(float(np.count_nonzero(counts)), 1.0))
    found: Floats = gaussian_filter(counts, max(0.06 * filled, 1.0))
    return found
