"""Start of MPI, division of a node among its ranks, and joint failure. The only module that imports mpi4py.

The import of this module does not start MPI: ``pdem --help`` and serial runs need no MPI library at all.
"""

from __future__ import annotations

import faulthandler
import os
import platform
import sys
import time
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from decomposition.failure import Guard, all_come, guard_uncaught, run_guarded
from decomposition.launch import (
    ForeignLauncherError,
    Launch,
    check_library,
    check_size,
    read_launch,
    waits_yield,
    yield_when_crowded,
)
from decomposition.nodes import Node
from pdem.foundation.errors import LaunchError
from pdem.foundation.machine import core_quota, default_threads, usable_cores

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

Result = TypeVar("Result")

# Longest wait for the launcher after an abort [s]; it normally ends the ranks within milliseconds.
_LAUNCHER_SECONDS = 10.0


@dataclass(frozen=True)
class World:
    """A communicator, and the share of its node that each rank has.

    Attributes
    ----------
    communicator : mpi4py.MPI.Intracomm
        All ranks of the run.
    node : mpi4py.MPI.Intracomm
        The ranks of the run that share this node's memory.
    cores : int
        Cores of this node that its ranks may use, together.
    threads : int
        Threads on which this rank should run its kernels.
    nodes : tuple of Node
        All nodes of the run, that of rank 0 first.
    """

    communicator: Any
    node: Any
    cores: int
    threads: int
    nodes: tuple[Node, ...]

    @property
    def rank(self) -> int:
        """Number of this rank among all ranks."""
        return int(self.communicator.rank)

    @property
    def size(self) -> int:
        """Number of ranks."""
        return int(self.communicator.size)

    @property
    def node_rank(self) -> int:
        """Number of this rank among the ranks of its node."""
        return int(self.node.rank)

    @property
    def node_size(self) -> int:
        """Number of ranks on this node."""
        return int(self.node.size)

    @property
    def crowded(self) -> bool:
        """Whether the ranks of this node have more threads than cores."""
        return self.node_size * self.threads > self.cores

    @property
    def workers(self) -> int:
        """Threads of all ranks together."""
        return sum(node.ranks * node.threads for node in self.nodes)


def start_world(threads: int | None = None) -> World | None:
    """Start MPI if a launcher has started more than this one process.

    Parameters
    ----------
    threads : int, optional
        Threads per rank; by default the setting of the environment, or else cores / ranks of the node.

    Returns
    -------
    World or None
        None for a serial run: no launcher, or one rank. MPI is then not even loaded.

    Raises
    ------
    LaunchError
        If no MPI library can be loaded, or the library belongs to a different MPI than the launcher. In the second
        case the ranks cannot communicate: the first one raises this error, and all higher ranks exit silently.
    """
    launch = read_launch()
    if launch is None or launch.ranks == 1:
        return None
    yield_when_crowded(threads or default_threads(ranks_on_node=launch.ranks_on_node or 1), launch)
    try:
        communicator = load_mpi(launch).COMM_WORLD
        check_size(communicator.size, launch)
    except ForeignLauncherError as problem:
        if launch.rank:
            raise SystemExit(problem.exit_code) from None
        raise
    if communicator.size == 1:
        return None
    return describe(communicator, threads)


def describe(communicator: Any, threads: int | None = None) -> World:
    """Return the `World` of a communicator: the ranks on each node, and the division of its cores.

    Collective. A launcher may leave all cores of a node to all its ranks, or bind each rank to cores of its own. The
    union of the cores that the ranks may use, divided by the number of ranks, is right in both cases.

    Parameters
    ----------
    communicator : mpi4py.MPI.Intracomm
        Ranks of a run.
    threads : int, optional
        Threads per rank instead of the default.
    """
    mpi = load_mpi()
    node = communicator.Split_type(mpi.COMM_TYPE_SHARED)
    mine = usable_cores()
    union = frozenset().union(*node.allgather(mine))
    cores = max(1, int(min(len(union), core_quota())))
    if threads is None:
        threads = default_threads(min(cores, len(mine) * node.size), node.size)
    if threads > 1 and mpi.Query_thread() < mpi.THREAD_FUNNELED:
        raise LaunchError(
            f"{threads} threads per rank, but this MPI library was started without thread support: "
            "set PDEM_THREADS=1, or let pdem start MPI"
        )
    own = Node(platform.node(), node.size, threads, cores) if node.rank == 0 else None
    nodes = tuple(one for one in communicator.allgather(own) if one is not None)
    return World(communicator, node, cores, threads, nodes)


def load_mpi(launch: Launch | None = None) -> Any:
    """Import mpi4py, start MPI unless it runs already, and return the ``MPI`` module.

    Parameters
    ----------
    launch : Launch, optional
        The launcher, if its MPI is to be compared with the library before MPI starts.

    Raises
    ------
    LaunchError
        If mpi4py is missing, finds no MPI library, or finds one that cannot work under this launcher.
    """
    MPI = _import_mpi()
    if not MPI.Is_initialized():
        library = MPI.Get_library_version()
        check_library(library, launch)
        faulthandler.enable()  # a crash in a kernel or in MPI then prints its location
        with warnings.catch_warnings():
            # mpi4py warns about a foreign launcher on every rank; `check_size` reports it once and stops
            warnings.simplefilter("ignore", RuntimeWarning)
            # kernels are threaded, but only the main thread calls MPI; MPICH yields only if several threads may call it
            MPI.Init_thread(MPI.THREAD_MULTIPLE if waits_yield(library) else MPI.THREAD_FUNNELED)
    return MPI


def _import_mpi() -> Any:
    try:
        if "mpi4py.MPI" not in sys.modules:
            import mpi4py

            mpi4py.rc(initialize=False, finalize=True)
        from mpi4py import MPI
    except (ImportError, RuntimeError) as problem:
        reason = str(problem).strip().partition("\n")[0]
        raise LaunchError(
            f"MPI cannot be used ({reason}): pip install 'polydem[mpi]' brings mpi4py and an MPI library; "
            "on a cluster install mpi4py and load the MPI module"
        ) from None
    return MPI


def patient_barrier(communicator: Any, poll_seconds: float = 0.02) -> None:
    """Wait for all ranks without occupying a core, for long waits such as a compilation."""
    all_come(communicator, poll_seconds=poll_seconds)


def node_first(communicator: Any, function: Callable[[], object], is_stopped: Callable[[], object] = bool) -> None:
    """Call `function` on one rank of each node, and afterwards on the other ranks of the node. Collective.

    Meant for compilation: one process per node compiles and stores, and the other processes load the result. An error
    in `function` leaves the other ranks waiting until `run_or_abort` ends them.

    Parameters
    ----------
    communicator : mpi4py.MPI.Intracomm or None
        Ranks of the run; None calls `function` once.
    function : callable
        Called without arguments, once per rank.
    is_stopped : callable, optional
        Returns whether this rank was asked to stop; if so, the other ranks of its node do not call `function`.
    """
    if communicator is None:
        function()
        return
    mpi = load_mpi()
    node = communicator.Split_type(mpi.COMM_TYPE_SHARED)
    if node.rank == 0:
        function()
    patient_barrier(node)
    if not node.allreduce(bool(is_stopped()), op=mpi.LOR) and node.rank != 0:
        function()
    node.Free()


def each_node(communicator: Any, function: Callable[[], Result]) -> list[tuple[str, Result]]:
    """Call `function` on one rank of each node; return names of nodes and results, on all ranks. Collective.

    The node of rank 0 comes first. Names need not differ: containers may all have the same name.

    Parameters
    ----------
    communicator : mpi4py.MPI.Intracomm
        Ranks of a run.
    function : callable
        Called without arguments; must not raise.
    """
    node = communicator.Split_type(load_mpi().COMM_TYPE_SHARED)
    mine = (platform.node(), function()) if node.rank == 0 else None
    node.Free()
    return [one for one in communicator.allgather(mine) if one is not None]


def run_or_abort(function: Callable[[], int | None], communicator: Any = None) -> int:
    """Call `function` on all ranks and return the exit code of the process. Collective.

    If `function` raises on some ranks only, the first of them prints its message and ends all ranks through
    ``MPI_Abort``, without returning. If it raises on all ranks, each distinct message is printed once, together with
    its ranks if messages differ, and the code is returned on all ranks, for an orderly end.

    Parameters
    ----------
    function : callable
        The run. May return an exit code; None counts as 0.
    communicator : mpi4py.MPI.Intracomm or None
        Ranks that call this; None for a serial run.

    Returns
    -------
    int
        Return value of `function`, or the exit code of the error.
    """
    return run_guarded(function, None if communicator is None else _guard(communicator))


def guard_script(communicator: Any) -> None:
    """End all ranks if a user's own script raises an uncaught exception, as `run_or_abort` does. Collective."""
    guard_uncaught(_guard(communicator))


def abort(code: int) -> NoReturn:
    """End all ranks with an exit code.

    The function aborts `COMM_WORLD`, whichever communicator failed: for a duplicate, MPICH's launcher kills the ranks
    one time in ten before it knows the code. MPICH returns from the call, and this process runs until the launcher
    ends it.
    """
    load_mpi().COMM_WORLD.Abort(code)
    time.sleep(_LAUNCHER_SECONDS)
    os._exit(code)


def _guard(communicator: Any) -> Guard:
    return Guard(communicator.Dup(), abort)


def warm_up(
    communicator: Any,
    function: Callable[[], object],
    tag: str,
    announce: Callable[[], object] | None = None,
    is_stopped: Callable[[], object] = bool,
) -> bool:
    """Call `function`, which calls every kernel of a run once, so that nothing is compiled twice. Collective.

    One rank per node is the first. If every rank finds the cache complete, nothing is called: a run loads only the
    kernels that it calls, which is faster.

    Parameters
    ----------
    communicator : mpi4py.MPI.Intracomm or None
        Ranks of the run, None for a serial run.
    function : callable
        Calls the kernels on arrays of the types that the run will use.
    tag : str
        Names the set of kernels, such as ``"3d-hertz-mindlin"``; a new tag requires a compilation.
    announce : callable, optional
        Called on rank 0 before a first compilation, to announce a long wait.
    is_stopped : callable, optional
        Returns whether this rank was asked to stop, so that `function` has not called all kernels.

    Returns
    -------
    bool
        Whether anything had to be compiled.
    """
    from pdem.numerics.cache import is_marked, mark

    warm = is_marked(tag)
    if communicator is not None:
        warm = communicator.allreduce(warm, op=load_mpi().LAND)
    if warm:
        return False
    if announce is not None and (communicator is None or communicator.rank == 0):
        announce()
    node_first(communicator, function, is_stopped)
    if not largest_on_ranks(communicator, int(bool(is_stopped()))):
        mark(tag)
    return True


def largest_on_ranks(communicator: Any, number: int) -> int:
    """Return the largest of the ranks' numbers on all ranks. Collective; a serial process passes None."""
    return number if communicator is None else int(communicator.allreduce(number, op=load_mpi().MAX))
