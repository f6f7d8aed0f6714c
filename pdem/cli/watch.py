"""``pdem watch``: a page in a browser that shows a run in progress."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pdem.cli.common import echo_to_stderr, serial

if TYPE_CHECKING:
    from collections.abc import Iterator


@click.command(short_help="Show a run in the browser while it is running.")
@click.argument("output", metavar="OUTPUT", type=click.Path())
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option("--port", type=click.IntRange(0, 65535), default=8421, show_default=True, help="Port; 0 for a free one.")
def watch(output: str, host: str, port: int) -> int:
    """Serve a page with progress, plots of the series and the newest picture of a run, until Ctrl-C.

    OUTPUT is the output folder. The run may be running on any number of ranks, be finished, or not have started. Only
    browsers on this machine can open the page, unless --host names a different address. On a cluster use
    ssh -L 8421:localhost:8421 NODE.
    """
    return serial(lambda: _watch(output, host, port))


def _watch(output: str, host: str, port: int) -> None:
    from pdem.cli.result_paths import require_folder_of_run, similar_folders
    from pdem.watch.server import LOOPBACK, serve

    require_folder_of_run(output, "watch")
    if not Path(output).is_dir():
        echo_to_stderr(
            f"{output}: no such folder yet, the page shows the run when it has begun; {similar_folders(output)}"
        )
    if host not in LOOPBACK:
        echo_to_stderr(f"warning: everybody who reaches {host} can see this run; there is no password")
    with _ended_as_by_the_keyboard():
        serve(output, host, port, lambda address: click.echo(f"{address}  (Ctrl-C ends it)"))


@contextmanager
def _ended_as_by_the_keyboard() -> Iterator[None]:
    """Make SIGTERM and SIGHUP act as Ctrl-C in this context, so that temporary folders of pictures are removed."""
    before = {one: signal.getsignal(one) for one in (signal.SIGTERM, signal.SIGHUP)}
    before = {one: handler for one, handler in before.items() if handler is signal.SIG_DFL}
    for one in before:
        signal.signal(one, signal.default_int_handler)
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
