"""``pdem verify``: comparison with papers, processes and laws, and the check of equal bits."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pdem.cli.common import collective, echo_to_stderr, load_kernels, require_sources, threads_option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pdem.verification.study import Study
    from pdem.verification.summary import Kept

_OUT_OF_TOLERANCE = 1


@click.command(short_help="Repeat validation studies: compare pdem with papers and theories.")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--list", "listed", is_flag=True, help="Show the studies.")
@click.option("--full", is_flag=True, help="Also make the long runs, which take from minutes to a night.")
@click.option(
    "--folder",
    default="results/verify",
    show_default=True,
    type=click.Path(path_type=Path),
    help="Folder for pages, plots and runs.",
)
@threads_option
def verify(names: tuple[str, ...], listed: bool, full: bool, folder: Path, threads: int | None) -> int:
    """Repeat validation studies: benchmarks of papers, processes and laws. NAME is a study or a group; default: all.

    The command prints computed beside published or predicted values, and one table at the end. For each study it writes
    a page with plots into the folder, and summary.md and summary.json of all studies there. The exit code is 1 if
    anything is outside its tolerance. Start it on one rank; `bits` starts more ranks itself. All studies except `bits`
    are in the sources of pdem, and not in a package that is installed without them.
    """
    return collective(lambda communicator, own: _verify(communicator, own, names, listed, full, folder), threads)


@click.command("play-cells", hidden=True)
@click.argument("plan", type=click.Path(path_type=Path))
@threads_option
def run_variants(plan: Path, threads: int | None) -> int:
    """Run variants of a case on these ranks; started by `pdem verify bits`."""
    return collective(lambda communicator, own: _run_variants(communicator, own, plan), threads)


def _run_variants(communicator: Any, threads: int, plan: Path) -> None:
    from pdem.verification.bits_variants import run_plan

    load_kernels(communicator, None, threads)
    run_plan(communicator, plan)


def _verify(communicator: Any, threads: int, names: Sequence[str], listed: bool, full: bool, folder: Path) -> int:
    from pdem.foundation.errors import InputError
    from pdem.output.pictures.figure import empty_figure
    from pdem.verification import summary

    if communicator is not None and communicator.size > 1:
        raise InputError(f"pdem verify runs on one rank, and was started on {communicator.size}: leave mpirun away")
    chosen = _studies_of(names)
    if listed:
        for study in chosen:
            click.echo(f"{study.group:<10}{study.name:<16}{'--full' if study.long else '':<8}{study.title}")
        return 0
    empty_figure(1.0, 1.0)  # raises an error before hours of work if matplotlib is missing
    if left_out := [] if full else [study.name for study in chosen if study.long]:
        echo_to_stderr(f"{', '.join(left_out)}: only with --full, since they take hours")
        chosen = [study for study in chosen if study.name not in left_out]
    summary.read(folder)
    load_kernels(communicator, None, threads)
    kept = [_run(study, threads, full, folder) for study in chosen]
    click.echo(summary.table_text(kept))
    click.echo(f"wrote {folder / summary.PAGE_OF_ALL}")
    return _OUT_OF_TOLERANCE if any(one.failed for one in kept) else 0


def _studies_of(names: Sequence[str]) -> list[Study]:
    """Return the studies with these names or groups, all without names; an installed package has only `bits`."""
    from pdem.verification.bits import STUDY

    if list(names) == [STUDY.name]:
        return [STUDY]
    require_sources("validation", f", except for the study {STUDY.name},")
    from validation.studies import find_studies

    return find_studies(names)


def _run(study: Study, threads: int, full: bool, folder: Path) -> Kept:
    """Run a study, print its tables and write its page; a study that fails does not stop the following studies."""
    from pdem.foundation.errors import Interrupted, PdemError
    from pdem.verification import summary
    from pdem.verification.study import Notebook

    click.echo(f"{study.name}: {study.title}\n")
    notebook, kept = Notebook(folder / study.name, full, threads), summary.Kept.of(study, full, threads)
    begin = time.perf_counter()
    try:
        for result in study.run(notebook):
            click.echo(f"{result}\n")
            kept.add(result)
    except Interrupted:
        raise
    except PdemError as error:
        kept.trouble = str(error)
        echo_to_stderr(f"{study.name}: {error}")
    kept.seconds = time.perf_counter() - begin + notebook.earlier
    kept.plots = [path.relative_to(notebook.folder).as_posix() for path in notebook.plots]
    summary.write(kept, folder)
    for path in notebook.plots:
        click.echo(f"wrote {path}")
    if kept.failed:
        echo_to_stderr(f"{study.name}: {kept.failed} findings are outside their tolerance")
    return kept
