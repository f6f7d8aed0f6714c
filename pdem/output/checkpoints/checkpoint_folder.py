"""The checkpoints of a run in its folder: rotation, and the newest that is readable."""

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
"""What the name of the state begins with that a run in a new folder went on from. It stays."""

STAGE_PREFIX = "stage-"
"""What names of checkpoints begin with that stages have ended with. They stay."""

CHECKPOINTS_TO_KEEP = 6
"""Checkpoints of a run that stay, unless the case says another number."""

NEWEST_TO_KEEP = 2
"""Newest checkpoints that stay in any case: if the disk damages the newest, the one before is there."""


def steps_to_keep(steps: Sequence[int], keep: int, begin: int = 0) -> list[int]:
    """Return which checkpoints stay: the newest two, and earlier ones that are spread over the run.

    As long as there are too many, the one goes without which the gap is smallest between those before and behind it; of
    several the latest. The begin of the run counts as one that is always there.

    Parameters
    ----------
    steps : sequence of int
        In ascending order.
    keep : int
        How many stay, at least 1.
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
        Where they are; made when the first one is written.
    keep : int
        Number of checkpoints that stay, at least 1.
    """

    def __init__(self, folder: Path | str, keep: int = CHECKPOINTS_TO_KEEP) -> None:
        if keep < 1:
            raise InputError(f"keep = {keep} checkpoints; at least 1 must stay")
        self.folder = Path(folder)
        self.keep = keep

    def paths(self) -> list[Path]:
        """Return the checkpoints in the folder, oldest step first; copies under other names do not count.

        That from which a run in a new folder began is the first.
        """
        return sorted((path for path in self.folder.glob("*-*.h5") if step_of(path) >= 0), key=step_of)

    @property
    def begin(self) -> int:
        """Step at which the run in the folder begins: 0 unless it went on from a state of another folder."""
        return max((step_of(path) for path in self.folder.glob(f"{BEGIN_PREFIX}*.h5")), default=0)

    def later_than(self, step: int) -> list[Path]:
        """Return the checkpoints of later steps, oldest first."""
        return [path for path in self.paths() if step_of(path) > step]

    def of_stages(self, later_than: int | None = None) -> list[Path]:
        """Return the checkpoints that stages have ended with, all or those of later steps; unreadable ones count."""
        paths = sorted(self.folder.glob(f"{STAGE_PREFIX}*.h5"))
        return [path for path in paths if later_than is None or not 0 <= _stored_step(path) <= later_than]

    def of_stage(self, name: str) -> Path:
        """Return where the checkpoint is that a stage ends with."""
        return self.folder / f"{STAGE_PREFIX}{name}.h5"

    def keep_as_stage(self, path: Path, name: str) -> None:
        """Keep a checkpoint under the name of the stage that it ends, without a copy where the disk can do that.

        Raises
        ------
        CheckpointError
            If that cannot be done.
        """
        kept = self.of_stage(name)
        with writing(kept, "make room, then restart"):
            replace_file(kept, lambda new: _link_or_copy(path, new))

    def write(
        self, step: int, groups: Mapping[str, Mapping[str, NDArray[Any]]], attributes: Mapping[str, Attribute]
    ) -> Path:
        """Write ``checkpoint-<step>.h5`` of a state that this process holds alone; see `write_tables`."""
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
        """Write ``checkpoint-<step>.h5`` and then remove those no longer needed. Collective.

        Returns its path and digests; `no_state` is that of `pdem.output.checkpoints.checkpoint.write_tables`.

        With `begins` it is ``begin-<step>.h5``, with which the run in this folder begins, and which stays.

        Checkpoints of later steps are removed as well: a run starts before them only if they are torn or if the user
        asked for it.

        Raises
        ------
        CheckpointError
            On all ranks, when it cannot be written; all earlier ones are still there.
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
        """Return the newest readable checkpoint, with a line in ``warnings`` for each newer one.

        Parameters
        ----------
        read : callable
            Reads one.
        paths : sequence of Path, optional
            Oldest step first, in place of those in the folder.

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
    """Return the step of a checkpoint by its name, -1 if it is not a name that a run gives."""
    match = _NAME.fullmatch(path.name)
    return int(match[1]) if match else -1


def _stored_step(path: Path) -> int:
    """Return the step in a checkpoint, -1 if it cannot be read."""
    try:
        with open_hdf5(path, "r") as file:
            return int(file.attrs["step"])
    except HDF5_ERRORS:
        return -1
