"""``pdem bench``: benchmarks of this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from pdem.cli.common import collective, echo_to_stderr, is_root, load_kernels, require_sources, threads_option

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.benchmark.earlier_results import ResultFile
    from pdem.benchmark.measure import Outcome


@click.command(short_help="Measure the speed of this machine.")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option(
    "--steps", type=click.IntRange(min=1), help="Number of steps to measure; by default enough for a few seconds."
)
@click.option(
    "--peer",
    type=click.Choice(["lammps", "liggghts"]),
    help="Also run this code from the same state, in alternation, on one core each.",
)
@click.option(
    "--energies/--no-energies",
    default=True,
    help="Whether contacts keep account of energies, as they do in a run by default, or not, as in the peers; "
    "those of models always do.",
)
@click.option("--json", "file", type=click.Path(), help="Also write everything to this file.")
@click.option(
    "--keep",
    metavar="FOLDER",
    type=click.Path(file_okay=False),
    help="Also write the results to a new file in this folder, and compare as --against does.",
)
@click.option(
    "--against",
    metavar="FOLDER",
    type=click.Path(exists=True, file_okay=False),
    help="Compare with the newest results in this folder of the same type of machine, ranks and threads.",
)
@threads_option
def bench(
    names: tuple[str, ...],
    steps: int | None,
    peer: str | None,
    energies: bool,
    file: str | None,
    keep: str | None,
    against: str | None,
    threads: int | None,
) -> int:
    """Measure particle-steps per second, phase by phase, in fixed cases; without NAME in all cases of the first group.

    These cases run under mpirun on all ranks: dense-bed (8,192 particles of one size under gravity), dense-bed-100k,
    polydisperse-10 and -50 (ratio of the largest to the smallest radius), mixer (if its settled bed is on disk), hopper
    (8,000 particles that run out through a neck and enter again at the top). The case detection measures only the
    building of neighbour lists, for several methods, numbers of particles and size ratios, on one rank.

    These cases run only if they are named: dense-bed-1m (983,040 particles, 2 GB) and mesh-million (10,000 particles on
    a plate of 1,002,528 triangles, 2 GB), which take some minutes each; models (the cost per contact of each model of
    rolling, twisting, adhesion and plastic contacts beyond elastic spheres with friction; compiles each law first);
    clusters-2, -4 and -8 (a rotating drum with 20,000 rigid clusters of 2, 4 or 8 spheres); polydisperse-bed-10 (19,849
    spheres of size ratio 10 at rest under gravity, after a minute of settling); bladed-drum (30,000 spheres thrown by
    the four helical blades of a fast drum, 2,472 triangles; its start takes a minute or two).

    For dense beds the command also shows the limits of the machine, measured by loops that only move or only compute
    numbers.

    --peer lammps runs LAMMPS from the same state, with the same contact law and with its fastest law, and with the
    fastest of several settings of its neighbour lists, if LAMMPS can run the case. --peer liggghts does the same with
    LIGGGHTS, also for meshed walls; it inserts clusters at random positions and lets them fall. Both use one rank and
    one thread, and need the sources of pdem.
    """
    own_threads = 1 if peer is not None and threads is None else threads
    options = _BenchOptions(names, steps, peer, energies, file, keep, against)
    return collective(lambda communicator, own: _bench(communicator, own, options), own_threads)


class _BenchOptions(NamedTuple):
    """Options of `bench`: cases, steps, kind of measurement, result files."""

    names: tuple[str, ...]
    steps: int | None
    peer: str | None
    energies: bool
    file: str | None
    keep: str | None
    against: str | None

    def command(self, ranks: int, threads: int) -> str:
        """Return the command line of a measurement, without file names."""
        words = [*([f"mpirun -n {ranks}"] if ranks > 1 else []), "pdem bench", *self.names]
        words += [] if self.steps is None else [f"--steps {self.steps}"]
        words += [] if self.peer is None else [f"--peer {self.peer}"]
        words += [] if self.energies else ["--no-energies"]
        return " ".join([*words, f"--threads {threads}"])


def _bench(communicator: Any, threads: int, options: _BenchOptions) -> int:
    from pdem.benchmark.cases import check_names, default_names
    from pdem.benchmark.earlier_results import document_of, read_result_files
    from pdem.engine.ranks import on_first
    from pdem.output.log import environment
    from pdem.output.summary import counted

    if options.peer is not None:
        _require_peer(options.peer, communicator, threads)
    chosen = check_names(options.names) or default_names()
    before = on_first(
        communicator,
        lambda: [one for folder in {options.keep, options.against} if folder for one in read_result_files(folder)],
    )
    load_kernels(communicator, None, threads)
    found, ranks = environment(), 1 if communicator is None else communicator.size
    if is_root(communicator):
        versions = "  ".join(f"{name} {found[name]}" for name in ("pdem", "python", "numpy", "numba"))
        click.echo(f"{found['cpu']}  {versions}\n{counted(ranks, 'rank')} x {counted(threads, 'thread')}")
    results = [one for name in chosen for one in _measure_case(communicator, threads, options, name)]
    if is_root(communicator):
        _write_results(document_of(found, options.command(ranks, threads), ranks, threads, results), before, options)
    return 0


def _measure_case(communicator: Any, threads: int, options: _BenchOptions, name: str) -> Iterator[dict[str, Any]]:
    """Measure a case, print its results, and yield the results as dictionaries for files."""
    from pdem.benchmark.cases import SkipCase

    try:
        for outcome in _outcomes(communicator, threads, options, name):
            if is_root(communicator):
                click.echo(str(outcome))
            yield outcome.as_dict()
    except SkipCase as reason:
        if is_root(communicator):
            echo_to_stderr(f"{name}: skipped: {reason}")


def _outcomes(communicator: Any, threads: int, options: _BenchOptions, name: str) -> Iterator[Outcome]:
    """Measure a case, together with a peer code if one is selected."""
    if options.peer is None:
        from pdem.benchmark.measure import outcomes

        return outcomes(name, communicator, threads, options.steps, energies=options.energies)
    require_sources("benchmarks", f" --peer {options.peer}")
    from benchmarks.lammps.comparison import outcomes_with_peer

    return outcomes_with_peer(options.peer, name, options.steps, energies=options.energies)


def _require_peer(name: str, communicator: Any, threads: int) -> None:
    """Check that the peer code and the sources for its comparison are available."""
    require_sources("benchmarks", f" --peer {name}")
    from benchmarks.lammps.comparison import require_peer

    require_peer(name, communicator, threads)


def _write_results(document: dict[str, Any], before: list[ResultFile], options: _BenchOptions) -> None:
    """Print the comparison with earlier results, and write the new results."""
    from pdem.benchmark.earlier_results import comparison_lines, keep
    from pdem.output.saving import write_json

    for line in comparison_lines(document, before):
        click.echo(line)
    if options.file is not None:
        write_json(Path(options.file), document)
    if options.keep is not None:
        click.echo(f"kept in {keep(options.keep, document)}")
