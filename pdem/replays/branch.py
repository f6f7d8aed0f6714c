"""Branches: runs that differ from a finished run only from a stage on, and start from its state at that stage."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pdem.case.differences import differences_text
from pdem.case.model import Case
from pdem.engine.protocol import RestartPoint
from pdem.engine.ranks import on_first
from pdem.foundation.errors import CaseError, InputError
from pdem.output.checkpoints.checkpoint_reader import CheckpointReader
from pdem.output.provenance import changes_since
from pdem.preflight.before_stage import changes_before, remedy_for
from pdem.preflight.restart_checks import check_continuable, check_end
from pdem.replays.origin import begun, case_in
from pdem.run.files.folder_use import PYTHON, FolderUse
from pdem.run.files.output_folder import check_free, is_same_folder
from pdem.run.run import run
from pdem.run.stage_start import stage_start

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pdem.foundation.signals import SignalFlag
    from pdem.run.files.folder_use import UserCommands


class BranchPlan(NamedTuple):
    """Plan of a branch, identical on all ranks: its case, the start state, and remarks."""

    text: str
    directory: str
    start: Path
    notes: tuple[str, ...]

    def case(self) -> Case:
        """Return the case of the branch."""
        return Case.from_text(self.text, self.directory)


def branch(
    folder: Path | str,
    at: str,
    settings: Sequence[str],
    *,
    output: Path | str | None = None,
    comm: Any = None,
    threads: int | None = None,
    quiet: bool = True,
) -> Path:
    """Run a case with other values from a stage on, starting from the state of a finished run. Collective.

    The result has the same bits as a complete run of the changed case. Therefore only values that act from this stage
    on may change.

    Parameters
    ----------
    folder : path
        Output folder of the run; it is not changed.
    at : str
        Name of the first stage to compute.
    settings : sequence of str
        Changes of the case, as ``key=value``.
    output : path, optional
        New folder; by default the folder of the run with the name of the stage as suffix.
    comm, threads
        As for `pdem.Simulation`.
    quiet : bool
        Suppress the progress line and the report on the terminal.

    Returns
    -------
    Path
        The new folder.

    Raises
    ------
    InputError
        If the run has no such stage or did not reach it, or the new folder already contains results.
    CaseError
        If a change acts before the stage.
    """
    plan = on_first(comm, lambda: branch_plan(folder, at, settings, output, PYTHON))
    return run_branch(plan, comm, threads, quiet=quiet)


def branch_plan(
    folder: Path | str, at: str, settings: Sequence[str], output: Path | str | None, commands: UserCommands
) -> BranchPlan:
    """Return the plan of a branch, without any change on the disk.

    Raises
    ------
    InputError, CaseError
        See `branch`.
    """
    if not Path(folder).is_dir():
        raise InputError(f"{folder}: no such folder; name the output folder of a run")
    start = stage_start(folder, at)
    reader = CheckpointReader(start)
    case = case_in(reader)
    changed = Case.from_text(case.to_toml(), case.directory)
    target = Path(folder).with_name(f"{Path(folder).resolve().name}-{at}") if output is None else output
    for assignment in (f"output.folder={json.dumps(str(target))}", *settings):
        changed.override(assignment)
    _check(case, changed, at, start, int(str(reader.attributes["step"])))
    if is_same_folder(changed.output.folder, folder):
        raise InputError(f"{folder}: a branch is not written over its run; name another folder by --output")
    check_free(changed.output.folder, commands)
    since = changes_since(reader.attributes)
    notes = (f"{start} was made under {since}: bits may differ, the motion is as valid",) if since else ()
    return BranchPlan(changed.to_toml(), str(changed.directory), start, notes)


def _check(case: Case, changed: Case, at: str, start: Path, step: int) -> None:
    """Check that a changed case agrees with the run before a stage, and continues after the begin of the stage."""
    check_shared(case, changed, at, str(start.parent))
    check_continuable(case, changed)
    if not check_end(changed, step, str(start)):
        raise CaseError(f"{start}: time.end = {changed.time.end:g} s is where stage {at} begins; give a later one")


def check_shared(case: Case, changed: Case, at: str, where: str) -> None:
    """Check that two cases agree in everything before the begin of a stage.

    Raises
    ------
    CaseError
        If they differ: names what acts before the stage, and how it could act later.
    """
    names = [stage.name for stage in case.stages]
    number = names.index(at)
    if [stage.name for stage in changed.stages[: number + 1]] != names[: number + 1]:
        raise CaseError(f"{where}: what comes before stage {at} is shared, and so are the names of stages until it")
    rows = changes_before(case, changed, number)
    if rows:
        remedy = next((text for key, *_ in rows if (text := remedy_for(key, case, number))), "")
        raise CaseError(
            f"{where}: what comes before stage {at} is shared, and this acts before: {differences_text(rows)}; "
            f"{remedy + ', or ' if remedy else ''}run the changed case from its begin"
        )


def run_branch(
    plan: BranchPlan,
    comm: Any,
    threads: int | None,
    *,
    quiet: bool,
    flag: SignalFlag | None = None,
    commands: UserCommands = PYTHON,
) -> Path:
    """Carry out the plan of a branch; see `branch`. Collective."""
    simulation = begun(plan.case(), plan.start, comm, threads)
    simulation.restart_point = RestartPoint(plan.start.parent, None, simulation.step)
    run(simulation, quiet=quiet, findings=plan.notes, flag=flag, use=FolderUse(commands=commands))
    return Path(simulation.case.output.folder)
