"""Result files of the studies of `pdem verify`: a page per study, a table of all studies, and a JSON file."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

from pdem.foundation.errors import InputError
from pdem.foundation.version import VERSION
from pdem.output.provenance import provenance
from pdem.output.saving import save_file
from pdem.report.table import Table
from pdem.verification.study import StudyFinding

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from pdem.verification.study import Study, StudyResult

SUMMARY = "summary.json"
PAGE = "index.md"
PAGE_OF_ALL = "summary.md"
_HEAD = ("case", "quantity", "expected", "computed", "deviation", "", "time [s]")
_WORDS = {None: "", True: "ok", False: "OFF"}


@dataclass
class Kept:
    """Stored results of one study.

    Attributes
    ----------
    name, title, group, source : str
        Attributes of the study.
    parameters : dict of str to str
        Parameters of the simulation.
    full : bool
        Whether the long runs are included.
    seconds : float
        Elapsed time [s].
    threads : int
        Number of threads of its simulations.
    tables : list of dict
        ``title``, ``source``, ``remark`` and ``findings`` of each table.
    plots : list of str
        Pictures in the folder of the study.
    trouble : str
        Why the study stopped early; empty if it is complete.
    when, version, processor : str
        Date, version of pdem and type of the processor.
    """

    name: str
    title: str
    group: str = ""
    source: str = ""
    parameters: dict[str, str] = field(default_factory=dict)
    full: bool = False
    seconds: float = 0.0
    threads: int = 1
    tables: list[dict[str, Any]] = field(default_factory=list)
    plots: list[str] = field(default_factory=list)
    trouble: str = ""
    when: str = field(default_factory=lambda: time.strftime("%Y-%m-%d"))
    version: str = VERSION
    processor: str = field(default_factory=lambda: provenance()["processor"])

    @classmethod
    def of(cls, study: Study, full: bool, threads: int) -> Kept:
        """Return an empty record for a study."""
        parameters = dict(study.parameters)
        return cls(study.name, study.title, study.group, study.source, parameters, full, threads=threads)

    def add(self, result: StudyResult) -> None:
        """Append a result."""
        found = [_plain(one) for one in result.findings]
        texts = {key: getattr(result, key, "") for key in ("source", "remark")}
        self.tables.append({"title": result.title, **texts, "findings": found})

    def findings(self) -> Iterator[tuple[str, StudyFinding]]:
        """Yield all findings, each with the title of its table."""
        for table in self.tables:
            for one in table["findings"]:
                yield table["title"], StudyFinding(**one)

    @property
    def failed(self) -> int:
        """Number of findings outside their tolerance, plus one if the study stopped early."""
        return sum(one.passed is False for _, one in self.findings()) + bool(self.trouble)


def _plain(finding: StudyFinding) -> dict[str, Any]:
    """Return a finding as a dictionary for JSON, without default values."""
    given = asdict(finding)
    usual = {one.name: one.default for one in fields(StudyFinding)}
    numbers = {key: float(value) if key in ("computed", "expected") and value is not None else value
               for key, value in given.items()}  # fmt: skip
    return {key: value for key, value in numbers.items() if key in ("name", "computed") or value != usual[key]}


def write(kept: Kept, folder: Path) -> list[Path]:
    """Write the page of a study and add the study to the summaries of a folder; return the files.

    Results of other studies in the summaries remain.

    Raises
    ------
    InputError
        If an existing summary cannot be read.
    """
    own = folder / kept.name
    found = {**read(folder), kept.name: kept}
    files = {
        own / PAGE: page(kept),
        folder / SUMMARY: json.dumps({name: asdict(one) for name, one in found.items()}, indent=1) + "\n",
        folder / PAGE_OF_ALL: summary_page(list(found.values())),
    }
    for path, text in files.items():
        save_file(path, text)
    return list(files)


def read(folder: Path) -> dict[str, Kept]:
    """Read the results of all studies in a folder, by name; empty if the folder has no summary.

    Raises
    ------
    InputError
        If the summary cannot be read.
    """
    path = folder / SUMMARY
    if not path.exists():
        return {}
    try:
        return {name: Kept(**one) for name, one in json.loads(path.read_text(encoding="utf-8")).items()}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise InputError(
            f"{path}: is no summary of pdem verify: {error}; move it away or name another folder"
        ) from None


def strained(kept: Kept) -> list[StudyFinding]:
    """Return for each table the finding that is nearest to its tolerance or beyond it."""
    chosen = []
    for table in kept.tables:
        judged = [one for one in (StudyFinding(**each) for each in table["findings"]) if one.passed is not None]
        if judged:
            chosen.append(max(judged, key=strain))
    return chosen


def strain(finding: StudyFinding) -> float:
    """Return the difference from the expected value divided by its tolerance; 1 at the limit."""
    expected, allowed = finding.expected or 0.0, finding.allowed or 0.0
    off = finding.computed if finding.at_most else abs(finding.computed - expected)
    limit = expected + allowed if finding.at_most else allowed
    return off / limit if limit else 1.0 + off if off else 0.0


def deviation(finding: StudyFinding) -> str:
    """Return the difference from the expected value as text: in per cent, or in the unit of the quantity."""
    if finding.expected is None or finding.at_most:
        return ""
    if finding.difference is None or finding.margin:
        return f"{finding.computed - finding.expected:+.3g}"
    return f"{100.0 * finding.difference:+.2f} %"


def table_text(kept: Sequence[Kept]) -> str:
    """Return a text table of all studies with aligned columns: the finding nearest to its limit for each table."""
    return Table(_HEAD, [row for one in kept for row in _rows(one)]).text(2)


def _rows(kept: Kept) -> list[tuple[str, ...]]:
    if kept.trouble:
        return [(kept.name, kept.trouble, "", "", "", "OFF", _shown_seconds(kept.seconds))]
    rows = [
        (kept.name, one.name, _expected(one), f"{one.computed:.5g}", deviation(one), _WORDS[one.passed], "")
        for one in strained(kept)
    ] or [(kept.name, "nothing to judge", "", "", "", "", "")]
    count = sum(one.passed is not None for _, one in kept.findings())
    last = (
        kept.name,
        f"all {count} judged quantities",
        "",
        "",
        "",
        _WORDS[not kept.failed],
        _shown_seconds(kept.seconds),
    )
    return [*rows, last] if len(rows) > 1 else [(*rows[0][:-1], last[-1])]


def _expected(finding: StudyFinding) -> str:
    if finding.expected is None:
        return ""
    return f"{'<= ' if finding.at_most else ''}{finding.expected:.5g}"


def page(kept: Kept) -> str:
    """Return the page of a study in Markdown: source, parameters, figures, all findings, time."""
    parts = [f"# {kept.title}"]
    if kept.source:
        parts.append(f"Source: {kept.source}")
    if kept.parameters:
        parts.append(Table(("parameter", "value"), list(kept.parameters.items())).markdown())
    parts += [f"![{path.removesuffix('.png').replace('_', ' ')}]({path})" for path in kept.plots]
    for table in kept.tables:
        parts += [f"## {table['title']}", _findings_table(table)]
        parts += [table["remark"]] if table["remark"] else []
    if kept.trouble:
        parts.append(f"Not run to its end: {kept.trouble}")
    parts.append(_end(kept))
    return "\n\n".join(parts) + "\n"


def _end(kept: Kept) -> str:
    options = " --full" if kept.full else ""
    return (
        f"`pdem verify {kept.name}{options}` took {_duration(kept.seconds)} on {kept.threads} "
        f"thread{'s' if kept.threads > 1 else ''} ({kept.processor}), {kept.when}, pdem {kept.version}."
    )


def _shown_seconds(seconds: float) -> str:
    """Return seconds as text, with tenths below ten seconds; at least 0.1."""
    return f"{max(seconds, 0.1):.1f}" if seconds < 9.95 else f"{seconds:.0f}"


def _duration(seconds: float) -> str:
    if seconds < 100.0:
        return f"{_shown_seconds(seconds)} s"
    return f"{seconds / 60.0:.0f} min" if seconds < 6000.0 else f"{seconds / 3600.0:.1f} h"


def _findings_table(table: Mapping[str, Any]) -> str:
    rows = []
    for one in (StudyFinding(**each) for each in table["findings"]):
        tolerance = "" if one.allowed is None or one.at_most else _tolerance(one)
        rows.append((one.name, _expected(one), f"{one.computed:.5g}", deviation(one), tolerance, _WORDS[one.passed]))
    head = ("quantity", table["source"] or "expected", "computed", "deviation", "allowed", "")
    return Table(head, rows).markdown()


def _tolerance(finding: StudyFinding) -> str:
    parts = [f"{100.0 * finding.tolerance:g} %"] if finding.tolerance else []
    parts += [f"{finding.margin:g}"] if finding.margin else []
    return " + ".join(parts) or "none"


def summary_page(kept: Sequence[Kept]) -> str:
    """Return a table of all studies in Markdown, with links to their pages."""
    rows = [(f"[{row[0]}]({row[0]}/{PAGE})", *row[1:]) for one in kept for row in _rows(one)]
    text = (
        "Of each table of a study the quantity nearest to its limit, or beyond it; the pages have all of them. "
        "A deviation is in per cent of the expected value, or in its unit where the margin is."
    )
    return "\n\n".join(["# Results of pdem verify", text, Table(_HEAD, rows).markdown()]) + "\n"
