"""Picture of a fit of fracture energies: shares of broken particles with their curves, and medians by size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import beta

from pdem.laboratory.fracture_model import broken_share
from pdem.output.pictures.colour_scale import prefixed
from pdem.output.pictures.figure import empty_figure, save_figure

if TYPE_CHECKING:
    from pathlib import Path

    from pdem.foundation.array_types import Floats
    from pdem.laboratory.fracture_fit import FractureFit

_WIDTH, _HEIGHT, _ALONG = 10.0, 4.5, 201
_ONE_ERROR = 0.6827
_BEYOND = 1.5
_DARKEST, _LIGHTEST = 0.0, 0.85


def draw_fracture_fit(fit: FractureFit, path: Path, title: str = "") -> None:
    """Draw a fit: the share of broken particles by energy for each size, and the median fracture energy by size.

    Bars of shares are intervals with 68 % probability (Clopper and Pearson), bars of medians standard errors.

    Raises
    ------
    InputError
        If matplotlib is not installed, or the picture cannot be written.
    """
    figure = empty_figure(_WIDTH, _HEIGHT)
    if title:
        figure.suptitle(title, fontsize="medium")
    shares, medians = figure.subplots(1, 2, width_ratios=(1.6, 1.0))
    sizes = fit.model.table.sizes
    factor, unit = prefixed(float(sizes[-1]), "m")
    colours = _colours(len(sizes))
    for size, colour in zip(sizes, colours, strict=True):
        _shares(shares, fit, size, colour, f"{factor * size:.4g} {unit}")
    shares.set(xscale="log", ylim=(-0.02, 1.02), xlabel="specific energy [J/kg]", ylabel="share of broken particles")
    shares.legend(fontsize="small", frameon=False, loc="upper left")
    _medians(medians, fit, factor, colours)
    medians.set(xscale="log", yscale="log", xlabel=f"size [{unit}]", ylabel="median fracture energy [J/kg]")
    for axes in (shares, medians):
        axes.grid(alpha=0.3, which="both")
    save_figure(figure, path)


def _colours(number: int) -> list[Any]:
    from matplotlib import colormaps

    return [colormaps["viridis"](share) for share in np.linspace(_DARKEST, _LIGHTEST, number)]


def _shares(axes: Any, fit: FractureFit, size: float, colour: Any, words: str) -> None:
    """Draw the rows of one size, with their errors, and the curve of the fit."""
    table = fit.model.table
    mine = table.size == size
    energy, broken, tested = table.energy[mine], table.broken[mine], table.tested[mine]
    share, tail = broken / tested, 0.5 * (1.0 - _ONE_ERROR)
    low = np.where(broken > 0, beta.ppf(tail, broken, tested - broken + 1), 0.0)
    high = np.where(broken < tested, beta.ppf(1.0 - tail, broken + 1, tested - broken), 1.0)
    axes.errorbar(energy, share, (share - low, high - share), fmt="o", color=colour, ms=4, lw=1, label=words)
    along = np.geomspace(energy.min() / _BEYOND, energy.max() * _BEYOND, _ALONG)
    median, spread = fit.medians(size)[0], fit.parameters[-1].value
    axes.plot(along, broken_share(along, median, spread, fit.model.greatest), color=colour, linewidth=1.2)


def _medians(axes: Any, fit: FractureFit, factor: float, colours: list[Any]) -> None:
    """Draw the median of each size, and the curve with its error if all sizes have one."""
    sizes = fit.model.table.sizes
    median, error = fit.medians(sizes)
    if fit.model.is_curve:
        along = np.geomspace(sizes[0] / _BEYOND, sizes[-1] * _BEYOND, _ALONG)
        middle, width = fit.medians(along)
        axes.plot(factor * along, middle, color="0.3", linewidth=1.2)
        ratio = np.exp(np.where(np.isfinite(width), width, 0.0) / middle)
        axes.fill_between(factor * along, middle / ratio, middle * ratio, color="0.3", alpha=0.2, lw=0)
    for one, value, bar, colour in zip(factor * sizes, median, _bars(error), colours, strict=True):
        axes.errorbar([one], [value], [bar], fmt="o", color=colour, ms=5)


def _bars(error: Floats) -> Floats:
    return np.where(np.isfinite(error), error, 0.0)
