"""``pdem run`` and ``pdem restart``."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from pdem.cli.start import (
    collective,
    is_root,
    load_kernels,
    overwrite_option,
    quiet_option,
    read_case,
    say,
    say_findings,
    settings_option,
    threads_option,
    trace_options,
)
from pdem.foundation.signals import STOP_SIGNALS, SignalFlag
from pdem.foundation.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from pdem.case.findings import Finding
    from pdem.case.model import Case
    from pdem.containers.mesh import Mesh
    from pdem.simulation.engine import RestartPoint
    from pdem.simulation.simulation import Simulation
    from pdem.simulation.trace import Trace


@click.command(short_help="Run a case.")
@click.argument("case", type=click.Path())
@settings_option
@click.option(
    "--continue",
    "goes_on",
    is_flag=True,
    help="Go on with the run that the output folder holds if it is of the same case; begin where there is none.",
)
@overwrite_option("Begin anew and remove the run that the output folder holds.")
@threads_option
@quiet_option
@trace_options
def run(
    case: str,
    settings: tuple[str, ...],
    goes_on: bool,
    overwrite: bool,
    threads: int | None,
    quiet: bool,
    trace: str | None,
    trace_steps: int,
) -> int:
    """Run a case from its beginning; under mpirun on all its ranks, with the same results.

    A folder that holds a run already is only written to with --continue or --overwrite.
    """
    if goes_on and overwrite:
        raise click.UsageError("--continue keeps the run in the folder and --overwrite removes it: give one")
    with _listening() as flag:  # from the very beginning: a warning may come while kernels are compiled
        how = _How(quiet, trace, trace_steps, flag, overwrite)
        work = _run_on if goes_on else _run
        return collective(lambda communicator, own: work(communicator, own, case, settings, how), threads)


@click.command(short_help="Continue a run from a checkpoint.")
@click.argument("checkpoint", type=click.Path())
@settings_option
@overwrite_option("Remove what the folder holds that is later than the checkpoint.")
@threads_option
@quiet_option
@trace_options
def restart(
    checkpoint: str,
    settings: tuple[str, ...],
    overwrite: bool,
    threads: int | None,
    quiet: bool,
    trace: str | None,
    trace_steps: int,
) -> int:
    """Continue a run, bit for bit, from a checkpoint or from the newest one in an output folder.

    On any number of ranks; with --set time.end=... beyond its former end. It goes on in the folder of the checkpoint.
    """
    with _listening() as flag:
        how = _How(quiet, trace, trace_steps, flag, overwrite)
        return collective(
            lambda communicator, own: _restart(communicator, own, checkpoint, settings, how), threads
        )


class _How(NamedTuple):
    """How to run, apart from the case: terminal, trace, who listens to signals, and whether results may go."""

    quiet: bool
    trace: str | None
    trace_steps: int
    flag: SignalFlag
    overwrite: bool

    def check(self, communicator: Any) -> None:
        """Refuse a trace that cannot be written, before anything long. Collective."""
        from pdem.simulation.ranks import on_first

        trace = self._trace()
        if trace is not None:
            on_first(communicator, trace.check)

    def to_the_end(self, simulation: Simulation, findings: Sequence[object]) -> int:
        """Take all steps."""
        from pdem.simulation.output_folder import COMMAND_LINE
        from pdem.simulation.run import run as run_to_end

        run_to_end(
            simulation, quiet=self.quiet, findings=findings, flag=self.flag, trace=self._trace(),
            overwrite=self.overwrite, commands=COMMAND_LINE,
        )  # fmt: skip
        return 0

    def _trace(self) -> Trace | None:
        from pdem.simulation.trace import Trace

        return None if self.trace is None else Trace(self.trace, self.trace_steps)


@contextmanager
def _listening() -> Iterator[SignalFlag]:
    """Listen to stop signals, also to those that came before and that the batch script has held back."""
    with SignalFlag() as flag:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)
        yield flag


def _run(communicator: Any, threads: int, path: str, settings: Sequence[str], how: _How) -> int:
    from pdem.simulation.output_folder import check_inputs_outside, check_unoccupied
    from pdem.simulation.ranks import check_same, on_first

    case = read_case(path, settings)
    _say_warning(check_same(communicator, case))
    how.check(communicator)
    check = check_inputs_outside if how.overwrite else lambda _, folder: check_unoccupied(folder)
    on_first(communicator, lambda: check(case, case.output.folder))
    return _begin(communicator, threads, case, how)


def _begin(communicator: Any, threads: int, case: Case, how: _How) -> int:
    """Run a case from its beginning into a folder that is free, or may be overwritten."""
    from pdem.simulation.ranks import on_first, stop_if_signalled
    from pdem.simulation.simulation import Simulation

    start, flag = _Start(), how.flag
    ranks = 1 if communicator is None else communicator.size
    found = on_first(
        communicator, lambda: flag.unless_stopped(lambda: start.prepare(case, ranks, threads, not how.quiet))
    )
    stop_if_signalled(communicator, flag)
    findings = found or []
    if is_root(communicator) and not how.quiet:
        say_findings([finding for finding in findings if finding.level == "warning"])
    _refuse_errors(case, findings)
    load_kernels(communicator, case, threads, flag)
    stop_if_signalled(communicator, flag)
    simulation = Simulation(
        case, communicator, threads=threads, particles=start.particles, meshes=start.meshes
    )
    start.forget()
    return how.to_the_end(simulation, findings)


def _say_warning(text: str) -> None:
    if text:
        say(f"warning: {text}")


class _Start:
    """What the first rank has made of a case for its checks, and need not make again."""

    particles: Mapping[str, NDArray[Any]] | None = None
    meshes: list[Mesh] | None = None

    def prepare(self, case: Case, ranks: int, threads: int, progress: bool) -> list[Finding]:
        """Read walls, make particles and return the findings of the checks."""
        from pdem.case.given_particles import CheckedParticles
        from pdem.case.initial import initial_particles
        from pdem.case.preflight import preflight
        from pdem.case.wall_files import read_walls
        from pdem.simulation.forecast import forecast

        self.meshes = read_walls(case)
        self.particles = CheckedParticles(initial_particles(case, self.meshes, progress=progress))
        return [
            *preflight(case, self.particles, self.meshes, ranks, threads),
            *forecast(case, self.particles, self.meshes, ranks, threads),
        ]

    def forget(self) -> None:
        """Give the memory back: the simulation has its own."""
        self.particles = self.meshes = None


def _refuse_errors(case: Case, findings: Sequence[Finding]) -> None:
    from pdem.foundation.errors import CaseError

    errors = [finding for finding in findings if finding.level == "error"]
    if errors:
        raise CaseError("\n".join(f"{case.source}: {one.subject}: {one.message}" for one in errors))


class _Held(NamedTuple):
    """What all ranks know of a checkpoint to go on from: its path, text and folder of its case, its step."""

    path: Path
    text: str
    directory: str
    step: int
    warnings: list[str]

    def case(self) -> Case:
        """Return its case."""
        from pdem.case.model import Case

        return Case.from_text(self.text, self.directory)


def _restart(communicator: Any, threads: int, path: str, settings: Sequence[str], how: _How) -> int:
    from pdem.case.restart_checks import set_folder
    from pdem.simulation.ranks import on_first

    groups: list[Any] = []
    held = on_first(communicator, lambda: _read(path, groups))
    case = held.case()
    set_folder(case, held.path.parent)
    for assignment in settings:
        case.override(assignment)
    return _go_on(communicator, threads, held, case, groups, how)


def _run_on(communicator: Any, threads: int, path: str, settings: Sequence[str], how: _How) -> int:
    """Go on with the run of a case that its output folder holds, or begin it."""
    from pdem.simulation.ranks import check_same, on_first

    groups: list[Any] = []
    case = read_case(path, settings)
    held, begun = on_first(communicator, lambda: _find(case, groups))
    if held is None:
        _say_warning(check_same(communicator, case))
        how.check(communicator)
        return _begin(communicator, threads, case, how._replace(overwrite=begun))
    if is_root(communicator) and not how.quiet:
        say(f"going on from {held.path}")
    return _go_on(communicator, threads, held, case, groups, how)


def _find(case: Case, groups: list[Any]) -> tuple[_Held | None, bool]:
    """Return the checkpoint with which to go on, if there is one, or else whether what is there may be overwritten."""
    from pdem.output.run_folder import held_run, require_folder
    from pdem.simulation.output_folder import COMMAND_LINE, holds_same_case, require_same_physics

    folder = case.output.folder
    require_folder(folder)
    there = held_run(folder)
    if there is None or there.checkpoint is None:
        return None, holds_same_case(case)
    held = _read(folder, groups)
    ways = f"{COMMAND_LINE.overwrite} begins anew, {COMMAND_LINE.other_folder} writes elsewhere"
    require_same_physics(held.case(), case, str(there), ways)
    return held, False


def _read(path: str, groups: list[Any]) -> _Held:
    """Read a checkpoint, or the newest of a folder, its state into `groups`."""
    from pdem.cli.places import require_results
    from pdem.output.origin import warning_about
    from pdem.simulation.inputs import case_of, checkpoint_at

    require_results(path, "restart")
    checkpoint = checkpoint_at(path)
    case, writer = case_of(checkpoint), checkpoint.attributes.get("pdem", VERSION)
    other = f"{checkpoint.path}: written by pdem {writer}, this is {VERSION}: results may differ in their last bits"
    origin = warning_about(checkpoint.attributes)
    warnings = [
        *checkpoint.warnings, *([] if writer == VERSION else [other]), *([f"restart: {origin}"] if origin else []),
    ]  # fmt: skip
    groups.append(checkpoint.groups)
    step = int(checkpoint.groups["counters"]["step"])
    text = case.to_toml()
    return _Held(checkpoint.path, text, str(case.directory), step, [f"warning: {one}" for one in warnings])


def _check(begins: RestartPoint, then: Case, case: Case, groups: list[Any], overwrite: bool) -> list[str]:
    """Refuse what cannot go on, or would lose something; return what the user should know."""
    from pdem.case.restart_checks import moved_walls
    from pdem.simulation.driven_walls import GROUP
    from pdem.simulation.output_folder import check_continued, check_unoccupied, is_same_folder

    time = begins.step * case.resolved_step()
    notes = [str(one) for one in moved_walls(then, case, time, groups[0], GROUP)]
    if is_same_folder(case.output.folder, begins.folder):
        notes += check_continued(begins, case, overwrite=overwrite)
    elif not overwrite:
        check_unoccupied(case.output.folder)
    return notes


def _nothing(text: str) -> None:
    """Say nothing: this is not the first rank."""


def _go_on(communicator: Any, threads: int, held: _Held, case: Case, groups: list[Any], how: _How) -> int:
    """Take the steps of a case from a checkpoint on; `groups` has its state on the first rank, and is emptied."""
    from pdem.case.differences import physical_differences
    from pdem.case.restart_checks import check_continuable, check_end
    from pdem.simulation.engine import RestartPoint
    from pdem.simulation.ranks import check_same, on_first, stop_if_signalled
    from pdem.simulation.rebase_ledger import rebase_ledger
    from pdem.simulation.simulation import Simulation

    then = held.case()
    begins = RestartPoint(held.path.parent, then, held.step)
    check_continuable(then, case)
    _say_warning(check_same(communicator, case))
    tell = say if is_root(communicator) else _nothing
    changes = physical_differences(then, case)
    for key, old, new in changes:
        tell(f"warning: {key} was {old} when the checkpoint was written and is {new} from now on")
    if not check_end(case, held.step, str(held.path)):
        tell(f"{held.path}: the run has reached its end, {case.time.end:g} s; go on with --set time.end=...")
        return 0
    notes = on_first(communicator, lambda: _check(begins, then, case, groups, how.overwrite))
    for note in (*held.warnings, *notes):
        tell(note)
    how.check(communicator)
    load_kernels(communicator, case, threads, how.flag)
    stop_if_signalled(communicator, how.flag)
    simulation = Simulation(case, communicator, threads=threads, state=groups.pop() if groups else None)
    simulation.restart_point = begins
    jump = rebase_ledger(simulation, then) if changes else 0.0
    if jump:
        notes.append(
            f"with the changed case the energy of this state is {jump:+.6g} J another; residual goes on without it"
        )
        tell(notes[-1])
    return how.to_the_end(simulation, [*held.warnings, *notes])
