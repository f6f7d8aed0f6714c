"""``pdem compare``: comparison of two files bit for bit, and the first difference between two runs."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from pdem.cli.common import collective, is_root, observer_of, serial, threads_option
from pdem.cli.result_paths import require_results


@click.command(short_help="Compare two runs or files bit by bit; find where they begin to differ.")
@click.argument("a", type=click.Path())
@click.argument("b", type=click.Path(), required=False)
@click.option("--time", type=float, help="Simulated time of the snapshots to compare, in s; by default the last.")
@click.option(
    "--first",
    is_flag=True,
    help="Find the first step, particle, contact and column at which the runs of two output folders differ.",
)
@click.option(
    "--observer",
    "observers",
    type=(click.Choice(["a", "b"], case_sensitive=False), str),
    metavar="a|b FILE.py:NAME",
    multiple=True,
    help="With --first: an observer that changed the particles of run a or b; may be repeated.",
)
@click.option(
    "--perturb",
    type=float,
    metavar="FRACTION",
    help="Measure how fast a run of one case or folder separates from one with radii smaller by this fraction, "
    "such as 1e-12.",
)
@click.option("--from", "begin", type=float, help="With --perturb: begin of the comparison, in s.")
@click.option("--to", "end", type=float, help="With --perturb: end of the comparison, in s.")
@click.option("-o", "--output", type=click.Path(), help="With --perturb: table (.csv) or picture to write.")
@threads_option
def compare(a: str, b: str | None, threads: int | None, **given: Any) -> int:
    """Compare two checkpoints or snapshot files, or the newest checkpoints of two folders, bit by bit.

    --first finds where two runs begin to differ. Digests show between which recorded states this is. From the last
    common state both runs are computed again, on any number of ranks, until the step is determined, and the inputs of
    the first contact that differs are shown side by side.

    --perturb runs one case twice, the second time with slightly smaller radii, and measures how fast the two separate.

    The exit code is 0 if the bits are the same, and 1 if not; the command then says where they differ and by how much.
    """
    _check_options(b, given)
    if given["perturb"] is not None:
        return collective(partial(_perturb, a, given), threads)
    assert b is not None
    if given["first"]:
        return collective(partial(_first, a, b, given["observers"]), threads)
    return serial(lambda: _compare(a, b, given["time"]))


def _check_options(b: str | None, given: dict[str, Any]) -> None:
    """Raise an error for contradictory options."""
    perturbs = given["perturb"] is not None
    if perturbs and (b is not None or given["first"]):
        raise click.UsageError("--perturb takes one folder or case, and no --first")
    if not perturbs and b is None:
        raise click.UsageError("give two files or folders; or one with --perturb 1e-12")
    for name, option in (("begin", "--from"), ("end", "--to"), ("output", "-o")):
        if given[name] is not None and not perturbs:
            raise click.UsageError(f"{option} is for --perturb")
    if given["time"] is not None and (given["first"] or perturbs):
        raise click.UsageError("--time is for snapshots; --first and --perturb compare whole runs")
    if given["observers"] and not given["first"]:
        raise click.UsageError("--observer is for --first")


def _compare(a: str, b: str, time: float | None) -> int:
    from pdem.output.compare import compare as compare_files

    for path in (a, b):
        require_results(path, "compare")
    comparison = compare_files(a, b, time)
    click.echo(str(comparison))
    return 0 if comparison.equal else 1


def _first(a: str, b: str, observers: tuple[tuple[str, str], ...], communicator: Any, threads: int) -> int:
    from pdem.engine.ranks import on_first
    from pdem.replays.first_difference import first_difference

    def check() -> None:
        for path in (a, b):
            require_results(path, "compare --first")

    on_first(communicator, check)
    given = tuple([observer_of(text) for run, text in observers if run.lower() == name] for name in "ab")
    found = first_difference(a, b, observers=(given[0], given[1]), comm=communicator, threads=threads)
    if is_root(communicator):
        click.echo(str(found))
    return int(found.found)


def _perturb(path: str, given: dict[str, Any], communicator: Any, threads: int) -> int:
    from pdem.engine.ranks import on_first
    from pdem.replays.forgetting import forgetting

    if not path.endswith(".toml"):
        on_first(communicator, lambda: require_results(path, "compare --perturb"))
    found = forgetting(
        path, size=given["perturb"], begin=given["begin"], end=given["end"], comm=communicator, threads=threads
    )
    if is_root(communicator):
        click.echo(str(found))
        if given["output"] is not None:
            found.write(given["output"])
            click.echo(f"wrote {given['output']}")
    return 0
