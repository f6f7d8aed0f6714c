"""Complete description of a sweep or a calibration, from its file or its folder."""

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
    """A sweep or calibration before its results.

    Attributes
    ----------
    plan : RunsPlan
        The sections of the file.
    case : Case
        Base case of all runs.
    base : Path
        Folder of the sweep.
    points : list of dict
        Values of the varied quantities, by name.
    keys : mapping of str to tuple of str
        Keys of the case, by name of the varied quantity.
    measures : mapping
        Sections or functions, by name of the measure.
    """

    plan: RunsPlan
    case: Case
    base: Path
    points: list[dict[str, Any]]
    keys: Mapping[str, tuple[str, ...]]
    measures: Mapping[str, Any]

    @property
    def runs(self) -> list[tuple[int, int]]:
        """Point number and replica number of each run."""
        return [(point, one) for point in range(len(self.points)) for one in range(self.plan.replicas)]

    def case_of(self, point: int, replica: int) -> Case:
        """Return the case of a run.

        Raises
        ------
        CaseError
            If the case is not valid; the message names the quantity.
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
"""Commands for error messages about the folder of a sweep or a calibration."""


def holds_folder(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function of a setup and a communicator hold the lock on the setup's folder. Collective.

    Raises
    ------
    FolderInUseError
        If another process computes in that folder.
    """

    @wraps(function)
    def locked(setup: Setup, at_once: int = 1, comm: Any = None, *more: Any, **others: Any) -> Any:
        with writing_into(setup.base, comm, FOLDER_OF_SWEEP):
            return function(setup, at_once, comm, *more, **others)

    return locked


def read_setup(kind: type[RunsPlan], path: Path) -> Setup:
    """Read the setup of a sweep or a calibration from its file or its folder.

    Raises
    ------
    CaseError, InputError
        If the file or the case is not valid, or the folder has no such file.
    """
    file = path / kind.file if path.is_dir() else path
    if path.is_dir() and not file.exists():
        raise InputError(f"{path}: has no {kind.file} to continue from; start with a file or a case")
    return setup_of(kind, read_document(file), file, path if path.is_dir() else None)


def setup_of(kind: type[RunsPlan], document: dict[str, Any], file: Path, base: Path | None = None) -> Setup:
    """Return the setup for a parsed file; `base` replaces the folder named in the file.

    Raises
    ------
    CaseError
        If the file or the case is not valid.
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
    """Return the jobs of a sweep, and the job name of each run, after checks of all cases and measures.

    Raises
    ------
    CaseError
        If a case is not valid, or differs where runs are to be shared.
    """
    check_measures(setup.measures, setup.case)
    cases = [setup.case_of(*run) for run in setup.runs]
    return jobs_of(cases, setup.plan.at, _finished_beginnings(setup.base))


def _finished_beginnings(base: Path) -> list[str]:
    names = [f"{BEGINNINGS}/{path.stem}" for path in sorted((base / BEGINNINGS).glob("*.json"))]
    return [name for name in names if (found := outcome_of(base, name)) and found.state == FINISHED]


def prepare(setup: Setup) -> tuple[list[Job], list[str]]:
    """Write the list of jobs and the plan into the folder of a sweep; return the jobs, and the job name of each run.

    Raises
    ------
    CaseError, InputError
        As `jobs_of_setup`; also if the folder cannot be written.
    """
    jobs, names = jobs_of_setup(setup)
    _forget_what_is_gone(setup.base, jobs)
    write_jobs(setup.base, jobs)
    if setup.plan.case != "case":  # a script has no file with which to continue
        save_file(setup.base / setup.plan.file, text_of_plan(setup.plan))
    return jobs, names


def _forget_what_is_gone(base: Path, jobs: Sequence[Job]) -> None:
    """Reset runs without a folder, and required beginnings without a final state, so that they are computed again."""
    for job in reversed(jobs):  # dependents come after their beginnings
        outcome = outcome_of(base, job.name)
        if outcome and outcome.state == FINISHED and not job.until and not (base / job.name).is_dir():
            forget(base, job.name)
            outcome = None
        if outcome is None and job.start and not (base / job.start).exists():
            forget(base, job.after)
