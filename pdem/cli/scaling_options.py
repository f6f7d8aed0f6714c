"""Options shared by the commands of ``pdem scaling``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from pdem.cli.common import require_sources

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.planning.network import Network

    Command = TypeVar("Command", bound=Callable[..., Any])


class Counts(click.ParamType):
    """Whole numbers of at least 1, separated by commas; converted to increasing order without duplicates."""

    name = "N,N,..."

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> tuple[int, ...]:
        """Return the numbers as a tuple."""
        if isinstance(value, tuple):
            return value
        words = [word.strip() for word in str(value).split(",")]
        for word in words:
            if not (word.isascii() and word.isdigit() and int(word) >= 1):
                self.fail(f"{word!r} in {value!r}: whole numbers of at least 1 are needed, as 1,2,4", param, context)
        return tuple(sorted({int(word) for word in words}))


def output_option(default: str | None, meaning: str) -> Any:
    """Return the option ``--output`` for a folder."""
    return click.option("--output", default=default, show_default=True, type=click.Path(path_type=Path), help=meaning)


def counts_option(name: str, default: str, meaning: str) -> Any:
    """Return an option for several numbers, separated by commas."""
    return click.option(
        name, type=Counts(), default=default, show_default=True, help=f"{meaning}, separated by commas."
    )


def number_option(name: str, least: int, default: int, meaning: str) -> Any:
    """Return an option for a whole number."""
    return click.option(name, type=click.IntRange(min=least), default=default, show_default=True, help=meaning)


def warm_up_option(default: int) -> Any:
    """Return the option ``--warm-up`` for a number of steps."""
    return number_option("--warm-up", 0, default, "Number of steps before, which are not timed.")


def network_options(command: Command) -> Command:
    """Add ``--latency``, ``--overhead`` and ``--bandwidth``."""
    latency = click.option(
        "--latency", type=click.FloatRange(min=0.0), help="Latency of a message in s; by default 2e-06."
    )
    overhead = click.option(
        "--overhead",
        type=click.FloatRange(min=0.0),
        help="Time of a processor to send one message and to receive another in s; by default 1e-06.",
    )
    bandwidth = click.option(
        "--bandwidth",
        type=click.FloatRange(min=0.0, min_open=True),
        help="Bandwidth of a rank in B/s; by default 1e+09.",
    )
    return latency(overhead(bandwidth(command)))


def network_of(options: dict[str, Any]) -> Network:
    """Remove the options of `network_options` from `options`, and return the network."""
    require_sources("benchmarks")
    from benchmarks.planning.network import Network

    found = {name: options.pop(name) for name in ("latency", "overhead", "bandwidth")}
    return Network(**{name: value for name, value in found.items() if value is not None})


def plots_option(command: Command) -> Command:
    """Add ``--plots`` and ``--no-plots``."""
    return click.option("--plots/--no-plots", default=True, help="Whether to draw pictures, which needs matplotlib.")(
        command
    )


def weak_option(command: Command) -> Command:
    """Add ``--weak``."""
    return click.option(
        "--weak",
        is_flag=True,
        help="Weak scaling: enlarge the case with the ranks. CASE is one of pdem bench, or give "
        "--set 'domain.upper=[0.1, 0.1, {0.1*ranks}]'.",
    )(command)
