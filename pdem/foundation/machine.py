"""Cores that this process may use, and the number of threads per rank that follows from them."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pdem.foundation.errors import LaunchError

if TYPE_CHECKING:
    from collections.abc import Mapping

# In order of precedence: the settings of pdem, of numba, of OpenMP programs, and the cores per task of Slurm.
THREAD_VARIABLES = ("PDEM_THREADS", "NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "SLURM_CPUS_PER_TASK")
_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def usable_cores() -> frozenset[int]:
    """Return the numbers of the cores on which this process may run."""
    if hasattr(os, "sched_getaffinity"):
        return frozenset(os.sched_getaffinity(0))
    return frozenset(range(os.cpu_count() or 1))


def cores_of_all_ranks(environment: Mapping[str, str] | None = None) -> int:
    """Return the number of cores that all ranks on this node may use together, if Slurm has bound each rank to cores.

    Without such a binding, return the number of cores on which this process may run.
    """
    environment = os.environ if environment is None else environment
    together = 0
    if environment.get("SLURM_CPU_BIND_TYPE", "").startswith("mask_cpu"):
        for mask in environment.get("SLURM_CPU_BIND_LIST", "").split(","):
            with contextlib.suppress(ValueError):
                together |= int(mask, 16)
    return max(len(usable_cores()), together.bit_count())


def core_quota(path: Path = _QUOTA) -> float:
    """Return the CPU quota of the container in cores, infinite without a quota."""
    try:
        granted, period = path.read_text().split()
        return float("inf") if granted == "max" else int(granted) / int(period)
    except (OSError, ValueError, ZeroDivisionError):
        return float("inf")


def available_cores() -> int:
    """Return the number of cores that this process may keep busy: its affinity, limited by the container's quota."""
    return max(1, int(min(len(usable_cores()), core_quota())))


def has_openmp(library: str = "libgomp.so.1") -> bool:
    """Return whether OpenMP can be loaded where pdem would use it: its threads keep spinning between parallel loops."""
    try:
        ctypes.CDLL(library)
    except OSError:
        return sys.platform != "linux"
    return True


def default_threads(
    cores: int | None = None, ranks_on_node: int = 1, environment: Mapping[str, str] | None = None
) -> int:
    """Return the number of threads per rank: the number set in the environment, or the cores divided by the ranks.

    Parameters
    ----------
    cores : int, optional
        Cores of this node that the ranks share; by default the cores that this process may use.
    ranks_on_node : int
        Ranks of the run on this node.
    environment : mapping, optional
        Replaces ``os.environ``. The first variable of `THREAD_VARIABLES` that is set decides.

    Returns
    -------
    int
        Number of threads, at least 1.

    Raises
    ------
    LaunchError
        If the variable that decides is not a positive whole number.
    """
    environment = os.environ if environment is None else environment
    for name in THREAD_VARIABLES:
        if environment.get(name):
            return _positive(name, environment[name])
    return max(1, (available_cores() if cores is None else cores) // max(1, ranks_on_node))


def _positive(name: str, text: str) -> int:
    first = text.split(",")[0].strip()  # OMP_NUM_THREADS may list one number per nesting level
    if not first.isdigit() or int(first) < 1:
        raise LaunchError(f"environment variable {name}={text!r}: a whole number of at least 1 is needed; unset it")
    return int(first)
