"""Adding steps to a VTKHDF file that stays open: what `pdem.output.vtkhdf` says about the format holds here.

Nothing is looked up twice: opening a file finds its datasets, and from then on only what is added is touched. What was
added reaches the file by `count_steps`, in one go; until then the file is as it was before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import h5py
import numpy as np

from pdem.output.growing import Column
from pdem.output.storage import open_hdf5
from pdem.output.vtkhdf import EACH_STEP, ROOT, TOPOLOGIES, VERTICES, Cells, keep_before

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from types import TracebackType

    from numpy.typing import NDArray

    from pdem.output.growing import Rooms

_CACHED_BYTES = 1 << 20  # of each dataset, in one piece; larger pieces are written at once


class Writer:
    """A VTKHDF file to which steps are added.

    Parameters
    ----------
    path : path
        A file of `pdem.output.vtkhdf.create`.
    before : int, optional
        Steps of this number or a later one are cut off, and what a crash left behind the last whole one.

    Raises
    ------
    OSError and others of HDF5_ERRORS
        When it is no such file.
    """

    def __init__(self, path: Path, before: int | None = None) -> None:
        if before is not None:
            with open_hdf5(path, "r+") as file:
                keep_before(file[ROOT], before)
        self._file = open_hdf5(path, "r+", rdcc_nbytes=_CACHED_BYTES)
        try:
            self._find(self._file[ROOT])
        except BaseException:
            self.close()
            raise

    def _find(self, root: h5py.Group) -> None:
        self._columns: dict[str, Column] = {}
        root.visititems(self._add_column)
        self._of = {group: self._columns_of(group) for group in ("PointData", "CellData", "FieldData")}
        self._cells_at_each_step = {
            name for name, dataset in root["CellData"].items() if bool(dataset.attrs[EACH_STEP])
        }
        points = root["NumberOfPoints"][:].tolist()
        self._part_of = {count: part for part, count in reversed(list(enumerate(points)))}
        self._begins = {kind: _begins(root[kind]) for kind in TOPOLOGIES}
        self._step_count = h5py.h5a.open(root["Steps"].id, b"NSteps")

    def _add_column(self, name: str, node: object) -> None:
        if isinstance(node, h5py.Dataset):
            self._columns[name] = Column(node)

    def _columns_of(self, group: str) -> list[tuple[str, Column]]:
        """Return the names and columns of the datasets of a group."""
        names = [name for name in self._columns if name.startswith(f"{group}/")]
        return [(name.rpartition("/")[2], self._columns[name]) for name in names]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; steps that were added and not counted are cut off by the next writer."""
        self._columns, self._of, self._step_count = {}, {}, None  # or the file would stay open
        self._file.close()

    @property
    def leaves_rows_alone(self) -> bool:
        """Whether rows that others write may be written while this file is open: HDF5 holds no copy of them."""
        return self._columns["Points"].early

    def part_with(self, point_count: int) -> int | None:
        """Return the first part with this many points, or None."""
        return self._part_of.get(point_count)

    def add_part(self, point_count: int, cells: Cells) -> int:
        """Append the cells that steps with this part share; return the number of the part."""
        offsets = cells.offsets if cells.count else np.zeros(2, np.int64)
        rows = {"Offsets": offsets, "Connectivity": cells.connectivity}
        return self._add_part(
            point_count, cells.kind, cells.count, lambda name, column: column.append(rows[name])
        )

    def add_vertices(self, count: int, rooms: Rooms) -> int:
        """Append a part of points that are a cell each, with rooms for their numbers; return its number.

        ``Offsets`` has room for one more, its end, and for two if there are no points.
        """

        def make_rooms(name: str, column: Column) -> None:
            rooms.add(column, count if name == "Connectivity" else max(count + 1, 2))

        return self._add_part(count, VERTICES, count, make_rooms)

    def _add_part(self, points: int, kind: str, cells: int, add: Callable[[str, Column], object]) -> int:
        for other in TOPOLOGIES:
            own = other == kind
            offsets, connectivity = (self._columns[f"{other}/{name}"] for name in ("Offsets", "Connectivity"))
            self._columns[f"{other}/NumberOfCells"].append([cells if own else 0])
            before = connectivity.rows
            if own:
                add("Connectivity", connectivity)
                add("Offsets", offsets)
            else:
                offsets.append(np.zeros(2, np.int64))
            added = connectivity.rows - before
            self._columns[f"{other}/NumberOfConnectivityIds"].append([added])
            rooms, entries = self._begins[other][-1]
            self._begins[other].append((rooms + max(cells if own else 0, 1), entries + added))
        part = self._columns["NumberOfPoints"].append([points])
        self._part_of.setdefault(points, part)
        return part

    def set_cell_data(self, cell_data: Mapping[str, NDArray[Any]]) -> None:
        """Store the columns of the cells of the only part."""
        for name, column in self._of["CellData"]:
            if name not in self._cells_at_each_step:
                column.append(cell_data[name])

    def add_step(
        self,
        time: float,
        step: int,
        part: int,
        add_points: Callable[[Column], int],
        step_data: Mapping[str, NDArray[Any]],
        facet_data: Mapping[str, NDArray[Any]] | None = None,
    ) -> None:
        """Append one step that has the cells of `part`; it counts after `count_steps`.

        `add_points` adds rows, or room for them, to ``Points`` or a column of ``PointData`` and returns where they
        begin.
        """
        begins = [self._begins[kind][part] for kind in TOPOLOGIES]
        row: dict[str, Any] = {
            "Values": time, "StepNumbers": step, "PartOffsets": part, "NumberOfParts": 1,
            "CellOffsets": [rooms for rooms, _ in begins],
            "ConnectivityIdOffsets": [connectivity for _, connectivity in begins],
            "PointOffsets": add_points(self._columns["Points"]),
        }  # fmt: skip
        for name, column in self._of["PointData"]:
            row[f"PointDataOffsets/{name}"] = add_points(column)
        for name, column in self._of["CellData"]:
            each = name in self._cells_at_each_step
            row[f"CellDataOffsets/{name}"] = column.append((facet_data or {})[name]) if each else 0
        for name, column in self._of["FieldData"]:
            rows = np.asarray(step_data[name])
            row[f"FieldDataOffsets/{name}"] = column.append(rows)
            row[f"FieldDataSizes/{name}"] = [int(np.prod(column.shape)), len(rows)]
        for name, value in row.items():
            self._columns[f"Steps/{name}"].append(np.array([value]))

    def count_steps(self) -> None:
        """Let all steps count, and bring them to the file: their rows are in place."""
        assert self._step_count is not None
        for column in self._columns.values():
            if column.early:
                column.leave()
        self._step_count.write(np.array(self._columns["Steps/Values"].rows, np.int64))
        self._file.flush()


def _begins(group: h5py.Group) -> list[tuple[int, int]]:
    """Return where each part begins, and the next one will: rooms for cells (an empty part has one), entries."""
    rooms = np.maximum(group["NumberOfCells"][:], 1).cumsum().tolist()
    return list(zip([0, *rooms], [0, *group["NumberOfConnectivityIds"][:].cumsum().tolist()], strict=True))
