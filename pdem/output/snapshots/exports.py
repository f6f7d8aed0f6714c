"""Snapshots of particles and bonds in formats of other programs: extended XYZ (OVITO), CSV, VTU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pdem.foundation.fields import FIELDS
from pdem.foundation.files import whole_file
from pdem.output.saving import save_file, saving

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from pdem.foundation.array_types import Floats, Integers
    from pdem.foundation.fields import Field

    Columns = Mapping[str, NDArray[Any]]

_XYZ_NAMES = {"position": "pos", "radius": "radius", "id": "id", "velocity": "velo", "force": "force"}
_AXES = "xyz"


def _flat(columns: Columns) -> dict[str, NDArray[Any]]:
    """Return columns of numbers; columns of components have the axis after the vector's name."""
    flat: dict[str, NDArray[Any]] = {}
    for name, column in columns.items():
        if column.ndim == 1:
            flat[name] = column
        else:
            axes = _AXES if column.shape[1] == len(_AXES) else range(column.shape[1])
            flat.update({f"{name}_{axis}": column[:, number] for number, axis in enumerate(axes)})
    return flat


def _rows(columns: Columns) -> list[str]:
    """Return the numbers of each particle, with all significant digits, separated by commas."""
    lists = [column.tolist() for column in _flat(columns).values()]
    return [",".join(map(repr, row)) for row in zip(*lists, strict=True)]


class SnapshotBox(NamedTuple):
    """A box: its lowest corner (3,), its period vectors, one in each row (3, 3) [m], and which axes are periodic."""

    corner: Floats
    vectors: Floats
    periodic: tuple[bool, ...]

    @property
    def words(self) -> str:
        """The box in extended XYZ; empty without periodic axes: programs then use the extent of the particles."""
        if not any(self.periodic):
            return ""
        sides, corner = (" ".join(map(repr, one.ravel().tolist())) for one in (self.vectors, self.corner))
        flags = " ".join("T" if one else "F" for one in self.periodic)
        return f'Lattice="{sides}" Origin="{corner}" pbc="{flags}" '


def write_csv(
    path: Path, time: float, columns: Columns, box: SnapshotBox, fields: Mapping[str, Field] = FIELDS
) -> None:
    """Write a snapshot as a table, one line per particle, with the units of its `fields`."""
    write_table(path, columns, {name: field.unit for name, field in fields.items()})


def write_extended_xyz(
    path: Path, time: float, columns: Columns, box: SnapshotBox, fields: Mapping[str, Field] = FIELDS
) -> None:
    """Write a snapshot as extended XYZ, which OVITO opens: spheres with their radii, all fields, the periodic box."""
    kinds = {"f": "R", "i": "I"}
    properties = ":".join(
        f"{_XYZ_NAMES.get(name, name)}:{kinds[column.dtype.kind]}:{1 if column.ndim == 1 else column.shape[1]}"
        for name, column in columns.items()
    )
    lines = [row.replace(",", " ") for row in _rows(columns)]
    head = f"{box.words}Properties={properties} Time={time!r}"
    save_file(path, "\n".join([str(len(lines)), head, *lines, ""]))


def write_vtu(
    path: Path, time: float, columns: Columns, box: SnapshotBox, fields: Mapping[str, Field] = FIELDS
) -> None:
    """Write a snapshot as VTU, points with all fields, for ParaView and others."""
    cells = np.arange(len(columns["position"])).reshape(-1, 1)
    data = {name: column for name, column in columns.items() if name != "position"}
    _write_mesh(path, columns["position"], ("vertex", cells), point_data=data)


def _write_mesh(path: Path, points: Floats, cells: tuple[str, Integers], **data: Mapping[str, Any]) -> None:
    """Write points and cells of one type with their data as VTU."""
    import meshio  # imported here, because the import is slow

    with saving(path), whole_file(path) as new:
        meshio.Mesh(points, [cells], **data).write(new, file_format="vtu")


def write_table(path: Path, columns: Columns, units: Mapping[str, str]) -> None:
    """Write columns as a table: names with units in the first line, then one line per particle or bond."""
    head = [f"{name} [{units.get(column, '1')}]" for column in columns for name in _flat({column: columns[column]})]
    save_file(path, "\n".join([",".join(head), *_rows(columns), ""]))


def write_lines_vtu(path: Path, columns: Columns, units: Mapping[str, str]) -> None:
    """Write bonds as VTU: a line from ``centre`` along ``branch`` for each bond, with the other columns."""
    ends = np.stack((columns["centre"], columns["centre"] + columns["branch"]), axis=1).reshape(-1, 3)
    data = {name: [column] for name, column in columns.items() if name not in ("centre", "branch")}
    _write_mesh(path, ends, ("line", np.arange(len(ends)).reshape(-1, 2)), cell_data=data)


LINE_EXPORTS: dict[str, Callable[[Path, Columns, Mapping[str, str]], None]] = {
    "csv": write_table,
    "vtu": write_lines_vtu,
}
"""Writers of bonds, for the formats that have lines or tables."""

EXPORTS: dict[str, tuple[str, Callable[[Path, float, Columns, SnapshotBox, Mapping[str, Field]], None]]] = {
    "extxyz": (".xyz", write_extended_xyz),
    "csv": (".csv", write_csv),
    "vtu": (".vtu", write_vtu),
}
"""Suffix and writer of each format."""
