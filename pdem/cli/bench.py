"""``pdem bench``: the throughput of this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from pdem.cli.common import collective, echo_to_stderr, is_root, load_kernels, threads_option

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.benchmark.earlier_results import ResultFile


@click.command(short_help="Measure the speed of this machine.")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--steps", type=click.IntRange(min=1), help="Steps to measure; by default about a few seconds.")
@click.option(
    "--peer",
    type=click.Choice(["lammps", "liggghts"]),
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
    1,002,528 triangles, 2 GB); both take some minutes. models: what each model of rolling, twisting, adhesion and
    plastic contacts costs per contact above elastic spheres with friction; it compiles a law for each at first.
    clusters-2, -4 and -8: a rotating drum with 20,000 rigid clusters of so many spheres. polydisperse-bed-10:
    19,849 spheres of ratio 10 that have come to rest under gravity, which takes a minute. bladed-drum: 30,000
    spheres that four helical blades of a fast drum throw about, 2,472 triangles; its start takes a minute or two.

    Of dense beds it also shows what the machine could do at most, by loops that only move or only compute numbers.

    --peer lammps: LAMMPS beside it, by the same law and by its fastest one, with the fastest of several settings
    of its neighbour lists; where a case has what LAMMPS has. --peer liggghts: the same with LIGGGHTS, also for meshed
    walls; it puts clusters in at random places and lets them fall. On one rank and one thread.
    """
    own_threads = 1 if peer is not None and threads is None else threads
    options = _BenchOptions(names, steps, peer, file, keep, against)
    return collective(lambda communicator, own: _bench(communicator, own, options), own_threads)


class _BenchOptions(NamedTuple):
    """Options of `bench`: cases, steps, files of results."""

    names: tuple[str, ...]
    steps: int | None
    peer: str | None
    file: str | None
    keep: str | None
    against: str | None

    def command(self, ranks: int, threads: int) -> str:
        """Return the command line of a measurement, without names of files."""
        words = [*([f"mpirun -n {ranks}"] if ranks > 1 else []), "pdem bench", *self.names]
        words += [] if self.steps is None else [f"--steps {self.steps}"]
        words += [] if self.peer is None else [f"--peer {self.peer}"]
        return " ".join([*words, f"--threads {threads}"])


def _bench(communicator: Any, threads: int, options: _BenchOptions) -> int:
    from pdem.benchmark.cases import check_names, default_names
    from pdem.benchmark.earlier_results import document_of, read_result_files
    from pdem.benchmark.lammps.comparison import require_peer
    from pdem.output.log import environment
    from pdem.output.summary import counted
    from pdem.simulation.ranks import on_first

    if options.peer is not None:
        require_peer(options.peer, communicator, threads)
    chosen = check_names(options.names) or default_names()
    before = on_first(
        communicator,
        lambda: [
            one for folder in {options.keep, options.against} if folder for one in read_result_files(folder)
        ],
    )
    load_kernels(communicator, None, threads)
    found, ranks = environment(), 1 if communicator is None else communicator.size
    if is_root(communicator):
        versions = "  ".join(f"{name} {found[name]}" for name in ("pdem", "python", "numpy", "numba"))
        click.echo(f"{found['cpu']}  {versions}\n{counted(ranks, 'rank')} x {counted(threads, 'thread')}")
    results = [one for name in chosen for one in _measure_case(communicator, threads, options, name)]
    if is_root(communicator):
        _write_results(
            document_of(found, options.command(ranks, threads), ranks, threads, results), before, options
        )
    return 0


def _measure_case(
    communicator: Any, threads: int, options: _BenchOptions, name: str
) -> Iterator[dict[str, Any]]:
    """Measure a case, print its results and yield them as dictionaries for files."""
    from pdem.benchmark.cases import SkipCase
    from pdem.benchmark.lammps.comparison import outcomes_with_peer
    from pdem.benchmark.measure import outcomes

    try:
        for outcome in (
            outcomes(name, communicator, threads, options.steps)
            if options.peer is None
            else outcomes_with_peer(options.peer, name, options.steps)
        ):
            if is_root(communicator):
                click.echo(str(outcome))
            yield outcome.as_dict()
    except SkipCase as reason:
        if is_root(communicator):
            echo_to_stderr(f"{name}: skipped: {reason}")


def _write_results(document: dict[str, Any], before: list[ResultFile], options: _BenchOptions) -> None:
    """Print the comparison with earlier results; write the new ones."""
    from pdem.benchmark.earlier_results import comparison_lines, keep
    from pdem.output.storage import write_json

    for line in comparison_lines(document, before):
        click.echo(line)
    if options.file is not None:
        write_json(Path(options.file), document)
    if options.keep is not None:
        click.echo(f"kept in {keep(options.keep, document)}")
