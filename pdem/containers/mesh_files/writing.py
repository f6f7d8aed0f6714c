"""Surface meshes into files."""

from __future__ import annotations

import io
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from pdem.containers.mesh_files.by_meshio import first_line, listening
from pdem.containers.mesh_files.ply import write_ply
from pdem.containers.mesh_files.vtk import write_vtk
from pdem.foundation.errors import MeshError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    Blocks = list[tuple[str, NDArray[np.int64]]]

_ANY = ".obj, .ply, .vtk or .vtu"


def write_surface(
    path: Path, vertices: NDArray[np.float64], start: NDArray[np.int64], loops: NDArray[np.int64]
) -> None:
    """Write facets to a file in the format that its extension names.

    Raises
    ------
    MeshError
        If the format cannot hold these facets or the file cannot be written.
    """
    suffix = path.suffix.lower()
    if suffix == ".stl" and np.diff(start).max() > 3:
        raise MeshError(f"{path}: STL holds triangles only, this mesh has polygons: write {_ANY}")
    said = io.StringIO()
    try:
        if suffix == ".ply":
            write_ply(path, vertices, start, loops)
            return
        if suffix == ".vtk":
            write_vtk(path, vertices, start, loops)
            return
        import meshio

        with listening(said):
            blocks = _blocks_of(start, loops)
            kinds = "gmsh" if len(blocks) == 1 else "gmsh22"  # meshio's 4.1 takes one kind of facets only
            file_format = kinds if suffix == ".msh" else None
            meshio.write_points_cells(path, vertices, blocks, file_format=file_format)
    except (Exception, SystemExit) as error:
        reason = first_line(str(error)) or type(error).__name__
        raise MeshError(f"{path}: cannot be written ({reason}): write {_ANY}") from error
    if "Skipping" in said.getvalue() or "Discarding" in said.getvalue():
        path.unlink(missing_ok=True)
        raise MeshError(f"{path}: the format cannot hold these facets: write {_ANY}")


def _tables(start: NDArray[np.int64], loops: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    sizes = np.diff(start)
    breaks = np.concatenate(([0], np.flatnonzero(np.diff(sizes)) + 1, [len(sizes)]))
    return [
        loops[start[first] : start[last]].reshape(last - first, sizes[first])
        for first, last in pairwise(breaks)
    ]


def _blocks_of(start: NDArray[np.int64], loops: NDArray[np.int64]) -> Blocks:
    kinds = {3: "triangle", 4: "quad"}
    return [(kinds.get(table.shape[1], "polygon"), table) for table in _tables(start, loops)]
