"""Contacts as a VTKHDF time series of lines with cell data, which ParaView and VTK can open: force chains.

A line leads from the centre of the first body of a contact to the centre of the second, or to the point on the wall.
Lines across a periodic side extend beyond it. They are in the order of ids, each rank writes a part of them, and the
file has the same bits for any number of ranks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.containers.global_order import OwnRows
from pdem.foundation.errors import InputError
from pdem.foundation.fields import Field
from pdem.output.hdf5.growing_datasets import AllocatedRows, write_rows
from pdem.output.hdf5.parallel_hdf5 import ALONE, RankWriter, on_rank_0
from pdem.output.saving import writing
from pdem.output.snapshots import vtkhdf
from pdem.output.snapshots.growing_snapshots import REMEDY, GrowingSnapshots, full_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from pdem.containers.global_order import OrderedRows
    from pdem.output.hdf5.growing_datasets import Extent
    from pdem.output.hdf5.parallel_hdf5 import WritingRanks
    from pdem.output.storage import Attribute

    Columns = Mapping[str, NDArray[Any]]

CONTACT_FILE = "contacts.vtkhdf"
"""Name of the file of contacts in an output folder."""

ENDS = "ends"
"""Column of both ends of the lines (n, 2, 3) [m], which become the points of the file."""

_OF_BODIES = (
    Field("first", np.int64, (), "1", "id of the particle with the lower id"),
    Field("second", np.int64, (), "1", "id of the other particle, -1 for a wall"),
    Field("wall", np.int32, (), "1", "index of the wall in the case, -1 between particles"),
    Field("first_material", np.int32, (), "1", "index of the material of the first body"),
    Field("second_material", np.int32, (), "1", "index of the material of the second body"),
    Field("point", np.float64, (3,), "m", "place of the contact"),
    Field("normal", np.float64, (3,), "1", "unit vector from the first to the second body"),
    Field("force", np.float64, (3,), "N", "force of the first on the second body"),
    Field("normal_force", np.float64, (), "N", "its part along the normal: positive where bodies push"),
    Field("tangential_force", np.float64, (), "N", "size of the rest"),
    Field("overlap", np.float64, (), "m", "overlap; negative where the contact is stretched"),
    Field("elastic_energy", np.float64, (), "J", "energy of the normal force"),
)
STORED = Field("stored_energy", np.float64, (), "J", "energy of the springs of friction, rolling, twisting")
LOST = Field("lost_energy", np.float64, (), "J", "energy that the contact has lost so far")
AGE_OF_CONTACT = Field("age", np.float64, (), "s", "time since the step in which the contact began")


def contact_fields(*, energies: bool, ages: bool) -> tuple[Field, ...]:
    """Return the columns of contacts, with or without accounts of energies and ages."""
    return (*_OF_BODIES, *((STORED, LOST) if energies else ()), *((AGE_OF_CONTACT,) if ages else ()))


class ContactSnapshots(GrowingSnapshots):
    """Contacts as lines of two points each, with every field as cell data.

    Parameters
    ----------
    path : path
        File to write, usually ``contacts.vtkhdf``.
    fields : sequence of Field
        Stored fields, see `contact_fields`.
    attributes : mapping, optional
        Texts and numbers for the file: the case, versions.
    resume_step : int, optional
        Continue an existing file after a restart from this step, without later ones. None starts a new file.
    ranks : WritingRanks
        All ranks that write: rank 0 extends the file, each rank writes its contacts.
    """

    def __init__(
        self,
        path: Path | str,
        fields: Sequence[Field],
        attributes: Mapping[str, Attribute] | None = None,
        *,
        resume_step: int | None = None,
        ranks: WritingRanks = ALONE,
    ) -> None:
        self.fields = tuple(fields)
        layout = vtkhdf.VtkLayout(facet_fields=self.fields, shared=True, kind=vtkhdf.LINES)
        super().__init__(path, layout, attributes or {}, resume_step if ranks.rank == 0 else None, ranks)

    def write(self, time: float, step: int, columns: Columns, rows: OrderedRows | None = None) -> None:
        """Append the contacts at `time` (s); contacts of this or a later step are replaced. Collective.

        Parameters
        ----------
        time : float
            Simulated time (s).
        step : int
            Number of the time step.
        columns : mapping of ndarray
            ``ends (n, 2, 3)`` and every field, by name; any n, 0 included; further columns are ignored.
        rows : OrderedRows, optional
            Redistribution of the contacts of all ranks; None if this process has all, in order.

        Raises
        ------
        InputError
            When a column is missing or its length is not n.
        CheckpointError
            When the file cannot be written; on all ranks.
        """
        data = self._data(columns)
        rows = OwnRows(len(columns[ENDS])) if rows is None else rows
        with writing(self.path, REMEDY), self.reset_on_error():
            extents = on_rank_0(self._ranks, lambda: self._allocate_step(time, step, rows.total))
            with RankWriter(self.path, self._ranks) as writer:
                for name, column in data.items():
                    own = rows.take(column)
                    each = 2 if name == "Points" else 1
                    own = own.reshape(-1, 3) if each == 2 else own
                    write_rows(writer, extents[full_name(name)], each * rows.begin, own)
                self._write_lines(writer, extents, rows, len(own))
                writer.finish(sync=False)
            on_rank_0(self._ranks, lambda: self.commit_and_close(step))

    def _data(self, columns: Columns) -> dict[str, NDArray[Any]]:
        """Return the rows to be written by the names of their datasets; the last ones have a row for each contact."""
        count = len(columns[ENDS])
        data = {"Points": np.asarray(columns[ENDS], np.float64).reshape(count, 6)}
        for field in self.fields:
            if field.name not in columns or len(columns[field.name]) != count:
                raise InputError(f"{self.path}: needs {field.name} for all {count} contacts")
            data[f"CellData/{field.name}"] = np.asarray(columns[field.name], dtype=field.dtype)
        return data

    def _write_lines(self, writer: RankWriter, extents: dict[str, list[Extent]], rows: OrderedRows, count: int) -> None:
        """Write the point indices of the lines that this rank writes, if the number of lines has changed."""
        offsets, connectivity = (
            extents.get(full_name(f"{vtkhdf.LINES}/{name}"), []) for name in ("Offsets", "Connectivity")
        )
        first, last = 2 * rows.begin, 2 * (rows.begin + count)
        write_rows(writer, connectivity, first, np.arange(first, last, dtype=np.int64))
        write_rows(writer, offsets, rows.begin, np.arange(first, last, 2, dtype=np.int64))
        if self._ranks.rank == 0:  # the end of the last line; without lines two entries
            end = np.full(1 if rows.total else 2, 2 * rows.total, np.int64)
            write_rows(writer, offsets, rows.total, end)

    def _allocate_step(self, time: float, step: int, count: int) -> dict[str, list[Extent]]:
        """Append a step and allocate the rows of its contacts; return their extents."""
        writer, allocated = self.writer_for(step, count), AllocatedRows()
        part = writer.find_part(2 * count)
        if part is None:
            part = writer.add_lines(count, allocated)
        writer.add_step(
            time, step, part, lambda column: allocated.add(column, 2 * count), {},
            lambda column: allocated.add(column, count),
        )  # fmt: skip
        if not writer.allocates_early:
            self.release()
        self.close_between_nodes()
        return allocated.extents


def read_contacts(path: Path, index: int = -1) -> dict[str, NDArray[Any]]:
    """Return the contacts of one step of a file by the names of their columns, with ``centre`` and ``branch``.

    Parameters
    ----------
    path : path
        A file of `ContactSnapshots`.
    index : int
        Index of the step, counted like a list.

    Returns
    -------
    dict of ndarray
        Fields of `contact_fields`; ``centre`` (n, 3) is the centre of the first particle and ``branch`` (n, 3) leads
        from there to the second centre or the point on the wall [m].

    Raises
    ------
    CheckpointError, InputError
        Like `pdem.output.snapshots.vtkhdf.read_step`.
    """
    step = vtkhdf.read_step(path, index)
    ends = step.points.reshape(-1, 2, 3)
    return {**step.cell_data, "centre": ends[:, 0], "branch": ends[:, 1] - ends[:, 0]}
