"""``pdem bench``: the throughput of this machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pdem.cli.start import collective, is_root, load_kernels, say, threads_option

if TYPE_CHECKING:
    from collections.abc import Sequence


@click.command(short_help="Measure the speed of this machine.")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--steps", type=click.IntRange(min=1), help="Steps to measure; by default about a few seconds.")
@click.option(
    "--peer",
    type=click.Choice(["lammps"]),
    help="Also run this code from the same start, part by part in alternation, one core each.",
)
@click.option("--json", "file", type=click.Path(), help="Also write everything to this file.")
@threads_option
def bench(
    names: tuple[str, ...], steps: int | None, peer: str | None, file: str | None, threads: int | None
) -> int:
    """Measure particle-steps per second, phase by phase, on fixed cases; all of them unless named.

    dense-bed (8,192 particles of one size under gravity), dense-bed-100k, polydisperse-10 and -50 (ratio of
    the largest to the smallest radius), mixer (where its settled bed is on disk): under mpirun on all ranks.
    detection: the making of lists alone, for several methods, numbers of particles and size ratios, on one rank.

    --peer lammps: LAMMPS beside it, by the same law and by its fastest one, with the fastest of several settings
    of its neighbour lists; where a case has what LAMMPS has. On one rank and one thread.
    """
    own_threads = 1 if peer is not None and threads is None else threads
    return collective(
        lambda communicator, own: _bench(communicator, own, names, steps, peer, file), own_threads
    )


def _bench(
    communicator: Any,
    threads: int,
    names: Sequence[str],
    steps: int | None,
    peer: str | None,
    file: str | None,
) -> int:
    from pdem.output.log import environment
    from pdem.simulation.bench import outcomes
    from pdem.simulation.bench_cases import Skipped, check_names, names_of_cases
    from pdem.simulation.peers import outcomes_beside, require_peer

    if peer is not None:
        require_peer(peer, communicator, threads)
    speaks = is_root(communicator)
    chosen = check_names(names) or names_of_cases()
    load_kernels(communicator, None, threads)
    found = environment()
    ranks = 1 if communicator is None else communicator.size
    if speaks:
        versions = "  ".join(f"{name} {found[name]}" for name in ("pdem", "python", "numpy", "numba"))
        click.echo(f"{found['cpu']}  {versions}\n{ranks} ranks x {threads} threads")
    results: list[dict[str, Any]] = []
    for name in chosen:
        try:
            measured = (
                outcomes(name, communicator, threads, steps) if peer is None else outcomes_beside(name, steps)
            )
            for outcome in measured:
                results.append(outcome.as_dict())
                if speaks:
                    click.echo(str(outcome))
        except Skipped as reason:
            if speaks:
                say(f"{name}: skipped: {reason}")
    if speaks and file is not None:
        _write(file, {"environment": found, "ranks": ranks, "threads": threads, "results": results})
    return 0


def _write(file: str, document: dict[str, Any]) -> None:
    from pdem.foundation.errors import InputError

    try:
        Path(file).write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"{file}: cannot be written ({error.strerror}); name another file") from None
