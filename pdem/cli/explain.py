"""``pdem explain``: what a key of the case file means."""

from __future__ import annotations

import click

from pdem.cli.common import serial


@click.command(short_help="Explain a key of the case file.")
@click.argument("key", required=False, default="")
def explain(key: str) -> int:
    """Explain a key of the case file: meaning, values, default and an example, as in pdem explain insertions.face.

    Without KEY the command lists all sections. Keys of other files begin with their command: pdem explain sweep.vary.
    """
    return serial(lambda: _explain(key))


def _explain(key: str) -> None:
    from pdem.case.explain import explain as text_of
    from pdem.sweeps.examples import study_roots

    click.echo(text_of(key, study_roots()))
