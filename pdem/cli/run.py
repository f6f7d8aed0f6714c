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
    from pdem.output.checkpoint import Checkpoint
    from pdem.simulation.simulation import Simulation
    from pdem.simulation.trace import Trace

# Keys that a restart may change without changing what is simulated.
_HARMLESS = ("title", "time.end", "output.", "decomposition.", "detection.", "limits.")


@click.command(short_help="Run a case.")
@click.argument("case", type=click.Path())
@settings_option
@threads_option
@quiet_option
@trace_options
def run(
    case: str,
    settings: tuple[str, ...],
    threads: int | None,
    quiet: bool,
    trace: str | None,
    trace_steps: int,
) -> int:
    """Run a case from its beginning; under mpirun on all its ranks, with the same results."""
    with _listening() as flag:  # from the very beginning: a warning may come while kernels are compiled
        how = _How(quiet, trace, trace_steps, flag)
        return collective(lambda communicator, own: _run(communicator, own, case, settings, how), threads)


@click.command(short_help="Continue a run from a checkpoint.")
@click.argument("checkpoint", type=click.Path())
@settings_option
@threads_option
@quiet_option
@trace_options
def restart(
    checkpoint: str,
    settings: tuple[str, ...],
    threads: int | None,
    quiet: bool,
    trace: str | None,
    trace_steps: int,
) -> int:
    """Continue a run, bit for bit, from a checkpoint or from the newest one in an output folder.

    On any number of ranks; with --set time.end=... beyond its former end.
    """
    with _listening() as flag:
        how = _How(quiet, trace, trace_steps, flag)
        return collective(
            lambda communicator, own: _restart(communicator, own, checkpoint, settings, how), threads
        )


class _How(NamedTuple):
    """How to run, apart from the case: what the terminal shows, the trace, who listens to signals."""

    quiet: bool
    trace: str | None
    trace_steps: int
    flag: SignalFlag

    def check(self, communicator: Any) -> None:
        """Refuse a trace that cannot be written, before anything long. Collective."""
        from pdem.simulation.distributed import on_first

        trace = self._trace()
        if trace is not None:
            on_first(communicator, trace.check)

    def to_the_end(self, simulation: Simulation, findings: Sequence[Finding]) -> int:
        """Take all steps."""
        from pdem.simulation.run import run as run_to_end

        run_to_end(simulation, quiet=self.quiet, findings=findings, flag=self.flag, trace=self._trace())
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
    from pdem.simulation.distributed import check_same, on_first, stop_if_asked
    from pdem.simulation.simulation import Simulation

    case, flag = read_case(path, settings), how.flag
    _say_warning(check_same(communicator, case))
    how.check(communicator)
    start = _Start()
    ranks = 1 if communicator is None else communicator.size
    found = on_first(communicator, lambda: flag.unless_stopped(lambda: start.prepare(case, ranks, threads)))
    stop_if_asked(communicator, flag)
    findings = found or []
    if is_root(communicator) and not how.quiet:
        say_findings(findings)
    _refuse_errors(case, findings)
    load_kernels(communicator, case, threads, flag)
    stop_if_asked(communicator, flag)
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

    def prepare(self, case: Case, ranks: int, threads: int) -> list[Finding]:
        """Read walls, make particles and return the findings of the checks."""
        from pdem.case.initial import initial_particles
        from pdem.case.preflight import preflight
        from pdem.case.wall_files import read_walls

        self.meshes = read_walls(case)
        self.particles = initial_particles(case, self.meshes)
        return preflight(case, self.particles, self.meshes, ranks, threads)

    def forget(self) -> None:
        """Give the memory back: the simulation has its own."""
        self.particles = self.meshes = None


def _refuse_errors(case: Case, findings: Sequence[Finding]) -> None:
    from pdem.foundation.errors import CaseError

    errors = [finding for finding in findings if finding.level == "error"]
    if errors:
        raise CaseError("\n".join(f"{case.source}: {one.subject}: {one.message}" for one in errors))


def _restart(communicator: Any, threads: int, path: str, settings: Sequence[str], how: _How) -> int:
    from pdem.simulation.distributed import check_same, on_first, stop_if_asked
    from pdem.simulation.simulation import Simulation

    held: list[Checkpoint] = []
    text, directory, step, findings = on_first(communicator, lambda: _read(path, held))
    case, changes = _continued_case(text, directory, settings)
    _say_warning(check_same(communicator, case))
    if is_root(communicator):
        for change in changes:
            say(change)
    if step >= round(case.time.end / case.resolved_step()):
        if is_root(communicator):
            say(f"{path}: the run has reached its end, {case.time.end:g} s; go on with --set time.end=...")
        return 0
    if is_root(communicator):
        say_findings(findings)
    how.check(communicator)
    load_kernels(communicator, case, threads, how.flag)
    stop_if_asked(communicator, how.flag)
    groups = [held.pop().groups if held else None]  # emptied by the call: the run has no use for it later
    return how.to_the_end(Simulation(case, communicator, threads=threads, state=groups.pop()), findings)


def _read(path: str, held: list[Checkpoint]) -> tuple[str, str, int, list[Finding]]:
    """Read a checkpoint into `held`; return text and folder of its case, its step, and what users should know."""
    from pdem.case.findings import Finding
    from pdem.cli.places import require_results
    from pdem.output.checkpoint import read_checkpoint
    from pdem.output.checkpoint_folder import latest_checkpoint
    from pdem.output.origin import warning_about
    from pdem.simulation.simulation import case_of

    require_results(path, "restart")
    checkpoint = latest_checkpoint(path) if Path(path).is_dir() else read_checkpoint(path)
    writer = checkpoint.attributes.get("pdem", VERSION)
    other = f"{checkpoint.path}: written by pdem {writer}, this is {VERSION}: results may differ in their last bits"
    for warning in (*checkpoint.warnings, *([] if writer == VERSION else [other])):
        say(f"warning: {warning}")
    case = case_of(checkpoint)
    held.append(checkpoint)
    warning = warning_about(checkpoint.attributes)
    findings = [Finding("warning", "restart", warning)] if warning else []
    return case.to_toml(), str(case.directory), int(checkpoint.groups["counters"]["step"]), findings


def _continued_case(text: str, directory: str, settings: Sequence[str]) -> tuple[Case, list[str]]:
    """Return the case of a checkpoint with the changes of the user, and a warning for each that changes the physics.

    Raises
    ------
    CaseError
        If a change is not valid, or changes the time step.
    """
    from pdem.case.differences import differences
    from pdem.case.model import Case
    from pdem.foundation.errors import CaseError

    case, then = Case.from_text(text, directory), Case.from_text(text, directory)
    before = case.resolved_step()
    for assignment in settings:
        case.override(assignment)
    if case.resolved_step() != before:
        raise CaseError(
            f"a restart keeps its time step of {before:.6g} s and --set would make it "
            f"{case.resolved_step():.6g} s; set time.step={before!r} as well, "
            "or begin a new run with the checkpoint as the file of its particles"
        )
    changes = [
        f"warning: {key} was {old} when the checkpoint was written and is {new} from now on"
        for key, old, new in differences(then, case)
        if not key.startswith(_HARMLESS) or key.startswith("detection.wall")
    ]
    return case, changes
