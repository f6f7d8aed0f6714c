"""Checks of the output folder of a run: existing results are removed or cut only on the user's request.

All checks run before any change, so that a refused run leaves the folder unchanged.
"""

from __future__ import annotations

import os
import shlex
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pdem.case.differences import differences_text, physical_differences
from pdem.case.model import Case
from pdem.containers.group import on_each_rank
from pdem.engine.protocol import Engine, RestartPoint
from pdem.engine.ranks import on_first
from pdem.foundation.errors import CaseError, InputError
from pdem.output.checkpoints.checkpoint_folder import CheckpointFolder
from pdem.output.folder_lock import FolderLock
from pdem.output.run_folder import (
    find_later_files,
    find_run,
    folder_problem,
    remove_files,
    remove_run,
    require_folder,
    time_of_day,
    unusable_folder_text,
)
from pdem.output.series import TABLE, read_series_head
from pdem.output.shared_folder import require_shared
from pdem.preflight.findings import Finding
from pdem.run.files.folder_use import COMMAND_LINE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pdem.run.files.folder_use import FolderUse, UserCommands


def is_same_folder(one: Path | str, other: Path | str) -> bool:
    """Return whether two paths denote the same folder."""
    return os.path.realpath(one) == os.path.realpath(other)


def begins_elsewhere(simulation: Engine) -> bool:
    """Return whether a run continues from a state that is not in its own folder."""
    begins, folder = simulation.restart_point, simulation.case.output.folder
    if simulation.step == 0 or (begins is not None and is_same_folder(begins.folder, folder)):
        return False
    found: bool = simulation.system.exchange.share(not CheckpointFolder(folder).paths())
    return found


def check_unoccupied(folder: Path | str, commands: UserCommands = COMMAND_LINE) -> None:
    """Check that a folder contains no run and can be created.

    Raises
    ------
    InputError
        If the folder contains a run or cannot be created; the message names the run and the remedies.
    """
    require_folder(folder)
    found = find_run(folder)
    if found is None:
        return
    remedies = [f"{commands.overwrite} begins anew", f"{commands.other_folder} writes elsewhere"]
    if found.checkpoint is not None:
        restart = commands.restart.format(folder=folder, quoted=shlex.quote(str(folder)))
        remedies.insert(0, f"{restart} goes on with it")
    raise InputError(f"{found}; {', '.join(remedies)}")


def check_free(folder: Path | str, commands: UserCommands = COMMAND_LINE) -> None:
    """Check that a folder contains no run, that no process writes into it, and that it can be created.

    Raises
    ------
    InputError
        As for `check_unoccupied` and `FolderLock.acquire`.
    """
    require_folder(folder)
    FolderLock.require_free(folder, commands.elsewhere)
    check_unoccupied(folder, commands)


def folder_findings(case: Case) -> list[Finding]:
    """Return the findings on the output folder for the checks before a run."""
    problem = folder_problem(case.output.folder)
    if problem:
        return [Finding("error", "output", unusable_folder_text(case.output.folder, problem))]
    try:
        check_free(case.output.folder)
    except InputError as error:
        return [Finding("warning", "output", f"pdem run would refuse: {error}")]
    return []


def check_inputs_outside(case: Case, folder: Path | str) -> None:
    """Check that particle files of the case are not in the output folder, which would be overwritten.

    Raises
    ------
    CaseError
        If a file is in the folder.
    """
    for number, group in enumerate(case.particles):
        if group.file is None or not is_same_folder(case.file(group.file).parent, folder):
            continue
        raise CaseError(
            f"{case.source}: particles[{number}].file = {group.file!r} is in {folder}, which would be overwritten; "
            "name another output.folder, or move the file"
        )


def check_continued(
    begins: RestartPoint, case: Case, *, overwrite: bool = False, commands: UserCommands = COMMAND_LINE
) -> list[str]:
    """Check that a run can continue in the folder of its checkpoint without loss of later results; nothing is changed.

    Parameters
    ----------
    begins : RestartPoint
        Checkpoint from which the run continues.
    case : Case
        Case of the continued run.
    overwrite : bool
        Allow the removal of results later than the checkpoint.
    commands : UserCommands
        Commands for the error messages.

    Returns
    -------
    list of str
        Notes on the treatment of later results, for the log and the terminal.

    Raises
    ------
    InputError
        If results would be lost, or the folder contains the beginning of a different run.
    """
    require_folder(begins.folder)
    step = case.resolved_step()
    time, end = begins.step * step, round(case.time.end / step) * step
    later = find_later_files(begins.folder, begins.step, time)
    other = _case_of_last_run(begins.folder, case.directory)
    changes = [] if other is None else physical_differences(other, case)
    if overwrite:
        return [f"removed, being later than {time:g} s: {later}"] if later.checkpoints or later.ends else []
    _refuse_older(begins, case, changes, commands)
    reasons = []
    if later.checkpoints:
        reasons.append(f"it would go on from step {begins.step} ({time:g} s)")
    elif later.reached > end:
        reasons.append(f"it would end at {end:g} s")
    elif changes and later.ends:
        reasons.append(f"it would go on from {time:g} s with another case ({differences_text(changes)})")
    if reasons:
        raise InputError(
            f"{begins.folder}: {reasons[0]}, and {later} would be lost; {commands.overwrite} removes that, "
            f"{commands.other_folder} writes elsewhere"
        )
    if not later.ends:
        return []
    return [f"rows and snapshots after {time:g} s (until {later.reached:g} s) are made again, with the same bits"]


def _case_of_last_run(folder: Path, directory: Path) -> Case | None:
    """Return the case of the last run that wrote into a folder, None if it cannot be read."""
    text = read_series_head(folder).case
    try:
        return None if text is None else Case.from_text(text, directory)
    except CaseError:  # of a different version
        return None


def _refuse_older(
    begins: RestartPoint, case: Case, changes: list[tuple[str, str, str]], commands: UserCommands
) -> None:
    """Refuse a checkpoint older than the last run in its folder, if that run had a different case and no checkpoint."""
    if begins.case is None:
        return
    asked = {key for key, _, _ in physical_differences(begins.case, case)}
    unasked = [(key, now, then) for key, then, now in changes if key not in asked]
    if not unasked:
        return
    written = time_of_day((begins.folder / f"{TABLE}.h5").stat().st_mtime)
    raise InputError(
        f"{begins.folder}: the checkpoint of step {begins.step} is older than the run that wrote here last "
        f"({written}), whose case differs ({differences_text(unasked)}); start that one again, or go on with the older "
        f"one: {commands.overwrite} removes what is later, {commands.other_folder} keeps it"
    )


def holds_same_case(case: Case) -> bool:
    """Return whether the output folder contains a run of this case without checkpoint, which can be restarted from 0.

    Raises
    ------
    InputError
        If the run has a different or unreadable case, or its checkpoints were removed.
    """
    folder = Path(case.output.folder)
    found = find_run(folder)
    if found is None:
        return False
    other = _case_of_last_run(folder, case.directory)
    remedies = f"{COMMAND_LINE.overwrite} begins anew, {COMMAND_LINE.other_folder} writes elsewhere"
    if other is None:
        raise InputError(f"{found}; of what case it was cannot be read; {remedies}")
    require_same_physics(other, case, str(found), remedies)
    step = case.resolved_step()
    first = round(other.output.checkpoint_every / step) + 1
    if find_later_files(folder, first, first * step).ends:  # it did not die before its first checkpoint
        raise InputError(f"{found}; its checkpoints are gone; {remedies}")
    return True


def require_same_physics(other: Case, case: Case, found: str, remedies: str) -> None:
    """Check that two cases have the same physics.

    Parameters
    ----------
    other : Case
        Case of the run in the folder.
    case : Case
        Case of the new run.
    found : str
        Description of the run in the folder, for the error message.
    remedies : str
        Remedies for the error message.

    Raises
    ------
    InputError
        If the cases differ in physics.
    """
    changes = physical_differences(other, case)
    steps = other.resolved_step(), case.resolved_step()
    if steps[0] != steps[1]:
        changes.append(("time.step", f"{steps[0]:.6g} s", f"{steps[1]:.6g} s"))
    if changes:
        raise InputError(f"{found}; its case differs ({differences_text(changes)}); {remedies}")


def prepare_output_folder(
    simulation: Engine, *, use: FolderUse, conflict: Callable[[], str | None]
) -> tuple[list[str], FolderLock | None]:
    """Lock the output folder of a run, check it, and remove results if allowed. Collective.

    Parameters
    ----------
    simulation : Engine
        The simulation, at its beginning or continued.
    use : FolderUse
        Use of the output folder.
    conflict : callable
        Called on rank 0; returns the name of a file that the run cannot append to, or None.

    Returns
    -------
    notes : list of str
        As from `check_continued`, on rank 0.
    lock : FolderLock or None
        The lock, if this function acquired it.

    Raises
    ------
    InputError, CaseError
        On all ranks; the folder is unchanged.
    """
    exchange, notes = simulation.system.exchange, list[str]()
    folder = simulation.case.output.folder
    require_shared(folder, exchange)
    taken: list[FolderLock] = []

    def prepare() -> None:
        if exchange.rank == 0:
            if use.lock is None:
                taken.append(FolderLock.acquire(folder, use.commands.elsewhere))
            notes.extend(_prepare_on_rank_0(simulation, use.overwrite, conflict, use.commands))

    try:
        on_each_rank(exchange, prepare)
    except BaseException:
        for one in taken:
            one.release()
        raise
    return notes, taken[0] if taken else None


@contextmanager
def writing_into(folder: Path | str, comm: Any, commands: UserCommands = COMMAND_LINE) -> Iterator[FolderLock | None]:
    """Hold the lock on an output folder in this context. Collective.

    Yields
    ------
    FolderLock or None
        On rank 0, the lock.

    Raises
    ------
    FolderInUseError, InputError
        On all ranks, see `FolderLock.acquire`.
    """
    taken: list[FolderLock] = []

    def take() -> None:
        taken.append(FolderLock.acquire(folder, commands.elsewhere))

    try:
        on_first(comm, take)
        yield taken[0] if taken else None
    finally:
        for one in taken:
            one.release()


def _prepare_on_rank_0(
    simulation: Engine, overwrite: bool, conflict: Callable[[], str | None], commands: UserCommands
) -> list[str]:
    case, notes = simulation.case, list[str]()
    folder = Path(case.output.folder)
    begins = simulation.restart_point or RestartPoint(folder, None, simulation.step)
    if simulation.step > 0 and is_same_folder(begins.folder, folder):
        begins = replace(begins, folder=folder, step=simulation.step)
        notes = check_continued(begins, case, overwrite=overwrite, commands=commands)
        _refuse_conflict(folder, conflict(), commands)
        if overwrite:
            checkpoints = CheckpointFolder(folder)
            later = [*checkpoints.of_stages(begins.step), *reversed(checkpoints.later_than(begins.step))]
            remove_files(later)
    elif overwrite:
        require_folder(folder)
        check_inputs_outside(case, folder)
        if find_run(folder) is not None:
            remove_run(folder)
    else:
        check_unoccupied(folder, commands)
    return notes


def _refuse_conflict(folder: Path, name: str | None, commands: UserCommands) -> None:
    if name is not None:
        raise InputError(
            f"{folder / name}: holds other columns or walls than this run and cannot be continued; "
            f"{commands.other_folder} writes elsewhere; with other walls, begin a new case whose particles.file "
            "is the checkpoint"
        )
