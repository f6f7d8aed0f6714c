"""``pdem calibrate``: values of a case that reproduce measurements."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pdem.cli.common import collective, echo_to_stderr, is_root, quiet_option, threads_option

if TYPE_CHECKING:
    from collections.abc import Callable

_NOT_FOUND = 1


@click.command(short_help="Find values of a case that fit measurements.")
@click.argument("target", metavar="FILE|FOLDER", type=click.Path())
@click.option(
    "--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Number of runs at the same time."
)
@threads_option
@quiet_option
def calibrate(target: str, jobs: int, threads: int | None, quiet: bool) -> int:
    """Find the values of a case for which measures meet given targets, with their errors.

    FILE names the case, ranges of values, measures and targets (pdem new repose_calibration, pdem explain calibrate).
    FOLDER is the folder of an earlier calibration, which is continued. A scan of the whole ranges is followed by runs
    at the most informative values. Runs that exist are not repeated. The exit code is 1 if the targets are not reached,
    or if they leave a value unknown.
    """
    return collective(partial(_calibrate, target, jobs, threads, quiet), threads)


def _calibrate(target: str, jobs: int, threads: int | None, quiet: bool, communicator: Any, own: int) -> int:
    from pdem.engine.ranks import on_first
    from pdem.foundation.errors import InputError
    from pdem.sweeps.calibration import play_calibration
    from pdem.sweeps.sections import CalibrationPlan
    from pdem.sweeps.setup import read_setup

    if communicator is not None and communicator.size > 1 and jobs > 1:
        raise InputError(f"--jobs {jobs} on {communicator.size} ranks: leave one of both away")
    setup = on_first(communicator, lambda: read_setup(CalibrationPlan, Path(target)))
    tell: Callable[[str], object] = echo_to_stderr if is_root(communicator) and not quiet else (lambda text: None)
    done = play_calibration(setup, jobs, communicator, threads if jobs > 1 else own, tell)
    if is_root(communicator):
        click.echo(str(done))
        click.echo(f"tables and report in {done.folder}")
    return 0 if done.converged else _NOT_FOUND
