"""Writers of surface meshes."""

from __future__ import annotations

import io
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from pdem.containers.mesh_files.by_meshio import first_line, listening
from pdem.containers.mesh_files.ply import write_ply
from pdem.containers.mesh_files.vtk import write_vtk
from pdem.foundation.errors import MeshError
from pdem.foundation.files import whole_file

if TYPE_CHECKING:
    from pathlib import Path

    from pdem.foundation.array_types import Floats, Integers

    Blocks = list[tuple[str, Integers]]

_ANY = ".obj, .ply, .vtk or .vtu"


def write_surface(path: Path, vertices: Floats, start: Integers, loops: Integers) -> None:
    """Write facets to a file in the format that its extension names.

    Raises
    ------
    MeshError
        If the format cannot hold these facets or the file cannot be written.
    """
    suffix = path.suffix.lower()
    if suffix == ".stl" and np.diff(start).max() > 3:
        raise MeshError(f"{path}: STL holds triangles only, this mesh has polygons: write {_ANY}")
    names: list[str] = []
    try:
        with whole_file(path) as new:
            names.append(new.name)
            _write(new, vertices, start, loops)
    except (Exception, SystemExit) as error:
        reason = first_line(str(error)) or type(error).__name__
        reason = reason.replace("".join(names) or path.name, path.name)
        raise MeshError(f"{path}: cannot be written ({reason}): write {_ANY}") from error


def _write(path: Path, vertices: Floats, start: Integers, loops: Integers) -> None:
    """Write facets to a file.

    Raises
    ------
    ValueError and others
        If the format cannot hold them, or it cannot be written.
    """
    suffix = path.suffix.lower()
    if suffix == ".ply":
        write_ply(path, vertices, start, loops)
        return
    if suffix == ".vtk":
        write_vtk(path, vertices, start, loops)
        return
    import meshio

    said, blocks = io.StringIO(), _blocks_of(start, loops)
    kinds = "gmsh" if len(blocks) == 1 else "gmsh22"  # meshio's 4.1 supports a single type of facets
    with listening(said):
        meshio.write_points_cells(path, vertices, blocks, file_format=kinds if suffix == ".msh" else None)
    if "Skipping" in said.getvalue() or "Discarding" in said.getvalue():
        raise ValueError("the format cannot hold these facets")


def _tables(start: Integers, loops: Integers) -> list[Integers]:
    sizes = np.diff(start)
    breaks = np.concatenate(([0], np.flatnonzero(np.diff(sizes)) + 1, [len(sizes)]))
    return [loops[start[first] : start[last]].reshape(last - first, sizes[first]) for first, last in pairwise(breaks)]


def _blocks_of(start: Integers, loops: Integers) -> Blocks:
    kinds = {3: "triangle", 4: "quad"}
    return [(kinds.get(table.shape[1], "polygon"), table) for table in _tables(start, loops)]
