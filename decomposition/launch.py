"""Information that a launcher (mpirun, srun) passes to its processes in the environment, before MPI starts."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pdem.foundation.errors import LaunchError
from pdem.foundation.machine import available_cores

if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping

# Launchers with their environment variables: number of ranks, ranks on this node, number of this rank. The order
# matters: mpirun inside a batch job takes precedence over the batch system that started it.
_LAUNCHERS = (
    ("Open MPI's mpirun", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_COMM_WORLD_RANK"),
    ("MVAPICH's mpirun", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_SIZE", "MV2_COMM_WORLD_RANK"),
    ("mpirun (PMI)", "PMI_SIZE", "MPI_LOCALNRANKS", "PMI_RANK"),
    ("srun", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_TASKS_PER_NODE", "SLURM_PROCID"),
)
# Launchers that announce the rank but not the number of ranks: only MPI itself knows that number.
_SILENT_LAUNCHERS = (("a PMIx launcher", "PMIX_RANK"), ("PALS", "PALS_RANKID"))
_OPEN_MPI = _LAUNCHERS[0][0]
# Prefixes of variables that are meant for the started process alone, not for its child processes.
_PRIVATE = ("OMPI_", "ORTE_", "PRTE_", "PMIX_", "PMI_", "MPI_LOCAL", "MV2_", "HYDI_", "PALS_", "SLURM_")
_YIELD = "MPIR_CVAR_ENABLE_HEAVY_YIELD"
_OFF = "", "0", "no", "false", "off"


class ForeignLauncherError(LaunchError):
    """The launcher and the MPI library that was loaded do not belong together."""


@dataclass(frozen=True)
class Launch:
    """Announcement of the launcher.

    Attributes
    ----------
    launcher : str
        Name of the launcher, for messages.
    ranks : int or None
        Number of processes that it started; None if it does not announce it.
    ranks_on_node : int or None
        Number of these processes on this node; None if it does not announce it.
    rank : int
        Number of this process.
    """

    launcher: str
    ranks: int | None
    ranks_on_node: int | None
    rank: int


def read_launch(environment: Mapping[str, str] | None = None) -> Launch | None:
    """Return the announcement of the launcher of this process; None if no launcher started it."""
    environment = os.environ if environment is None else environment
    for launcher, ranks, ranks_on_node, rank in _LAUNCHERS:
        count = _largest_number(environment.get(ranks))
        if count is not None:
            on_node = _largest_number(environment.get(ranks_on_node))
            return Launch(launcher, count, on_node, _largest_number(environment.get(rank)) or 0)
    for launcher, rank in _SILENT_LAUNCHERS:
        number = _largest_number(environment.get(rank))
        if number is not None:
            return Launch(launcher, None, None, number)
    return None


def launched_ranks(environment: Mapping[str, str] | None = None) -> int:
    """Return the number of ranks that the launcher announces; 1 without a launcher or an announcement."""
    launch = read_launch(environment)
    return 1 if launch is None or launch.ranks is None else launch.ranks


def without_launcher(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment for a child process that is not a rank, even if this process is one."""
    return {name: value for name, value in environment.items() if not name.startswith(_PRIVATE)}


def check_library(library: str, launch: Launch | None) -> None:
    """Reject an MPI library that would end the process without a clear message under this launcher.

    Parameters
    ----------
    library : str
        The library's description of itself (``MPI_Get_library_version``).
    launch : Launch or None
        The launcher, if any.

    Raises
    ------
    ForeignLauncherError
        If Open MPI's mpirun started another library.
    """
    if launch is not None and launch.launcher == _OPEN_MPI and "Open MPI" not in library:
        name = library.split(" Version")[0].split("\n")[0]
        raise ForeignLauncherError(
            f"{launch.launcher} started this run, but the MPI library that pdem loaded is {name}: "
            "use the mpirun beside this python, or choose the library with MPI4PY_LIBMPI"
        )


def check_size(size: int, launch: Launch | None) -> None:
    """Reject a communicator with a different size than the launcher announced.

    Raises
    ------
    ForeignLauncherError
        If the sizes differ. Typically an mpirun of a different MPI has started separate runs of one rank each.
    """
    if launch is not None and launch.ranks is not None and size != launch.ranks:
        raise ForeignLauncherError(
            f"{launch.launcher} started {launch.ranks} processes, but the MPI library that pdem loaded sees "
            f"{size}: launcher and library belong to different MPIs; use the mpirun beside this python "
            "(or, with srun, another --mpi=...)"
        )


def yield_when_crowded(
    threads: int, launch: Launch | None, environment: MutableMapping[str, str] | None = None
) -> bool:
    """Make waiting ranks of MPICH yield their core if this node has more busy threads than cores.

    A waiting rank otherwise spins on the core that the awaited rank needs: a sum over all ranks takes some 8 ms instead
    of 0.6 ms. Where each rank has a core of its own, spinning is several times faster, so nothing is set. Call this
    function before MPI starts, and start MPI as `waits_yield` says. A setting of the user takes precedence.

    Returns
    -------
    bool
        Whether the variable was set here.
    """
    environment = os.environ if environment is None else environment
    if _YIELD in environment or launch is None or launch.ranks_on_node is None:
        return False
    crowded = launch.ranks_on_node * threads > available_cores()
    if crowded:
        environment[_YIELD] = "1"
    return crowded


def waits_yield(library: str, environment: Mapping[str, str] | None = None) -> bool:
    """Return whether waiting ranks shall yield their core and MPI must be started accordingly.

    Open MPI needs no particular start.

    MPICH heeds the setting only where several threads may call it (``MPI_THREAD_MULTIPLE``), because it yields the core
    at the point where it would admit a second thread. This costs some locks per message, so only this case asks for it.
    """
    environment = os.environ if environment is None else environment
    return "Open MPI" not in library and environment.get(_YIELD, "0").strip().lower() not in _OFF


def _largest_number(text: str | None) -> int | None:
    """Return the largest count in `text`, such as ``8`` or, in Slurm's notation, ``8(x2),4``."""
    counts = re.findall(r"(?:^|,)\s*(\d+)", text or "")
    return max(map(int, counts)) if counts else None
