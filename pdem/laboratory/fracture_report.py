"""Text of a fit of fracture energies: values with errors, medians by size, how well it fits, keys for the case file."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pdem.laboratory.fracture_fit import FRACTURE_KEYS
from pdem.laboratory.fracture_model import CURVE, SPREAD
from pdem.report.table import Table
from pdem.sweeps.calibration_result import rounded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.laboratory.fracture_fit import FittedKey, FractureFit

_DOUBTFUL = 0.05
_FEW = 5.0
"""Particles in a row, on average, below which the deviance judges no fit."""

_ANY_EXPONENT = 1.0


def report_lines(fit: FractureFit, material: str = "NAME") -> Iterator[str]:
    """Yield the lines of the report of a fit; `material` is the name in the keys for the case file."""
    table = fit.model.table
    sizes = f"{len(table.sizes)} size{'s' * (len(table.sizes) > 1)}"
    yield (
        f"{len(table.size)} rows, {table.tested.sum():.0f} particles of {sizes}, {table.broken.sum():.0f} broken; "
        f"greatest = {fit.model.greatest:g}"
    )
    yield ""
    yield table_of_keys(fit).text()
    yield ""
    yield size_table(fit).text(0)
    yield ""
    yield goodness(fit)
    yield from unknown_lines(fit)
    yield ""
    yield from key_lines(fit, material)


def table_of_keys(fit: FractureFit) -> Table:
    """Return a table of the parameters with their errors and intervals."""
    rows = [[one.name, *_cells(one, fit), _unit(one.name)] for one in fit.parameters]
    return Table(("", "value", "error", "95 % from", "to", "unit"), rows)


def _unit(name: str) -> str:
    if name in FRACTURE_KEYS:
        return {"fracture_energy": "J/kg", "size": "m"}.get(name, "1")
    return "J/kg"  # a median


def _cells(one: FittedKey, fit: FractureFit) -> list[str]:
    """Return value, error and ends of the interval as text."""
    if one.name in fit.fixed:
        return [f"{one.value:g}", "fixed", "", ""]
    ends = ("-" if end is None else rounded(end, min(one.error, abs(end))) for end in (one.low, one.high))
    if not one.is_known:
        return ["-", "-", *ends]
    return [rounded(one.value, one.error), rounded(one.error, one.error), *ends]


def size_table(fit: FractureFit) -> Table:
    """Return a table of the sizes: their tests, and the median fracture energy of the fit with its error."""
    table, rows = fit.model.table, []
    expected = fit.model.expected(fit.logarithms)
    for size, median, error in zip(table.sizes, *fit.medians(table.sizes), strict=True):
        mine = table.size == size
        counts = (table.tested[mine].sum(), table.broken[mine].sum(), expected[mine].sum())
        shown = rounded(median, error) if math.isfinite(error) else f"{median:.3g}"
        rows.append([
            f"{size:g}", str(np.count_nonzero(mine)), *(f"{one:.0f}" for one in counts[:2]), f"{counts[2]:.1f}", shown,
            rounded(error, error) if math.isfinite(error) else "-",
        ])  # fmt: skip
    return Table(("size [m]", "rows", "tested", "broken", "by the fit", "median [J/kg]", "error"), rows)


def goodness(fit: FractureFit) -> str:
    """Return a line on how well the model fits the table."""
    fact = f"deviance {fit.deviance:.1f} on {fit.freedom} degrees of freedom"
    if fit.freedom <= 0:
        return f"{fact}: as many unknowns as rows, so that the table cannot contradict the model"
    if fit.model.table.tested.mean() < _FEW:
        return f"{fact}: rows of so few particles cannot contradict the model; join similar energies"
    fact = f"{fact}, p = {fit.p_value:.2g}"
    if fit.p_value >= _DOUBTFUL:
        return f"{fact}: the model fits the table"
    factor = math.sqrt(fit.deviance / fit.freedom)
    return f"{fact}: the table scatters more than the model allows; errors are at least {factor:.1f} times larger"


def unknown_lines(fit: FractureFit) -> Iterator[str]:
    """Yield lines on undetermined keys, with the remedy."""
    count = len(fit.model.table.sizes)
    if not fit.model.is_curve:
        one = "one size determines" if count == 1 else f"{count} sizes determine"
        remedy = "" if count == 1 else f", or fix {len(CURVE) - count} of these keys"
        yield f"{one} no fracture_energy, size and exponent: test 3 sizes or more{remedy}"
    for key in fit.parameters:
        if not key.is_known:
            yield f"the table does not determine {key.name}: {_range(key)}; {_remedy(key.name)}"


def _range(key: FittedKey) -> str:
    if key.low is not None:
        return f"at least {key.low:.3g}"
    return "any value" if key.high is None else f"at most {key.high:.3g}"


def _remedy(name: str) -> str:
    if name in CURVE:
        return f"test smaller and larger sizes, or fix {name}"
    return "test energies that break a part of the particles"


def key_lines(fit: FractureFit, material: str = "NAME") -> Iterator[str]:
    """Yield the keys for the case file, without the curve of the median if two sizes leave it open."""
    sizes = fit.model.table.sizes
    values = {one.name: one.value for one in fit.parameters}
    notes: dict[str, str] = {}
    if fit.model.is_curve:
        note = f"not determined by the table; holds with the others from {sizes[0]:g} to {sizes[-1]:g} m"
        notes = dict.fromkeys(fit.unknown, note)
    elif len(sizes) == 1:
        median = fit.parameters[0].value
        values |= {"fracture_energy": 0.5 * median, "size": float(sizes[0]), "exponent": _ANY_EXPONENT}
        notes = {
            "fracture_energy": f"half of the median at {sizes[0]:g} m: right for this size alone",
            "size": "where the median is twice fracture_energy",
            "exponent": "assumed: one size does not determine it",
        }
    yield f"[materials.{material}.breakage]"
    yield 'model = "tavares"'
    for name in (*CURVE, SPREAD):
        if name in values:
            note = f"  # {notes[name]}" if name in notes else ""
            yield f"{name} = {float(f'{values[name]:.4g}')!r}{note}"
    yield f"greatest = {float(fit.model.greatest)!r}"
