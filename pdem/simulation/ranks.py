"""All that pdem uses of `decomposition`: ranks, their communicator and exchange. No other module imports it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from pdem.containers.exchange import Alone
from pdem.foundation.arguments import whole_number
from pdem.foundation.errors import Interrupted, LaunchError, PdemError
from pdem.foundation.machine import default_threads
from pdem.foundation.signals import signal_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from decomposition.group import RankGroup
    from decomposition.mpi import World
    from pdem.case.model import Case
    from pdem.containers.exchange import Division, Exchange
    from pdem.containers.particles import Particles
    from pdem.detection.skins import Skins
    from pdem.foundation.signals import SignalFlag

Result = TypeVar("Result")


def communicator(threads: int | None = None) -> Any:
    """Return the communicator of all ranks that a launcher has started, None for a serial run.

    Parameters
    ----------
    threads : int, optional
        Threads per rank, if the user sets them; ranks wait for messages accordingly.
    """
    from decomposition.mpi import start_world

    world = start_world(threads)
    return None if world is None else world.communicator


def launch_layout() -> tuple[int, int, int]:
    """Return the rank of this process, the number of ranks, and that on this node, without starting MPI."""
    from decomposition.launch import read_launch

    launch = read_launch()
    if launch is None:
        return 0, 1, 1
    ranks = launch.ranks or 1
    return launch.rank, ranks, launch.ranks_on_node or ranks


def without_launcher(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for a subprocess that is no rank."""
    from decomposition.launch import without_launcher as without

    return without(environment)


def start_threads(communicator: Any = None, threads: int | None = None) -> int:
    """Start the threads of this rank and return their number, by default its share of the node. Collective."""
    from pdem.foundation.kernels import set_threads

    world = _world_of(communicator, threads)
    set_threads(world.threads, crowded=world.crowded)
    return world.threads


def _world_of(communicator: Any, threads: int | None) -> Alone | World:
    """Return the ranks and threads on this node. Collective."""
    if threads is not None:
        threads = whole_number("threads", threads, 1)
    if communicator is None or communicator.size == 1:
        return Alone(default_threads() if threads is None else threads)
    from decomposition.mpi import describe

    return describe(communicator, threads)


def exchange_of(case: Case, communicator: Any = None, threads: int | None = None) -> Exchange:
    """Return the exchange between the ranks of a communicator, `Alone` for a single rank.

    Parameters
    ----------
    case : Case
        Its domain and decomposition.
    communicator : mpi4py communicator, optional
        The ranks of the run.
    threads : int, optional
        Threads per rank; by default those of the environment, else cores / ranks of the node.
    """
    world = _world_of(communicator, threads)
    if isinstance(world, Alone):
        return world
    from decomposition.exchange import RankExchange

    domain = case.domain
    return RankExchange(
        world,
        domain.lower,
        domain.upper,
        domain.periodic,
        case.decomposition.method,
        case.decomposition.balance,
    )


def group_of(communicator: Any = None) -> Alone | RankGroup:
    """Return the ranks of a communicator without parts of space, for reading and writing. Collective."""
    world = _world_of(communicator, None)
    if isinstance(world, Alone):
        return world
    from decomposition.group import RankGroup

    return RankGroup(world)


def division_of(
    case: Case, ranks: int, position: NDArray[np.float64], radius: NDArray[np.float64], skins: Skins
) -> Division:
    """Return the particles and ghosts that each of `ranks` ranks would have at the start of a run.

    Parameters
    ----------
    case : Case
        Its domain and decomposition.
    ranks : int
        Number of ranks, at least 1.
    position, radius : (n, 3) and (n,) arrays
        Of all particles, in their initial order [m].
    skins : Skins
        Levels and reaches.
    """
    from decomposition.partitioners import PARTITIONERS
    from decomposition.plan import divide

    domain = case.domain
    period = np.where(domain.periodic, np.subtract(domain.upper, domain.lower), 0.0)
    partition = PARTITIONERS[case.decomposition.method](domain.lower, domain.upper)
    return divide(ranks, position, radius, skins.reach(radius), skins.radii, period, partition)


def partition_of(case: Case, position: NDArray[np.float64], lower: Any, upper: Any, ranks: int) -> Any:
    """Return how space is cut for particles at these places (n, 3) [m] in a box of these corners [m].

    Returns
    -------
    decomposition.cuts.Cuts
        Has the methods ``owners`` and ``box``.
    """
    from decomposition.partitioners import PARTITIONERS

    return PARTITIONERS[case.decomposition.method](lower, upper)(position, ranks)


def rank_among_others(neighbours: Sequence[Particles], threads: int) -> Exchange:
    """Return the exchange of a rank whose neighbours are made up; see `decomposition.one_of_many.OneOfMany`."""
    from decomposition.one_of_many import OneOfMany

    return OneOfMany(neighbours, threads)


def neighbour_seconds(levels: int) -> float:
    """Return the measured time that a detection costs for each neighbour, messages not included [s]."""
    from decomposition.plan import neighbour_seconds as measure

    return measure(levels)


def copy_seconds() -> float:
    """Return the measured time to gather one ghost for the message of a step [s]."""
    from decomposition.plan import copy_seconds as measure

    return measure()


def on_first(communicator: Any, function: Callable[[], Result]) -> Result:
    """Call `function` on rank 0 and return its result on all ranks. Collective.

    Raises
    ------
    PdemError
        On all ranks, if it was raised on the first.
    """
    if communicator is None:
        return function()
    result: Any = None
    problem: PdemError | None = None
    if communicator.rank == 0:
        try:
            result = function()
        except PdemError as error:
            problem = error
    result, problem = communicator.bcast((result, problem))
    if problem is not None:
        raise problem
    return result


def once_per_node(communicator: Any, function: Callable[[], Result]) -> tuple[Result, str]:
    """Call `function` on one rank per node; its large arrays lie in memory that the ranks of a node share. Collective.

    Parameters
    ----------
    communicator : mpi4py communicator or None
        The ranks.
    function : callable
        Its result is for all ranks, and its arrays are read-only.

    Returns
    -------
    result : object
        Result of `function`.
    notice : str
        Where its arrays are, for the log; empty on one rank.

    Raises
    ------
    PdemError
        On all ranks, if `function` raised it on any.
    """
    if communicator is None or communicator.size == 1:
        return function(), ""
    from decomposition.node_memory import once_per_node as make_once

    result, memory = make_once(communicator, function)
    if memory.lacking:
        return result, (
            f"each rank has its own {memory.lacking / 2**20:.4g} MiB: there is no room for them in the shared memory "
            "of the node; enlarge /dev/shm (containers: --shm-size)"
        )
    return result, f"{memory.shared / 2**20:.4g} MiB once per node" if memory.shared else ""


def release(communicator: Any) -> None:
    """Release memory shared by the ranks of a node that is no longer in use. Collective."""
    if communicator is not None and communicator.size > 1:
        from decomposition.node_memory import release as release_windows

        release_windows(communicator)


def warm_up(
    communicator: Any,
    function: Callable[[], object],
    tag: str,
    announce: Callable[[], object],
    is_stopped: Callable[[], object] = bool,
) -> bool:
    """Compile kernels on one rank per node, then load them on all; see `decomposition.mpi.warm_up`."""
    from decomposition.mpi import warm_up as warm_up_ranks

    return warm_up_ranks(communicator, function, tag, announce, is_stopped)


def check_same(communicator: Any, case: Case, now: Mapping[str, str] | None = None) -> str:
    """Refuse ranks whose sources of pdem or whose case differ from those of rank 0. Collective.

    Parameters
    ----------
    communicator, case
        Of the run.
    now : mapping, optional
        In place of `pdem.output.provenance.provenance`.

    Returns
    -------
    str
        On rank 0 a warning, if ranks differ in something else that changes bits; else empty.

    Raises
    ------
    LaunchError
        On all ranks.
    """
    if communicator is None or communicator.size == 1:
        return ""
    from pdem.case.differences import differences
    from pdem.output.provenance import changes_since, provenance

    mine, own = provenance() if now is None else now, case.to_toml()
    first, text = communicator.bcast((dict(mine), own))
    error = warning = None
    if mine["pdem"] != first["pdem"] or mine["sources"] != first["sources"]:
        versions = [f"pdem {one['pdem']} (sources {one['sources']})" for one in (mine, first)]
        error = f"{versions[0]}, and rank 0 {versions[1]}: load the same environment on all nodes"
    elif own != text:
        key, then, here = (differences(case.from_text(text), case) or [("the case", "another", "this")])[0]
        error = f"{key} = {here}, and rank 0 {then}: let all ranks read the same case file"
    else:
        warning = changes_since(first, mine, "there") or None
    refused = _first_of(communicator, error)
    if refused is not None:
        number, rank, what = refused
        raise LaunchError(
            f"{number} of {communicator.size} ranks would not run what rank 0 runs; rank {rank} has {what}"
        )
    mixed = _first_of(communicator, warning)
    if communicator.rank or mixed is None:
        return ""
    number, rank, what = mixed
    return (
        f"{number} of {communicator.size} ranks differ from rank 0, rank {rank} in {what}: the results are valid, "
        "but their bits depend on how particles are divided; where bits matter, use nodes of one type"
    )


def _first_of(communicator: Any, text: str | None) -> tuple[int, int, str] | None:
    """Return how many ranks have a text, and the first of them with its own; None if none has any. Collective."""
    from decomposition.mpi import largest_on_ranks

    number = communicator.allreduce(int(text is not None))
    if not number:
        return None
    first = -largest_on_ranks(communicator, -communicator.rank if text is not None else -communicator.size)
    return number, first, communicator.bcast(text, first)


def compile_rank_kernels() -> None:
    """Compile the kernels of `decomposition`: partition, ghosts, migration. Needs no other rank."""
    from decomposition.kernel_calls import call_kernels

    call_kernels()


def stop_if_signalled(communicator: Any, flag: SignalFlag) -> None:
    """End all ranks before the first step if any has received a stop signal. Collective.

    Raises
    ------
    Interrupted
        On all ranks.
    """
    from decomposition.mpi import largest_on_ranks

    number = largest_on_ranks(communicator, flag.requested)
    if number:
        raise Interrupted(
            f"{signal_name(number)} before the first step: nothing to save; start it again in the same way, kernels "
            "compiled so far are kept"
        )


def run_or_abort(function: Callable[[], int | None], communicator: Any = None) -> int:
    """Return the exit code of `function`; if it fails on any rank, end all with one message."""
    from decomposition.mpi import run_or_abort as run_ranks

    return run_ranks(function, communicator)
