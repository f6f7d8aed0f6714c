"""Plots of columns of the series of one or more runs."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pdem.foundation.errors import InputError, name_hint
from pdem.output.pictures.colour_scale import prefixed
from pdem.output.pictures.figure import empty_figure, save_figure

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

HEIGHT, WIDTH = 2.4, 8.0
"""Size of one panel [inch]."""

_LEGEND_LINE = 0.19
_DASHES = "-", "--", ":", "-."
_WORDS = {
    "kg": "mass", "N": "force", "N m": "torque", "W": "power", "J": "energy", "m": "length", "m/s": "speed",
    "rad/s": "rotation", "rad": "angle", "deg": "angle", "Pa": "stress", "kg/s": "mass flow", "s": "time",
    "m^3": "volume", "m/s^2": "acceleration", "1/s": "rate",
}  # fmt: skip
"""Quantities of units, for axes with several columns."""


class PlotStyle(NamedTuple):
    """Words and range of a plot.

    Attributes
    ----------
    title : str
        Title above all panels; may be empty.
    labels : mapping of str to str
        Words for columns and runs by their names.
    begin, end : float or None
        First and last time to plot [s]; None for all.
    means : bool
        Whether the mean of each line over the plotted time is drawn, with its value in the legend.
    """

    title: str = ""
    labels: Mapping[str, str] = MappingProxyType({})
    begin: float | None = None
    end: float | None = None
    means: bool = False


DEFAULT_STYLE = PlotStyle()
"""All times, without a title."""


def chosen_columns(names: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """Return the columns that match names or patterns with ``*``, each once.

    Raises
    ------
    InputError
        If a name or pattern matches no column.
    """
    found: dict[str, None] = {}
    for one in wanted:
        matching = [name for name in names if fnmatchcase(name, one)]
        if not matching:
            raise InputError(f"the series has no column {one!r}; {name_hint(one, list(names))}")
        found.update(dict.fromkeys(matching))
    return list(found)


def plot_series(
    path: Path,
    runs: Mapping[str, Mapping[str, NDArray]],
    columns: Sequence[str],
    units: Mapping[str, str],
    style: PlotStyle = DEFAULT_STYLE,
) -> None:
    """Write a picture of columns against time: a panel for each unit, a line for each column and run.

    Parameters
    ----------
    path : Path
        File to write; its suffix determines the format (.png, .pdf, .svg).
    runs : mapping of mapping of (n,) arrays
        Columns of each run by its name, including ``time`` [s] and the columns to plot.
    columns : sequence of str
        Names of the columns to plot.
    units : mapping of str to str
        Unit of each column.
    style : PlotStyle
        Title, words, range of times, mean values.

    Raises
    ------
    InputError
        If the range of times is empty or has no lines, matplotlib is not installed, or the file cannot be written.
    """
    runs = {run: _in_range(rows, style, run) for run, rows in runs.items()}
    panels = list(dict.fromkeys(units[name] for name in columns))
    figure = empty_figure(WIDTH, HEIGHT * len(panels) + _LEGEND_LINE * len(columns) * len(runs) + 0.4)
    if style.title:
        figure.suptitle(style.title, fontsize="medium")
    axes: Any = None
    for number, unit in enumerate(panels):
        axes = figure.add_subplot(len(panels), 1, number + 1, sharex=axes)
        _panel(axes, runs, [name for name in columns if units[name] == unit], unit, style)
    axes.set_xlabel("time [s]")
    axes.set_xlim(style.begin, style.end)
    save_figure(figure, path)


def _in_range(rows: Mapping[str, NDArray], style: PlotStyle, run: str) -> dict[str, NDArray]:
    """Return the lines of a run in the range of times."""
    if style.begin is not None and style.end is not None and not style.begin < style.end:
        raise InputError(f"times from {style.begin:g} to {style.end:g} s are no range; give the earlier time first")
    time = rows["time"]
    inside = (time >= (-np.inf if style.begin is None else style.begin)) & (
        time <= (np.inf if style.end is None else style.end)
    )
    if len(time) and not inside.any():
        where = f"{run}: " if run else ""
        raise InputError(f"{where}no line of the series is in the range; there are {time[0]:.6g} to {time[-1]:.6g} s")
    return {name: column[inside] for name, column in rows.items()}


def _panel(
    axes: Any, runs: Mapping[str, Mapping[str, NDArray]], columns: Sequence[str], unit: str, style: PlotStyle
) -> None:
    """Draw the columns of one unit, with the legend above them."""
    sizes = [
        float(np.abs(some).max()) for rows in runs.values() for name in columns if len(some := _finite(rows[name]))
    ]
    factor, shown = prefixed(max(sizes, default=0.0), unit)
    drawn: list[NDArray] = []
    for run, rows in runs.items():
        for name in columns:
            values = factor * rows[name]
            same = sum(np.array_equal(values, one, equal_nan=True) for one in drawn)
            drawn.append(values)
            label = _label(name, run if len(runs) > 1 else "", style)
            has_mean = style.means and len(_finite(values)) > 0
            if has_mean:
                mean = mean_over_time(rows["time"], values)
                label += f"; dashed: mean {mean:.4g}{'' if shown == '1' else f' {shown}'}"
            dashes = _DASHES[same % len(_DASHES)]
            (line,) = axes.plot(rows["time"], values, dashes, label=label, linewidth=1.2 + 0.8 * (same > 0))
            if has_mean:
                _add_mean(axes, mean, line.get_color())
    words = _WORDS.get(unit, "") if len(columns) > 1 or style.labels else columns[0]
    axes.set_ylabel(f"{words} [{shown}]".strip() if shown != "1" else words or "number")
    axes.grid(alpha=0.3)
    axes.margins(x=0.0)
    axes.legend(
        fontsize="small", frameon=False, loc="lower left", bbox_to_anchor=(0.0, 1.0), borderaxespad=0.2,
        borderpad=0.2, labelspacing=0.3,
    )  # fmt: skip


def _add_mean(axes: Any, mean: float, colour: str) -> None:
    """Draw a dashed line, with a white border so that it is seen on dense curves."""
    from matplotlib.patheffects import Normal, withStroke

    effects = [withStroke(linewidth=3.0, foreground="white"), Normal()]
    axes.axhline(mean, color=colour, linestyle=(0, (6, 3)), linewidth=1.4, zorder=3, path_effects=effects)


def _label(name: str, run: str, style: PlotStyle) -> str:
    """Return the words of a column and of a run for the legend."""
    words = style.labels.get(name, name)
    return f"{words} ({style.labels.get(run, run)})" if run else words


def _finite(values: NDArray) -> NDArray:
    return values[np.isfinite(values)]


def mean_over_time(time: NDArray, values: NDArray) -> float:
    """Return the mean of the finite values over time, by the trapezoidal rule; lines may have any distance in time."""
    use = np.isfinite(values)
    time, values = time[use], values[use].astype(float)
    span = float(time[-1] - time[0])
    return float(np.trapezoid(values, time)) / span if span > 0.0 else float(values.mean())
