"""``pdem compare``: comparison of two files, bit for bit."""

from __future__ import annotations

import click

from pdem.cli.common import serial
from pdem.cli.result_paths import require_results


@click.command(short_help="Do two checkpoints or snapshots hold the same bits?")
@click.argument("a", type=click.Path())
@click.argument("b", type=click.Path())
@click.option("--time", type=float, help="Which snapshot, by its simulated time in s; the last unless given.")
def compare(a: str, b: str, time: float | None) -> int:
    """Compare two checkpoints or snapshot files; of a folder, its newest checkpoint.

    Exit code 0 if they hold the same bits, 1 if not: then it says where and by how much.
    """
    return serial(lambda: _compare(a, b, time))


def _compare(a: str, b: str, time: float | None) -> int:
    from pdem.output.compare import compare as compare_files

    for path in (a, b):
        require_results(path, "compare")
    comparison = compare_files(a, b, time)
    click.echo(str(comparison))
    return 0 if comparison.equal else 1
