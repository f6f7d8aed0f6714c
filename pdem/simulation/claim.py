"""May a run write to its folder? What is there already is neither overwritten nor cut without being asked for.

All that can be refused is refused before anything is changed, so that a folder after a refusal is what it was before.
"""

from __future__ import annotations

import os
import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pdem.case.differences import in_words, physical_differences
from pdem.case.findings import Finding
from pdem.case.model import Case
from pdem.foundation.errors import CaseError, InputError, PdemError
from pdem.output.checkpoint_folder import CheckpointFolder
from pdem.output.run_folder import (
    find_later_files,
    find_run,
    folder_problem,
    make_folder,
    remove_files,
    remove_run,
    require_folder,
    time_of_day,
    unusable_folder_text,
)
from pdem.output.series import TABLE, read_series_head
from pdem.simulation.engine import Beginning, Engine

if TYPE_CHECKING:
    from collections.abc import Callable


class Words(NamedTuple):
    """How a user says what shall be done.

    Attributes
    ----------
    go_on, anew, elsewhere : str
        Continue the run in a folder (``{folder}``, ``{quoted}`` for a shell), remove what is in the way, write to
        another folder.
    """

    go_on: str
    anew: str
    elsewhere: str


COMMAND = Words("pdem restart {quoted}", "--overwrite", "--set output.folder=...")
SCRIPT = Words("Simulation.restart('{folder}')", "run(overwrite=True)", "case.override('output.folder=...')")


def is_same(one: Path | str, other: Path | str) -> bool:
    """Tell whether two paths lead to the same folder."""
    return os.path.realpath(one) == os.path.realpath(other)


def check_free(folder: Path | str, words: Words = COMMAND) -> None:
    """Require that a folder holds no run and can be made.

    Raises
    ------
    InputError
        If it does, with what is there and what can be done.
    """
    require_folder(folder)
    held = find_run(folder)
    if held is None:
        return
    ways = [f"{words.anew} begins anew", f"{words.elsewhere} writes elsewhere"]
    if held.checkpoint is not None:
        go_on = words.go_on.format(folder=folder, quoted=shlex.quote(str(folder)))
        ways.insert(0, f"{go_on} goes on with it")
    raise InputError(f"{held}; {', '.join(ways)}")


def folder_findings(case: Case) -> list[Finding]:
    """Return what the checks before a run say of its output folder."""
    problem = folder_problem(case.output.folder)
    if problem:
        return [Finding("error", "output", unusable_folder_text(case.output.folder, problem))]
    try:
        check_free(case.output.folder)
    except InputError as error:
        return [Finding("warning", "output", f"pdem run would refuse: {error}")]
    return []


def check_spared(case: Case, folder: Path | str) -> None:
    """Require that a case does not begin from files that it would overwrite.

    Raises
    ------
    CaseError
        If it does.
    """
    for number, group in enumerate(case.particles):
        if group.file is None or not is_same(case.file(group.file).parent, folder):
            continue
        raise CaseError(
            f"{case.source}: particles[{number}].file = {group.file!r} is in {folder}, which would be overwritten; "
            "name another output.folder, or move the file"
        )


def check_continued(
    begins: Beginning, case: Case, *, overwrite: bool = False, words: Words = COMMAND
) -> list[str]:
    """Require that a run can go on in the folder of its checkpoint and loses nothing; nothing is changed.

    Parameters
    ----------
    begins : Beginning
        Where.
    case : Case
        Of the run from now on.
    overwrite : bool
        What is later than its beginning may go.
    words : Words
        For what is said.

    Returns
    -------
    list of str
        What happens to what is later, for the log and the terminal.

    Raises
    ------
    InputError
        If something would be lost, or the folder holds the beginning of another run.
    """
    require_folder(begins.folder)
    step = case.resolved_step()
    time, end = begins.step * step, round(case.time.end / step) * step
    later = find_later_files(begins.folder, begins.step, time)
    other = _case_here(begins.folder, case.directory)
    changes = [] if other is None else physical_differences(other, case)
    if overwrite:
        return [f"removed, being later than {time:g} s: {later}"] if later.checkpoints or later.ends else []
    _refuse_older(begins, case, changes, words)
    reasons = []
    if later.checkpoints:
        reasons.append(f"it would go on from step {begins.step} ({time:g} s)")
    elif later.reached > end:
        reasons.append(f"it would end at {end:g} s")
    elif changes and later.ends:
        reasons.append(f"it would go on from {time:g} s with another case ({in_words(changes)})")
    if reasons:
        raise InputError(
            f"{begins.folder}: {reasons[0]}, and {later} would be lost; {words.anew} removes that, "
            f"{words.elsewhere} writes elsewhere"
        )
    if not later.ends:
        return []
    return [
        f"rows and snapshots after {time:g} s (until {later.reached:g} s) are made again, with the same bits"
    ]


def _case_here(folder: Path, directory: Path) -> Case | None:
    """Return the case of the run that wrote to a folder last, None where that cannot be known."""
    text = read_series_head(folder).case
    try:
        return None if text is None else Case.from_text(text, directory)
    except CaseError:  # of another version
        return None


def _refuse_older(begins: Beginning, case: Case, changes: list[tuple[str, str, str]], words: Words) -> None:
    """Refuse to go on behind the back of a run of another case, which has left no checkpoint yet."""
    if begins.case is None:
        return
    asked = {key for key, _, _ in physical_differences(begins.case, case)}
    unasked = [(key, now, then) for key, then, now in changes if key not in asked]
    if not unasked:
        return
    written = time_of_day((begins.folder / f"{TABLE}.h5").stat().st_mtime)
    raise InputError(
        f"{begins.folder}: the checkpoint of step {begins.step} is older than the run that wrote here last "
        f"({written}), whose case differs ({in_words(unasked)}); start that one again, or go on with the older one: "
        f"{words.anew} removes what is later, {words.elsewhere} keeps it"
    )


def same_case_here(case: Case) -> bool:
    """Tell whether the output folder of a case holds a run without checkpoint, of this case, that can begin anew.

    Raises
    ------
    InputError
        If it holds one of another case, or of one that cannot be known, or one whose checkpoints have been removed.
    """
    folder = Path(case.output.folder)
    held = find_run(folder)
    if held is None:
        return False
    other = _case_here(folder, case.directory)
    ways = f"{COMMAND.anew} begins anew, {COMMAND.elsewhere} writes elsewhere"
    if other is None:
        raise InputError(f"{held}; of what case it was cannot be read; {ways}")
    refuse_other(other, case, str(held), ways)
    step = case.resolved_step()
    first = round(other.output.checkpoint_every / step) + 1
    if find_later_files(folder, first, first * step).ends:  # it did not die before its first checkpoint
        raise InputError(f"{held}; its checkpoints are gone; {ways}")
    return True


def refuse_other(other: Case, case: Case, held: str, ways: str) -> None:
    """Require that two cases simulate the same.

    Raises
    ------
    InputError
        If they do not.
    """
    changes = physical_differences(other, case)
    steps = other.resolved_step(), case.resolved_step()
    if steps[0] != steps[1]:
        changes.append(("time.step", f"{steps[0]:.6g} s", f"{steps[1]:.6g} s"))
    if changes:
        raise InputError(f"{held}; its case differs ({in_words(changes)}); {ways}")


def claim(
    simulation: Engine, *, overwrite: bool, conflict: Callable[[], str | None], words: Words = SCRIPT
) -> list[str]:
    """Take the output folder of a simulation for its run: check all of it, then remove what may go. Collective.

    Parameters
    ----------
    simulation : Engine
        At its beginning or continued.
    overwrite : bool
        What is in the way may go.
    conflict : callable
        Called on rank 0; returns the name of a file that the run cannot continue as it is, None if there is none.
    words : Words
        For what is said.

    Returns
    -------
    list of str
        As `check_continued`; on rank 0.

    Raises
    ------
    InputError, CaseError
        On all ranks; nothing has changed then.
    """
    exchange, notes, problem = simulation.system.exchange, list[str](), None
    if exchange.rank == 0:
        try:
            notes = _claimed(simulation, overwrite, conflict, words)
        except PdemError as error:
            problem = error
    problem = exchange.share(problem)
    if problem is not None:
        raise problem
    return notes


def _claimed(
    simulation: Engine, overwrite: bool, conflict: Callable[[], str | None], words: Words
) -> list[str]:
    case, notes = simulation.case, list[str]()
    folder = Path(case.output.folder)
    begins = simulation.begins or Beginning(folder, None, simulation.step)
    if simulation.step > 0 and is_same(begins.folder, folder):
        begins = replace(begins, folder=folder, step=simulation.step)
        notes = check_continued(begins, case, overwrite=overwrite, words=words)
        _refuse_conflict(folder, conflict(), words)
        if overwrite:
            remove_files(reversed(CheckpointFolder(folder).later_than(begins.step)))
    elif overwrite:
        require_folder(folder)
        check_spared(case, folder)
        if find_run(folder) is not None:
            remove_run(folder)
    else:
        check_free(folder, words)
    make_folder(folder)
    return notes


def _refuse_conflict(folder: Path, name: str | None, words: Words) -> None:
    if name is not None:
        raise InputError(
            f"{folder / name}: holds other columns or walls than this run and cannot be continued; {words.elsewhere} "
            "writes elsewhere; with other walls, begin a new case whose particles.file is the checkpoint"
        )
