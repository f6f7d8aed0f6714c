"""``pdem verify``: the benchmarks of papers, and the check of equal bits."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pdem.cli.common import collective, echo_to_stderr, load_kernels, threads_option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pdem.verification.study import Study

_OUT_OF_TOLERANCE = 1


@click.command(short_help="Rerun the papers' benchmarks.")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--list", "listed", is_flag=True, help="Show the studies.")
@click.option("--full", is_flag=True, help="Also the long runs, which take from minutes to hours.")
@click.option(
    "--folder",
    default="results/verify",
    show_default=True,
    type=click.Path(path_type=Path),
    help="Where plots and runs go.",
)
@threads_option
def verify(names: tuple[str, ...], listed: bool, full: bool, folder: Path, threads: int | None) -> int:
    """Rerun the benchmarks of the papers that pdem implements; all of them unless named.

    Prints what was computed beside what was published or is predicted, and draws it. The exit code is 1 if
    anything is outside its tolerance. Started on one rank; `bits` starts others itself.
    """
    return collective(
        lambda communicator, own: _verify(communicator, own, names, listed, full, folder), threads
    )


@click.command("play-cells", hidden=True)
@click.argument("plan", type=click.Path(path_type=Path))
@threads_option
def run_variants(plan: Path, threads: int | None) -> int:
    """Run a case in several ways on these ranks: what `pdem verify bits` starts."""
    return collective(lambda communicator, own: _run_variants(communicator, own, plan), threads)


def _run_variants(communicator: Any, threads: int, plan: Path) -> None:
    from pdem.verification.bits_variants import run_plan

    load_kernels(communicator, None, threads)
    run_plan(communicator, plan)


def _verify(
    communicator: Any, threads: int, names: Sequence[str], listed: bool, full: bool, folder: Path
) -> int:
    from pdem.foundation.errors import InputError
    from pdem.verification.studies import STUDIES, find_study

    if communicator is not None and communicator.size > 1:
        raise InputError(
            f"pdem verify runs on one rank, and was started on {communicator.size}: leave mpirun away"
        )
    if listed:
        for study in STUDIES:
            click.echo(f"{study.name:<8}{study.title}")
        return 0
    chosen = [find_study(name) for name in names] or list(STUDIES)
    load_kernels(communicator, None, threads)
    failed = [_run(study, threads, full, folder) for study in chosen]
    return _OUT_OF_TOLERANCE if any(failed) else 0


def _run(study: Study, threads: int, full: bool, folder: Path) -> int:
    """Run a study and print its tables; return the number of findings outside their tolerance."""
    from pdem.verification.study import Notebook

    click.echo(f"{study.name}: {study.title}\n")
    notebook = Notebook(folder / study.name, full, threads)
    failed = 0
    for table in study.run(notebook):
        click.echo(f"{table}\n")
        failed += table.failed
    for path in notebook.plots:
        click.echo(f"wrote {path}")
    if failed:
        echo_to_stderr(f"{study.name}: {failed} findings are outside their tolerance")
    return failed
