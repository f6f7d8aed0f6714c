"""The snapshot files of a run, and joint flushing and closing of all files, even after errors."""

from __future__ import annotations

import os
import weakref
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, Any

from pdem.containers.group import on_each_rank
from pdem.continuum.fields import fields_with_parts
from pdem.features.fields.feature import Fields
from pdem.foundation.errors import CheckpointError, PdemError
from pdem.output.snapshots.formats import FORMATS, WRITTEN_FORMAT
from pdem.output.snapshots.image_series import ImageSeries, Lattice, field_file
from pdem.run.files.bond_snapshots import BondSnapshots
from pdem.run.files.contact_columns import contact_columns, contact_file_of
from pdem.run.files.particle_output import ParticleOutput
from pdem.run.files.wall_files import WallFiles

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pdem.continuum.grid import Grid
    from pdem.engine.protocol import Engine
    from pdem.output.log import RunLog
    from pdem.output.series import Series
    from pdem.output.snapshots.formats import SnapshotFile
    from pdem.output.storage import Attribute

_COMMIT_EVERY = 1.0
"""Longest time for which snapshots may be buffered in memory [s]."""


class RunFiles:
    """Snapshot files, and all other files that are flushed and closed together with them.

    The files are also closed when this object is garbage-collected, and at the end of the process.

    Parameters
    ----------
    simulation : Engine
        The run to write.
    folder : Path
        Output folder.
    attributes : dict
        Attributes of the files.

    Attributes
    ----------
    particles, walls, fields, bonds
        Writers of snapshots.
    """

    def __init__(self, simulation: Engine, folder: Path, attributes: dict[str, Any]) -> None:
        self._simulation, self._exchange = simulation, simulation.system.exchange
        self.particles = ParticleOutput(simulation, folder, attributes)
        self.walls = WallFiles(simulation, folder, attributes)
        self.fields = FieldFiles(simulation, folder, attributes)
        self._contacts = contact_file_of(simulation, FORMATS[WRITTEN_FORMAT], attributes)
        self.bonds = BondSnapshots(simulation, FORMATS[WRITTEN_FORMAT], attributes)
        self._tables: list[Series | RunLog] = []
        self._closing = Closing()
        self._close = weakref.finalize(self, self._closing.close)
        for file in self._all():
            file.commit_every = _COMMIT_EVERY
            self._closing.add(file.close)

    def _all(self) -> list[SnapshotFile]:
        """Return the snapshot files of this rank."""
        return [*self._shared(), *self._own()]

    def _shared(self) -> list[SnapshotFile]:
        """Return the files that all ranks write together."""
        return [*self.particles.files(), *([] if self._contacts is None else [self._contacts]), *self.bonds.files()]

    def _own(self) -> list[SnapshotFile]:
        """Return the files of rank 0, an empty list on other ranks."""
        return [*self.walls.files(), *self.fields.files()]

    def conflict(self) -> str | None:
        """Return the name of a file in the folder that this run cannot continue, None if there is none."""
        return next((file.path.name for file in self._all() if file.conflict), None)

    def agree(self, work: Callable[[], object]) -> None:
        """Call a function on rank 0; if it raises an error of pdem, all ranks raise it. Collective."""
        on_each_rank(self._exchange, lambda: work() if self._exchange.rank == 0 else None)

    def open(self) -> None:
        """Open the continued files, on rank 0."""
        for file in self._all():
            file.open()

    def add(self, table: Series | RunLog) -> None:
        """Register a table or log for flushing and closing together with the snapshot files, on rank 0."""
        self._tables.append(table)
        self._closing.add(table.close)

    def close_last(self, close: Callable[[], object]) -> None:
        """Register a function to call after all files are closed."""
        self._closing.add_last(close)

    def write_contacts(self) -> None:
        """Write all contacts, if the case requests them. Collective."""
        if self._contacts is not None:
            simulation = self._simulation
            self._contacts.write(simulation.time, simulation.step, *contact_columns(simulation.system))

    def flush(self) -> None:
        """Write buffered data to disk. Collective.

        Raises
        ------
        CheckpointError
            On all ranks, if a file cannot be written.
        """
        for file in self._shared():
            file.flush()
        self.agree(self._flush_own)

    def _flush_own(self) -> None:
        for one in (*self._own(), *self._tables):
            one.flush()

    def close(self, *, quietly: bool = False) -> None:
        """Close all files.

        Parameters
        ----------
        quietly : bool
            Ignore errors, because an earlier error is being handled.

        Raises
        ------
        CheckpointError
            If buffered data cannot be written.
        """
        with suppress(CheckpointError) if quietly else nullcontext():
            self._close()


class Closing:
    """Functions that close files; they are called once, only in the process that registered them."""

    def __init__(self) -> None:
        self._parts: list[Callable[[], object]] = []
        self._last: list[Callable[[], object]] = []
        self._process = os.getpid()

    def add(self, close: Callable[[], object]) -> None:
        """Register a function; functions are called in the order of registration."""
        self._parts.append(close)

    def add_last(self, close: Callable[[], object]) -> None:
        """Register a function to call after all other functions."""
        self._last.append(close)

    def close(self) -> None:
        """Call all functions; does nothing in a forked process.

        Raises
        ------
        OSError, RuntimeError, PdemError
            The first error, after all functions were called.
        """
        parts, self._parts, self._last = [*self._parts, *self._last], [], []
        problems = []
        for close in parts if os.getpid() == self._process else ():
            try:
                close()
            except (OSError, RuntimeError, PdemError) as error:
                problems.append(error)
        if problems:
            raise problems[0]


class FieldFiles:
    """The files of the ``[[fields]]`` of a run, written by rank 0.

    Parameters
    ----------
    simulation : Engine
        The run to write.
    folder : Path
        Output folder.
    attributes : dict
        Attributes of the files.
    """

    def __init__(self, simulation: Engine, folder: Path, attributes: dict[str, Attribute]) -> None:
        self._averages, heat = simulation.system.features.get(Fields).averages, simulation.case.heat is not None
        self._system, self._files = simulation.system, dict[str, ImageSeries]()
        for one in self._averages if simulation.system.exchange.rank == 0 else ():
            own: dict[str, Attribute] = {
                "field_width": one.grid.width, "field_kernel": one.grid.kernel, "parts": "\n".join(one.materials),
                "dimension": one.grid.dimension,
            }  # fmt: skip
            self._files[one.name] = ImageSeries(
                folder / field_file(one.name), lattice_of(one.grid), fields_with_parts(one.materials, heat=heat),
                attributes | own, resume_step=simulation.step or None,
            )  # fmt: skip

    def files(self) -> Iterator[ImageSeries]:
        """Yield all files of this rank."""
        yield from self._files.values()

    def write(self) -> None:
        """Append the fields with averages that end at the present step. Collective."""
        on_each_rank(self._system.exchange, self._append)

    def _append(self) -> None:
        for one in self._averages:
            done = one.finished
            if done is not None and done.step == self._system.progress.step and one.name in self._files:
                time = self._system.progress.time_of(done.step)
                self._files[one.name].write(
                    time, done.step, done.fields.named, done.samples, lattice_of(done.fields.grid)
                )


def lattice_of(grid: Grid) -> Lattice:
    """Return the cells of a grid in the form for files."""
    x, y, z = grid.cells.tolist()
    return Lattice((x, y, z), tuple(grid.lower.tolist()), tuple(grid.size.tolist()))
