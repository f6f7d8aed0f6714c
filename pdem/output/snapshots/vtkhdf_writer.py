"""A writer of steps to a VTKHDF file that stays open; the format is described in `pdem.output.snapshots.vtkhdf`.

Datasets are located once, when the file is opened. `Writer.commit_steps` writes all appended rows of one step or
several steps to the file; until then the file does not change.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Self

import h5py
import numpy as np

from pdem.output.hdf5.growing_datasets import GrowingDataset
from pdem.output.snapshots.vtkhdf import (
    EACH_STEP,
    LINES,
    ROOT,
    TOPOLOGIES,
    VERTICES,
    VtkCells,
    part_begins,
    truncate_before,
)
from pdem.output.storage import open_hdf5

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from types import TracebackType

    from numpy.typing import NDArray

    from pdem.output.hdf5.growing_datasets import AllocatedRows

_CACHED_BYTES = 1 << 20  # per dataset; larger chunks are written immediately


class Writer:
    """A VTKHDF file to which steps are appended.

    Parameters
    ----------
    path : path
        A file of `pdem.output.snapshots.vtkhdf.create`.
    before : int, optional
        Steps with this number or a later one are removed, and rows of steps that were not committed.

    Raises
    ------
    OSError and others of HDF5_ERRORS
        When it is not such a file.
    """

    def __init__(self, path: Path, before: int | None = None) -> None:
        self._datasets: dict[str, GrowingDataset] = {}
        if before is not None:
            with open_hdf5(path, "r+") as file:
                truncate_before(file[ROOT], before)
        self._file = open_hdf5(path, "r+", rdcc_nbytes=_CACHED_BYTES)
        try:
            self._open_datasets(self._file[ROOT])
        except BaseException:
            self.close()
            raise

    def _open_datasets(self, root: h5py.Group) -> None:
        self._add_datasets(root, "", {})
        self._by_group = {group: self._datasets_of(group) for group in ("PointData", "CellData", "FieldData")}
        self._cells_at_each_step = {
            name for name, dataset in root["CellData"].items() if bool(dataset.attrs[EACH_STEP])
        }
        points = root["NumberOfPoints"][:].tolist()
        self._part_of = {count: part for part, count in reversed(list(enumerate(points)))}
        self._part_begins = {kind: part_begins(root[kind]) for kind in TOPOLOGIES}
        self._step_count = h5py.h5a.open(root["Steps"].id, b"NSteps")

    def _add_datasets(self, group: h5py.Group, path: str, found: dict[int, GrowingDataset]) -> None:
        """Open all datasets below a group; hard links to the same dataset have the same address in the file."""
        for name, node in group.items():
            if isinstance(node, h5py.Group):
                self._add_datasets(node, f"{path}{name}/", found)
                continue
            address = h5py.h5o.get_info(node.id).addr
            found[address] = found.get(address) or GrowingDataset(node)
            self._datasets[f"{path}{name}"] = found[address]

    def _datasets_of(self, group: str) -> list[tuple[str, GrowingDataset]]:
        """Return the names and columns of the datasets of a group."""
        names = [name for name in self._datasets if name.startswith(f"{group}/")]
        return [(name.rpartition("/")[2], self._datasets[name]) for name in names]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; the next writer removes steps that were not committed."""
        try:
            self._write_waiting()
        finally:  # with datasets in use the file would stay open
            self._datasets, self._by_group, self._step_count = {}, {}, None
            self._file.close()

    def _write_waiting(self) -> None:
        for column in dict.fromkeys(self._datasets.values()):
            column.write_waiting()

    @property
    def allocates_early(self) -> bool:
        """Whether HDF5 allocates rows immediately and caches none: ranks may write them while this file is open."""
        return self._datasets["Points"].early

    def find_part(self, point_count: int) -> int | None:
        """Return the first part with this many points, or None."""
        return self._part_of.get(point_count)

    def add_part(self, point_count: int, cells: VtkCells) -> int:
        """Append a part, the cells that several steps share; return its index."""
        offsets = cells.offsets if cells.count else np.zeros(2, np.int64)
        rows = {"Offsets": offsets, "Connectivity": cells.connectivity}
        return self._add_part(point_count, cells.kind, cells.count, lambda name, column: column.append(rows[name]))

    def add_vertices(self, count: int, allocated: AllocatedRows) -> int:
        """Append a part with one vertex cell per point and allocate the rows of its cells; return its index."""
        return self._add_allocated(VERTICES, count, 1, allocated)

    def add_lines(self, count: int, allocated: AllocatedRows) -> int:
        """Append a part with `count` lines of two points each and allocate the rows of its cells; return its index."""
        return self._add_allocated(LINES, count, 2, allocated)

    def _add_allocated(self, kind: str, count: int, points: int, allocated: AllocatedRows) -> int:
        """Append a part of cells with `points` points each.

        ``Offsets`` has one entry more than there are cells, and two entries without cells.
        """

        def allocate(name: str, column: GrowingDataset) -> None:
            allocated.add(column, points * count if name == "Connectivity" else max(count + 1, 2))

        return self._add_part(points * count, kind, count, allocate)

    def _add_part(self, points: int, kind: str, cells: int, add: Callable[[str, GrowingDataset], object]) -> int:
        added: dict[GrowingDataset, int] = {}  # kinds without cells may share their datasets
        for other in TOPOLOGIES:
            own, numbers = other == kind, self._datasets[f"{other}/NumberOfCells"]
            if numbers not in added:
                added[numbers] = self._add_cells(other, cells if own else 0, add if own else None)
            cells_before, entries = self._part_begins[other][-1]
            begin = (cells_before + max(cells if own else 0, 1), entries + added[numbers])
            self._part_begins[other].append(begin)
        part = self._datasets["NumberOfPoints"].append([points])
        self._part_of.setdefault(points, part)
        return part

    def _add_cells(self, kind: str, cells: int, add: Callable[[str, GrowingDataset], object] | None) -> int:
        """Append the cells of one kind of a part, none without `add`; return the number of their points."""
        names = ("NumberOfCells", "NumberOfConnectivityIds", "Offsets", "Connectivity")
        numbers, entries, offsets, connectivity = (self._datasets[f"{kind}/{name}"] for name in names)
        before = connectivity.rows
        numbers.append([cells])
        if add is None:
            offsets.append(np.zeros(2, np.int64))
        else:
            add("Connectivity", connectivity)
            add("Offsets", offsets)
        entries.append([connectivity.rows - before])
        return connectivity.rows - before

    def set_cell_data(self, cell_data: Mapping[str, NDArray[Any]]) -> None:
        """Store the columns of the cells of the only part."""
        for name, column in self._by_group["CellData"]:
            if name not in self._cells_at_each_step:
                column.append(cell_data[name])

    def add_step(
        self,
        time: float,
        step: int,
        part: int,
        add_points: Callable[[GrowingDataset], int],
        step_data: Mapping[str, NDArray[Any]],
        add_cells: Callable[[GrowingDataset], int] | None = None,
    ) -> None:
        """Append one step with the cells of `part`; it is valid after `commit_steps`.

        `add_points` appends or allocates rows of ``Points`` or of a column of ``PointData`` and returns the index of
        the first row; `add_cells` does the same for the columns of cells that have rows for every step.
        """
        begins = [self._part_begins[kind][part] for kind in TOPOLOGIES]
        row: dict[str, Any] = {
            "Values": time, "StepNumbers": step, "PartOffsets": part, "NumberOfParts": 1,
            "CellOffsets": [cells for cells, _ in begins],
            "ConnectivityIdOffsets": [connectivity for _, connectivity in begins],
            "PointOffsets": add_points(self._datasets["Points"]),
        }  # fmt: skip
        for name, column in self._by_group["PointData"]:
            row[f"PointDataOffsets/{name}"] = add_points(column)
        for name, column in self._by_group["CellData"]:
            each = name in self._cells_at_each_step
            row[f"CellDataOffsets/{name}"] = add_cells(column) if each and add_cells else 0
        for name, column in self._by_group["FieldData"]:
            rows = np.asarray(step_data[name])
            row[f"FieldDataOffsets/{name}"] = column.append(rows)
            row[f"FieldDataSizes/{name}"] = [math.prod(column.shape), len(rows)]
        columns = {self._datasets[f"Steps/{name}"]: value for name, value in row.items()}
        for column, value in columns.items():  # a dataset can have several names
            column.append(np.array([value]))

    @property
    def steps(self) -> int:
        """Number of all steps, committed or not."""
        return self._datasets["Steps/Values"].rows

    def commit_steps(self, count: int | None = None) -> None:
        """Make all steps valid, or only the first `count`, and flush the file; call it when all rows are written."""
        assert self._step_count is not None
        self._write_waiting()
        self._step_count.write(np.array(self.steps if count is None else count, np.int64))
        self._file.flush()
