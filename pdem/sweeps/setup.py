"""What is to be run of a case, from the file of a sweep or a calibration, or the folder of one."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pdem.case.model import Case
from pdem.foundation.errors import CaseError, InputError
from pdem.output.saving import save_file
from pdem.run.files.folder_use import UserCommands
from pdem.run.files.output_folder import writing_into
from pdem.sweeps.design import points_of
from pdem.sweeps.jobs import BEGINNINGS, jobs_of, settings_of, write_jobs
from pdem.sweeps.measure_checks import check_measures
from pdem.sweeps.play import FINISHED, forget, outcome_of
from pdem.sweeps.sections import RunsPlan, SweepPlan, plan_of_document, read_document, text_of_plan

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pdem.sweeps.jobs import Job


@dataclass(frozen=True)
class Setup:
    """All of a sweep but its results.

    Attributes
    ----------
    plan : RunsPlan
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

    plan: RunsPlan
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


FOLDER_OF_SWEEP = UserCommands("", "", "-o FOLDER")
"""Commands for messages on the folder of a sweep or a calibration."""


def holds_folder(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function of a setup and others, `comm` among them, hold the lock on the folder of that setup. Collective.

    Raises
    ------
    FolderInUseError
        When it is called while another process computes in that folder.
    """

    @wraps(function)
    def locked(setup: Setup, at_once: int = 1, comm: Any = None, *more: Any, **others: Any) -> Any:
        with writing_into(setup.base, comm, FOLDER_OF_SWEEP):
            return function(setup, at_once, comm, *more, **others)

    return locked


def read_setup(kind: type[RunsPlan], path: Path) -> Setup:
    """Return what is to be run, from a file or the folder of one.

    Raises
    ------
    CaseError, InputError
        If file or case are wrong, or a folder holds no such file.
    """
    file = path / kind.file if path.is_dir() else path
    if path.is_dir() and not file.exists():
        raise InputError(f"{path}: holds no {kind.file}, with which one goes on; start with a file or a case")
    return setup_of(kind, read_document(file), file, path if path.is_dir() else None)


def setup_of(kind: type[RunsPlan], document: dict[str, Any], file: Path, base: Path | None = None) -> Setup:
    """Return what is to be run by a parsed file; `base` is its folder if that is not the one it names.

    Raises
    ------
    CaseError
        If file or case are wrong.
    """
    plan = plan_of_document(kind, document, str(file))
    path = Path(os.path.normpath(file.parent / plan.case))
    case = Case.read(path).changed(plan.settings)
    keys = {name: one.keys_of(name) for name, one in plan.vary.items()}
    folder = Path(plan.folder) if base is None else base
    moved = plan.model_copy(update={"case": os.path.relpath(path, folder), "folder": "."})
    points = points_of(moved, case) if isinstance(moved, SweepPlan) else []
    return Setup(moved, case, folder, points, keys, plan.measures)


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


def prepare(setup: Setup) -> tuple[list[Job], list[str]]:
    """Write what is to be done into the folder of a sweep; return its jobs, and the name of the job of each run.

    Raises
    ------
    CaseError, InputError
        See `jobs_of_setup`; if the folder cannot be written.
    """
    jobs, names = jobs_of_setup(setup)
    _forget_what_is_gone(setup.base, jobs)
    write_jobs(setup.base, jobs)
    if setup.plan.case != "case":  # a script has no file to go on with
        save_file(setup.base / setup.plan.file, text_of_plan(setup.plan))
    return jobs, names


def _forget_what_is_gone(base: Path, jobs: Sequence[Job]) -> None:
    """Let runs whose folders were removed be computed anew, and beginnings without a last state that are needed."""
    for job in reversed(jobs):  # what begins with something comes behind it
        outcome = outcome_of(base, job.name)
        if outcome and outcome.state == FINISHED and not job.until and not (base / job.name).is_dir():
            forget(base, job.name)
            outcome = None
        if outcome is None and job.start and not (base / job.start).exists():
            forget(base, job.after)
