"""What a simulation is given to begin from: arguments of the right types, a checkpoint and the case it holds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pdem.case.model import Case
from pdem.containers.mesh import Mesh
from pdem.foundation.arguments import instance_of, shown, whole_number
from pdem.foundation.errors import CheckpointError, InputError
from pdem.output.checkpoint import read_checkpoint
from pdem.output.checkpoint_folder import latest_checkpoint

if TYPE_CHECKING:
    from pdem.output.checkpoint import Checkpoint


def check_arguments(comm: Any, threads: Any, state: Any, particles: Any, meshes: Any) -> None:
    """Refuse arguments of a `Simulation` of types that nothing can be done with.

    Raises
    ------
    InputError
        Naming the argument.
    """
    if comm is not None and not hasattr(comm, "allreduce"):
        raise InputError(
            f"comm is {shown(comm)}; give an mpi4py communicator, or None for this process alone"
        )
    if threads is not None:
        whole_number("threads", threads, 1)
    for name, groups, needed in (("state", state, "particles"), ("particles", particles, "id")):
        if groups is not None and needed not in instance_of(name, groups, Mapping, "give columns by name"):
            raise InputError(f"{name} has no {needed!r}; give what a checkpoint or initial_particles holds")
    for mesh in meshes or ():
        instance_of("a mesh", mesh, Mesh, "read one: Mesh.read(path)")


def held_in(path: str | Path) -> Checkpoint:
    """Return a checkpoint, or the newest of a folder that reads well.

    Raises
    ------
    CheckpointError
        If it cannot be read, or there is none.
    """
    return latest_checkpoint(path) if Path(path).is_dir() else read_checkpoint(path)


def case_of(checkpoint: Any) -> Case:
    """Return the case stored in a checkpoint.

    Raises
    ------
    CheckpointError
        If there is none.
    """
    text = checkpoint.attributes.get("case")
    if not isinstance(text, str) or "counters" not in checkpoint.groups:
        raise CheckpointError(
            f"{checkpoint.path}: holds no run to continue; give a checkpoint written by pdem run"
        )
    return Case.from_text(text, str(checkpoint.attributes.get("directory", ".")))
