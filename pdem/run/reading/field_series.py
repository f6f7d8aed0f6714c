"""Reading of continuum fields that a run has averaged and written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.continuum.fields import ContinuumFields, fields_of_columns, fields_with_parts
from pdem.continuum.grid import Grid
from pdem.foundation import exact_math
from pdem.foundation.errors import InputError
from pdem.output.snapshots.image_series import read_image, read_image_times

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pdem.foundation.array_types import Floats
    from pdem.output.snapshots.image_series import Image


class FieldSeries:
    """The fields with one name, as a sequence over time: ``series[-1]``, ``series.at(0.5)``, iteration.

    Parameters
    ----------
    path : Path
        File of the fields.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def times(self) -> Floats:
        """Times at which the averages end [s]."""
        return read_image_times(self.path)

    def __len__(self) -> int:
        return len(self.times)

    def __getitem__(self, index: int) -> ContinuumFields:
        count = len(self)
        if not -count <= index < count:
            raise IndexError(f"{self.path} has {count} fields, there is no number {index}")
        return _fields_of(read_image(self.path, index % count))

    def __iter__(self) -> Iterator[ContinuumFields]:
        return (self[index] for index in range(len(self)))

    def at(self, time: float) -> ContinuumFields:
        """Return the fields with an average that ends nearest to a time [s].

        Raises
        ------
        InputError
            If the file has no fields.
        """
        times = self.times
        if not len(times):
            raise InputError(f"{self.path}: has no fields yet")
        return self[int(np.argmin(np.abs(times - time)))]

    def mean(self, begin: float = -np.inf, end: float = np.inf) -> ContinuumFields:
        """Return the mean of the fields with averages that end between two times [s], weighted by their samples.

        Raises
        ------
        InputError
            If there are no fields in this interval.
        """
        rows = np.flatnonzero((self.times >= begin) & (self.times <= end))
        if not len(rows):
            raise InputError(f"{self.path}: has no fields from {begin:g} to {end:g} s; there are {len(self)}")
        images = [read_image(self.path, int(row)) for row in rows]
        weights = np.array([image.samples for image in images], np.float64)
        fields = [_fields_of(image) for image in images]
        return ContinuumFields.mean(fields, (weights / exact_math.total(weights)).tolist())

    def __repr__(self) -> str:
        """Return the file, and its times."""
        times = self.times
        until = f" until {times[-1]:.6g} s" if len(times) else ""
        return f"FieldSeries({str(self.path)!r}: {len(times)} fields{until})"


def _fields_of(image: Image) -> ContinuumFields:
    attributes, lattice = image.attributes, image.lattice
    materials = [name for name in str(attributes["parts"]).split("\n") if name]
    grid = Grid(
        np.array(lattice.lower), np.array(lattice.size), np.array(lattice.cells, np.int64),
        float(attributes["field_width"]), str(attributes["field_kernel"]), int(attributes["dimension"]),
    )  # fmt: skip
    shapes = {field.name: field.shape for field in fields_with_parts(materials, heat=True)}
    columns = {name: column.reshape(*lattice.cells, *shapes[name]) for name, column in image.columns.items()}
    return fields_of_columns(grid, columns, materials)
