"""Sweeps: a case at many points of a design, measures of each run, and effects that are larger than chance."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pdem.case.model import Case
from pdem.engine.ranks import on_first
from pdem.foundation.arguments import whole_number
from pdem.foundation.errors import InputError, PdemError
from pdem.run.reading.results import Results
from pdem.sweeps.design import points_of
from pdem.sweeps.measures import measured
from pdem.sweeps.play import FINISHED, outcome_of
from pdem.sweeps.report import shown, summary, write_report
from pdem.sweeps.sections import SweepPlan, plan_of_document
from pdem.sweeps.setup import Setup, holds_folder, prepare
from pdem.sweeps.table import RunTable, SweepRow
from pdem.sweeps.workers import play_all

if TYPE_CHECKING:
    from pdem.sweeps.jobs import Job
    from pdem.sweeps.measure_sections import Measured
    from pdem.sweeps.play import JobOutcome

    Measures = Mapping[str, Any]

_DESIGN_KEYS = ("design", "points", "seed", "replicas", "perturbation", "at", "settings")


@dataclass(frozen=True)
class Sweep:
    """The result of a complete or partial sweep.

    Attributes
    ----------
    folder : Path
        Folder of all files.
    table : RunTable
        Table with a row for each run.
    problems : tuple of str
        Failed measures with the reasons.
    """

    folder: Path
    table: RunTable
    problems: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Any:
        """Return the values of a varied quantity or a measure, one per run."""
        return self.table.column(name)

    def results(self, run: int) -> Results:
        """Return the results of the run in row `run` of the table.

        Raises
        ------
        InputError
            If the run has no results.
        """
        return Results(self.folder / self.table.rows[run].folder)

    def __str__(self) -> str:
        """Return the means of points, and the effects, as text."""
        return "\n".join([summary(self.table), *self.problems])


def sweep(
    case: Case | str | Path,
    values: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    *,
    measures: Measures | None = None,
    folder: str | Path | None = None,
    jobs: int = 1,
    comm: Any = None,
    threads: int | None = None,
    **design: Any,
) -> Sweep:
    """Run a case at many points, and measure each run. Collective.

    Finished runs in the folder are not repeated: an interrupted sweep continues, and a sweep with additional points
    computes only these points. Runs that differ only from some stage on share the stages before it.

    Parameters
    ----------
    case : Case or path
        Base case of all runs.
    values : mapping or sequence of mapping
        For a design, by key of the case: values, or ``{"min": .., "max": .., "count": .., "scale": ..}``. Otherwise
        a list with a mapping of keys to values for each point.
    measures : mapping, optional
        By name: functions of `pdem.Results`, or sections as in ``[measures.NAME]`` of a file.
    folder : path, optional
        Folder of all results; by default the output folder of the case with the suffix ``-sweep``.
    jobs : int
        Number of runs at a time; several runs use separate processes.
    comm, threads
        As for `pdem.Simulation`; `threads` applies to each run.
    **design
        ``design`` ("grid", "latin-hypercube", "sobol"), ``points``, ``seed``, ``replicas``, ``perturbation``, ``at``,
        ``settings``, as in the file of a sweep.

    Returns
    -------
    Sweep
        ``sweep["name"]`` has a value per run; ``str(sweep)`` is the report with the significance of the effects.

    Raises
    ------
    CaseError
        If a case is not valid, or differs before the stage `at`; no run is started.
    InputError
        If an argument is not valid.
    Interrupted
        After a stop signal; finished runs remain.
    """
    base_case = case if isinstance(case, Case) else Case.read(case)
    odd = [name for name in design if name not in _DESIGN_KEYS]
    if odd:
        raise InputError(f"sweep has no argument {odd[0]!r}; give {', '.join(_DESIGN_KEYS)}")
    target = f"{base_case.output.folder}-sweep" if folder is None else str(folder)
    points = None if isinstance(values, Mapping) else [dict(one) for one in values]
    if isinstance(values, Mapping):
        vary = {key: _varied(one) for key, one in values.items()}
    else:
        vary = {key: {"values": [0]} for point in points or () for key in point}
        short = [number for number, point in enumerate(points or ()) if point.keys() != vary.keys()]
        if short:
            raise InputError(f"point {short[0]} has other keys than the rest; give each all of {', '.join(vary)}")
    sections = {name: one for name, one in (measures or {}).items() if not callable(one)}
    document = {"case": "case", "folder": target, "vary": vary, "measures": sections, **design}
    plan = plan_of_document(SweepPlan, document, "sweep")
    changed = base_case.changed(plan.settings)
    functions = {name: one for name, one in (measures or {}).items() if callable(one)}
    keys = {name: (name,) for name in vary}
    chosen = points_of(plan, changed) if points is None else points
    setup = Setup(plan, changed, Path(target), chosen, keys, {**plan.measures, **functions})
    return play_sweep(setup, whole_number("jobs", jobs, 1), comm, threads)


def _varied(given: Any) -> dict[str, Any]:
    """Return the section for the values that a script passes for a key."""
    if isinstance(given, Mapping):
        return dict(given)
    if isinstance(given, (str, bytes)) or not hasattr(given, "__len__"):
        raise InputError(f"{given!r}: give a list of values, or a mapping with min and max")
    return {"values": [one.item() if hasattr(one, "item") else one for one in given]}


@holds_folder
def play_sweep(
    setup: Setup,
    at_once: int = 1,
    comm: Any = None,
    threads: int | None = None,
    tell: Callable[[str], object] = lambda text: None,
) -> Sweep:
    """Compute the missing runs of a sweep, measure, and write tables and report. Collective.

    Parameters
    ----------
    setup : Setup
        The sweep.
    at_once, comm, threads
        As for `sweep`.
    tell : callable
        Called with lines of text about the progress.

    Raises
    ------
    CaseError, InputError, Interrupted
        See `sweep`.
    """
    names, done = compute(setup, at_once, comm, threads, tell)
    return on_first(comm, lambda: finish_sweep(setup, names, done))


def compute(
    setup: Setup, at_once: int, comm: Any, threads: int | None, tell: Callable[[str], object]
) -> tuple[list[str], Mapping[str, JobOutcome]]:
    """Compute the missing runs; return the job name of each run, and the outcomes of all jobs. Collective.

    Parameters and errors are the same as for `play_sweep`.
    """
    jobs, names = on_first(comm, lambda: prepare(setup))
    missing = [job for job in jobs if outcome_of(setup.base, job.name) is None]
    tell(_plan_text(jobs, names, len(missing)))
    labels = {name: _label(setup, *run) for name, run in zip(names, setup.runs, strict=True)}
    count = 0

    def report(job: Job, outcome: JobOutcome) -> None:
        nonlocal count
        count += 1
        what = f"failed: {outcome.message.splitlines()[0] if outcome.message else ''}"
        state = f"{outcome.seconds:.1f} s" if outcome.state == FINISHED else what
        label = f"{job.name}, until stage {job.until} has ended" if job.until else f"{job.name}, {labels[job.name]}"
        tell(f"{count} of {len(missing)}: {label}: {state}")

    return names, play_all(setup.base, jobs, at_once, report, comm, threads)


def _label(setup: Setup, point: int, replica: int) -> str:
    """Return the values and the replica number of a run in words."""
    parts = [f"{name} {shown(value)}" for name, value in setup.points[point].items()]
    return ", ".join([*parts, *([f"replica {replica}"] if setup.plan.replicas > 1 else [])]) or "the case"


def _plan_text(jobs: Sequence[Job], names: Sequence[str], missing: int) -> str:
    beginnings = sum(bool(job.until) for job in jobs)
    shared = sum(bool(job.after) and not job.until for job in jobs)
    text = f"{_count(len(names), 'run')}, {_count(missing, 'job')} to be computed"
    if not shared:
        return text
    return f"{text}; {_count(shared, 'run')} of them from {_count(beginnings, 'shared beginning')}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def finish_sweep(setup: Setup, names: Sequence[str], done: Mapping[str, JobOutcome]) -> Sweep:
    """Measure all finished runs, and write tables and report.

    Raises
    ------
    InputError
        If a file cannot be written.
    """
    table, problems = table_of(setup, names, done)
    table.write(setup.base)
    write_report(table, setup.base, setup.case.title or setup.base.name)
    return Sweep(setup.base, table, problems)


def table_of(setup: Setup, names: Sequence[str], done: Mapping[str, JobOutcome]) -> tuple[RunTable, tuple[str, ...]]:
    """Measure all finished runs; return the table, and the failed measures with the reasons."""
    rows, units, details, problems = [], dict[str, str](), dict[str, str](), dict[str, None]()
    for (point, replica), name in zip(setup.runs, names, strict=True):
        outcome = done.get(name)
        state = "missing" if outcome is None else outcome.state
        found = _measured(setup, name, problems) if state == FINISHED else {}
        for key, one in found.items():
            (details if one.is_detail else units).setdefault(key, one.unit)
        numbers = {key: one.value for key, one in found.items()}
        remarks = {key: one.remarks for key, one in found.items() if one.remarks}
        message = "" if outcome is None else outcome.message
        rows.append(SweepRow(point, replica, setup.points[point], name, state, message, numbers, remarks))
    logarithmic = tuple(name for name, one in setup.plan.vary.items() if one.scale == "log")
    return RunTable(tuple(rows), units, logarithmic, details), tuple(problems)


def _measured(setup: Setup, name: str, problems: dict[str, None]) -> dict[str, Measured]:
    """Return the measures of a run; each failed measure is added to `problems`."""
    found: dict[str, Measured] = {}
    results = Results(setup.base / name)
    for key, section in setup.measures.items():
        try:
            found |= measured(key, section, results)
        except PdemError as error:
            problems[f"measure {key} of {name}: {error}"] = None
    return found
