"""Snapshots of particles and walls as VTKHDF time series, which ParaView and VTK can open.

Rank 0 allocates rows for the particles of all ranks, each rank writes its own, and rank 0 commits the step when all
have written. A run commits steps that follow each other within a second together. The file stays open between
snapshots, and HDF5 flushes its metadata only at a commit: between writes the file is complete, for viewers and after a
kill. With ranks on several nodes it is closed between these stages, because network file systems do not keep caches of
nodes consistent. While the file is open, this process can read it as ``h5py.File(path, locking=False)``: no file is
locked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.containers.global_order import OwnRows
from pdem.foundation.errors import InputError
from pdem.foundation.fields import Field, written_fields
from pdem.output.hdf5.growing_datasets import AllocatedRows, write_rows
from pdem.output.hdf5.parallel_hdf5 import ALONE, RankWriter, on_rank_0
from pdem.output.saving import writing
from pdem.output.snapshots import vtkhdf
from pdem.output.snapshots.growing_snapshots import REMEDY, GrowingSnapshots, full_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    import h5py
    from numpy.typing import NDArray

    from pdem.containers.global_order import OrderedRows
    from pdem.foundation.array_types import Floats
    from pdem.output.hdf5.growing_datasets import Extent, GrowingDataset
    from pdem.output.hdf5.parallel_hdf5 import WritingRanks
    from pdem.output.storage import Attribute

PARTICLE_FILE = "particles.vtkhdf"
"""Name of the particle snapshots in an output folder."""

WALL_FILE = "walls.vtkhdf"
"""Name of the wall snapshots in an output folder."""

WALL_LOADS = (
    Field("force", np.float64, (3,), "N", "contact force on each wall, in the order of the case"),
    Field("torque", np.float64, (3,), "N m", "contact torque on each wall about its centre, in the order of the case"),
)
WALL_INDEX = Field("wall", np.int32, (), "1", "index of the wall in the case")
PRESENT = Field("present", np.uint8, (), "1", "1 for a facet of a wall that is there, 0 if a stage has taken it out")

_OFFSETS, _CONNECTIVITY = f"{vtkhdf.VERTICES}/Offsets", f"{vtkhdf.VERTICES}/Connectivity"


class ParticleSnapshots(GrowingSnapshots):
    """Particles as points (one vertex cell each) with every written field as point data.

    Parameters
    ----------
    path : path
        File to write, usually ``particles.vtkhdf``.
    fields : sequence of Field
        Stored fields; ``position`` becomes the points.
    attributes : mapping, optional
        Texts and numbers for the file: the case, versions.
    resume_step : int, optional
        Continue an existing file after a restart from this step, without later snapshots. None starts a new file.
    ranks : WritingRanks
        All ranks that write: rank 0 extends the file, each rank writes its particles.
    tables : sequence of Field, optional
        Additional small tables of each snapshot.
    """

    def __init__(
        self,
        path: Path | str,
        fields: Sequence[Field] | None = None,
        attributes: Mapping[str, Attribute] | None = None,
        *,
        resume_step: int | None = None,
        ranks: WritingRanks = ALONE,
        tables: Sequence[Field] = (),
    ) -> None:
        chosen = written_fields() if fields is None else fields
        self.fields = tuple(field for field in chosen if field.name != "position")
        layout = vtkhdf.VtkLayout(point_fields=self.fields, step_fields=tuple(tables), shared=True)
        super().__init__(path, layout, attributes or {}, resume_step if ranks.rank == 0 else None, ranks)

    def write(
        self,
        time: float,
        step: int,
        columns: Mapping[str, NDArray[Any]],
        rows: OrderedRows | None = None,
        tables: Mapping[str, NDArray[Any]] | None = None,
    ) -> None:
        """Append the particles at `time` (s); snapshots of this or a later step are replaced. Collective.

        Parameters
        ----------
        time : float
            Simulated time (s).
        step : int
            Number of the time step.
        columns : mapping of ndarray
            ``position (n, 3)`` and every field, by name; any n, 0 included; further columns are ignored.
        rows : OrderedRows, optional
            Redistribution of the particles of all ranks; None if this process has all, in order.
        tables : mapping of ndarray, optional
            Rows of the tables, by name, on rank 0.

        Raises
        ------
        InputError
            When a column is missing or its length is not n.
        CheckpointError
            When the file cannot be written; on all ranks.
        """
        points = np.asarray(columns["position"], dtype=np.float64).reshape(-1, 3)
        data = {"Points": points}
        for field in self.fields:
            if field.name not in columns or len(columns[field.name]) != len(points):
                raise InputError(f"{self.path}: snapshot needs {field.name} for all {len(points)} particles")
            data[f"PointData/{field.name}"] = np.asarray(columns[field.name], dtype=field.dtype)
        rows, ranks = OwnRows(len(points)) if rows is None else rows, self._ranks
        with writing(self.path, REMEDY), self.reset_on_error():
            extents = on_rank_0(ranks, lambda: self._allocate_step(time, step, rows.total, tables or {}))
            with RankWriter(self.path, ranks) as writer:
                for name, column in data.items():
                    own_rows = rows.take(column)
                    write_rows(writer, extents[full_name(name)], rows.begin, own_rows)
                numbers = np.arange(rows.begin, rows.begin + len(own_rows), dtype=np.int64)
                for name in (_OFFSETS, _CONNECTIVITY):
                    write_rows(writer, extents.get(full_name(name), []), rows.begin, numbers)
                if ranks.rank == 0:  # the end of the last cell; without cells two entries
                    end = np.full(1 if rows.total else 2, rows.total, np.int64)
                    write_rows(writer, extents.get(full_name(_OFFSETS), []), rows.total, end)
                writer.finish(sync=False)
            on_rank_0(ranks, lambda: self.commit_and_close(step))

    def _allocate_step(
        self, time: float, step: int, count: int, tables: Mapping[str, NDArray[Any]]
    ) -> dict[str, list[Extent]]:
        """Append a step and allocate the rows of its particles; return their extents."""
        writer, allocated = self.writer_for(step, count), AllocatedRows()
        part = writer.find_part(count)
        if part is None:
            part = writer.add_vertices(count, allocated)
        writer.add_step(time, step, part, lambda column: allocated.add(column, count), tables)
        if not writer.allocates_early:
            self.release()
        self.close_between_nodes()
        return allocated.extents


class WallSnapshots(GrowingSnapshots):
    """The walls as one moving surface of polygons, with the loads on nodes, facets and walls.

    The facets are stored once. Each step stores the moved vertices, columns per vertex and facet and, as field data,
    small tables: ``force (w, 3)`` and ``torque (w, 3)`` with one row per wall, and the tables of `table_fields`.

    Parameters
    ----------
    path : path
        File to write, usually ``walls.vtkhdf``.
    facet_start : ndarray (f + 1,)
        First index of each facet in `facet_vertices`.
    facet_vertices : ndarray (k,)
        Vertex numbers of the facets, loop after loop.
    facet_wall : ndarray (f,)
        Index of the wall of each facet (cell data ``wall``).
    attributes : mapping, optional
        Texts and numbers for the file.
    vertex_fields, facet_fields, table_fields : sequence of Field, optional
        Further columns per vertex and per facet, and tables, at every step.
    constant : mapping of Field to ndarray, optional
        Further columns per facet that never change.
    resume_step : int, optional
        Continue an existing file after a restart from this step, without later snapshots. None starts a new file.
    """

    def __init__(
        self,
        path: Path | str,
        facet_start: NDArray[np.integer[Any]],
        facet_vertices: NDArray[np.integer[Any]],
        facet_wall: NDArray[np.integer[Any]],
        attributes: Mapping[str, Attribute] | None = None,
        *,
        vertex_fields: Sequence[Field] = (),
        facet_fields: Sequence[Field] = (),
        table_fields: Sequence[Field] = (),
        constant: Mapping[Field, NDArray[Any]] | None = None,
        resume_step: int | None = None,
    ) -> None:
        self._facets = vtkhdf.VtkCells(
            "Polygons", np.asarray(facet_start, dtype=np.int64), np.asarray(facet_vertices, dtype=np.int64)
        )
        columns = {WALL_INDEX: facet_wall, **(constant or {})}
        self._constant = {row.name: np.asarray(column, row.dtype) for row, column in columns.items()}
        self.vertex_fields, self.facet_fields = tuple(vertex_fields), tuple(facet_fields)
        self.table_fields = (*WALL_LOADS, *table_fields)
        layout = vtkhdf.VtkLayout(
            self.vertex_fields,
            self.table_fields,
            tuple(columns),
            self.facet_fields,
            sparse=True,
            kind=self._facets.kind,
        )
        super().__init__(path, layout, attributes or {}, resume_step)

    def write(
        self,
        time: float,
        step: int,
        vertices: Floats,
        loads: Mapping[str, NDArray[Any]],
        vertex_columns: Mapping[str, NDArray[Any]] | None = None,
        facet_columns: Mapping[str, NDArray[Any]] | None = None,
    ) -> None:
        """Append the walls at `time` (s); snapshots of this or a later step are replaced.

        Parameters
        ----------
        time : float
            Simulated time (s).
        step : int
            Number of the time step.
        vertices : ndarray (v, 3)
            Positions (m) at that time.
        loads : mapping of ndarray
            ``force (w, 3)`` in N and ``torque (w, 3)`` in N m, one row per wall, and the tables of `table_fields`.
        vertex_columns, facet_columns : mapping of ndarray, optional
            The columns of `vertex_fields` and `facet_fields`.

        Raises
        ------
        InputError
            When a column is missing.
        CheckpointError
            When the file cannot be written.
        """
        columns = self._required_columns(self.vertex_fields, vertex_columns or {})
        columns["Points"] = np.asarray(vertices, dtype=np.float64).reshape(-1, 3)
        tables = self._required_columns(self.table_fields, loads)
        facets = self._required_columns(self.facet_fields, facet_columns or {})
        count = len(columns["Points"])

        def adding(rows: Mapping[str, NDArray[Any]]) -> Callable[[GrowingDataset], int]:
            return lambda column: column.append(rows[column.name.rpartition("/")[2]])

        with writing(self.path, REMEDY), self.reset_on_error():
            writer = self.writer_for(step, count)
            part = writer.find_part(count)
            if part is None:
                part = writer.add_part(count, self._facets)
                writer.set_cell_data(self._constant)
            writer.add_step(time, step, part, adding(columns), tables, adding(facets))
            self.commit(step)

    def _required_columns(
        self, fields: Sequence[Field], columns: Mapping[str, NDArray[Any]]
    ) -> dict[str, NDArray[Any]]:
        missing = [row.name for row in fields if row.name not in columns]
        if missing:
            raise InputError(f"{self.path}: wall snapshot lacks {', '.join(missing)}; give every declared column")
        return {row.name: np.asarray(columns[row.name], dtype=row.dtype) for row in fields}

    def _same_cells(self, root: h5py.Group) -> bool:
        if not len(root["NumberOfPoints"]):
            return True
        stored = vtkhdf.cells_of(root, self._facets.kind, 0)
        return np.array_equal(stored.offsets, self._facets.offsets) and np.array_equal(
            stored.connectivity, self._facets.connectivity
        )
