"""Sweeps: a case at many points of a design, what is measured in each run, and which effects are larger than chance."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pdem.case.model import Case
from pdem.foundation.arguments import whole_number
from pdem.foundation.errors import CaseError, InputError, PdemError
from pdem.simulation.ranks import on_first
from pdem.simulation.results import Results
from pdem.sweeps.design import points_of
from pdem.sweeps.jobs import BEGINNINGS, jobs_of, settings_of, write_jobs
from pdem.sweeps.measure_checks import check_measures
from pdem.sweeps.measures import measured
from pdem.sweeps.play import FINISHED, outcome_of
from pdem.sweeps.report import shown, summary, write_report
from pdem.sweeps.sections import SweepPlan, plan_of_document, read_document, text_of_plan
from pdem.sweeps.table import Row, Table
from pdem.sweeps.workers import play_all

if TYPE_CHECKING:
    from pdem.sweeps.jobs import Job
    from pdem.sweeps.play import Outcome

    Measures = Mapping[str, Any]

SWEEP_FILE = "sweep.toml"
"""Name of the file in the folder of a sweep with which it goes on."""

_DESIGN_KEYS = ("design", "points", "seed", "replicas", "perturbation", "at", "settings")


@dataclass(frozen=True)
class Sweep:
    """A sweep that has been run, or a part of one.

    Attributes
    ----------
    folder : Path
        Where everything is.
    table : Table
        A row for each run.
    problems : tuple of str
        Measures that could not be taken, and why.
    """

    folder: Path
    table: Table
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


@dataclass(frozen=True)
class Setup:
    """All of a sweep but its results.

    Attributes
    ----------
    plan : SweepPlan
        As given.
    case : Case
        Which all runs change.
    base : Path
        Folder of the sweep.
    points : list of dict
        Values of what is varied, by name.
    keys : mapping of str to tuple of str
        Keys of the case, by what is varied.
    measures : mapping
        Sections or functions, by name.
    """

    plan: SweepPlan
    case: Case
    base: Path
    points: list[dict[str, Any]]
    keys: Mapping[str, tuple[str, ...]]
    measures: Mapping[str, Any]

    @property
    def runs(self) -> list[tuple[int, int]]:
        """Number of the point, and of the replica, of each run."""
        return [(point, one) for point in range(len(self.points)) for one in range(self.plan.replicas)]

    def case_of(self, point: int, replica: int) -> Case:
        """Return the case of a run.

        Raises
        ------
        CaseError
            If it is not valid: which quantity is at fault.
        """
        case = self.case.changed()
        for name, value in self.points[point].items():
            for setting in settings_of({name: value}, self.keys):
                try:
                    case.override(setting)
                except CaseError as error:
                    raise CaseError(f"vary.{name}: {error}") from None
        if replica:
            given = 0 if case.perturbation is None else case.perturbation.seed
            size = self.plan.perturbation
            case.override(f"perturbation={{size={size!r}, seed={given + replica}}}")
        return case


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
            raise InputError(
                f"point {short[0]} has other keys than the rest; give each all of {', '.join(vary)}"
            )
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


def read_sweep(path: Path) -> Setup:
    """Return the sweep of a file, or of the folder of one.

    Raises
    ------
    CaseError
        If file or case are wrong.
    """
    file = path / SWEEP_FILE if path.is_dir() else path
    if path.is_dir() and not file.exists():
        raise InputError(
            f"{path}: holds no sweep ({SWEEP_FILE}); start one with pdem sweep CASE.toml --vary ..."
        )
    return setup_of(read_document(file), file, path if path.is_dir() else None)


def setup_of(document: dict[str, Any], file: Path, base: Path | None = None) -> Setup:
    """Return the sweep of a parsed file; `base` is its folder if that is not the one it names.

    Raises
    ------
    CaseError
        If file or case are wrong.
    """
    plan = plan_of_document(SweepPlan, document, str(file))
    path = Path(os.path.normpath(file.parent / plan.case))
    case = Case.read(path).changed(plan.settings)
    keys = {name: one.keys_of(name) for name, one in plan.vary.items()}
    folder = Path(plan.folder) if base is None else base
    moved = plan.model_copy(update={"case": os.path.relpath(path, folder), "folder": "."})
    return Setup(moved, case, folder, points_of(plan, case), keys, plan.measures)


def jobs_of_setup(setup: Setup) -> tuple[list[Job], list[str]]:
    """Return the jobs of a sweep, and the name of the job of each run; all cases and measures are checked.

    Raises
    ------
    CaseError
        If one is not valid, or changes what is to be shared.
    """
    check_measures(setup.measures, setup.case)
    cases = [setup.case_of(*run) for run in setup.runs]
    return jobs_of(cases, setup.plan.at, _finished_beginnings(setup.base))


def _finished_beginnings(base: Path) -> list[str]:
    names = [f"{BEGINNINGS}/{path.stem}" for path in sorted((base / BEGINNINGS).glob("*.json"))]
    return [name for name in names if (found := outcome_of(base, name)) and found.state == FINISHED]


def prepare_sweep(setup: Setup) -> tuple[list[Job], list[str]]:
    """Write what is to be done into the folder of a sweep; return its jobs, and the name of the job of each run.

    Raises
    ------
    CaseError, InputError
        See `jobs_of_setup`; if the folder cannot be written.
    """
    jobs, names = jobs_of_setup(setup)
    write_jobs(setup.base, jobs)
    if setup.plan.case != "case":  # a script has no file to go on with
        (setup.base / SWEEP_FILE).write_text(text_of_plan(setup.plan), encoding="utf-8")
    return jobs, names


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
    jobs, names = on_first(comm, lambda: prepare_sweep(setup))
    missing = [job for job in jobs if outcome_of(setup.base, job.name) is None]
    tell(_plan_text(jobs, names, len(missing)))
    labels = {name: _label(setup, *run) for name, run in zip(names, setup.runs, strict=True)}
    count = 0

    def report(job: Job, outcome: Outcome) -> None:
        nonlocal count
        count += 1
        what = f"failed: {outcome.message.splitlines()[0] if outcome.message else ''}"
        state = f"{outcome.seconds:.1f} s" if outcome.state == FINISHED else what
        label = (
            f"{job.name}, until stage {job.until} has ended"
            if job.until
            else f"{job.name}, {labels[job.name]}"
        )
        tell(f"{count} of {len(missing)}: {label}: {state}")

    done = play_all(setup.base, jobs, at_once, report, comm, threads)
    return on_first(comm, lambda: finish_sweep(setup, names, done))


def _label(setup: Setup, point: int, replica: int) -> str:
    """Return in words what tells a run from others."""
    parts = [f"{name} {shown(value)}" for name, value in setup.points[point].items()]
    return ", ".join([*parts, *([f"replica {replica}"] if setup.plan.replicas > 1 else [])]) or "the case"


def _plan_text(jobs: Sequence[Job], names: Sequence[str], missing: int) -> str:
    beginnings = sum(bool(job.until) for job in jobs)
    shared = sum(bool(job.after) and not job.until for job in jobs)
    text = f"{len(names)} runs, {missing} jobs to be computed"
    return f"{text}; {shared} runs begin with {beginnings} shared beginnings" if shared else text


def finish_sweep(setup: Setup, names: Sequence[str], done: Mapping[str, Outcome]) -> Sweep:
    """Measure all runs that have been run, and write tables and report.

    Raises
    ------
    InputError
        If a file cannot be written.
    """
    rows, units, problems = [], dict[str, str](), dict[str, None]()
    for (point, replica), name in zip(setup.runs, names, strict=True):
        outcome = done.get(name)
        state = "missing" if outcome is None else outcome.state
        found = _measured(setup, name, problems) if state == FINISHED else {}
        units.update({key: one.unit for key, one in found.items() if key not in units})
        numbers = {key: one.value for key, one in found.items()}
        message = "" if outcome is None else outcome.message
        rows.append(Row(point, replica, setup.points[point], name, state, message, numbers))
    logarithmic = tuple(name for name, one in setup.plan.vary.items() if one.scale == "log")
    table = Table(tuple(rows), units, logarithmic)
    table.write(setup.base)
    write_report(table, setup.base, setup.case.title or setup.base.name)
    return Sweep(setup.base, table, tuple(problems))


def _measured(setup: Setup, name: str, problems: dict[str, None]) -> dict[str, Any]:
    """Return what is measured in a run; what cannot be is noted once."""
    found: dict[str, Any] = {}
    results = Results(setup.base / name)
    for key, section in setup.measures.items():
        try:
            found |= measured(key, section, results)
        except PdemError as error:
            problems[f"measure {key} of {name}: {error}"] = None
    return found
