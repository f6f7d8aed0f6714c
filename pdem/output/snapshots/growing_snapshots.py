"""Snapshot files that grow step by step, for all kinds of snapshots: see `pdem.output.snapshots.snapshot_files`.

Committing a step costs as much as a thousand small rows. A file with `commit_every` therefore delays the commit of
steps that follow each other within this time, until `GrowingSnapshots.flush`.
"""

from __future__ import annotations

import logging
import math
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pdem.output.hdf5.parallel_hdf5 import ALONE, on_rank_0
from pdem.output.saving import reason, writing
from pdem.output.snapshots import vtkhdf
from pdem.output.snapshots.vtkhdf_writer import Writer
from pdem.output.storage import HDF5_ERRORS, open_hdf5, set_aside

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import h5py

    from pdem.output.hdf5.parallel_hdf5 import WritingRanks
    from pdem.output.storage import Attribute

REMEDY = "the snapshots before are untouched; free space or choose another output.folder"
_log = logging.getLogger("pdem")


class GrowingSnapshots:
    """A VTKHDF file that grows step by step and continues after a restart.

    Attributes
    ----------
    commit_every : float
        Steps within this time [s] after the last commit wait for the next one. The default 0 commits each step.
    """

    def __init__(
        self,
        path: Path | str,
        layout: vtkhdf.VtkLayout,
        attributes: Mapping[str, Attribute],
        resume_step: int | None,
        ranks: WritingRanks = ALONE,
    ) -> None:
        self.commit_every = 0.0
        self._whole_steps, self._is_committed, self._last_commit = 0, True, -math.inf
        self.path = Path(path)
        self._ranks = ranks
        self._layout = layout
        self._attributes = dict(attributes)
        self._last_step: int | None = None
        self._writer: Writer | None = None
        self._resume_step = resume_step
        self._exists = False

    @property
    def conflict(self) -> bool:
        """Whether there is a complete file with different fields or walls, which cannot be continued."""
        try:
            with open_hdf5(self.path, "r") as file:
                return not self._can_be_continued(file[vtkhdf.ROOT])
        except HDF5_ERRORS:  # no file, or a damaged one that will be renamed
            return False

    def _can_be_continued(self, root: h5py.Group) -> bool:
        return vtkhdf.fits(root, self._layout) and self._same_cells(root)

    def open(self) -> None:
        """Truncate an existing file to the step from which the run continues; called by the first write."""
        step, self._resume_step = self._resume_step, None
        if step is not None and self.path.exists():
            self._exists = self._resume(step)

    def _resume(self, step: int) -> bool:
        """Truncate the file to `step`; return whether it can be continued."""
        try:
            with open_hdf5(self.path, "r+") as file:
                root = file[vtkhdf.ROOT]
                if self._can_be_continued(root):
                    vtkhdf.truncate_before(root, step + 1)
                    return True
            why = "holds other fields or walls than this case"
        except HDF5_ERRORS as error:
            why = f"cannot be continued ({reason(error)})"
        _log.error("%s %s; it is kept as %s and a new file begun", self.path, why, set_aside(self.path).name)
        return False

    def _same_cells(self, root: h5py.Group) -> bool:
        return True

    def close(self) -> None:
        """Commit waiting steps and close the file; it can still be written to afterwards."""
        with writing(self.path, REMEDY):
            try:
                self._commit_waiting()
            finally:
                self.release()

    def release(self) -> None:
        """Close the file without a commit."""
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()

    def flush(self) -> None:
        """Commit the waiting steps. Collective.

        Raises
        ------
        CheckpointError
            When they cannot be written; on all ranks.
        """
        with writing(self.path, REMEDY), self.reset_on_error():
            on_rank_0(self._ranks, self._commit_waiting)

    def _commit_waiting(self) -> None:
        if self._is_committed:
            return
        if self._writer is None:
            self._writer = Writer(self.path)
        self._writer.commit_steps(self._whole_steps)
        self._is_committed, self._last_commit = True, time.monotonic()

    @contextmanager
    def reset_on_error(self) -> Iterator[None]:
        """After a failed write, commit the steps before it and close the file; the next writer removes later rows."""
        try:
            yield
        except BaseException:
            with suppress(*HDF5_ERRORS):
                self._commit_waiting()
            with suppress(*HDF5_ERRORS):
                self.release()
            self._last_step, self._is_committed = None, True
            raise

    def writer_for(self, step: int, rows: int) -> Writer:
        """Return a writer, for a new file with chunks of `rows` rows; steps from `step` on are removed."""
        self.open()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if not self._exists:
            vtkhdf.create(self.path, self._layout, self._attributes, rows)
            self._exists = True
        continues = self._last_step is not None and step > self._last_step
        if not continues:
            self.close()
        if self._writer is None:
            self._writer = Writer(self.path, None if continues else step)
        return self._writer

    def commit(self, step: int) -> None:
        """Commit the step, immediately or together with later steps."""
        if self._writer is None:
            self._writer = Writer(self.path)
        self._whole_steps, self._is_committed, self._last_step = self._writer.steps, False, step
        if not self._ranks.on_one_node or time.monotonic() >= self._last_commit + self.commit_every:
            self._commit_waiting()

    def commit_and_close(self, step: int) -> None:
        """Commit the step, and close the file if other nodes write to it."""
        self.commit(step)
        self.close_between_nodes()

    def close_between_nodes(self) -> None:
        """Close the file if other nodes write to it."""
        if not self._ranks.on_one_node:
            self.release()


def last_snapshot(path: Path) -> tuple[int, float] | None:
    """Return step and time [s] of the last snapshot in a file, None if there is none or it cannot be read."""
    try:
        with open_hdf5(path, "r") as file:
            steps = file[vtkhdf.ROOT]["Steps"]
            count = int(steps.attrs["NSteps"])
            return (int(steps["StepNumbers"][count - 1]), float(steps["Values"][count - 1])) if count else None
    except HDF5_ERRORS:
        return None


def full_name(name: str) -> str:
    """Return the full name of a dataset in a file."""
    return f"/{vtkhdf.ROOT}/{name}"
