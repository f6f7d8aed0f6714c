"""``pdem slurm``: a batch script for a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from pdem.cli.common import echo_to_stderr, serial, settings_option

if TYPE_CHECKING:
    from pdem.scaling.batch_scripts import BatchJob


@click.command(short_help="Write a batch script for Slurm.")
@click.argument("case", type=click.Path())
@click.option("--nodes", default=1, show_default=True, help="Number of nodes.")
@click.option(
    "--tasks", required=True, type=int, help="Number of ranks on all nodes together; a multiple of the nodes."
)
@click.option("--threads", default=1, show_default=True, help="Threads, and therefore cores, of each rank.")
@click.option("--time", required=True, help="Time limit in the format of Slurm: 90 (minutes), 12:00:00, 2-00.")
@click.option(
    "--kind",
    metavar="[mpi|hybrid|strong|weak|requeue]",
    help="mpi: a run with one thread per rank; hybrid: with several (the default follows from --threads). strong, "
    "weak: an array of jobs on 1, 2, 4 ... ranks. requeue: a job that queues again until the run ends.",
)
@click.option(
    "--warning",
    default=300,
    show_default=True,
    help="With requeue: seconds before the time limit at which the run receives the signal to write a checkpoint.",
)
@settings_option
@click.option("--output", "file", type=click.Path(), help="File to write; by default standard output.")
def slurm(
    case: str,
    nodes: int,
    tasks: int,
    threads: int,
    time: str,
    kind: str | None,
    warning: int,
    settings: tuple[str, ...],
    file: str | None,
) -> int:
    """Write a batch script that runs a case; this works without Slurm.

    With --kind weak a setting may depend on the number of ranks: --set 'domain.upper=[0.1, 0.1, {0.1*ranks}]'.
    """

    def work() -> None:
        from pdem.scaling.batch_scripts import BatchJob

        chosen = kind or ("mpi" if threads == 1 else "hybrid")
        _write(case, BatchJob(chosen, nodes, tasks, threads, time, warning), settings, file)

    return serial(work)


def _write(case: str, job: BatchJob, settings: tuple[str, ...], file: str | None) -> None:
    from pdem.foundation.errors import InputError
    from pdem.foundation.files import write_file
    from pdem.output.saving import saving
    from pdem.scaling.batch_scripts import batch_script

    text = batch_script(case, job, settings)
    if file is None:
        click.echo(text, nl=False)
        return
    path = Path(file)
    with saving(path, "name another file"):
        if path.exists() and path.read_text(encoding="utf-8", errors="replace") != text:
            raise InputError(f"{file}: exists already with other content; remove it or name another file")
        write_file(path, text)
        path.chmod(0o755)
    echo_to_stderr(f"wrote {file}; next: sbatch {file}")
