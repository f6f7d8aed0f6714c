"""The files of a run: those of snapshots, and that all files are flushed and closed together, whatever fails."""

from __future__ import annotations

import weakref
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, Any

from pdem.containers.group import on_each_rank
from pdem.foundation.errors import CheckpointError
from pdem.output.closing import Closing
from pdem.output.snapshots.formats import FORMATS, WRITTEN_FORMAT
from pdem.run.files.contact_columns import contact_columns, contact_file_of
from pdem.run.files.field_files import FieldFiles
from pdem.run.files.particle_output import ParticleOutput
from pdem.run.files.wall_files import WallFiles

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pdem.engine.protocol import Engine
    from pdem.output.log import RunLog
    from pdem.output.series import Series
    from pdem.output.snapshots.formats import SnapshotFile

_COMMIT_EVERY = 1.0
"""Seconds for which snapshots may wait in memory."""


class RunFiles:
    """Files of snapshots, and all that is flushed and closed with them.

    They are closed when nobody refers to this object any more, and at the end of the process.

    Parameters
    ----------
    simulation : Engine
        What is written.
    folder : Path
        Of the output.
    attributes : dict
        Of the files.

    Attributes
    ----------
    particles, walls, fields
        Parts that write snapshots.
    """

    def __init__(self, simulation: Engine, folder: Path, attributes: dict[str, Any]) -> None:
        self._simulation, self._exchange = simulation, simulation.system.exchange
        self.particles = ParticleOutput(simulation, folder, attributes)
        self.walls = WallFiles(simulation, folder, attributes)
        self.fields = FieldFiles(simulation, folder, attributes)
        self._contacts = contact_file_of(simulation, FORMATS[WRITTEN_FORMAT], attributes)
        self._tables: list[Series | RunLog] = []
        self._closing = Closing()
        self._close = weakref.finalize(self, self._closing.close)
        for file in self._all():
            file.commit_every = _COMMIT_EVERY
            self._closing.add(file.close)

    def _all(self) -> list[SnapshotFile]:
        """Return the files of snapshots of this rank."""
        return [*self._shared(), *self._own()]

    def _shared(self) -> list[SnapshotFile]:
        """Return those that all ranks write together."""
        return [*self.particles.files(), *([] if self._contacts is None else [self._contacts])]

    def _own(self) -> list[SnapshotFile]:
        """Return those that rank 0 writes, none on other ranks."""
        return [*self.walls.files(), *self.fields.files()]

    def conflict(self) -> str | None:
        """Return the name of a file in the folder that this run cannot continue, None if there is none."""
        return next((file.path.name for file in self._all() if file.conflict), None)

    def agree(self, work: Callable[[], object]) -> None:
        """Call a function on rank 0; if it raises an error of pdem, all ranks do. Collective."""
        on_each_rank(self._exchange, lambda: work() if self._exchange.rank == 0 else None)

    def open(self) -> None:
        """Open files that are continued, on rank 0."""
        for file in self._all():
            file.open()

    def add(self, table: Series | RunLog) -> None:
        """Flush and close a table or log together with the files of snapshots, on rank 0."""
        self._tables.append(table)
        self._closing.add(table.close)

    def close_last(self, close: Callable[[], object]) -> None:
        """Call a function when everything else is closed."""
        self._closing.add_last(close)

    def write_contacts(self) -> None:
        """Write all contacts, if the case wants them. Collective."""
        if self._contacts is not None:
            simulation = self._simulation
            self._contacts.write(simulation.time, simulation.step, *contact_columns(simulation.system))

    def flush(self) -> None:
        """Write what is buffered to disk. Collective.

        Raises
        ------
        CheckpointError
            On all ranks, if that cannot be done.
        """
        for file in self._shared():
            file.flush()
        self.agree(self._flush_own)

    def _flush_own(self) -> None:
        for one in (*self._own(), *self._tables):
            one.flush()

    def close(self, *, quietly: bool = False) -> None:
        """Close everything.

        Parameters
        ----------
        quietly : bool
            Say nothing of what fails: there is an error already.

        Raises
        ------
        CheckpointError
            If something that was not written before cannot be written.
        """
        with suppress(CheckpointError) if quietly else nullcontext():
            self._close()
