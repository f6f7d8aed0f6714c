"""Surface meshes from files: own readers for STL, OBJ, VTK and Gmsh, plyfile for PLY, meshio for other formats."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from pdem.containers.mesh_files.by_meshio import first_line, read_by_meshio
from pdem.containers.mesh_files.gmsh import read_gmsh
from pdem.containers.mesh_files.obj import read_obj
from pdem.containers.mesh_files.ply import read_ply
from pdem.containers.mesh_files.raw_surface import RawSurface
from pdem.containers.mesh_files.stl import read_stl
from pdem.containers.mesh_files.vtk import read_vtk
from pdem.foundation.errors import MeshError
from pdem.foundation.memory_limit import at_most
from pdem.foundation.texts import stand_in

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_MEMORY, _MEMORY_PER_BYTE = 1 << 30, 100  # a wrong number in a file may request much more
_VOLUME = ("tetra", "hexahedron", "wedge", "pyramid", "polyhedron", "penta")
_CURVED = ("triangle", "quad", "polygon")
_READERS: dict[str, Callable[[Path], RawSurface | None]] = {
    ".ply": read_ply, ".stl": read_stl, ".obj": read_obj, ".vtk": read_vtk, ".msh": read_gmsh
}  # fmt: skip


def read_surface(path: Path, group: str | None = None) -> RawSurface:
    """Read vertices and facets of a surface from a file.

    Parameters
    ----------
    path : Path
        The file; its extension determines the format.
    group : str, optional
        Only the facets of this part of the file: an STL solid, an OBJ group or object, a Gmsh physical group, by name
        or number.

    Returns
    -------
    RawSurface
        Facets in the unit of the file.

    Raises
    ------
    MeshError
        If the file is missing, cannot be read, has no facets, no such group, or has curved cells.
    """
    _check_file(path)
    reader = _READERS.get(path.suffix.lower())
    try:
        with warnings.catch_warnings(), at_most(_MEMORY + _MEMORY_PER_BYTE * path.stat().st_size):
            warnings.simplefilter("ignore")
            surface = None if reader is None else reader(path)
            if surface is None:
                surface = read_by_meshio(path)
    except Exception as error:
        raise MeshError(f"{path}: {_unreadable(path, error)}") from error
    _check_cells(path, surface)
    return _of_group(path, surface, group)


def _check_file(path: Path) -> None:
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise MeshError(f"{path}: {what}; a mesh file is needed: check the path")
    if path.stat().st_size == 0:
        raise MeshError(f"{path}: the file is empty; at least one facet is needed: export it again")
    with path.open("rb") as file:
        if problem := stand_in(file.read(256)):
            raise MeshError(f"{path}: {problem}")


def _check_cells(path: Path, surface: RawSurface) -> None:
    """Raise an error for curved facets, and for files without facets."""
    for kind, count in surface.passed_over:
        if kind.startswith(_CURVED):
            raise MeshError(
                f"{path}: holds {count} {kind} cells; facets are planar triangles, quads and polygons "
                "of straight edges: export linear cells"
            )
    if len(surface.vertices) and len(surface.start) > 1:
        return
    for kind, count in surface.passed_over:
        if kind.startswith(_VOLUME):
            raise MeshError(
                f"{path}: holds {count} {kind} cells; walls are surfaces: export those, too, as triangles or quads"
            )
    found = f" ({'; '.join(surface.notes)})" if surface.notes else ""
    raise MeshError(f"{path}: holds no facets{found}; a wall needs at least one: check the export")


def _of_group(path: Path, surface: RawSurface, group: str | None) -> RawSurface:
    """Return the facets of one group, with the vertices that they use."""
    if group is None:
        return surface
    group = surface.aliases.get(group, group)
    if group not in surface.groups:
        known = (
            f"give one of {', '.join(map(repr, surface.groups))}"
            if surface.groups
            else "it names none: leave group out, and all of the file is taken"
        )
        raise MeshError(f"{path}: has no group {group!r}; {known}")
    sides = np.diff(surface.start)
    chosen = np.zeros(len(sides), np.bool_)
    chosen[surface.groups[group]] = True
    used, loops = np.unique(surface.loops[np.repeat(chosen, sides)], return_inverse=True)
    start = np.concatenate((np.zeros(1, np.int64), np.cumsum(sides[chosen])))
    if len(start) < 2:
        raise MeshError(f"{path}: group {group!r} holds no facets; a wall needs at least one: name another")
    if used[0] < 0 or used[-1] >= len(surface.vertices):
        return surface  # the check of all indices reports the facet
    return surface._replace(vertices=surface.vertices[used], start=start, loops=loops.astype(np.int64).reshape(-1))


def _unreadable(path: Path, error: Exception) -> str:
    if path.suffix.lower() == ".vtp":
        return "PolyData in XML (.vtp) is not read; write it as .vtk, .ply or .stl"
    reason = first_line(str(error)) or type(error).__name__
    if reason.startswith("line "):
        return f"cannot be read: {reason}"
    return (
        f"cannot be read ({reason}); STL, OBJ, PLY, VTK, VTU and Gmsh files are read: check that the file is whole and "
        "of the format its name says"
    )
