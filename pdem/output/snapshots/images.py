"""Fields on a grid of cells as VTK image data (VTI), for ParaView."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.foundation.errors import InputError
from pdem.output.saving import save_file

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pdem.foundation.array_types import Floats


def write_image(path: str | Path, lower: Floats, size: Floats, columns: Mapping[str, NDArray[Any]]) -> None:
    """Write fields of cells into a file.

    Parameters
    ----------
    path : path
        File to write, with the extension ``.vti``.
    lower, size : (3,) arrays
        Lower corner of the first cell, and lengths of a cell [m].
    columns : mapping of (nx, ny, nz, ...) arrays
        At least one field by name.

    Raises
    ------
    InputError
        If the name has a different extension, or the file cannot be written.
    """
    path = Path(path)
    if path.suffix.lower() != ".vti":
        raise InputError(f"{path}: fields are written as VTK image data; end the name in .vti")
    cells = next(iter(columns.values())).shape[:3]
    extent = " ".join(f"0 {count}" for count in cells)
    place = f'WholeExtent="{extent}" Origin="{_numbers(lower)}" Spacing="{_numbers(size)}"'
    lines = [
        '<?xml version="1.0"?>',
        '<VTKFile type="ImageData" version="1.0" byte_order="LittleEndian" header_type="UInt64">',
        f'<ImageData {place}><Piece Extent="{extent}"><CellData>',
        *(_array(name, column) for name, column in columns.items()),
        "</CellData></Piece></ImageData></VTKFile>",
        "",
    ]
    save_file(path, "\n".join(lines))


def _numbers(values: Floats) -> str:
    return " ".join(map(repr, values.tolist()))


def _array(name: str, column: NDArray[Any]) -> str:
    """Return one field in the layout of VTK: x fastest, the numbers of a cell together, after the length in bytes."""
    cells = np.ascontiguousarray(column.swapaxes(0, 2), "<f8")
    parts = int(np.prod(column.shape[3:]))
    data = np.uint64(cells.nbytes).tobytes() + cells.tobytes()
    text = base64.b64encode(data).decode()
    return f'<DataArray type="Float64" Name="{name}" NumberOfComponents="{parts}" format="binary">{text}</DataArray>'
