"""Execution of one job of a sweep, from its start or from its last checkpoint, and the record of its outcome."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pdem.case.model import Case
from pdem.engine.protocol import RestartPoint
from pdem.engine.ranks import on_first
from pdem.foundation.errors import CaseError, InputError, Interrupted, PdemError, WriteError
from pdem.output.checkpoints.checkpoint_folder import CheckpointFolder
from pdem.output.run_folder import remove_run
from pdem.output.saving import save_file
from pdem.preflight.restart_checks import check_end, set_folder
from pdem.replays.origin import begun
from pdem.run.checked_case import CheckedCase
from pdem.run.files.folder_use import FolderUse, UserCommands
from pdem.run.files.output_folder import writing_into
from pdem.run.run import run
from pdem.run.simulation import Simulation

if TYPE_CHECKING:
    from pdem.output.folder_lock import FolderLock
    from pdem.sweeps.jobs import Job

IN_SWEEP = UserCommands("", "", "another --folder of the sweep")
"""Commands for error messages about the folder of a job."""

FINISHED, FAILED = "finished", "failed"

WAIT_EVERY = 5.0
"""Interval at which a job checks whether its beginning is finished [s]."""


@dataclass(frozen=True)
class JobOutcome:
    """Outcome of a job.

    Attributes
    ----------
    state : str
        `FINISHED` or `FAILED`.
    message : str
        Reason of a failure.
    seconds : float
        Elapsed time of its last part [s].
    """

    state: str
    message: str = ""
    seconds: float = 0.0


def outcome_of(base: Path, name: str) -> JobOutcome | None:
    """Return the recorded outcome of a job, None if the job has not ended."""
    try:
        return JobOutcome(**json.loads(_note(base, name).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def _note(base: Path, name: str) -> Path:
    return base / f"{name}.json"


def play(base: Path, job: Job, comm: Any = None, threads: int | None = None) -> JobOutcome:
    """Compute a job unless it has an outcome already, and record its outcome. Collective.

    A run that fails (it blows up, or its case has an error) is recorded as failed.

    Raises
    ------
    Interrupted
        After a stop signal; the next call continues from a checkpoint.
    FolderInUseError
        If another process computes the job; no outcome is recorded.
    WriteError
        If a file cannot be written; no outcome is recorded, and the next call continues.
    """
    found: JobOutcome | None = on_first(comm, lambda: outcome_of(base, job.name))
    if found is not None:
        return found
    with writing_into(base / job.name, comm, IN_SWEEP) as lock:
        found = on_first(comm, lambda: outcome_of(base, job.name))  # a concurrent process may have finished the job
        return _played(base, job, comm, threads, lock) if found is None else found


def _played(base: Path, job: Job, comm: Any, threads: int | None, lock: FolderLock | None) -> JobOutcome:
    begin = time.perf_counter()
    try:
        _compute(base, job, comm, threads, lock)
        outcome = JobOutcome(FINISHED, "", time.perf_counter() - begin)
    except Interrupted as error:
        state = str(error).partition("; continue with")[0]
        raise Interrupted(f"{state}; the same command again continues") from None
    except WriteError:
        raise
    except PdemError as error:
        outcome = JobOutcome(FAILED, str(error), time.perf_counter() - begin)
    on_first(comm, lambda: _write(base, job.name, outcome))
    return outcome


def _write(base: Path, name: str, outcome: JobOutcome) -> None:
    save_file(_note(base, name), json.dumps(asdict(outcome)), "make room; the same command again continues")


def forget(base: Path, name: str) -> None:
    """Reset a job: remove the files of its run and its recorded outcome, so that it is computed again.

    Raises
    ------
    FolderInUseError
        If another process computes the job.
    """
    if (base / name).is_dir():
        with writing_into(base / name, None, IN_SWEEP):
            remove_run(base / name)
    _note(base, name).unlink(missing_ok=True)


def _compute(base: Path, job: Job, comm: Any, threads: int | None, lock: FolderLock | None) -> None:
    """Run a job to its end, from its newest checkpoint if there is one. Collective."""
    case, folder = Case.from_text(job.text, job.directory), base / job.name
    set_folder(case, folder)
    checkpoint, may_begin = on_first(comm, lambda: _newest(folder))
    if checkpoint is not None:
        simulation = begun(case, checkpoint, comm, threads)
        simulation.restart_point = RestartPoint(folder, None, simulation.step)
    elif job.start:
        start = base / job.start
        on_first(comm, lambda: _require_start(start, job))
        simulation = begun(case, start, comm, threads)
        simulation.restart_point = RestartPoint(start.parent, None, simulation.step)
    else:
        simulation = _checked(case, comm, threads)
    stages = simulation.system.stages
    if job.until:
        stages.last = stages.names.index(job.until)
    if stages.finished or not check_end(case, simulation.step):
        return
    run(simulation, quiet=True, use=FolderUse(may_begin, lock=lock))
    if job.until and not (stages.finished and stages.present_name == job.until):
        raise CaseError(
            f"stage {job.until} has not ended before time.end = {case.time.end:g} s; give a later end, or let it end"
        )


def _newest(folder: Path) -> tuple[Path | None, bool]:
    """Return the newest readable checkpoint of a job, or None; and whether the run may overwrite results (never)."""
    paths = CheckpointFolder(folder)
    if not paths.paths():
        with suppress(FileNotFoundError):
            remove_run(folder)
        return None, False
    return paths.latest().path, False


def _require_start(start: Path, job: Job) -> None:
    if not start.exists():
        raise InputError(f"{start}: is not there, with which {job.name} begins; start the sweep again to make it")


def _checked(case: Case, comm: Any, threads: int | None) -> Simulation:
    """Return a simulation of a case after the usual checks before a run. Collective.

    Raises
    ------
    CaseError
        If a check reports an error.
    """
    start = CheckedCase(comm, 1 if threads is None else threads, None)
    findings = start.prepare(case, progress=False)
    errors = [f"{one.subject}: {one.message}" for one in findings if one.level == "error"]
    if errors:
        raise CaseError("\n".join(errors))
    simulation = Simulation(case, comm, threads=threads, particles=start.particles, meshes=start.meshes)
    start.forget()
    return simulation


def wait_for(base: Path, name: str, seconds: float = WAIT_EVERY) -> JobOutcome:
    """Wait until another process has computed a job; return its outcome."""
    while True:
        found = outcome_of(base, name)
        if found is not None:
            return found
        time.sleep(seconds)
