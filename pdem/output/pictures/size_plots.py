"""Plots of passing curves: percent of the mass up to each diameter, on a logarithmic axis of sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.foundation.errors import InputError
from pdem.output.pictures.colour_scale import prefixed
from pdem.output.pictures.figure import empty_figure, save_figure

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pdem.foundation.array_types import Floats

    Curves = Mapping[str, tuple[Floats, Floats]]

MARKED = 80.0
"""Percent passing that the legend gives the size of, and a line marks."""

_WIDTH, _HEIGHT = 8.0, 4.5  # inch
_MARGIN = 1.15
_FEW_DECADES = 1.3
_STEPS = 60
"""Largest number of sizes of a curve with a step at each; longer curves connect their points."""


def plot_passing(path: Path, curves: Curves, title: str = "") -> None:
    """Write a picture of passing curves.

    Parameters
    ----------
    path : Path
        File to write; its suffix determines the format (.png, .pdf, .svg).
    curves : mapping of (2,) arrays
        Rising diameters (k,) [m] and the fraction of the mass up to each of them (k,), by the words of the legend.
    title : str
        Title; may be empty.

    Raises
    ------
    InputError
        If no curve has particles, matplotlib is not installed, or the file cannot be written.
    """
    ends = [float(end) for diameter, _ in curves.values() if len(diameter) for end in (diameter[0], diameter[-1])]
    if not ends:
        raise InputError(f"no particles in {', '.join(curves)}; give other times or another material")
    figure = empty_figure(_WIDTH, _HEIGHT)
    if title:
        figure.suptitle(title, fontsize="medium")
    axes: Any = figure.add_subplot()
    factor, unit = prefixed(max(ends), "m")
    for words, (diameter, passing) in curves.items():
        _curve(axes, words, factor * diameter, 100.0 * passing, unit)
    axes.axhline(MARKED, color="0.5", linestyle=":", linewidth=1.0, zorder=0)
    axes.set_xscale("log")
    axes.set_xlim(factor * min(ends) / _MARGIN, factor * max(ends) * _MARGIN)
    _ticks(axes, max(ends) / min(ends) * _MARGIN * _MARGIN)
    axes.set_ylim(0.0, 100.0)
    axes.set_xlabel(f"diameter [{unit}]")
    axes.set_ylabel("passing [% by mass]")
    axes.grid(alpha=0.3, which="both")
    axes.legend(fontsize="small", frameon=False, loc="upper left")
    save_figure(figure, path)


def _curve(axes: Any, words: str, diameter: Floats, percent: Floats, unit: str) -> None:
    """Draw a curve from 0 % at the smallest size; of few sizes as steps."""
    if not len(diameter):
        axes.plot([], [], label=f"{words}: no particles")
        return
    marked = diameter[np.searchsorted(percent, MARKED)]
    style = "steps-post" if len(diameter) <= _STEPS else "default"
    x, y = np.concatenate((diameter[:1], diameter)), np.concatenate(([0.0], percent))
    axes.plot(x, y, drawstyle=style, linewidth=1.4, label=f"{words}: P{MARKED:g} {marked:.4g} {unit}")


def _ticks(axes: Any, ratio: float) -> None:
    """Write plain numbers at the axis of sizes; over few decades also at 2 and 5, or at all digits."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    decades = np.log10(ratio)
    digits = (1.0,) if decades > 2.0 * _FEW_DECADES else (1.0, 2.0, 5.0)
    axes.xaxis.set_major_locator(LogLocator(subs=range(1, 10) if decades < 1.0 / _FEW_DECADES else digits))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
