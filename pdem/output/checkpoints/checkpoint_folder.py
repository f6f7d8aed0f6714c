"""The checkpoints of a run in its folder: rotation, and the newest readable one."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pdem.foundation.errors import CheckpointError, InputError
from pdem.foundation.files import replace_file
from pdem.output.checkpoints.checkpoint import Checkpoint, Digests, read_checkpoint, write_tables
from pdem.output.hdf5.parallel_hdf5 import ALONE, tables_of_groups
from pdem.output.saving import writing
from pdem.output.storage import HDF5_ERRORS, open_hdf5

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from typing import Any

    from numpy.typing import NDArray

    from pdem.output.hdf5.parallel_hdf5 import RowTable, WritingRanks
    from pdem.output.storage import Attribute

_NAME = re.compile(r"(?:checkpoint|begin)-([0-9]+)\.h5")

BEGIN_PREFIX = "begin-"
"""Prefix of the checkpoint from which a run in a new folder has started. It is never removed."""

STAGE_PREFIX = "stage-"
"""Prefix of the checkpoints at the ends of stages. They are never removed."""

CHECKPOINTS_TO_KEEP = 6
"""Default number of checkpoints of a run that are not removed."""

NEWEST_TO_KEEP = 2
"""Smallest number of newest checkpoints: if the disk damages the newest, the one before it remains."""


def steps_to_keep(steps: Sequence[int], keep: int, begin: int = 0) -> list[int]:
    """Return the steps of the checkpoints that remain: the newest two, and earlier ones spread over the run.

    While there are too many, the checkpoint with the smallest gap between its neighbours is removed; of several with
    the same gap the latest. The start of the run counts as a checkpoint that is always present.

    Parameters
    ----------
    steps : sequence of int
        In ascending order.
    keep : int
        Number of checkpoints that remain, at least 1.
    begin : int
        Step at which the run begins.
    """
    kept = list(steps)
    while len(kept) > keep:
        before, older = [begin, *kept], range(len(kept) - min(NEWEST_TO_KEEP, keep))
        del kept[min(older, key=lambda at: (kept[at + 1] - before[at], -at))]
    return kept


class CheckpointFolder:
    """The checkpoints of a run: the newest, and some that are spread over it (`steps_to_keep`).

    Parameters
    ----------
    folder : path
        Folder of the checkpoints; created at the first write.
    keep : int
        Number of checkpoints that remain, at least 1.
    """

    def __init__(self, folder: Path | str, keep: int = CHECKPOINTS_TO_KEEP) -> None:
        if keep < 1:
            raise InputError(f"keep = {keep} checkpoints; at least 1 must stay")
        self.folder = Path(folder)
        self.keep = keep

    def paths(self) -> list[Path]:
        """Return the checkpoints in the folder, oldest step first; copies under different names do not count.

        The checkpoint from which a run in a new folder started is the first.
        """
        return sorted((path for path in self.folder.glob("*-*.h5") if step_of(path) >= 0), key=step_of)

    @property
    def begin(self) -> int:
        """Step at which the run in the folder starts: 0 unless it started from a state of a different folder."""
        return max((step_of(path) for path in self.folder.glob(f"{BEGIN_PREFIX}*.h5")), default=0)

    def later_than(self, step: int) -> list[Path]:
        """Return the checkpoints of later steps, oldest first."""
        return [path for path in self.paths() if step_of(path) > step]

    def of_stages(self, later_than: int | None = None) -> list[Path]:
        """Return the checkpoints at the ends of stages, all or those of later steps; unreadable ones count."""
        paths = sorted(self.folder.glob(f"{STAGE_PREFIX}*.h5"))
        return [path for path in paths if later_than is None or not 0 <= _stored_step(path) <= later_than]

    def of_stage(self, name: str) -> Path:
        """Return the path of the checkpoint at the end of a stage."""
        return self.folder / f"{STAGE_PREFIX}{name}.h5"

    def keep_as_stage(self, path: Path, name: str) -> None:
        """Give a checkpoint the name of the stage that it ends, by a hard link where the disk supports it.

        Raises
        ------
        CheckpointError
            If this fails.
        """
        kept = self.of_stage(name)
        with writing(kept, "make room, then restart"):
            replace_file(kept, lambda new: _link_or_copy(path, new))

    def write(
        self, step: int, groups: Mapping[str, Mapping[str, NDArray[Any]]], attributes: Mapping[str, Attribute]
    ) -> Path:
        """Write ``checkpoint-<step>.h5`` of a state that is complete on this process; see `write_tables`."""
        return self.write_tables(step, tables_of_groups(groups), attributes)[0]

    def write_tables(
        self,
        step: int,
        tables: Mapping[str, RowTable],
        attributes: Mapping[str, Attribute],
        ranks: WritingRanks = ALONE,
        *,
        begins: bool = False,
        no_state: Collection[str] = (),
    ) -> tuple[Path, Digests]:
        """Write ``checkpoint-<step>.h5`` and then remove checkpoints beyond the number to keep. Collective.

        Returns its path and digests; `no_state` has the meaning of `pdem.output.checkpoints.checkpoint.write_tables`.

        With `begins` its name is ``begin-<step>.h5``: the run in this folder starts from it, and it is never removed.

        Checkpoints of later steps are removed as well: a run starts before them only if they are damaged or if the user
        requests it.

        Raises
        ------
        CheckpointError
            On all ranks, when it cannot be written; all earlier ones remain.
        """
        path = self.folder / f"{BEGIN_PREFIX if begins else 'checkpoint-'}{step:09d}.h5"
        digests = write_tables(path, tables, {**attributes, "step": step}, ranks, no_state)
        if ranks.rank == 0:
            self._remove_others(step)
        return path, digests

    def _remove_others(self, step: int) -> None:
        others = [other for other in self.paths() if not other.name.startswith(BEGIN_PREFIX)]
        earlier = [step_of(other) for other in others if step_of(other) <= step]
        kept = steps_to_keep(earlier, self.keep, self.begin)
        for other in others:
            if step_of(other) not in kept:
                other.unlink(missing_ok=True)
        for left_over in self.folder.glob("checkpoint-*.h5.tmp"):
            left_over.unlink(missing_ok=True)

    def latest(
        self, read: Callable[[Path], Checkpoint] = read_checkpoint, paths: Sequence[Path] | None = None
    ) -> Checkpoint:
        """Return the newest readable checkpoint, with a line in ``warnings`` for each newer one that is damaged.

        Parameters
        ----------
        read : callable
            Reads a checkpoint.
        paths : sequence of Path, optional
            Checkpoints to try, oldest step first; by default the checkpoints in the folder.

        Raises
        ------
        CheckpointError
            When there is none.
        """
        warnings: list[str] = []
        for path in reversed(self.paths() if paths is None else paths):
            try:
                found = read(path)
            except CheckpointError as error:
                warnings.append(str(error))
            else:
                return replace(found, warnings=tuple(warnings))
        detail = f" ({'; '.join(warnings)})" if warnings else ""
        raise CheckpointError(f"{self.folder}: no readable checkpoint{detail}; start with pdem run")


def _link_or_copy(path: Path, new: Path) -> None:
    new.unlink(missing_ok=True)
    try:
        os.link(path, new)
    except OSError:
        shutil.copyfile(path, new)


def latest_checkpoint(folder: Path | str) -> Checkpoint:
    """Return the newest readable checkpoint of `folder`; see `CheckpointFolder.latest`."""
    return CheckpointFolder(folder).latest()


def step_of(path: Path) -> int:
    """Return the step in the name of a checkpoint, -1 if a run does not write files with this name."""
    match = _NAME.fullmatch(path.name)
    return int(match[1]) if match else -1


def _stored_step(path: Path) -> int:
    """Return the step in a checkpoint, -1 if it cannot be read."""
    try:
        with open_hdf5(path, "r") as file:
            return int(file.attrs["step"])
    except HDF5_ERRORS:
        return -1
