"""The interface to `decomposition`: ranks, their communicator and exchange. Only this module imports it."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pdem.containers.exchange import Alone
from pdem.foundation.arguments import whole_number
from pdem.foundation.errors import Interrupted, LaunchError, PdemError
from pdem.foundation.machine import default_threads
from pdem.foundation.signals import signal_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from decomposition.group import RankGroup
    from decomposition.mpi import World
    from pdem.case.model import Case
    from pdem.containers.exchange import Exchange
    from pdem.foundation.signals import SignalFlag

Result = TypeVar("Result")

_HOSTS_SHOWN = 4


def _check_that_decomposition_is_ours() -> None:
    """Require that the imported `decomposition` belongs to pdem.

    Raises
    ------
    LaunchError
        If a different module has this name, such as a file beside the script of a user.
    """
    found = find_spec("decomposition")
    place = None if found is None or found.origin is None else Path(found.origin).resolve()
    ours = Path(__file__).resolve().parents[2] / "decomposition" / "__init__.py"
    if place != ours:
        raise LaunchError(
            f"{place or 'nothing'} is found as the module decomposition, which belongs to pdem ({ours.parent}): give "
            "that file or folder another name"
        )


_check_that_decomposition_is_ours()


def communicator(threads: int | None = None) -> Any:
    """Return the communicator of all ranks that a launcher has started, None for a serial run.

    Parameters
    ----------
    threads : int, optional
        Threads per rank, if the user sets them; ranks wait for messages accordingly.

    Raises
    ------
    LaunchError
        If the launcher belongs to a different MPI than the loaded one, or no MPI is installed.
    """
    from decomposition.mpi import start_world

    world = start_world(threads)
    return None if world is None else world.communicator


def launch_layout() -> tuple[int, int, int]:
    """Return the rank of this process, the number of ranks, and the number on this node, without starting MPI."""
    from decomposition.launch import read_launch

    launch = read_launch()
    if launch is None:
        return 0, 1, 1
    ranks = launch.ranks or 1
    return launch.rank, ranks, launch.ranks_on_node or ranks


def without_launcher(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for a subprocess that is not a rank."""
    from decomposition.launch import without_launcher as without

    return without(environment)


def start_threads(communicator: Any = None, threads: int | None = None) -> int:
    """Start the threads of this rank and return their number, by default its share of the node. Collective."""
    from pdem.numerics.thread_pool import set_threads

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
        Case with domain and decomposition.
    communicator : mpi4py communicator, optional
        The ranks of the run.
    threads : int, optional
        Threads per rank; by default from the environment, else cores / ranks of the node.

    Raises
    ------
    LaunchError
        On all ranks, if nodes, or ranks of several working folders, do not see the same files of the case.
    """
    world = _world_of(communicator, threads)
    if isinstance(world, Alone):
        return world
    if len(world.nodes) > 1:
        _check_same_files(communicator, case)
    from decomposition.exchange import RankExchange
    from pdem.engine.same_files import check_same_files

    domain = case.domain
    exchange = RankExchange(
        world, domain.lower, domain.upper, domain.periodic, case.decomposition.method, case.decomposition.balance
    )
    check_same_files(exchange, case)
    return exchange


def group_of(communicator: Any = None) -> Alone | RankGroup:
    """Return the ranks of a communicator without parts of space, for reading and writing. Collective."""
    world = _world_of(communicator, None)
    if isinstance(world, Alone):
        return world
    from decomposition.group import RankGroup

    return RankGroup(world)


def on_first(communicator: Any, function: Callable[[], Result]) -> Result:
    """Call `function` on rank 0 and return its result on all ranks. Collective.

    Raises
    ------
    PdemError
        On all ranks, if the first rank raised it.
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
    """Call `function` on one rank per node; the ranks of a node share the memory of its large arrays. Collective.

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
        Location of its arrays, for the log; empty on one rank.

    Raises
    ------
    PdemError
        On all ranks, if `function` raised it on any.
    """
    if communicator is None or communicator.size == 1:
        return function(), ""
    from decomposition.mpi import each_node
    from decomposition.node_memory import once_per_node as make_once

    result, memory = make_once(communicator, function)
    nodes = each_node(communicator, lambda: memory)
    hosts = [host for host, held in nodes if held.lacking]
    size = max(memory.shared, memory.copied) / 2**20
    notices = []
    if len(hosts) < len(nodes) and any(held.shared for _, held in nodes):
        notices.append(f"{size:.4g} MiB once per node")
    if hosts:
        notices.append(
            f"each rank on {_shown_hosts(hosts)} has its own {size:.4g} MiB: there is no room for them in the shared "
            "memory of the node; enlarge /dev/shm (containers: --shm-size)"
        )
    return result, "; but ".join(notices)


def _shown_hosts(hosts: Sequence[str]) -> str:
    """Return the first of some names of nodes, and the number of further ones."""
    more = len(hosts) - _HOSTS_SHOWN
    return ", ".join(hosts[:_HOSTS_SHOWN]) + (f" and {more} more nodes" if more > 0 else "")


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


def crowded_nodes(communicator: Any, threads: int) -> list[str] | None:
    """Return a line on each node with more threads of ranks than cores; None if this process is alone. Collective.

    Parameters
    ----------
    communicator : mpi4py communicator or None
        The ranks.
    threads : int
        Number of threads of this rank.
    """
    world = _world_of(communicator, threads)
    if isinstance(world, Alone):
        return None
    from decomposition.nodes import crowded_text

    return crowded_text(world.nodes)


def _check_same_files(communicator: Any, case: Case) -> None:
    """Refuse nodes on which a file of the case differs from the file on the node of rank 0: each node reads files."""
    from decomposition.mpi import each_node
    from pdem.case.input_files import contents_of, input_files
    from pdem.engine.same_files import differences

    files = input_files(case)
    (first, expected), *others = each_node(communicator, lambda: contents_of(files))
    wrong = [(host, key, what) for host, found in others for key, what in differences(found, expected)]
    if wrong:
        host, key, what = wrong[0]
        more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
        raise LaunchError(
            f"{key} = {str(files[key])!r}, as seen on {host}, {what} on {first}, the node of rank 0{more}: let all "
            "nodes see the same files, in a folder that they share"
        )


def largest_on_ranks(communicator: Any, number: int) -> int:
    """Return the largest `number` of all ranks, on all ranks. Collective; None is this process alone."""
    from decomposition.mpi import largest_on_ranks as largest

    return largest(communicator, number)


def compile_rank_kernels() -> None:
    """Compile the kernels of `decomposition`: partition, ghosts, migration. One rank suffices."""
    from decomposition.kernel_calls import call_kernels

    call_kernels()


def stop_if_signalled(communicator: Any, flag: SignalFlag) -> None:
    """End all ranks before the first step if any has received a stop signal. Collective.

    Raises
    ------
    Interrupted
        On all ranks.
    """
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
