"""``pdem replay``: an interval of a finished run again."""

from __future__ import annotations

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
    from pdem.replay.replay import Request

_DIFFERENT = 1


@click.command(short_help="Run an interval of a finished run again, with more output.")
@click.argument("folder", type=click.Path())
@click.option("--from", "begin", type=float, required=True, help="First time of the output, in s.")
@click.option("--to", "end", type=float, required=True, help="Last time of the output, in s.")
@click.option(
    "--fields-every", type=float, help="Interval of the snapshots, in s; by default that of the run."
)
@click.option("--contacts", is_flag=True, help="Also write all contacts, at the times of the snapshots.")
@click.option(
    "-o", "--output", type=click.Path(), help="New folder; by default OUTPUT-replay beside the run."
)
@settings_option
@threads_option
@quiet_option
def replay(
    folder: str,
    begin: float,
    end: float,
    fields_every: float | None,
    contacts: bool,
    output: str | None,
    settings: tuple[str, ...],
    threads: int | None,
    quiet: bool,
) -> int:
    """Run an interval of a finished run again, from the checkpoint before it, on any number of ranks.

    It goes on to the next state of which the run has a digest, and says whether it is the same motion, bit for bit.
    --set may change outputs and sensors, nothing that changes the motion. Exit code 1 if the motion is another.
    """
    from pdem.replay.replay import Request

    request = Request(folder, begin, end, output, fields_every, contacts, settings)
    return collective(lambda communicator, own: _replay(communicator, own, request, quiet), threads)


def _replay(communicator: Any, threads: int, request: Request, quiet: bool) -> int:
    from pdem.replay.replay import plan_of, replay_plan
    from pdem.simulation.output_folder import UserCommands, check_unoccupied
    from pdem.simulation.ranks import on_first

    def prepare() -> Any:
        require_results(request.folder, "replay")
        plan = plan_of(request)
        commands = UserCommands("pdem restart {quoted}", "removing it", "--output")
        check_unoccupied(request.target, commands)
        return plan

    plan = on_first(communicator, prepare)
    load_kernels(communicator, plan.case(), threads)
    done = replay_plan(request, plan, communicator, threads, quiet=quiet)
    if is_root(communicator):
        for line in str(done).splitlines():
            echo_to_stderr(line)
    return _DIFFERENT if done.other else 0
