"""``pdem branch``: a finished run from a stage on, with other values."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from pdem.cli.common import (
    collective,
    echo_to_stderr,
    is_root,
    load_kernels,
    quiet_option,
    settings_option,
    threads_option,
)
from pdem.cli.result_paths import require_results

if TYPE_CHECKING:
    from collections.abc import Callable


@click.command(short_help="Compute the rest of a run from a stage on with other values.")
@click.argument("folder", type=click.Path())
@click.option("--at", required=True, metavar="STAGE", help="Name of the first stage that may differ.")
@click.option("-o", "--output", type=click.Path(), help="New folder; by default FOLDER-STAGE beside the run.")
@settings_option
@threads_option
@quiet_option
def branch(
    folder: str, at: str, output: str | None, settings: tuple[str, ...], threads: int | None, quiet: bool
) -> int:
    """Compute the rest of a finished run from a stage on, with values changed by --set, in a new folder.

    The branch begins with the state in which that stage began, on any number of ranks, and has the bits of a complete
    run of the changed case. --set may change only values that act from this stage on.
    """

    def plan() -> Any:
        from pdem.replays.branch import branch_plan
        from pdem.run.files.folder_use import COMMAND_LINE

        require_results(folder, "branch")
        return branch_plan(folder, at, settings, output, COMMAND_LINE)

    return collective(partial(_branch, plan, quiet), threads)


def _branch(prepare: Callable[[], Any], quiet: bool, communicator: Any, threads: int) -> int:
    from pdem.engine.ranks import on_first
    from pdem.output.run_status import CompilingStatus
    from pdem.replays.branch import run_branch
    from pdem.run.files.folder_use import COMMAND_LINE

    plan = on_first(communicator, prepare)
    if is_root(communicator) and not quiet:
        for note in (f"going on from {plan.start}", *plan.notes):
            echo_to_stderr(note)
    with CompilingStatus(plan.case().output.folder) if is_root(communicator) else nullcontext() as kernels:
        load_kernels(communicator, plan.case(), threads, status=kernels)
        run_branch(plan, communicator, threads, quiet=quiet, commands=COMMAND_LINE)
    return 0
