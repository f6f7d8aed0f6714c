"""The checkpoint from which a run repeats a stage."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pdem.case.model import Case
from pdem.foundation.errors import CheckpointError, InputError, name_hint
from pdem.output.checkpoints.checkpoint_folder import CheckpointFolder
from pdem.output.storage import HDF5_ERRORS, open_hdf5

if TYPE_CHECKING:
    from collections.abc import Iterator


def stage_start(folder: Path | str, name: str) -> Path:
    """Return the checkpoint at the begin of a stage: the final checkpoint of the stage before it.

    Parameters
    ----------
    folder : path
        Output folder of a run.
    name : str
        Name of the stage to repeat.

    Raises
    ------
    InputError
        If the run has no such stage, it is the first stage, or the previous stage has not ended yet.
    CheckpointError
        If the folder has no readable checkpoint.
    """
    checkpoints = CheckpointFolder(folder)
    case = next(_cases(checkpoints), None)
    if case is None:
        raise CheckpointError(f"{folder}: no readable checkpoint; start with pdem run")
    names = [stage.name for stage in case.stages]
    if name not in names:
        hint = name_hint(name, names) if names else "its case has no stages"
        raise InputError(f"{folder}: {name!r} is no stage of this run; {hint}")
    number = names.index(name)
    if number == 0:
        raise InputError(
            f"{folder}: stage {name} is the first one and begins at time 0; pdem run CASE.toml --overwrite begins anew"
        )
    path = checkpoints.of_stage(names[number - 1])
    if not path.is_file():
        there = ", ".join(one.name for one in checkpoints.of_stages()) or "none"
        raise InputError(
            f"{path}: no such checkpoint: stage {names[number - 1]} has not ended, or its checkpoint was removed (of "
            f"stages there are: {there}); pdem restart {folder} goes on"
        )
    return path


def _cases(checkpoints: CheckpointFolder) -> Iterator[Case]:
    """Yield the cases in the readable checkpoints of a folder, the newest first."""
    for path in (*reversed(checkpoints.paths()), *checkpoints.of_stages()):
        try:
            with open_hdf5(path, "r") as file:
                text, directory = str(file.attrs["case"]), str(file.attrs.get("directory", "."))
        except HDF5_ERRORS:
            continue
        yield Case.from_text(text, directory)
