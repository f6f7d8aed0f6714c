"""The one door from the simulation to the ranks: nothing else in pdem knows of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pdem.foundation.machine import default_threads
from pdem.simulation.exchange import Alone

if TYPE_CHECKING:
    from collections.abc import Callable

    from pdem.case.model import Case
    from pdem.simulation.exchange import Exchange


def communicator(threads: int | None = None) -> Any:
    """Return the communicator of all ranks a launcher has started, None for a serial run.

    Parameters
    ----------
    threads : int, optional
        Threads per rank, if they are given; they decide how ranks wait.
    """
    from decomposition.mpi import start_world

    world = start_world(threads)
    return None if world is None else world.communicator


def exchange_of(case: Case, communicator: Any = None, threads: int | None = None) -> Exchange:
    """Return what connects the ranks of a communicator, or `Alone`.

    Parameters
    ----------
    case : Case
        Its domain and decomposition.
    communicator : mpi4py communicator, optional
        The ranks of the run.
    threads : int, optional
        Threads per rank; by default the environment's wish, else cores / ranks of the node.
    """
    if communicator is None or communicator.size == 1:
        return Alone(threads or default_threads())
    from decomposition.exchange import SlabExchange
    from decomposition.mpi import describe

    return SlabExchange(describe(communicator, threads), case.domain.lower, case.domain.upper, case.domain.periodic)


def warm_up(communicator: Any, function: Callable[[], object], tag: str, announce: Callable[[], object]) -> bool:
    """Compile with one process per node, then load on all; see `decomposition.mpi.warm_up`."""
    from decomposition.mpi import warm_up as warm_up_ranks

    return warm_up_ranks(communicator, function, tag, announce)


def run_or_abort(function: Callable[[], int | None]) -> int:
    """Call `function`, ending all ranks with one message if it fails on any; return the exit code."""
    from decomposition.mpi import run_or_abort as run_ranks

    return int(run_ranks(function) or 0)
