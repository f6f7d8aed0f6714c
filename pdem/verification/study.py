"""Classes for the studies of `pdem verify`: findings, tables of findings, and a notebook for plots."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from pdem.output.pictures.figure import empty_figure, save_figure
from pdem.report.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

_FIGURE_SIZE = (7.0, 4.5)
_DOTS_PER_INCH = 150


@dataclass(frozen=True)
class StudyFinding:
    """A computed number and the expected one.

    Attributes
    ----------
    name : str
        Name of the quantity, with its unit.
    computed : float
        Value computed here.
    expected : float or None
        Published or predicted value; None if there is no such value.
    tolerance : float or None
        Largest relative difference; None if there is no limit.
    at_most : bool
        Whether `expected` is an upper limit.
    printed : float or None
        Value printed in the paper, if the paper's own method gives a different value.
    margin : float
        Absolute tolerance in addition to the relative tolerance, in the unit of the quantity.
    """

    name: str
    computed: float
    expected: float | None = None
    tolerance: float | None = None
    at_most: bool = False
    printed: float | None = None
    margin: float = 0.0

    @property
    def difference(self) -> float | None:
        """Relative difference from the expected value, or None."""
        if self.expected is None or self.expected == 0.0:
            return None
        return self.computed / self.expected - 1.0

    @property
    def allowed(self) -> float | None:
        """Largest difference from the expected value; None without a tolerance."""
        if self.expected is None or self.tolerance is None:
            return None
        return self.tolerance * abs(self.expected) + self.margin

    @property
    def passed(self) -> bool | None:
        """Whether the value is within its tolerance; None without a tolerance."""
        allowed = self.allowed
        if self.expected is None or allowed is None:
            return None
        off = self.computed - self.expected
        return bool((off if self.at_most else abs(off)) <= allowed)


def at_most(name: str, value: float, limit: float) -> StudyFinding:
    """Return a finding with an upper limit."""
    return StudyFinding(name, float(value), limit, 0.0, True)


@dataclass(frozen=True)
class FindingTable:
    """A table of findings.

    Attributes
    ----------
    title : str
        Title.
    source : str
        Source of the expected values, the head of their column: published, predicted, exact ...
    findings : list of StudyFinding
        The rows.
    remark : str
        Text below the table.
    digits : int
        Significant digits of the numbers.
    """

    title: str
    source: str
    findings: list[StudyFinding]
    remark: str = ""
    digits: int = 5

    @property
    def failed(self) -> int:
        """Number of findings outside their tolerance."""
        return sum(one.passed is False for one in self.findings)

    def __str__(self) -> str:
        """Return the table as text with aligned columns."""
        head = ("", "computed", self.source, "difference", "", "printed")
        rows = [head, *(_cells(one, self.digits) for one in self.findings)]
        if all(one.printed is None for one in self.findings):
            rows = [row[:-1] for row in rows]
        remark = ["", f"  {self.remark}"] if self.remark else []
        return "\n".join([self.title, "", Table((), rows).text(indent="  "), *remark])


def _cells(finding: StudyFinding, digits: int) -> tuple[str, ...]:
    values = (finding.computed, finding.expected, finding.printed)
    computed, expected, printed = ("" if value is None else f"{value:.{digits}g}" for value in values)
    near = finding.difference is not None and not (finding.at_most and finding.passed)
    difference = f"{100.0 * (finding.difference or 0.0):+.2f} %" if near else ""
    verdict = {None: "", True: "ok", False: "OFF"}[finding.passed]
    limit = "<= " if finding.at_most else ""
    return finding.name, computed, limit + expected, difference, verdict, printed


class StudyResult(Protocol):
    """A result of a study: its title, its text, its findings, and the number of failures among them."""

    @property
    def title(self) -> str:
        """Title of the result."""
        ...

    @property
    def findings(self) -> list[StudyFinding]:
        """All findings of the result."""
        ...

    @property
    def failed(self) -> int:
        """Number of findings outside their tolerance."""
        ...


@dataclass
class Notebook:
    """Folder of a study, its options, and the plots written so far.

    Attributes
    ----------
    folder : Path
        Folder for plots and runs; created on first use.
    full : bool
        Whether the long runs are included.
    threads : int
        Number of threads of simulations.
    plots : list of Path
        Plots written so far.
    earlier : float
        Elapsed time of earlier runs of this study, for parts that are not repeated [s].
    """

    folder: Path
    full: bool = False
    threads: int = 1
    plots: list[Path] = field(default_factory=list)
    earlier: float = 0.0

    @contextmanager
    def plot(self, name: str, panels: int = 1) -> Iterator[Any]:
        """Yield the axes of a plot (a sequence if there are several panels); save it as ``NAME.png`` afterwards.

        Several panels are arranged in rows of two, so that their texts are readable on a page.

        Raises
        ------
        InputError
            If matplotlib is not installed.
        """
        width, height = _FIGURE_SIZE
        rows, columns = -(-panels // 2), min(panels, 2)
        figure = empty_figure(width * (1.0 if columns == 1 else 1.6), height * rows)
        axes = figure.subplots(rows, columns, squeeze=False).ravel()
        for one in axes[panels:]:
            one.remove()
        yield axes[0] if panels == 1 else axes[:panels]
        path = self.folder / f"{name}.png"
        save_figure(figure, path, _DOTS_PER_INCH)
        self.plots.append(path)


def plain_numbers(*axes: Any) -> None:
    """Label logarithmic axes (of matplotlib) with plain numbers such as 2, 20, 200 instead of powers of ten."""
    from matplotlib.ticker import LogFormatter

    for axis in axes:
        axis.set_major_formatter(LogFormatter(labelOnlyBase=False))
        axis.set_minor_formatter(LogFormatter(labelOnlyBase=False, minor_thresholds=(2.0, 0.5)))


@dataclass(frozen=True)
class Study:
    """The benchmarks of a paper, a process or law compared with its reference, or a check of pdem's own.

    Attributes
    ----------
    name : str
        Name on the command line.
    title : str
        The paper, the process, or the property that is checked.
    run : callable
        Called with a notebook, yields results.
    group : str
        Name on the command line for a group of related studies; empty for a single study.
    source : str
        Source of the expected values.
    parameters : mapping of str to str
        Parameters of the simulation: names and values with units, for the page of the study.
    long : bool
        Whether the study runs only with ``--full``.
    """

    name: str
    title: str
    run: Callable[[Notebook], Iterator[StudyResult]]
    group: str = ""
    source: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    long: bool = False
