"""``pdem run`` and ``pdem restart``."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from pdem.cli.common import (
    collective,
    echo_findings,
    echo_to_stderr,
    is_root,
    load_kernels,
    overwrite_option,
    quiet_option,
    read_case,
    settings_option,
    threads_option,
    trace_options,
)
from pdem.cli.law_checks import laws_option, prove_before_run
from pdem.cli.run_options import RunOptions
from pdem.foundation.signals import STOP_SIGNALS, SignalFlag
from pdem.foundation.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pdem.case.model import Case
    from pdem.engine.protocol import RestartPoint
    from pdem.engine.state import StatePart
    from pdem.preflight.findings import Finding


@click.command(short_help="Run a case.")
@click.argument("case", type=click.Path())
@settings_option
@click.option(
    "--continue",
    "continue_run",
    is_flag=True,
    help="Continue the run in the output folder if it is of the same case; start a new run if there is none.",
)
@overwrite_option("Start a new run, and remove the run that the output folder holds.")
@laws_option
@threads_option
@quiet_option
@trace_options
def run(
    case: str,
    settings: tuple[str, ...],
    continue_run: bool,
    overwrite: bool,
    laws: bool | None,
    threads: int | None,
    quiet: bool,
    trace: str | None,
    trace_steps: int,
) -> int:
    """Run a case from its beginning; under mpirun on all ranks, with the same results.

    If the output folder already contains a run, --continue or --overwrite is required.
    """
    if continue_run and overwrite:
        raise click.UsageError("--continue keeps the run in the folder and --overwrite removes it: give one")
    with _stop_flag() as flag:  # before anything else: a stop signal may arrive while kernels are compiled
        options = RunOptions(quiet, trace, trace_steps, flag, overwrite, laws)
        work = _continue_or_start if continue_run else _run
        return collective(lambda communicator, own: work(communicator, own, case, settings, options), threads)


@click.command(short_help="Continue a run from a checkpoint.")
@click.argument("checkpoint", type=click.Path())
@click.option(
    "--from", "stage", metavar="STAGE", help="Repeat this stage: continue from the end of the stage before it."
)
@settings_option
@overwrite_option("Remove results in the folder that are later than the checkpoint.")
@laws_option
@threads_option
@quiet_option
@trace_options
def restart(
    checkpoint: str,
    stage: str | None,
    settings: tuple[str, ...],
    overwrite: bool,
    laws: bool | None,
    threads: int | None,
    quiet: bool,
    trace: str | None,
    trace_steps: int,
) -> int:
    """Continue a run, bit for bit, from a checkpoint or from the newest checkpoint in an output folder.

    The number of ranks may differ. --set time.end=... continues beyond the former end. Results are written to the
    folder of the checkpoint.
    """
    with _stop_flag() as flag:
        options = RunOptions(quiet, trace, trace_steps, flag, overwrite, laws)
        return collective(
            lambda communicator, own: _restart(communicator, own, (checkpoint, stage), settings, options), threads
        )


@contextmanager
def _stop_flag() -> Iterator[SignalFlag]:
    """Yield a flag for stop signals, and unblock signals that the batch script has blocked so far."""
    with SignalFlag() as flag:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)
        yield flag


def _run(communicator: Any, threads: int, path: str, settings: Sequence[str], options: RunOptions) -> int:
    from pdem.engine.ranks import on_first
    from pdem.run.files.output_folder import check_inputs_outside, check_unoccupied
    from pdem.run.same_on_ranks import on_all

    case = on_all(communicator, lambda: read_case(path, settings))
    _check_nodes(communicator, case, threads)
    options.check(communicator)
    check = check_inputs_outside if options.overwrite else lambda _, folder: check_unoccupied(folder)
    with options.writing_into(communicator, case.output.folder) as locked:
        on_first(communicator, lambda: check(case, case.output.folder))
        return _start_run(communicator, threads, case, locked)


def _start_run(communicator: Any, threads: int, case: Case, options: RunOptions) -> int:
    """Run a case from its beginning; its output folder is free, or may be overwritten."""
    from pdem.engine.ranks import crowded_nodes, stop_if_signalled
    from pdem.run.checked_case import CheckedCase
    from pdem.run.kernels.prepare_kernels import prepare_start_kernels
    from pdem.run.simulation import Simulation

    crowded = crowded_nodes(communicator, threads)
    start, flag = CheckedCase(communicator, threads, crowded), options.flag
    prepare_start_kernels(communicator, flag)
    stop_if_signalled(communicator, flag)
    findings = start.prepare_unless_stopped(case, flag, progress=not options.quiet)
    stop_if_signalled(communicator, flag)
    if is_root(communicator) and not options.quiet:
        echo_findings([finding for finding in findings if finding.level == "warning"])
    _refuse_errors(case, findings)
    load_kernels(communicator, case, threads, flag, options.kernels)
    stop_if_signalled(communicator, flag)
    simulation = Simulation(case, communicator, threads=threads, particles=start.particles, meshes=start.meshes)
    start.forget()
    of_laws, files = prove_before_run(communicator, case, options.laws, quiet=options.quiet)
    return options.run_to_end(simulation, [*findings, *of_laws], files)


def _check_nodes(communicator: Any, case: Case, threads: int) -> None:
    """Check before any work that all ranks run the same program and case, and that nodes share the files of a run."""
    from pdem.engine.ranks import exchange_of
    from pdem.output.shared_folder import require_shared
    from pdem.run.same_on_ranks import check_same

    warning = check_same(communicator, case)
    if warning:
        echo_to_stderr(f"warning: {warning}")
    exchange = exchange_of(case, communicator, threads)  # compares the files of the case
    require_shared(case.output.folder, exchange)


def _refuse_errors(case: Case, findings: Sequence[Finding]) -> None:
    from pdem.foundation.errors import CaseError

    errors = [finding for finding in findings if finding.level == "error"]
    if errors:
        raise CaseError("\n".join(f"{case.source}: {one.subject}: {one.message}" for one in errors))


class _RestartPoint(NamedTuple):
    """The checkpoint from which a run continues, identical on all ranks: path, text and folder of its case, step."""

    path: Path
    text: str
    directory: str
    step: int
    warnings: list[str]

    def case(self) -> Case:
        """Return the case of the checkpoint."""
        from pdem.case.model import Case

        return Case.from_text(self.text, self.directory)


def _restart(
    communicator: Any, threads: int, given: tuple[str, str | None], settings: Sequence[str], options: RunOptions
) -> int:
    """Continue from a checkpoint or folder, or from the begin of a stage."""
    from pdem.engine.ranks import on_first
    from pdem.preflight.restart_checks import set_folder
    from pdem.run.stage_start import stage_start

    groups: list[StatePart] = []
    path, stage = given
    if stage is not None:
        path = on_first(communicator, lambda: str(stage_start(path, stage)))
    point = _read_restart_point(communicator, path, groups)
    case = point.case()
    set_folder(case, point.path.parent)
    for assignment in settings:
        case.override(assignment)
    return _continue_run(communicator, threads, point, case, groups, options)


def _continue_or_start(communicator: Any, threads: int, path: str, settings: Sequence[str], options: RunOptions) -> int:
    """Continue the run of a case in its output folder, or start a new run."""
    from pdem.engine.ranks import on_first
    from pdem.run.same_on_ranks import on_all

    groups: list[StatePart] = []
    case = on_all(communicator, lambda: read_case(path, settings))
    with options.writing_into(communicator, case.output.folder) as locked:
        holds_run, may_overwrite = on_first(communicator, lambda: _find_run(case))
        if not holds_run:
            _check_nodes(communicator, case, threads)
            options.check(communicator)
            return _start_run(communicator, threads, case, locked._replace(overwrite=may_overwrite))
        point = _read_restart_point(communicator, case.output.folder, groups)
        on_first(communicator, lambda: _require_same_physics(point, case))
        if is_root(communicator) and not options.quiet:
            echo_to_stderr(f"going on from {point.path}")
        return _continue_run(communicator, threads, point, case, groups, locked)


def _find_run(case: Case) -> tuple[bool, bool]:
    """Return whether the output folder has a checkpoint to continue from, and otherwise whether to overwrite it."""
    from pdem.output.run_folder import find_run, require_folder
    from pdem.run.files.output_folder import holds_same_case

    folder = case.output.folder
    require_folder(folder)
    found_run = find_run(folder)
    if found_run is None or found_run.checkpoint is None:
        return False, holds_same_case(case)
    return True, False


def _require_same_physics(point: _RestartPoint, case: Case) -> None:
    from pdem.output.run_folder import find_run
    from pdem.run.files.folder_use import COMMAND_LINE
    from pdem.run.files.output_folder import require_same_physics

    alternatives = f"{COMMAND_LINE.overwrite} begins anew, {COMMAND_LINE.other_folder} writes elsewhere"
    require_same_physics(point.case(), case, str(find_run(case.output.folder)), alternatives)


def _read_restart_point(communicator: Any, path: str, groups: list[StatePart]) -> _RestartPoint:
    """Read a checkpoint, or the newest of a folder; append this rank's part of its state to `groups`. Collective."""
    from pdem.cli.result_paths import require_results
    from pdem.engine.ranks import group_of, on_first
    from pdem.engine.state import StatePart
    from pdem.output.provenance import provenance_warning
    from pdem.run.inputs import case_of, checkpoint_at

    on_first(communicator, lambda: require_results(path, "restart"))
    checkpoint = checkpoint_at(path, group_of(communicator))
    groups.append(StatePart(checkpoint.groups))
    step = int(checkpoint.groups["counters"]["step"]) if "counters" in checkpoint.groups else 0

    def describe() -> _RestartPoint:
        case, writer = case_of(checkpoint), checkpoint.attributes.get("pdem", VERSION)
        change = provenance_warning(checkpoint.attributes)
        warnings = list(checkpoint.warnings)
        if writer != VERSION:
            text = f"{checkpoint.path}: written by pdem {writer}, this is {VERSION}"
            warnings.append(f"{text}: results may differ in their last bits")
        if change:
            warnings.append(f"restart: {change}")
        return _RestartPoint(
            checkpoint.path, case.to_toml(), str(case.directory), step, [f"warning: {one}" for one in warnings]
        )

    return on_first(communicator, describe)


def _check_restart(
    beginning: RestartPoint, then: Case, case: Case, groups: list[StatePart], overwrite: bool
) -> list[str]:
    """Check that a restart is possible and loses no results; return notes for the user."""
    from pdem.engine.box.state import BOX
    from pdem.engine.stages.state import clocks_of
    from pdem.engine.stages.timeline import Stages
    from pdem.engine.walls.driven_walls import GROUP
    from pdem.preflight.restart_box import check_box
    from pdem.preflight.restart_checks import moved_walls
    from pdem.run.files.output_folder import check_continued, check_unoccupied, is_same_folder

    check_box(then, case, groups[0].get(BOX, {}))
    step = case.resolved_step()
    clocks = clocks_of(Stages(then.stages, step), groups[0]), clocks_of(Stages(case.stages, step), groups[0])
    notes = [str(one) for one in moved_walls((then, case), beginning.step * step, groups[0], GROUP, clocks)]
    if is_same_folder(case.output.folder, beginning.folder):
        notes += check_continued(beginning, case, overwrite=overwrite)
    elif not overwrite:
        check_unoccupied(case.output.folder)
    return notes


def _no_echo(text: str) -> None:
    """Ignore a text, on ranks other than 0."""


def _continue_run(
    communicator: Any, threads: int, point: _RestartPoint, case: Case, groups: list[StatePart], options: RunOptions
) -> int:
    """Run a case from a checkpoint unless the run has ended; remove this rank's part of the state from `groups`."""
    from pdem.case.differences import physical_differences
    from pdem.engine.ranks import on_first
    from pdem.engine.stages.state import finished_stage
    from pdem.preflight.restart_checks import check_continuable, check_end

    then = point.case()
    check_continuable(then, case)
    _check_nodes(communicator, case, threads)
    echo = echo_to_stderr if is_root(communicator) else _no_echo
    for key, old, new in physical_differences(then, case):
        echo(f"warning: {key} was {old} when the checkpoint was written and is {new} from now on")
    if not check_end(case, point.step, str(point.path)):
        echo(f"{point.path}: the run has reached its end, {case.time.end:g} s; go on with --set time.end=...")
        return 0
    if name := on_first(communicator, lambda: finished_stage(case, groups[0])):
        echo(f"{point.path}: the run has ended with its last stage, {name}; pdem restart --from repeats one")
        return 0
    with options.writing_into(communicator, case.output.folder) as locked:
        return _go_on(communicator, threads, point, case, groups, locked)


def _go_on(
    communicator: Any, threads: int, point: _RestartPoint, case: Case, groups: list[StatePart], options: RunOptions
) -> int:
    """Run a case from a checkpoint, in a folder with the lock in `options`."""
    from pdem.case.differences import physical_differences
    from pdem.engine.protocol import RestartPoint
    from pdem.engine.ranks import on_first, stop_if_signalled
    from pdem.run.rebase_ledger import rebase_ledger
    from pdem.run.simulation import Simulation

    then, echo = point.case(), echo_to_stderr if is_root(communicator) else _no_echo
    beginning, changes = RestartPoint(point.path.parent, then, point.step), physical_differences(then, case)
    notes = on_first(communicator, lambda: _check_restart(beginning, then, case, groups, options.overwrite))
    for note in (*point.warnings, *notes):
        echo(note)
    options.check(communicator)
    load_kernels(communicator, case, threads, options.flag, options.kernels)
    stop_if_signalled(communicator, options.flag)
    wanted = options.laws if changes or options.laws else False  # unchanged laws were proved at the begin of the run
    of_laws, files = prove_before_run(communicator, case, wanted, quiet=options.quiet)
    simulation = Simulation(case, communicator, threads=threads, state=groups.pop())
    simulation.restart_point = beginning
    jump = rebase_ledger(simulation, then) if changes else 0.0
    if jump:
        notes.append(
            f"the changed case alters the energy of this state by {jump:+.6g} J; residual does not contain this change"
        )
        echo(notes[-1])
    return options.run_to_end(simulation, [*point.warnings, *notes, *of_laws], files)
