"""What a simulation is given to begin from: arguments of the right types, a checkpoint and the case it holds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pdem.case.model import Case
from pdem.containers.mesh import Mesh
from pdem.foundation.arguments import instance_of, shown, whole_number
from pdem.foundation.errors import CheckpointError, InputError, PdemError
from pdem.output.checkpoint import read_checkpoint
from pdem.output.checkpoint_folder import latest_checkpoint

if TYPE_CHECKING:
    from pdem.output.checkpoint import Checkpoint

_ROUNDING = 1e-12
"""Two time steps that differ by less than this part are the same."""


def check_arguments(comm: Any, threads: Any, state: Any, meshes: Any) -> None:
    """Refuse arguments of a `Simulation` of types that nothing can be done with.

    Raises
    ------
    InputError
        Naming the argument.
    """
    if comm is not None and not (hasattr(comm, "rank") and hasattr(comm, "size")):
        raise InputError(
            f"comm is {shown(comm)}; give an mpi4py communicator, or None for this process alone"
        )
    if threads is not None:
        whole_number("threads", threads, 1)
    if state is not None and "particles" not in instance_of("state", state, Mapping, "give columns by name"):
        raise InputError("state has no 'particles'; give what a checkpoint holds")
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
    case = Case.from_text(text, str(checkpoint.attributes.get("directory", ".")))
    _keep_step(case, checkpoint)
    return case


def _keep_step(case: Case, checkpoint: Any) -> None:
    """Give a case the time step that its run had, where its own rule would choose another one by now.

    An automatic step follows from rules that may have changed since, and from files of particles that may be gone.
    """
    kept = _step_of(checkpoint)
    if kept is None:
        return
    try:
        chosen = case.resolved_step()
    except PdemError:
        chosen = 0.0
    if abs(chosen - kept) > _ROUNDING * kept:
        case.override(f"time.step={kept!r}")


def _step_of(checkpoint: Any) -> float | None:
    """Return the time step of a checkpoint [s]: written by name, or by earlier versions as time over steps."""
    held = checkpoint.attributes
    if "time_step" in held:
        return float(held["time_step"])
    steps = int(checkpoint.groups["counters"]["step"])
    return float(held["time"]) / steps if steps and "time" in held else None
