"""``pdem sweep``: a case at many points of a design."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from pdem.cli.common import collective, echo_to_stderr, is_root, quiet_option, settings_option, threads_option

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pdem.sweeps.setup import Setup

_FAILED = 1
_DESCRIBING = {
    "vary": "vary", "measures": "measure", "replicas": "replicas", "perturbation": "perturbation", "design": "design",
    "points": "points", "seed": "seed", "at": "at", "settings": "set", "folder": "folder",
}  # fmt: skip
"""Options that describe a sweep, by names of their arguments."""

Command = Any


def design_options(command: Command) -> Command:
    """Add the options for varied quantities and measures."""
    for option in (
        click.option("--perturbation", type=float, help="Fraction by which replicas differ in radii; 1e-12."),
        click.option("--replicas", type=int, help="Number of runs of each point, with slightly different radii."),
        click.option(
            "--measure", "measures", multiple=True, metavar="NAME=MEASURE",
            help="A measure: 'rate={kind=\"discharge-rate\", sensor=\"out\"}', or own=python:FILE.py:NAME.",
        ),
        click.option(
            "--vary", multiple=True, metavar="KEY=VALUES",
            help="A key and its values: KEY=[0.1, 0.2], or KEY={min=0.1, max=0.9}.",
        ),
    ):  # fmt: skip
        command = option(command)
    return command


@click.command(short_help="Run a case with many combinations of values, and measure.")
@click.argument("target", metavar="CASE|FILE|FOLDER", type=click.Path())
@design_options
@click.option(
    "--design",
    type=click.Choice(["grid", "latin-hypercube", "sobol"]),
    help="How points are chosen in ranges of values; by default grid.",
)
@click.option("--points", type=int, help="Number of points (latin-hypercube, sobol).")
@click.option("--seed", type=int, help="Seed of the random numbers (latin-hypercube, sobol).")
@click.option("--at", metavar="STAGE", help="Require that all runs share the time before this stage.")
@click.option("-o", "--folder", type=click.Path(), help="Folder of all results; by default OUTPUT-sweep.")
@settings_option
@click.option(
    "--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Number of runs at the same time."
)
@click.option("--job", type=click.IntRange(min=0), help="Compute only the job of this number (for batch systems).")
@click.option("--table", is_flag=True, help="Run nothing; evaluate and show the runs that exist.")
@click.option(
    "--slurm", metavar="TIME", help="Run nothing; write a batch script with an array of jobs that have this time limit."
)
@click.option(
    "--tasks", type=click.IntRange(min=1), default=1, show_default=True, help="Number of ranks of each job of --slurm."
)
@threads_option
@quiet_option
def sweep(target: str, threads: int | None, quiet: bool, **given: Any) -> int:
    """Run a case with many combinations of values, measure each run, and say which effects are larger than chance.

    \b
      pdem sweep silo.toml --vary 'interactions.grain-grain.friction=[0.2, 0.4, 0.6]' --replicas 3 \\
          --measure 'rate={kind="discharge-rate", sensor="discharge"}' --jobs 4

    A file may contain all this instead (pdem new repose_sweep, pdem explain sweep). The folder of a sweep continues
    that sweep. Runs that exist are not repeated; runs that differ only from a stage on share the time before it. The
    exit code is 1 if a run failed.
    """  # noqa: D301 - click's mark for lines that stay as they are is the character itself
    if given["job"] is not None:
        return collective(partial(_one_job, Path(target), given["job"]), threads)
    return collective(partial(_sweep, target, threads, quiet, given), threads)


def _sweep(target: str, threads: int | None, quiet: bool, given: dict[str, Any], communicator: Any, own: int) -> int:
    from pdem.engine.ranks import on_first
    from pdem.foundation.errors import InputError
    from pdem.sweeps.sweep import play_sweep

    if communicator is not None and communicator.size > 1 and given["jobs"] > 1:
        raise InputError(f"--jobs {given['jobs']} on {communicator.size} ranks: leave one of both away")
    setup: Setup = on_first(communicator, lambda: setup_of_target(target, given))
    if given["slurm"] is not None or given["table"]:
        return on_first(communicator, lambda: _without_runs(setup, threads, given))
    tell: Callable[[str], object] = echo_to_stderr if is_root(communicator) and not quiet else (lambda text: None)
    each = threads if given["jobs"] > 1 else own
    done = play_sweep(setup, given["jobs"], communicator, each, tell)
    if is_root(communicator):
        click.echo(str(done))
        click.echo(f"tables and report in {done.folder}")
    return _FAILED if any(row.state != "finished" for row in done.table.rows) else 0


def _without_runs(setup: Setup, threads: int | None, given: dict[str, Any]) -> int:
    from pdem.run.files.output_folder import writing_into
    from pdem.sweeps.batch import write_batch_script
    from pdem.sweeps.play import outcome_of
    from pdem.sweeps.setup import FOLDER_OF_SWEEP, jobs_of_setup, prepare
    from pdem.sweeps.sweep import finish_sweep

    if given["slurm"] is not None:
        with writing_into(setup.base, None, FOLDER_OF_SWEEP):
            jobs, _ = prepare(setup)
        path = write_batch_script(setup.base, len(jobs), given["slurm"], given["tasks"], threads or 1, given["jobs"])
        script, folder = quote(str(path)), quote(str(setup.base))
        echo_to_stderr(f"wrote {path}; next: sbatch {script}, and then pdem sweep {folder} --table")
        return 0
    jobs, names = jobs_of_setup(setup)
    done = {job.name: one for job in jobs if (one := outcome_of(setup.base, job.name)) is not None}
    click.echo(str(finish_sweep(setup, names, done)))
    return 0


def _one_job(base: Path, number: int, communicator: Any, threads: int) -> int:
    """Compute one job of a sweep, after waiting for its beginning."""
    from pdem.engine.ranks import on_first
    from pdem.foundation.errors import InputError
    from pdem.sweeps.jobs import read_jobs
    from pdem.sweeps.play import FINISHED, play, wait_for

    jobs = on_first(communicator, lambda: read_jobs(base))
    if number >= len(jobs):
        raise InputError(f"--job {number}: {base} has {len(jobs)} jobs, numbered from 0")
    job = jobs[number]
    if job.after:
        before = on_first(communicator, lambda: wait_for(base, job.after))
        if before.state != FINISHED:
            raise InputError(f"{job.name}: its shared beginning failed: {before.message}")
    outcome = play(base, job, communicator, threads)
    if is_root(communicator):
        echo_to_stderr(f"{job.name}: {outcome.state} {outcome.message}".rstrip())
    return 0 if outcome.state == FINISHED else _FAILED


def setup_of_target(target: str, given: dict[str, Any]) -> Setup:
    """Return the setup of a sweep, from a case and options, from a file, or from a folder.

    Raises
    ------
    CaseError, InputError
        If the case, file, folder or options are not valid.
    """
    from pdem.foundation.errors import InputError
    from pdem.sweeps.sections import SweepPlan, read_document
    from pdem.sweeps.setup import read_setup, setup_of

    path = Path(target)
    document = {} if path.is_dir() else read_document(path)
    options = [name for name in _DESCRIBING if given.get(name) not in (None, ())]
    if path.is_dir() or isinstance(document.get("case"), str):
        if options:
            names = ", ".join(f"--{_DESCRIBING[name]}" for name in options)
            raise InputError(f"{target}: says itself what is varied and measured; change it there, leave out {names}")
        return read_setup(SweepPlan, path)
    return setup_of(SweepPlan, document_of(target, given), path.parent / "the command")


def document_of(target: str, given: dict[str, Any]) -> dict[str, Any]:
    """Return the document of a sweep file that is equivalent to the options."""
    from pdem.case.model import Case
    from pdem.foundation.errors import InputError

    if not given["vary"]:
        raise InputError(f"{target}: is a case; say what is varied: --vary 'KEY=[...]' (pdem sweep --help)")
    found: dict[str, Any] = {"case": Path(target).name, "vary": _vary(given["vary"]), "measures": {}}
    for text in given["measures"]:
        name, value = _pair(text, "--measure")
        found["measures"][name] = {"kind": value} if isinstance(value, str) else value
    found["folder"] = given.get("folder") or f"{Case.read(target).output.folder}-sweep"
    found["settings"] = list(given["settings"])
    for key in ("replicas", "perturbation", "design", "points", "seed", "at"):
        if given.get(key) is not None:
            found[key] = given[key]
    return found


def _vary(texts: Sequence[str]) -> dict[str, Any]:
    """Return the sections of the varied keys, named by the last part of the key if it is unique."""
    pairs = [_pair(text, "--vary") for text in texts]
    short = Counter(key.rpartition(".")[2] for key, _ in pairs)
    found = {}
    for key, value in pairs:
        last = key.rpartition(".")[2]
        section = value if isinstance(value, dict) and {"values", "min", "max"} & value.keys() else {"values": value}
        found[last if short[last] == 1 else key] = {"key": key, **section}
    return found


def _pair(text: str, option: str) -> tuple[str, Any]:
    from pdem.case.overrides import value_of
    from pdem.case.python_files import FROM_FILE
    from pdem.foundation.errors import InputError

    key, separator, value = text.partition("=")
    if not separator:
        raise InputError(f"{option} {text}: is written {option} NAME=VALUE")
    if value.strip().startswith(FROM_FILE):
        return key.strip(), value.strip()
    return key.strip(), value_of(value.strip(), key.strip(), option)
