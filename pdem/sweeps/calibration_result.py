"""What a calibration has found: parameters with their errors, targets, and all runs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scipy.stats import chi2

from pdem.foundation.errors import InputError, name_hint
from pdem.sweeps.report import aligned

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from pdem.sweeps.table import Table

    Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Fitted:
    """A quantity that was varied, as it fits best.

    Attributes
    ----------
    name : str
        As in the file.
    value, error : float
        Its value and standard error; infinite if no target says anything about it.
    low, high : float
        Its range.
    """

    name: str
    value: float
    error: float
    low: float
    high: float

    @property
    def is_at_end(self) -> bool:
        """Whether it lies at an end of its range, where a wider one might fit better."""
        return min(self.value - self.low, self.high - self.value) < 2e-3 * (self.high - self.low)


@dataclass(frozen=True)
class Match:
    """A target, and how near the fit comes.

    Attributes
    ----------
    name, unit : str
        Of the measure.
    target, uncertainty : float
        What it should be.
    found : float
        What it is, as a mean over replicas.
    chance : float
        Standard error of that by chance; NaN without replicas.
    """

    name: str
    unit: str
    target: float
    uncertainty: float
    found: float
    chance: float

    @property
    def deviation(self) -> float:
        """By how many standard errors of target and chance together it is off."""
        return (self.found - self.target) / error_of(self.uncertainty, self.chance)


@dataclass(frozen=True)
class Calibration:
    """A calibration that has been done.

    Attributes
    ----------
    folder : Path
        Where everything is.
    parameters : tuple of Fitted
        What was varied.
    correlations : array
        Of their errors (parameters, parameters).
    matches : tuple of Match
        The targets.
    slopes : array
        Derivatives of the measures (targets, parameters) by the parameters there.
    converged : bool
        Whether it ended before its most iterations were done.
    table : Table
        All runs, in the order of the points.
    """

    folder: Path
    parameters: tuple[Fitted, ...]
    correlations: Floats
    matches: tuple[Match, ...]
    slopes: Floats
    converged: bool
    table: Table

    def __getitem__(self, name: str) -> float:
        """Return the value of a parameter.

        Raises
        ------
        InputError
            If there is none of this name.
        """
        names = [one.name for one in self.parameters]
        if name not in names:
            raise InputError(f"{name!r} was not calibrated; {name_hint(name, names)}")
        return self.parameters[names.index(name)].value

    @property
    def squares(self) -> float:
        """Sum of the squares of all deviations (chi square)."""
        return sum(one.deviation**2 for one in self.matches)

    @property
    def freedom(self) -> int:
        """Number of targets less that of parameters."""
        return len(self.matches) - len(self.parameters)

    @property
    def probability(self) -> float:
        """That targets which are right would be missed by as much; NaN without a degree of freedom."""
        return float(chi2.sf(self.squares, self.freedom)) if self.freedom else math.nan

    def __str__(self) -> str:
        """Return parameters with their errors, and how near the targets are."""
        return "\n".join(_lines(self))


def error_of(uncertainty: float, chance: float) -> float:
    """Return the error of a target and of chance together; that is NaN where it is not known."""
    return math.hypot(uncertainty, 0.0 if math.isnan(chance) else chance)


def _lines(done: Calibration) -> Iterator[str]:

    yield from aligned(parameter_rows(done))
    if len(done.parameters) > 1:
        yield "correlations of their errors:"
        yield from aligned(correlation_rows(done), indent="  ")
    yield from aligned(match_rows(done))
    yield verdict(done)


def verdict(done: Calibration) -> str:
    """Return in a line how near the targets are, and what that took."""
    text = f"sum of squares {done.squares:.3g}"
    if done.freedom:
        degrees = "1 degree" if done.freedom == 1 else f"{done.freedom} degrees"
        text += f" with {degrees} of freedom (p = {done.probability:.2g})"
    end = "converged" if done.converged else "not converged: give more iterations"
    return f"{text}; {end}; {len(done.table.points)} points, {len(done.table.rows)} runs"


def parameter_rows(done: Calibration) -> list[list[str]]:
    """Return a row for each parameter, after one of names."""
    return [
        ["parameter", "value", "range", ""],
        *(
            [one.name, with_error(one), f"{one.low:g} to {one.high:g}", _remark(one)]
            for one in done.parameters
        ),
    ]


def _remark(one: Fitted) -> str:
    if math.isinf(one.error):
        return "no target says what it is"
    return "at the end of its range" if one.is_at_end else ""


def with_error(one: Fitted) -> str:
    """Return a parameter with its error as text."""
    if not math.isfinite(one.error) or one.error <= 0.0:
        return f"{one.value:.6g} +- {one.error:.2g}"
    digits = max(0, 1 - math.floor(math.log10(one.error)))
    return (
        f"{one.value:.{digits}f} +- {one.error:.{digits}f}"
        if digits < 8
        else f"{one.value:.6g} +- {one.error:.2g}"
    )


def correlation_rows(done: Calibration) -> list[list[str]]:
    """Return the correlations of the parameters, after a row of names."""
    names = [one.name for one in done.parameters]
    rows = [
        [name, *(f"{value:.2f}" for value in row)] for name, row in zip(names, done.correlations, strict=True)
    ]
    return [["", *names], *rows]


def match_rows(done: Calibration) -> list[list[str]]:
    """Return a row for each target, after one of names."""
    rows = [["target", "wanted", "found", "by chance", "off by"]]
    for one in done.matches:
        chance = "not known" if math.isnan(one.chance) else f"+- {one.chance:.2g}"
        wanted = f"{one.target:.6g} +- {one.uncertainty:.2g} {one.unit.replace('1', '')}".rstrip()
        rows.append([one.name, wanted, f"{one.found:.6g}", chance, f"{one.deviation:+.2f} errors"])
    return rows
