"""``pdem bench``: the throughput of this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from pdem.cli.start import collective, is_root, load_kernels, say, threads_option

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.benchmark.kept_results import Kept


@click.command(short_help="Measure the speed of this machine.")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--steps", type=click.IntRange(min=1), help="Steps to measure; by default about a few seconds.")
@click.option(
    "--peer",
    type=click.Choice(["lammps"]),
    help="Also run this code from the same start, part by part in alternation, one core each.",
)
@click.option("--json", "file", type=click.Path(), help="Also write everything to this file.")
@click.option(
    "--keep",
    metavar="FOLDER",
    type=click.Path(file_okay=False),
    help="Also write it to a new file of this folder, and compare as --against does.",
)
@click.option(
    "--against",
    metavar="FOLDER",
    type=click.Path(exists=True, file_okay=False),
    help="Compare with the newest results kept there from a machine of this type, on as many ranks and threads.",
)
@threads_option
def bench(
    names: tuple[str, ...],
    steps: int | None,
    peer: str | None,
    file: str | None,
    keep: str | None,
    against: str | None,
    threads: int | None,
) -> int:
    """Measure particle-steps per second, phase by phase, on fixed cases; all but the largest unless named.

    dense-bed (8,192 particles of one size under gravity), dense-bed-100k, polydisperse-10 and -50 (ratio of
    the largest to the smallest radius), mixer (where its settled bed is on disk), hopper (8,000 particles that
    run out of a neck and come back from above): under mpirun on all ranks.
    detection: the making of lists alone, for several methods, numbers of particles and size ratios, on one rank.

    Only when named: dense-bed-1m (983,040 particles, 2 GB) and mesh-million (10,000 particles on a plate of
    1,002,528 triangles, 2 GB); both take some minutes.

    Of dense beds it also shows what the machine could do at most, by loops that only move or only compute numbers.

    --peer lammps: LAMMPS beside it, by the same law and by its fastest one, with the fastest of several settings
    of its neighbour lists; where a case has what LAMMPS has. On one rank and one thread.
    """
    own_threads = 1 if peer is not None and threads is None else threads
    wish = _Wish(names, steps, peer, file, keep, against)
    return collective(lambda communicator, own: _bench(communicator, own, wish), own_threads)


class _Wish(NamedTuple):
    """What is measured, and where results go."""

    names: tuple[str, ...]
    steps: int | None
    peer: str | None
    file: str | None
    keep: str | None
    against: str | None

    def command(self, ranks: int, threads: int) -> str:
        """Return what was asked for, without the names of files."""
        words = [*([f"mpirun -n {ranks}"] if ranks > 1 else []), "pdem bench", *self.names]
        words += [] if self.steps is None else [f"--steps {self.steps}"]
        words += [] if self.peer is None else [f"--peer {self.peer}"]
        return " ".join([*words, f"--threads {threads}"])


def _bench(communicator: Any, threads: int, wish: _Wish) -> int:
    from pdem.benchmark.cases import check_names, default_names
    from pdem.benchmark.kept_results import document_of, read_kept
    from pdem.benchmark.lammps.comparison import require_peer
    from pdem.output.log import environment
    from pdem.output.summary import counted
    from pdem.simulation.ranks import on_first

    if wish.peer is not None:
        require_peer(wish.peer, communicator, threads)
    chosen = check_names(wish.names) or default_names()
    before = on_first(
        communicator,
        lambda: [one for folder in {wish.keep, wish.against} if folder for one in read_kept(folder)],
    )
    load_kernels(communicator, None, threads)
    found, ranks = environment(), 1 if communicator is None else communicator.size
    if is_root(communicator):
        versions = "  ".join(f"{name} {found[name]}" for name in ("pdem", "python", "numpy", "numba"))
        click.echo(f"{found['cpu']}  {versions}\n{counted(ranks, 'rank')} x {counted(threads, 'thread')}")
    results = [one for name in chosen for one in _measured(communicator, threads, wish, name)]
    if is_root(communicator):
        _finish(document_of(found, wish.command(ranks, threads), ranks, threads, results), before, wish)
    return 0


def _measured(communicator: Any, threads: int, wish: _Wish, name: str) -> Iterator[dict[str, Any]]:
    """Measure a case, show what it shows, and yield it for files."""
    from pdem.benchmark.cases import Skipped
    from pdem.benchmark.lammps.comparison import outcomes_beside
    from pdem.benchmark.measure import outcomes

    try:
        for outcome in (
            outcomes(name, communicator, threads, wish.steps)
            if wish.peer is None
            else outcomes_beside(name, wish.steps)
        ):
            if is_root(communicator):
                click.echo(str(outcome))
            yield outcome.as_dict()
    except Skipped as reason:
        if is_root(communicator):
            say(f"{name}: skipped: {reason}")


def _finish(document: dict[str, Any], before: list[Kept], wish: _Wish) -> None:
    """Compare with what was kept, and write."""
    from pdem.benchmark.kept_results import compared, keep
    from pdem.output.storage import write_json

    for line in compared(document, before):
        click.echo(line)
    if wish.file is not None:
        write_json(Path(wish.file), document)
    if wish.keep is not None:
        click.echo(f"kept in {keep(wish.keep, document)}")
