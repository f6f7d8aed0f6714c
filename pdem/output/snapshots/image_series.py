"""Fields on a grid of cells as a VTKHDF time series of image data, which ParaView and VTK can open.

Every field is one dataset (time, z, y, x, component) that grows along its first axis; the group ``Steps`` has the
times. A step is valid once ``NSteps`` includes it. The file is closed between writes, so that other programs can read
it.

Format: https://docs.vtk.org/en/latest/vtk_file_formats/vtkhdf_file_format/
"""

from __future__ import annotations

import logging
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import h5py
import numpy as np

from pdem.foundation.errors import CheckpointError, InputError
from pdem.output.hdf5.growing_datasets import create_growing_dataset
from pdem.output.saving import reason, writing
from pdem.output.snapshots.growing_snapshots import REMEDY
from pdem.output.snapshots.vtkhdf import ROOT
from pdem.output.storage import HDF5_ERRORS, open_hdf5, read_attributes, set_aside, write_attributes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pdem.foundation.array_types import Floats
    from pdem.foundation.fields import Field
    from pdem.output.storage import Attribute

FIELD_FILES = "fields-*.vtkhdf"
"""Pattern of the names of files of continuum fields in an output folder."""

_ROWS = 64
_DIRECTIONS = np.eye(3).reshape(-1)
_NUMBERS = {"Values": np.float64, "StepNumbers": np.int64, "Samples": np.int64}
_PLACES = "Lower", "Size"
_log = logging.getLogger("pdem")


def field_file(name: str) -> str:
    """Return the name of the file of the continuum fields of this name."""
    return FIELD_FILES.replace("*", name)


class Lattice(NamedTuple):
    """Cells of an image: their numbers, the lower corner, and the lengths of a cell (3,) [m]."""

    cells: tuple[int, int, int]
    lower: tuple[float, float, float]
    size: tuple[float, float, float]


class ImageSeries:
    """A file of fields of cells that grows step by step; one process writes it.

    Parameters
    ----------
    path : path
        File to write, with the extension ``.vtkhdf``.
    lattice : Lattice
        The cells.
    fields : sequence of Field
        Fields of cells.
    attributes : mapping, optional
        Texts and numbers for the file.
    resume_step : int, optional
        Continue an existing file after a restart from this step, without later ones. None starts a new file.
    """

    def __init__(
        self,
        path: Path | str,
        lattice: Lattice,
        fields: Sequence[Field],
        attributes: Mapping[str, Attribute] | None = None,
        *,
        resume_step: int | None = None,
    ) -> None:
        self.path, self.lattice, self.fields = Path(path), lattice, tuple(fields)
        self._attributes, self._resume_step = dict(attributes or {}), resume_step
        self._exists = False
        self.commit_every = 0.0

    @property
    def conflict(self) -> bool:
        """Whether there is a complete file with different fields or cells, which cannot be continued."""
        try:
            with open_hdf5(self.path, "r") as file:
                return not self._fits(file[ROOT])
        except HDF5_ERRORS:  # no file, or a damaged one that will be renamed
            return False

    def flush(self) -> None:
        """Do nothing: each step is on the disk as soon as it is written."""

    def open(self) -> None:
        """Truncate an existing file to the step from which the run continues; called by the first write."""
        step, self._resume_step = self._resume_step, None
        if step is None or not self.path.exists():
            return
        try:
            with open_hdf5(self.path, "r+") as file:
                if self._fits(file[ROOT]):
                    _cut(file[ROOT], step + 1)
                    self._exists = True
                    return
            why = "holds other fields or cells than this case"
        except HDF5_ERRORS as error:
            why = f"cannot be continued ({reason(error)})"
        aside = set_aside(self.path).name
        _log.error("%s %s; it is kept as %s and a new file begun", self.path, why, aside)

    def close(self) -> None:
        """Do nothing: the file is closed after each write."""

    def write(
        self, time: float, step: int, columns: Mapping[str, Floats], samples: int = 1,
        lattice: Lattice | None = None,
    ) -> None:  # fmt: skip
        """Append the fields at `time` (s); fields of this or a later step are replaced.

        Parameters
        ----------
        time : float
            Simulated time at which the mean ends (s).
        step : int
            Number of the time step.
        columns : mapping of (nx, ny, nz, ...) arrays
            Every field by name.
        samples : int
            Number of states in the mean.
        lattice : Lattice, optional
            Position of the cells at this time, if it changes. The format has a single position for all times, at which
            programs draw the cells.

        Raises
        ------
        InputError
            If a field is missing.
        CheckpointError
            If the file cannot be written.
        """
        missing = [field.name for field in self.fields if field.name not in columns]
        if missing:
            raise InputError(f"{self.path}: lacks {', '.join(missing)}; give every declared field")
        self.open()
        with writing(self.path, REMEDY):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if not self._exists:
                self._create()
            with open_hdf5(self.path, "r+") as file:
                _cut(file[ROOT], step)
                now = self.lattice if lattice is None else lattice
                numbers = {"Values": time, "StepNumbers": step, "Samples": samples}
                self._append(file[ROOT], numbers | {"Lower": now.lower, "Size": now.size}, columns)

    def _append(self, root: h5py.Group, numbers: Mapping[str, Any], columns: Mapping[str, Floats]) -> None:
        steps = root["Steps"]
        row = int(steps.attrs["NSteps"])
        for field in self.fields:
            _append_row(root["CellData"][field.name], _in_file(columns[field.name]))
            _append_row(steps["CellDataOffsets"][field.name], row)
        for name in numbers.keys() & steps.keys():  # files of earlier versions have fewer
            _append_row(steps[name], numbers[name])
        root.file.flush()
        steps.attrs["NSteps"] = np.int64(row + 1)

    def _create(self) -> None:
        """Create a file without steps."""
        with open_hdf5(self.path, "w") as file:
            write_attributes(file, self._attributes)
            root, shape = file.create_group(ROOT), self.lattice.cells[::-1]
            root.attrs["Version"] = np.array([2, 0], np.int64)
            root.attrs.create("Type", np.bytes_("ImageData"), dtype=h5py.string_dtype("ascii", 9))
            root.attrs["WholeExtent"] = np.array([[0, count] for count in self.lattice.cells]).reshape(-1)
            root.attrs["Origin"], root.attrs["Spacing"] = self.lattice.lower, self.lattice.size
            root.attrs["Direction"] = _DIRECTIONS
            steps = root.create_group("Steps")
            steps.attrs["NSteps"] = np.int64(0)
            for name, kind in _NUMBERS.items():
                create_growing_dataset(steps, name, (), kind, _ROWS)
            for name in _PLACES:
                create_growing_dataset(steps, name, (3,), np.float64, _ROWS).attrs["unit"] = "m"
            steps["Values"].attrs["unit"] = "s"
            root.create_group("CellData")
            for field in self.fields:
                parts = (math.prod(field.shape),) if field.shape else ()
                data = create_growing_dataset(
                    root["CellData"], field.name, (*shape, *parts), field.dtype, 1, sparse=True
                )
                data.attrs["unit"], data.attrs["meaning"] = field.unit, field.meaning
                create_growing_dataset(steps, f"CellDataOffsets/{field.name}", (), np.int64, _ROWS)
        self._exists = True

    def _fits(self, root: h5py.Group) -> bool:
        """Return whether a file has these fields of these cells."""
        same = {field.name for field in self.fields} == set(root["CellData"])
        place = np.concatenate((self.lattice.lower, self.lattice.size))
        stored = np.concatenate((root.attrs["Origin"], root.attrs["Spacing"]))
        extent = root.attrs["WholeExtent"][1::2].tolist()
        return same and extent == list(self.lattice.cells) and np.array_equal(place, stored)


def _append_row(dataset: h5py.Dataset, row: Any) -> None:
    dataset.resize(len(dataset) + 1, axis=0)
    dataset[-1] = row


def _cut(root: h5py.Group, step: int) -> None:
    """Remove the steps numbered `step` or later, and rows of a step that was not committed."""
    steps = root["Steps"]
    kept = int(np.searchsorted(steps["StepNumbers"][: int(steps.attrs["NSteps"])], step))
    steps.attrs["NSteps"] = np.int64(kept)
    for group in (root["CellData"], steps):
        group.visititems(lambda _, node: node.resize(kept, axis=0) if isinstance(node, h5py.Dataset) else None)


def _in_file(column: Floats) -> Floats:
    """Return a field (nx, ny, nz, ...) as a row of its dataset: z first, components together."""
    turned = column.transpose(2, 1, 0, *range(3, column.ndim))
    return turned.reshape(*turned.shape[:3], -1) if column.ndim > 3 else turned


class Image(NamedTuple):
    """One step, read from a file.

    Attributes
    ----------
    time, step, samples
        Simulated time [s], number of the time step, and number of states in the mean.
    lattice : Lattice
        The cells.
    columns : dict of arrays
        Fields (nx, ny, nz) or (nx, ny, nz, components) by name.
    attributes : dict
        Attributes of the file.
    """

    time: float
    step: int
    samples: int
    lattice: Lattice
    columns: dict[str, Floats]
    attributes: dict[str, Attribute]


def read_image_times(path: Path) -> Floats:
    """Return the times [s] of all steps of a file of `ImageSeries`.

    Raises
    ------
    CheckpointError
        If the file is not an `ImageSeries`.
    """
    try:
        with open_hdf5(path, "r") as file:
            steps = file[ROOT]["Steps"]
            times: Floats = steps["Values"][: int(steps.attrs["NSteps"])]
    except HDF5_ERRORS as error:
        raise _unreadable(path, error) from error
    return times


def read_image(path: Path, index: int = -1) -> Image:
    """Return step `index` of a file of `ImageSeries`, counted like a list.

    Raises
    ------
    CheckpointError
        If the file is not an `ImageSeries`, or is damaged.
    InputError
        If it has no such step.
    """
    try:
        with open_hdf5(path, "r") as file:
            root, count = file[ROOT], int(file[ROOT]["Steps"].attrs["NSteps"])
            if -count <= index < count:
                return _image_at(root, index % count, read_attributes(file))
    except HDF5_ERRORS as error:
        raise _unreadable(path, error) from error
    raise InputError(f"{path}: has {count} steps and step {index} was asked for; give one of them")


def _image_at(root: h5py.Group, index: int, attributes: dict[str, Attribute]) -> Image:
    steps = root["Steps"]
    cells = tuple(root.attrs["WholeExtent"][1::2].tolist())
    places = (
        [steps[name][index] for name in _PLACES] if "Size" in steps else [root.attrs["Origin"], root.attrs["Spacing"]]
    )
    lattice = Lattice(cells, *(tuple(place.tolist()) for place in places))
    columns = {name: data[index] for name, data in root["CellData"].items()}
    columns = {name: data.transpose(2, 1, 0, *range(3, data.ndim)) for name, data in columns.items()}
    numbers = {name: steps[name][index] for name in _NUMBERS}
    return Image(
        float(numbers["Values"]), int(numbers["StepNumbers"]), int(numbers["Samples"]), lattice, columns, attributes
    )  # fmt: skip


def _unreadable(path: Path, error: BaseException) -> CheckpointError:
    return CheckpointError(
        f"{path}: is no file of fields of pdem or is damaged ({reason(error)}); name a fields-*.vtkhdf file of an "
        "output folder"
    )
