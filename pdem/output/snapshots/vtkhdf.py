"""The VTKHDF file format (version 2) for one surface or point cloud that changes with time.

A file is a set of datasets that only grow along their first axis; the group ``Steps`` has the offsets of each step in
these. A *part* is one entry of point and cell counts with its cells; steps with the same cells share a part. A step is
valid once ``NSteps`` includes it; the next writer (`pdem.output.snapshots.vtkhdf_writer`) removes later rows. Datasets
with always the same rows are stored once, under several names (hard links): offsets of all columns of points, and the
cells of all kinds that the file does not use.

VTK's reader adds to ``CellOffsets`` the number of parts with cells that begin earlier, which is one too few after an
empty part; earlier versions of VTK add the number of all previous parts. Here an empty part takes the space of one cell
in ``Offsets``, which is correct for both.

Format: https://docs.vtk.org/en/latest/vtk_file_formats/vtkhdf_file_format/
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np

from pdem.foundation.errors import CheckpointError, InputError
from pdem.output.hdf5.growing_datasets import create_growing_dataset
from pdem.output.saving import reason
from pdem.output.storage import HDF5_ERRORS, open_hdf5, read_attributes, write_attributes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from pdem.foundation.array_types import Floats, Integers
    from pdem.foundation.fields import Field
    from pdem.output.storage import Attribute

ROOT = "VTKHDF"
VERTICES, LINES = "Vertices", "Lines"
TOPOLOGIES = (VERTICES, LINES, "Polygons", "Strips")
EACH_STEP = "each_step"
"""Attribute of a column of cells: whether it has rows for every step."""

_SMALL_CHUNK = 64
_SMALLEST_CHUNK = 1024  # of points: a run may begin with few particles
_LARGEST_CHUNK = 65536
_LONGEST_TYPE_NAME = 8


@dataclass(frozen=True)
class VtkCells:
    """The cells of one part: ``offsets (m + 1,)`` into ``connectivity``; `kind` is one of TOPOLOGIES."""

    kind: str
    offsets: Integers
    connectivity: Integers

    @property
    def count(self) -> int:
        """Number of cells."""
        return len(self.offsets) - 1


@dataclass(frozen=True)
class VtkLayout:
    """Fields of a file in addition to points and cells.

    Attributes
    ----------
    point_fields : sequence of Field
        One row per point and step.
    step_fields : sequence of Field
        A small table per step (VTK: field data).
    cell_fields : sequence of Field
        One row per cell of the only part, stored once.
    facet_fields : sequence of Field
        One row per cell and step.
    sparse : bool
        Whether to compress points and cells, because most of their numbers are zero.
    shared : bool
        Whether ranks write the rows of points and cells themselves.
    kind : str
        Kind of the cells, one of TOPOLOGIES.
    """

    point_fields: Sequence[Field] = ()
    step_fields: Sequence[Field] = ()
    cell_fields: Sequence[Field] = ()
    facet_fields: Sequence[Field] = ()
    sparse: bool = False
    shared: bool = False
    kind: str = VERTICES


@dataclass(frozen=True)
class VtkStep:
    """One step, read from a file.

    Attributes
    ----------
    time : float
        Simulated time (s).
    step : int
        Number of the time step.
    points : ndarray (n, 3)
        Positions (m).
    point_data, cell_data, step_data : dict of ndarray
        Columns by field name.
    cells : dict of VtkCells
        Cells by kind; kinds without cells are omitted.
    attributes : dict
        Attributes of the file.
    units : dict of str to str
        SI units of `point_data` and `cell_data`, by ``"point_data"`` and ``"cell_data"``, then by field name.
    """

    time: float
    step: int
    points: Floats
    point_data: dict[str, NDArray[Any]]
    cell_data: dict[str, NDArray[Any]] = field(default_factory=dict)
    step_data: dict[str, NDArray[Any]] = field(default_factory=dict)
    cells: dict[str, VtkCells] = field(default_factory=dict)
    attributes: dict[str, Attribute] = field(default_factory=dict)
    units: dict[str, dict[str, str]] = field(default_factory=dict)


def create(path: Path, layout: VtkLayout, attributes: Mapping[str, Attribute], rows: int) -> None:
    """Create an empty file; datasets of points get chunks of about `rows` rows."""
    chunk = min(max(rows, _SMALLEST_CHUNK), _LARGEST_CHUNK)
    with open_hdf5(path, "w") as file:
        write_attributes(file, attributes)
        root = file.create_group(ROOT)
        root.attrs["Version"] = np.array([2, 0], dtype=np.int64)
        root.attrs.create("Type", np.bytes_("PolyData"), dtype=h5py.string_dtype("ascii", _LONGEST_TYPE_NAME))
        create_growing_dataset(root, "NumberOfPoints", (), np.int64, _SMALL_CHUNK)
        create_growing_dataset(root, "Points", (3,), np.float64, chunk, early=layout.shared).attrs["unit"] = "m"
        _create_cells(root, layout, chunk)
        _create_steps(root, layout, chunk)


def _create_cells(root: h5py.Group, layout: VtkLayout, chunk: int) -> None:
    """Create the groups of all kinds of cells; unused kinds share one set of datasets."""
    empty = next(kind for kind in TOPOLOGIES if kind != layout.kind)
    for kind in (layout.kind, empty):
        for name in ("NumberOfCells", "NumberOfConnectivityIds"):
            create_growing_dataset(root, f"{kind}/{name}", (), np.int64, _SMALL_CHUNK)
        early = layout.shared and kind == layout.kind
        for name in ("Offsets", "Connectivity"):
            create_growing_dataset(root, f"{kind}/{name}", (), np.int64, chunk, early=early)
    for kind in TOPOLOGIES:
        if kind not in root:
            root[kind] = root[empty]


def _create_steps(root: h5py.Group, layout: VtkLayout, chunk: int) -> None:
    steps = root.create_group("Steps")
    steps.attrs["NSteps"] = np.int64(0)
    create_growing_dataset(steps, "Values", (), np.float64, _SMALL_CHUNK).attrs["unit"] = "s"
    for name in ("PartOffsets", "NumberOfParts", "PointOffsets", "StepNumbers"):
        create_growing_dataset(steps, name, (), np.int64, _SMALL_CHUNK)
    for name in ("CellOffsets", "ConnectivityIdOffsets"):
        create_growing_dataset(steps, name, (len(TOPOLOGIES),), np.int64, _SMALL_CHUNK)
    groups = {kind: steps.create_group(f"{kind}DataOffsets") for kind in ("Point", "Cell", "Field")}
    data = {kind: root.create_group(f"{kind}Data") for kind in groups}
    for row in layout.point_fields:
        _create_column(data["Point"], row, chunk, layout)
        groups["Point"][row.name] = steps["PointOffsets"]
    for each, rows in ((False, layout.cell_fields), (True, layout.facet_fields)):
        for row in rows:
            _create_column(data["Cell"], row, chunk, layout).attrs[EACH_STEP] = each
            if row is rows[0]:
                create_growing_dataset(groups["Cell"], row.name, (), np.int64, _SMALL_CHUNK)
            else:
                groups["Cell"][row.name] = groups["Cell"][rows[0].name]
    for row in layout.step_fields:
        _describe(create_growing_dataset(data["Field"], row.name, row.shape, row.dtype, _SMALL_CHUNK), row)
        create_growing_dataset(groups["Field"], row.name, (), np.int64, _SMALL_CHUNK)
    sizes = steps.create_group("FieldDataSizes")
    for row in layout.step_fields:
        create_growing_dataset(sizes, row.name, (2,), np.int64, _SMALL_CHUNK)


def _create_column(data: h5py.Group, row: Field, chunk: int, layout: VtkLayout) -> h5py.Dataset:
    """Create a column of points or cells."""
    column = create_growing_dataset(
        data, row.name, row.shape, row.dtype, chunk, sparse=layout.sparse, early=layout.shared
    )
    return _describe(column, row)


def _describe(column: h5py.Dataset, row: Field) -> h5py.Dataset:
    column.attrs["unit"], column.attrs["meaning"] = row.unit, row.meaning
    return column


def part_begins(group: h5py.Group) -> list[tuple[int, int]]:
    """Return the first cell of each part and of the next one (an empty part has one), and its index in connectivity."""
    cells = np.maximum(group["NumberOfCells"][:], 1).cumsum().tolist()
    return list(zip([0, *cells], [0, *group["NumberOfConnectivityIds"][:].cumsum().tolist()], strict=True))


def truncate_before(root: h5py.Group, step: int) -> None:
    """Remove the steps numbered `step` or later, and rows of a step that was not committed."""
    steps = root["Steps"]
    whole = int(steps.attrs["NSteps"])
    kept = int(np.searchsorted(steps["StepNumbers"][:whole], step))
    steps.attrs["NSteps"] = np.int64(kept)
    part_of_step = steps["PartOffsets"][:kept]
    parts = int(part_of_step.max()) + 1 if kept else 0
    point_end = 0
    if kept:
        point_end = int(steps["PointOffsets"][kept - 1] + root["NumberOfPoints"][int(part_of_step[-1])])
    _cut_parts(root, parts, part_of_step)
    for dataset in (root["Points"], *root["PointData"].values()):
        dataset.resize(point_end, axis=0)
    for name, dataset in root["FieldData"].items():
        dataset.resize(int(steps["FieldDataSizes"][name][:kept, 1].sum()), axis=0)
    steps.visititems(lambda _, node: node.resize(kept, axis=0) if isinstance(node, h5py.Dataset) else None)


def _cut_parts(root: h5py.Group, parts: int, part_of_step: Integers) -> None:
    root["NumberOfPoints"].resize(parts, axis=0)
    for kind in TOPOLOGIES:
        group = root[kind]
        for name in ("NumberOfCells", "NumberOfConnectivityIds"):
            group[name].resize(parts, axis=0)
        cells_before, connectivity = part_begins(group)[parts]
        group["Offsets"].resize(cells_before + parts, axis=0)
        group["Connectivity"].resize(connectivity, axis=0)
    cells = _cell_counts(root)
    for dataset in root["CellData"].values():
        dataset.resize(int((cells[part_of_step] if dataset.attrs[EACH_STEP] else cells).sum()), axis=0)


def _cell_counts(root: h5py.Group) -> Integers:
    """Return the number of cells of each part."""
    return np.sum([root[kind]["NumberOfCells"][:] for kind in TOPOLOGIES], axis=0, dtype=np.int64)


def fits(root: h5py.Group, layout: VtkLayout) -> bool:
    """Return whether a file has exactly the fields of `layout`."""
    expected = (
        ("PointData", layout.point_fields),
        ("CellData", (*layout.cell_fields, *layout.facet_fields)),
        ("FieldData", layout.step_fields),
    )
    return all({row.name for row in fields} == set(root[group]) for group, fields in expected)


def read_times(path: Path) -> Floats:
    """Return the simulated times (s) of all steps in a file.

    Raises
    ------
    CheckpointError
        When it is not a VTKHDF file of pdem.
    """
    with _reading(path) as file:
        try:
            steps = file[ROOT]["Steps"]
            times: Floats = steps["Values"][: int(steps.attrs["NSteps"])]
        except HDF5_ERRORS as error:
            raise _unreadable(path, error) from error
    return times


def read_step(path: Path, index: int = -1) -> VtkStep:
    """Return step `index` of a file, counted like a list: 0 is the first, -1 the last.

    Raises
    ------
    CheckpointError
        When it is not a VTKHDF file of pdem, or is damaged.
    InputError
        When it has no such step.
    """
    with _reading(path) as file:
        try:
            root = file[ROOT]
            count = int(root["Steps"].attrs["NSteps"])
            if -count <= index < count:
                return _step_at(root, index % count, read_attributes(file))
        except HDF5_ERRORS as error:
            raise _unreadable(path, error) from error
    raise InputError(f"{path}: has {count} steps and step {index} was asked for; give one of them")


def _reading(path: Path) -> h5py.File:
    if not path.is_file():
        raise CheckpointError(f"{path}: no such file; name a .vtkhdf file of an output folder")
    try:
        return open_hdf5(path, "r")
    except HDF5_ERRORS as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: BaseException) -> CheckpointError:
    return CheckpointError(
        f"{path}: is no snapshot file of pdem or is damaged ({reason(error)}); name a .vtkhdf file of an output folder"
    )


def _step_at(root: h5py.Group, index: int, attributes: dict[str, Attribute]) -> VtkStep:
    steps = root["Steps"]
    part = int(steps["PartOffsets"][index])
    count = int(root["NumberOfPoints"][part])
    begin = int(steps["PointOffsets"][index])
    step_data = {}
    for name, dataset in root["FieldData"].items():
        first = int(steps["FieldDataOffsets"][name][index])
        step_data[name] = dataset[first : first + int(steps["FieldDataSizes"][name][index, 1])]
    return VtkStep(
        time=float(steps["Values"][index]),
        step=int(steps["StepNumbers"][index]),
        points=root["Points"][begin : begin + count],
        point_data={name: dataset[begin : begin + count] for name, dataset in root["PointData"].items()},
        cell_data=_cell_data_at(root, index, part),
        step_data=step_data,
        cells={kind: cells for kind in TOPOLOGIES if (cells := cells_of(root, kind, part)).count},
        attributes=attributes,
        units={"point_data": _units_in(root["PointData"]), "cell_data": _units_in(root["CellData"])},
    )


def _units_in(group: h5py.Group) -> dict[str, str]:
    """Return the units of all columns of a group by name."""
    return {name: str(dataset.attrs.get("unit", "1")) for name, dataset in group.items()}


def _cell_data_at(root: h5py.Group, index: int, part: int) -> dict[str, NDArray[Any]]:
    cells = int(_cell_counts(root)[part])
    data = {}
    for name, dataset in root["CellData"].items():
        begin = int(root["Steps/CellDataOffsets"][name][index])
        data[name] = dataset[begin : begin + cells]
    return data


def cells_of(root: h5py.Group, kind: str, part: int) -> VtkCells:
    """Return the cells of one kind in `part`."""
    group = root[kind]
    cells_before, first = part_begins(group)[part]
    offsets = group["Offsets"][cells_before + part : cells_before + part + int(group["NumberOfCells"][part]) + 1]
    return VtkCells(kind, offsets, group["Connectivity"][first : first + int(group["NumberOfConnectivityIds"][part])])
