"""``pdem compile``: compile the kernels before a run."""

from __future__ import annotations

from typing import Any

import click

from pdem.cli.common import collective, is_root, load_kernels, read_case, threads_option


@click.command("compile", short_help="Compile the kernels ahead of a run.")
@click.argument("case", required=False, type=click.Path())
@threads_option
def compile_kernels(case: str | None, threads: int | None) -> int:
    """Compile the kernels ahead of a run, once per machine and version; under mpirun on every node.

    With CASE, the kernels that its detection method, its contact laws and its forces need.
    """
    return collective(lambda communicator, own: _compile(communicator, own, case), threads)


def _compile(communicator: Any, threads: int, path: str | None) -> None:
    from pdem.numerics.cache import cache_directory

    case = None if path is None else read_case(path, ())
    compiled = load_kernels(communicator, case, threads)
    if case is not None and case.forces:
        from pdem.features.external_forces.compiling import compile_forces

        compile_forces(case)
    if is_root(communicator) and not compiled:
        click.echo(f"kernels are ready in {cache_directory()}")
