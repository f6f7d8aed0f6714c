"""Inputs of a simulation: checks of its arguments; reading of a checkpoint and of its case."""

from __future__ import annotations

import platform
import warnings
from collections.abc import Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pdem.case.model import Case
from pdem.containers.group import OneRank, on_each_rank
from pdem.containers.meshes.mesh import Mesh
from pdem.engine.ranks import launch_layout
from pdem.engine.state import StatePart
from pdem.features.registry import ROW_KEYS
from pdem.foundation.arguments import instance_of, shown, whole_number
from pdem.foundation.errors import CheckpointError, InputError, LaunchError, PdemError, PdemWarning
from pdem.output.checkpoints.checkpoint import read_checkpoint
from pdem.output.checkpoints.checkpoint_folder import CheckpointFolder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.containers.group import Group
    from pdem.output.checkpoints.checkpoint import Checkpoint

_REMEDY = "name a file in a folder that all nodes share"

_ROUNDING = 1e-12
"""Relative difference below which two time steps are equal."""


def check_arguments(comm: Any, threads: Any, state: Any, meshes: Any) -> None:
    """Check the types of the arguments of a `Simulation`.

    Raises
    ------
    InputError
        Names the argument.
    """
    if comm is not None and not (hasattr(comm, "rank") and hasattr(comm, "size")):
        raise InputError(f"comm is {shown(comm)}; give an mpi4py communicator, or None for this process alone")
    if threads is not None:
        whole_number("threads", threads, 1)
    if state is not None and "particles" not in instance_of("state", state, Mapping, "give columns by name"):
        raise InputError("state has no 'particles'; give what a checkpoint holds")
    for mesh in meshes or ():
        instance_of("a mesh", mesh, Mesh, "read one: Mesh.read(path)")


_ALONE_ON_PURPOSE: ContextVar[bool] = ContextVar("alone_on_purpose", default=False)


@contextmanager
def alone_on_purpose() -> Iterator[None]:
    """Suppress the warning about parallel processes, for simulations that a rank makes alone to compile kernels."""
    token = _ALONE_ON_PURPOSE.set(True)
    try:
        yield
    finally:
        _ALONE_ON_PURPOSE.reset(token)


def warn_of_processes_beside(communicator: Any) -> None:
    """Warn if a launcher started several processes and each makes a simulation of its own.

    Warns
    -----
    RuntimeWarning
        In the second process: all processes would write into the same folder.
    """
    rank, ranks, _ = launch_layout()
    if communicator is None and rank == 1 and not _ALONE_ON_PURPOSE.get():
        warnings.warn(
            f"{ranks} processes have been started, and each runs this simulation for itself; to run it on all of "
            "them, give it their communicator: pdem.Simulation(case, pdem.communicator())",
            PdemWarning,
            stacklevel=3,
        )


def checkpoint_at(path: str | Path, over: Group | None = None) -> Checkpoint:
    """Read a checkpoint, or the newest readable checkpoint of a folder; each rank of `over` reads a part of the rows.

    Parameters
    ----------
    path : path
        A checkpoint, or a folder with checkpoints.
    over : Group, optional
        The ranks that read it together, in a collective call; by default this process alone.

    Raises
    ------
    CheckpointError
        On all ranks, if there is no readable checkpoint.
    LaunchError
        On all ranks, if they do not see the same file.
    """
    over = OneRank() if over is None else over

    def read(file: Path) -> Checkpoint:
        _require_seen(file, over)
        part = on_each_rank(over, lambda: read_checkpoint(file, (over.rank, over.size), ROW_KEYS))
        _require_same(file, part, over)
        return replace(part, groups=StatePart(part.groups))

    is_folder, paths = over.share((Path(path).is_dir(), CheckpointFolder(path).paths()))
    return CheckpointFolder(path).latest(read, paths) if is_folder else read(Path(path))


def _require_seen(path: Path, over: Group) -> None:
    """Check that all ranks see a file that rank 0 sees."""
    is_there = over.share(path.exists())

    def check() -> None:
        if is_there and not path.exists():
            raise LaunchError(f"{path}: {_rank_here(over)} does not see it, rank 0 does; {_REMEDY}")

    on_each_rank(over, check)


def _require_same(path: Path, checkpoint: Checkpoint, over: Group) -> None:
    """Check that all ranks have read the same state."""
    content = over.share(checkpoint.content)

    def check() -> None:
        if checkpoint.content != content:
            raise LaunchError(f"{path}: {_rank_here(over)} reads another file there than rank 0; {_REMEDY}")

    on_each_rank(over, check)


def _rank_here(over: Group) -> str:
    return f"rank {over.rank} on {platform.node()}"


def case_of(checkpoint: Any) -> Case:
    """Return the case stored in a checkpoint.

    Raises
    ------
    CheckpointError
        If the checkpoint contains no case.
    """
    text = checkpoint.attributes.get("case")
    if not isinstance(text, str) or "counters" not in checkpoint.groups:
        raise CheckpointError(f"{checkpoint.path}: holds no run to continue; give a checkpoint written by pdem run")
    case = Case.from_text(text, str(checkpoint.attributes.get("directory", ".")))
    _keep_step(case, checkpoint)
    return case


def _keep_step(case: Case, checkpoint: Any) -> None:
    """Set the time step of a case to the time step of its run, if the automatic step differs today.

    The rules of the automatic step may have changed since the run, and files of particles may be missing.
    """
    stored = _step_of(checkpoint)
    if stored is None:
        return
    try:
        automatic = case.resolved_step()
    except PdemError:
        automatic = 0.0
    if abs(automatic - stored) > _ROUNDING * stored:
        case.override(f"time.step={stored!r}")


def _step_of(checkpoint: Any) -> float | None:
    """Return the time step of a checkpoint [s]; for earlier versions, time divided by number of steps."""
    attributes = checkpoint.attributes
    if "time_step" in attributes:
        return float(attributes["time_step"])
    steps = int(checkpoint.groups["counters"]["step"])
    return float(attributes["time"]) / steps if steps and "time" in attributes else None
