"""``pdem explain``: the meaning of a key of the case file."""

from __future__ import annotations

import click

from pdem.cli.common import serial


@click.command(short_help="Explain a key of the case file, or look for a word.")
@click.argument("key", nargs=-1)
def explain(key: tuple[str, ...]) -> int:
    """Explain a key of the case file: meaning, values, default and an example, as in pdem explain insertions.face.

    For any other word the command searches all keys, models, measures, examples and their texts: pdem explain friction,
    pdem explain rolling friction. Without KEY the command lists all sections. Keys of other files begin with their
    command: pdem explain sweep.vary.
    """
    return serial(lambda: _explain(" ".join(key)))


def _explain(key: str) -> None:
    from pdem.case.explain.keys import explain as text_of
    from pdem.sweeps.examples import study_roots

    click.echo(text_of(key, study_roots()))
