"""``pdem replay``: an interval of a finished run, computed again."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from pdem.cli.common import (
    collective,
    earlier_option,
    echo_to_stderr,
    is_root,
    load_kernels,
    quiet_option,
    settings_option,
    threads_option,
)
from pdem.cli.result_paths import require_results

if TYPE_CHECKING:
    from pdem.replays.replay import Request

_DIFFERENT = 1


@click.command(short_help="Compute an interval of a finished run again, with more output.")
@click.argument("folder", type=click.Path())
@click.option("--from", "begin", type=float, help="First time of the output, in s.")
@click.option("--to", "end", type=float, help="Last time of the output, in s.")
@click.option(
    "--blow-up",
    type=click.IntRange(min=1),
    metavar="STEPS",
    help="In place of --from and --to: the last STEPS steps of a run that blew up, and the contact that caused it.",
)
@click.option(
    "--snapshots-every", type=float, help="Interval of the snapshots, in s; by default that of the original run."
)
@click.option("--contacts", is_flag=True, help="Also write all contacts, at the times of the snapshots.")
@click.option("-o", "--output", type=click.Path(), help="New folder; by default FOLDER-replay beside the run.")
@settings_option
@threads_option
@quiet_option
@earlier_option("--fields-every", "--snapshots-every")
def replay(
    folder: str,
    begin: float | None,
    end: float | None,
    blow_up: int | None,
    snapshots_every: float | None,
    contacts: bool,
    output: str | None,
    settings: tuple[str, ...],
    threads: int | None,
    quiet: bool,
) -> int:
    """Compute an interval of a finished run again, from the checkpoint before it, on any number of ranks.

    The replay continues to the next state with a digest of the run, and reports whether the motion is the same, bit for
    bit. --set may change outputs and sensors, but nothing that changes the motion. The exit code is 1 if the motion
    differs. --blow-up 20 shows the end of a run that blew up: snapshots and contacts of each step, and the contact that
    caused it.
    """
    from pdem.replays.replay import Request

    if (blow_up is None) == (begin is None) or (begin is None) != (end is None):
        raise click.UsageError("give both --from and --to, or --blow-up STEPS")
    if blow_up is not None and (contacts or snapshots_every is not None):
        raise click.UsageError("--blow-up writes snapshots and contacts of each step: leave out their options")
    request = Request(folder, begin or 0.0, end or 0.0, output, snapshots_every, contacts, settings)
    work = partial(_replay, request, quiet) if blow_up is None else partial(_blow_up, request, blow_up, quiet)
    return collective(work, threads)


def _blow_up(request: Request, steps: int, quiet: bool, communicator: Any, threads: int) -> int:
    from pdem.engine.ranks import on_first
    from pdem.replays.blow_up import replay_blow_up

    on_first(communicator, lambda: require_results(request.folder, "replay"))
    done = replay_blow_up(
        request.folder, output=request.output, steps=steps, settings=request.settings, comm=communicator,
        threads=threads, quiet=quiet,
    )  # fmt: skip
    _show(communicator, str(done))
    return 0


def _show(communicator: Any, text: str) -> None:
    if is_root(communicator):
        for line in text.splitlines():
            echo_to_stderr(line)


def _replay(request: Request, quiet: bool, communicator: Any, threads: int) -> int:
    from pdem.engine.ranks import on_first
    from pdem.replays.replay import plan_of, replay_plan
    from pdem.run.files.folder_use import UserCommands
    from pdem.run.files.output_folder import check_free

    def prepare() -> Any:
        require_results(request.folder, "replay")
        plan = plan_of(request)
        commands = UserCommands("pdem restart {quoted}", "removing it", "--output")
        check_free(request.target, commands)
        return plan

    plan = on_first(communicator, prepare)
    load_kernels(communicator, plan.case(), threads)
    done = replay_plan(request, plan, communicator, threads, quiet=quiet)
    _show(communicator, str(done))
    return _DIFFERENT if done.other else 0
