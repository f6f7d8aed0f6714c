"""Result of a calibration: parameters with their errors, targets, and all runs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pdem.foundation.errors import InputError, name_hint
from pdem.report.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pdem.foundation.array_types import Floats
    from pdem.sweeps.fitting.search import Solution
    from pdem.sweeps.table import RunTable

    Intervals = tuple[tuple[float, float], ...]

KNOWN = 0.6
"""Share of a range: if the 68 % interval of a parameter covers more, the targets do not determine the parameter."""


_ROUNDED = 8


@dataclass(frozen=True)
class Fitted:
    """The calibrated value of a varied quantity.

    Attributes
    ----------
    name : str
        Name of the quantity in the file.
    value, error : float
        The value in the most probable set of all parameters, and half the length of the 68 % interval.
    low, high : float
        Ends of the range of the parameter.
    likely, very_likely : tuple of (float, float)
        Intervals that contain the parameter with 68 % and with 95 % probability: usually one interval, or several.
    share : float
        Fraction of the range (of its logarithm on a logarithmic scale) that the 68 % intervals cover.
    """

    name: str
    value: float
    error: float
    low: float
    high: float
    likely: Intervals
    very_likely: Intervals
    share: float

    @property
    def is_known(self) -> bool:
        """Whether the targets determine the value of the parameter."""
        return self.share < KNOWN

    @property
    def is_unique(self) -> bool:
        """Whether the 68 % region of the parameter is a single interval."""
        return len(self.likely) == 1

    @property
    def is_at_end(self) -> bool:
        """Whether the 68 % region touches an end of the range: a wider range might fit better."""
        margin = 2e-3 * (self.high - self.low)
        ends = self.likely[0][0] - self.low, self.high - self.likely[-1][1]
        return min(ends) < margin


@dataclass(frozen=True)
class Match:
    """A target and the fitted value of its measure.

    Attributes
    ----------
    name, unit : str
        Name and unit of the measure.
    target, uncertainty : float
        Value and standard error of the target.
    found : float
        Value of the fitted response at the calibrated parameters.
    chance : float
        Standard error of `found`.
    scatter : float
        Standard deviation of a single run by chance, at the calibrated parameters.
    """

    name: str
    unit: str
    target: float
    uncertainty: float
    found: float
    chance: float
    scatter: float

    @property
    def deviation(self) -> float:
        """Difference from the target in standard errors of target and fit together."""
        return (self.found - self.target) / math.hypot(self.uncertainty, self.chance)


@dataclass(frozen=True)
class Calibration:
    """The result of a calibration.

    Attributes
    ----------
    folder : Path
        Folder of all files.
    parameters : tuple of Fitted
        The varied quantities.
    correlations : array
        Correlation matrix of the errors of the parameters, shape (parameters, parameters).
    matches : tuple of Match
        The targets.
    slopes : array
        Derivatives of the measures by the parameters at the calibrated values, shape (targets, parameters).
    probability : float
        Probability that chance alone misses correct targets by at least the smallest misfit within the ranges.
    is_reached : bool
        Whether `probability` is at least 5 %.
    is_precise : bool
        Whether further runs would hardly reduce the errors.
    needed : int
        Approximate number of runs with which the result would be precise; the present number if it is precise.
    table : RunTable
        All runs, ordered by point.
    solution : Solution
        Responses and samples of the parameters as shares of their ranges, for pictures.
    """

    folder: Path
    parameters: tuple[Fitted, ...]
    correlations: Floats
    matches: tuple[Match, ...]
    slopes: Floats
    probability: float
    is_reached: bool
    is_precise: bool
    needed: int
    table: RunTable
    solution: Solution

    def __getitem__(self, name: str) -> float:
        """Return the calibrated value of a parameter.

        Raises
        ------
        InputError
            If no parameter has this name.
        """
        names = [one.name for one in self.parameters]
        if name not in names:
            raise InputError(f"{name!r} was not calibrated; {name_hint(name, names)}")
        return self.parameters[names.index(name)].value

    @property
    def converged(self) -> bool:
        """Whether the targets are reached and determine a single value of every parameter."""
        return self.is_reached and all(one.is_known and one.is_unique for one in self.parameters)

    @property
    def squares(self) -> float:
        """Sum of the squares of all deviations (chi square)."""
        return sum(one.deviation**2 for one in self.matches)

    @property
    def freedom(self) -> int:
        """Number of targets minus number of parameters."""
        return len(self.matches) - len(self.parameters)

    def __str__(self) -> str:
        """Return the report as text: parameters with errors, deviations from the targets, and conclusions."""
        return "\n".join(_lines(self))


def _lines(done: Calibration) -> Iterator[str]:
    yield parameter_table(done).text(None)
    if len(done.parameters) > 1:
        yield "correlations of their errors:"
        yield correlation_table(done).text(None, "  ")
    yield match_table(done).text(None)
    yield from verdict(done)


def verdict(done: Calibration) -> Iterator[str]:
    """Yield the conclusions in words: whether targets are reached, which parameters are undetermined, and remedies."""
    if done.is_reached:
        which = "the target is met within its error", "all targets are met within their errors"
        yield f"reached: {which[len(done.matches) > 1]}{_chi_square(done)}"
    else:
        yield from _not_reached(done)
    for one in done.parameters:
        if not one.is_known:
            hidden = "chance hides what the targets say of it; give more runs"
            why = "no target says what it is; add one that depends on it, or leave it out"
            yield f"NOT known: {one.name}: {why if done.is_precise else hidden}"
        elif not one.is_unique:
            text = " and ".join(intervals_text(one, (some,)) for some in one.likely)
            yield f"NOT known: {one.name}: several ranges fit, {text}; a further target or a narrower range decides"
        elif done.is_reached and one.is_at_end:
            yield f"remark: {one.name}: what fits reaches an end of its range; a wider range may fit better"
    runs = len(done.table.rows)
    if done.is_reached and not done.is_precise:
        yield (
            f"remark: chance is not small beside the uncertainty of the targets; about {done.needed} runs in place of "
            f"{runs} would make it so (runs = {done.needed})"
        )
    yield f"{len(done.table.points)} points, {runs} runs"


def _chi_square(done: Calibration) -> str:
    if done.freedom <= 0:
        return ""
    degrees = "1 degree" if done.freedom == 1 else f"{done.freedom} degrees"
    return f" (sum of squares {done.squares:.3g} with {degrees} of freedom, p = {done.probability:.2g})"


def _not_reached(done: Calibration) -> Iterator[str]:
    """Yield the nearest values that can be reached, and the ranges that were tried."""
    for one in done.matches:
        if abs(one.deviation) >= 1.0 or len(done.matches) == 1:
            yield (
                f"NOT reached: {one.name}: the nearest is {found_text(one)}, wanted {wanted_text(one)}, "
                f"{abs(one.deviation):.1f} errors off"
            )
    tried = ", ".join(_tried(done, one) for one in done.parameters)
    yield f"  tried: {tried}; p = {done.probability:.1g}"
    yield "  widen the range, vary another quantity as well, or check the targets and their uncertainties"


def _tried(done: Calibration, one: Fitted) -> str:
    values = [point[0].values[one.name] for point in done.table.points]
    return f"{one.name} from {min(values):.4g} to {max(values):.4g}"


def parameter_table(done: Calibration) -> Table:
    """Return a table of the parameters."""
    rows = []
    for one in done.parameters:
        likely, very = intervals_text(one, one.likely), intervals_text(one, one.very_likely)
        rows.append([one.name, with_error(one), likely, very, f"{one.low:g} to {one.high:g}"])
    return Table(("parameter", "value", "68 %", "95 %", "range"), rows)


def with_error(one: Fitted) -> str:
    """Return a parameter with its error as text; a dash if the targets do not determine the parameter."""
    if not one.is_known:
        return "-"
    return f"{rounded(one.value, one.error)} +- {rounded(one.error, one.error)}"


def intervals_text(one: Fitted, intervals: Intervals) -> str:
    """Return intervals of a parameter as text, with the digits of its error."""
    length = min((high - low for low, high in intervals), default=0.0) if one.is_known else one.high - one.low
    error = min(one.error, 0.5 * length) or one.error
    return ", ".join(f"{rounded(low, error)} to {rounded(high, error)}" for low, high in intervals)


def rounded(value: float, error: float) -> str:
    """Return a number rounded according to its error: the error itself has two digits."""
    if not (math.isfinite(error) and error > 0.0 and math.isfinite(value)):
        return f"{value:.6g}"
    digits = 1 - math.floor(math.log10(error))
    if digits <= 0:
        return f"{round(value, digits):.0f}"
    if digits < _ROUNDED or not value:
        return f"{value:.{min(digits, _ROUNDED)}f}"
    return f"{value:.{max(math.floor(math.log10(abs(value))) + digits, 0)}e}"


def correlation_table(done: Calibration) -> Table:
    """Return a table of the correlations of the parameters."""
    names = [one.name for one in done.parameters]
    rows = [[name, *(f"{value:.2f}" for value in row)] for name, row in zip(names, done.correlations, strict=True)]
    return Table(["", *names], rows)


def match_table(done: Calibration) -> Table:
    """Return a table of the targets."""
    rows = []
    for one in done.matches:
        off = f"{one.deviation:+.1f} errors".replace("-0.0", "+0.0")
        rows.append([one.name, wanted_text(one), found_text(one), f"+- {one.scatter:.2g}", off])
    return Table(("target", "wanted", "found", "one run by chance", "off by"), rows)


def wanted_text(one: Match) -> str:
    """Return a target with its uncertainty and unit."""
    return f"{one.target:.6g} +- {one.uncertainty:.2g} {one.unit.replace('1', '')}".rstrip()


def found_text(one: Match) -> str:
    """Return the fitted value of a measure with its error as text."""
    return f"{rounded(one.found, max(one.chance, 0.05 * one.uncertainty))} +- {one.chance:.2g}"
