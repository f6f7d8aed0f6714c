"""Functions shared by commands: options, start of the ranks, output to the terminal, exit codes."""

from __future__ import annotations

import sys
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from pdem.foundation.errors import InputError
from pdem.foundation.terminal import ERRORS
from pdem.foundation.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pdem.case.model import Case
    from pdem.foundation.signals import SignalFlag
    from pdem.output.run_status import CompilingStatus
    from pdem.preflight.findings import Finding

    Command = TypeVar("Command", bound=Callable[..., Any])

SOURCES = Path(__file__).resolve().parents[2]
"""The parent folder of the package; it contains `pyproject.toml` only in the sources."""


def settings_option(command: Command) -> Command:
    """Add ``--set KEY=VALUE``, which may be repeated."""
    return click.option(
        "--set",
        "settings",
        metavar="KEY=VALUE",
        multiple=True,
        help="Change a value of the case, for example --set time.end=0.5; may be repeated.",
    )(command)


def threads_option(command: Command) -> Command:
    """Add ``--threads N``."""
    return click.option(
        "--threads",
        type=click.IntRange(min=1),
        help="Threads per rank; default: PDEM_THREADS, or else the cores of the node divided by its ranks.",
    )(command)


def quiet_option(command: Command) -> Command:
    """Add ``--quiet``."""
    return click.option(
        "-q",
        "--quiet",
        is_flag=True,
        help="Show errors alone, no progress, warnings or report; the log contains them all.",
    )(command)


def overwrite_option(text: str) -> Callable[[Command], Command]:
    """Add ``--overwrite`` with a help text."""
    return click.option("--overwrite", is_flag=True, help=text)


def trace_options(command: Command) -> Command:
    """Add ``--trace FILE`` and ``--trace-steps N``."""
    steps = click.option(
        "--trace-steps",
        metavar="N",
        type=click.IntRange(min=1),
        default=200,
        show_default=True,
        help="Number of steps in the trace, from the first step of this run on.",
    )
    file = click.option(
        "--trace",
        metavar="FILE",
        type=click.Path(),
        help="Record what every rank did when, as JSON for Perfetto or chrome://tracing.",
    )
    return file(steps(command))


def earlier_option(old: str, new: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Accept a number of an option by the option's earlier name, which the help does not show."""
    name = new.removeprefix("--").replace("-", "_")

    def accepting(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def renamed(*arguments: Any, earlier_value: float | None, **named: Any) -> Any:
            if earlier_value is not None and named[name] is not None:
                raise click.UsageError(f"{old} is the earlier name of {new}: give {new} alone")
            return command(*arguments, **named | ({} if earlier_value is None else {name: earlier_value}))

        return click.option(old, "earlier_value", type=float, hidden=True)(renamed)

    return accepting


def serial(work: Callable[[], int | None]) -> int:
    """Call `work` on the first rank only, without starting MPI; return the exit code of the process."""
    from pdem.engine.ranks import launch_layout, run_or_abort

    return run_or_abort(work) if launch_layout()[0] == 0 else 0


def collective(work: Callable[[Any, int], int | None], threads: int | None) -> int:
    """Start the ranks and call `work` on all of them; return the exit code of the process.

    Parameters
    ----------
    work : callable
        Called with the communicator (None for one rank) and the number of threads of this rank.
    threads : int or None
        Threads per rank from the user's option; None for the default.
    """
    from pdem.engine import ranks

    started: list[Any] = []
    code = ranks.run_or_abort(lambda: started.append(ranks.communicator(threads)))
    if code or not started:
        return code
    communicator = started[0]

    def on_threads() -> int | None:
        own = ranks.start_threads(communicator, threads)  # before any kernel is called
        code = work(communicator, own)
        ranks.release(communicator)
        return code

    return ranks.run_or_abort(on_threads, communicator)


def read_case(path: str, settings: Sequence[str]) -> Case:
    """Read a case and apply the changes of ``--set``.

    Raises
    ------
    CaseError
        If the case is not valid before or after the changes.
    """
    from pdem.case.model import Case

    case = Case.read(path)
    for assignment in settings:
        case.override(assignment)
    return case


def require_free(target: Path, *, overwrite: bool) -> None:
    """Raise an error if a file exists and must not be overwritten.

    Raises
    ------
    InputError
        If the file exists and `overwrite` is false.
    """
    from pdem.foundation.errors import InputError

    if target.exists() and not overwrite:
        raise InputError(f"{target}: is there already; --overwrite replaces it, -o names another file")


def is_root(communicator: Any) -> bool:
    """Return whether this is rank 0, the only rank that prints."""
    return communicator is None or communicator.rank == 0


def echo_to_stderr(text: str) -> None:
    """Write a line to standard error."""
    ERRORS.line(f"pdem: {text}")


def echo_findings(findings: Sequence[Finding]) -> bool:
    """Write warnings and errors to standard error; return whether there were errors."""
    for finding in findings:
        if finding.level != "info":
            echo_to_stderr(str(finding))
    return any(finding.level == "error" for finding in findings)


def load_kernels(
    communicator: Any,
    case: Case | None,
    threads: int,
    flag: SignalFlag | None = None,
    status: CompilingStatus | None = None,
) -> bool:
    """Load all kernels for a case, or compile them; return whether any was compiled. Collective.

    A stop signal in `flag` ends the compilation early. `status` receives its progress.
    """
    from pdem.run.kernels.prepare_kernels import prepare_kernels
    from pdem.run.simulation import Simulation

    return prepare_kernels(Simulation, communicator, case, threads, flag, status)


def observer_of(text: str) -> Any:
    """Load the observer function given as ``FILE.py:NAME``.

    Raises
    ------
    CaseError, InputError
        If the file cannot be read, or has no such function.
    """
    from pdem.case.python_files import variables_of
    from pdem.foundation.errors import InputError, name_hint

    file, _, name = text.rpartition(":")
    variables = variables_of(Path(file), f"--observer {text}") if file else {}
    if not callable(variables.get(name)):
        names = [key for key, value in variables.items() if callable(value) and not key.startswith("_")]
        hint = name_hint(name, names) if names else "write FILE.py:NAME"
        raise InputError(f"--observer {text}: names no function; {hint}")
    return variables[name]


def require_sources(package: str, part: str = "") -> None:
    """Make a package from the sources of pdem importable, also in processes that this process spawns.

    Parameters
    ----------
    package : str
        Name of the folder of the package.
    part : str
        Part of the present command that needs it, for the error message; by default the whole command.

    Raises
    ------
    InputError
        If pdem is installed without its sources.
    """
    if not ((SOURCES / "pyproject.toml").is_file() and (SOURCES / package / "__init__.py").is_file()):
        command = click.get_current_context().command_path
        raise InputError(
            f"{command}{part} needs the folder {package}/ of the sources of pdem, and {SOURCES} holds the installed "
            f"package alone: unpack polydem-{VERSION}.tar.gz or clone the repository, run `bash scripts/setup` there, "
            "and use the pdem of its .venv"
        )
    if sys.path[:1] != [str(SOURCES)]:
        sys.path.insert(0, str(SOURCES))  # first: other packages of these names may be installed
