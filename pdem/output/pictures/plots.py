"""Plots of columns of the series of one or more runs."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from pdem.foundation.errors import InputError, name_hint
from pdem.output.pictures.figure import empty_figure, save_figure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

HEIGHT, WIDTH = 2.6, 8.0
"""Size of one panel [inch]."""


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
    path: Path, runs: Mapping[str, Mapping[str, NDArray]], columns: Sequence[str], units: Mapping[str, str]
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

    Raises
    ------
    InputError
        If matplotlib is not installed, or the file cannot be written.
    """
    panels = list(dict.fromkeys(units[name] for name in columns))
    figure = empty_figure(WIDTH, HEIGHT * len(panels) + 0.4)
    for number, unit in enumerate(panels):
        axes = figure.add_subplot(len(panels), 1, number + 1)
        mine = [name for name in columns if units[name] == unit]
        for run, rows in runs.items():
            for name in mine:
                label = " ".join(([name] if len(mine) > 1 or len(runs) == 1 else []) + ([run] if len(runs) > 1 else []))
                axes.plot(rows["time"], rows[name], label=label, linewidth=1.2)
        what = mine[0] if len(mine) == 1 else ""
        axes.set_ylabel(f"{what} [{unit}]" if unit != "1" else what)
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small", frameon=False)
    axes.set_xlabel("time [s]")
    save_figure(figure, path)
