"""``pdem attest``: write the attestation of a run, or verify an attestation."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from pdem.cli.common import collective, is_root, observer_of, threads_option
from pdem.cli.result_paths import require_results

_FAILED = 1


@click.command(short_help="Compute random intervals again, and write a file by which others can check a run.")
@click.argument("target", metavar="OUTPUT|FILE", type=click.Path())
@click.option("--verify", is_flag=True, help="Check FILE, which pdem attest has written.")
@click.option("-o", "--output", type=click.Path(), help="File to write; by default attest.json in the folder.")
@click.option(
    "--intervals",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Number of intervals to compute again.",
)
@click.option(
    "--inputs", type=click.Path(), help="With --verify: folder to which the file names in the case are relative."
)
@click.option(
    "--observer",
    "observers",
    multiple=True,
    metavar="FILE.py:NAME",
    help="An observer of the run that changed particles; may be repeated.",
)
@threads_option
def attest(target: str, threads: int | None, **given: Any) -> int:
    """Compute a random interval of a finished run again; if it agrees bit for bit, write an attestation file.

    The file contains the case, digests of inputs, states and results, versions and processor type. Publish it
    together with the data of a paper. --verify checks such a file: the files beside it, and an interval that is
    computed again. The exit code is 1 if the check fails.
    """
    if given["verify"] and given["output"]:
        raise click.UsageError("--output is for writing an attestation: leave out --verify")
    if given["inputs"] and not given["verify"]:
        raise click.UsageError("--inputs is for --verify")
    work = partial(_verify if given["verify"] else _attest, target, given)
    return collective(work, threads)


def _attest(folder: str, given: dict[str, Any], communicator: Any, threads: int) -> int:
    from pdem.engine.ranks import on_first
    from pdem.replays.attestation import attest as attest_run

    on_first(communicator, lambda: require_results(folder, "attest"))
    done = attest_run(
        folder, output=given["output"], intervals=given["intervals"], observers=_observers(given), comm=communicator,
        threads=threads,
    )  # fmt: skip
    if is_root(communicator):
        click.echo(str(done))
    return 0 if done.attested else _FAILED


def _observers(given: dict[str, Any]) -> list[Any]:
    return list(map(observer_of, given["observers"]))


def _verify(path: str, given: dict[str, Any], communicator: Any, threads: int) -> int:
    from pdem.replays.attestation_check import verify_attestation

    done = verify_attestation(
        path, inputs=given["inputs"], intervals=given["intervals"], observers=_observers(given), comm=communicator,
        threads=threads,
    )  # fmt: skip
    if is_root(communicator):
        click.echo(str(done))
    return 0 if done.verified else _FAILED
