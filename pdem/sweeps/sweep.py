"""Sweeps: a case at many points of a design, what is measured in each run, and which effects are larger than chance."""

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
    """A sweep that has been run, or a part of one.

    Attributes
    ----------
    folder : Path
        Where everything is.
    table : RunTable
        A row for each run.
    problems : tuple of str
        Measures that could not be taken, and why.
    """

    folder: Path
    table: RunTable
    problems: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Any:
        """Return what was varied or measured under a name, a value for each run."""
        return self.table.column(name)

    def results(self, run: int) -> Results:
        """Return the results of a run by its row in the table.

        Raises
        ------
        InputError
            If it has none.
        """
        return Results(self.folder / self.table.rows[run].folder)

    def __str__(self) -> str:
        """Return means of points, and effects."""
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
    """Run a case at many points, and measure. Collective.

    Runs that are in the folder already are not run again, so that a sweep that was stopped goes on, and one with more
    points adds only these. Runs that differ only from a stage on share what comes before.

    Parameters
    ----------
    case : Case or path
        What all runs change.
    values : mapping or sequence of mapping
        By keys of the case: values, or ``{"min": .., "max": .., "count": .., "scale": ..}``, for a design; or a mapping
        of keys to values for each point.
    measures : mapping, optional
        By name: functions of `pdem.Results`, or what ``[measures.NAME]`` has in a file.
    folder : path, optional
        Where everything is written; by default the output folder of the case with ``-sweep`` behind its name.
    jobs : int
        Runs at a time, each in a process of its own if there are several.
    comm, threads
        As for `pdem.Simulation`; threads of each run.
    **design
        ``design`` ("grid", "latin-hypercube", "sobol"), ``points``, ``seed``, ``replicas``, ``perturbation``, ``at``,
        ``settings``, as in the file of a sweep.

    Returns
    -------
    Sweep
        ``sweep["name"]`` are the values of a run each; its text says which effects are larger than chance.

    Raises
    ------
    CaseError
        If a case is not valid, or changes what is to be shared; nothing has been run then.
    InputError
        If an argument is wrong.
    Interrupted
        After a stop signal; what has been run is kept.
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
    """Return the section for what a script gives for a key."""
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
    """Run what a sweep has not run yet, measure, and write tables and report. Collective.

    Parameters
    ----------
    setup : Setup
        The sweep.
    at_once, comm, threads
        As for `sweep`.
    tell : callable
        Is given lines on how far it is.

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
    """Run what has not been run yet; return the name of the job of each run, and what became of all jobs. Collective.

    Parameters and errors are those of `play_sweep`.
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
    """Return in words what tells a run from others."""
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
    """Measure all runs that have been run, and write tables and report.

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
    """Measure all runs that have been run; return the table, and what could not be measured."""
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
    """Return what is measured in a run; what cannot be is noted once."""
    found: dict[str, Measured] = {}
    results = Results(setup.base / name)
    for key, section in setup.measures.items():
        try:
            found |= measured(key, section, results)
        except PdemError as error:
            problems[f"measure {key} of {name}: {error}"] = None
    return found
