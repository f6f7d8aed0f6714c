"""The walls of a case in one file, for viewing: VTK PolyData, STL, or any other format of the mesh library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.containers.meshes.mesh import join_meshes
from pdem.foundation.errors import MeshError
from pdem.foundation.files import write_file

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from pdem.containers.meshes.mesh import Mesh
    from pdem.foundation.array_types import Floats


def write_wall_meshes(path: Path, names: Sequence[str], meshes: Sequence[Mesh]) -> None:
    """Write the meshes of walls into one file, in the format of its suffix.

    ``.vtk`` is legacy VTK PolyData with unchanged polygons and the fields ``wall`` (0, 1, ... in the order of the case)
    and ``facet`` (its index in the wall). ``.stl`` is text with triangles and a solid for each wall, which
    ``group = NAME`` reads back. The mesh library writes files with other suffixes, without names.

    Parameters
    ----------
    path : Path
        The file.
    names : sequence of str
        Names of the walls.
    meshes : sequence of Mesh
        Surfaces of the walls [m].

    Raises
    ------
    MeshError
        If there is no wall, the format cannot represent its facets, or the file cannot be written.
    """
    if not meshes:
        raise MeshError(f"{path}: the case has no walls; there is nothing to write")
    suffix = path.suffix.lower()
    if suffix not in (".vtk", ".stl"):
        join_meshes(meshes).write(path)
        return
    content = _vtk(names, meshes) if suffix == ".vtk" else _stl(names, meshes)
    try:
        write_file(path, content)
    except OSError as error:
        raise MeshError(f"{path}: cannot be written ({error.strerror}); name another file") from None


def _vtk(names: Sequence[str], meshes: Sequence[Mesh]) -> bytes:
    """Return legacy VTK PolyData, binary: its numbers are big-endian."""
    mesh = join_meshes(meshes)
    sides = np.diff(mesh.facet_start)
    polygons = np.insert(mesh.facet_vertices, mesh.facet_start[:-1], sides)
    facet = np.concatenate([np.arange(one.facet_count) for one in meshes])
    title = " ".join(f"{number}={name}" for number, name in enumerate(names))
    head = "# vtk DataFile Version 3.0\n" + _ascii(f"walls {title}")[:255] + "\nBINARY\nDATASET POLYDATA\n"
    pieces: list[tuple[str, NDArray[Any], str]] = [
        (f"{head}POINTS {mesh.vertex_count} double\n", mesh.vertices, ">f8"),
        (f"\nPOLYGONS {mesh.facet_count} {len(polygons)}\n", polygons, ">i4"),
        (f"\nCELL_DATA {mesh.facet_count}\nSCALARS wall int 1\nLOOKUP_TABLE default\n", mesh.facet_wall, ">i4"),
        ("\nSCALARS facet int 1\nLOOKUP_TABLE default\n", facet, ">i4"),
    ]
    return b"".join(text.encode("ascii") + numbers.astype(kind).tobytes() for text, numbers, kind in pieces) + b"\n"


def _stl(names: Sequence[str], meshes: Sequence[Mesh]) -> bytes:
    """Return STL as text, with a solid for each wall."""
    solids = []
    for name, mesh in zip(names, meshes, strict=True):
        corners, normals = _triangles(mesh)
        text = [
            f"facet normal {n[0]:.9g} {n[1]:.9g} {n[2]:.9g}\nouter loop\n"
            + "".join(f"vertex {x!r} {y!r} {z!r}\n" for x, y, z in triangle)
            + "endloop\nendfacet\n"
            for n, triangle in zip(normals.tolist(), corners.tolist(), strict=True)
        ]
        solids.append(f"solid {name}\n{''.join(text)}endsolid {name}\n")
    return "".join(solids).encode()


def _triangles(mesh: Mesh) -> tuple[Floats, Floats]:
    """Return the corners (n, 3, 3) of triangles, which divide each facet from its first corner, and normals (n, 3)."""
    facet = np.repeat(np.arange(mesh.facet_count), np.diff(mesh.facet_start) - 2)
    first = mesh.facet_start[:-1][facet]
    begin = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.diff(mesh.facet_start) - 2)])
    second = first + 1 + np.arange(len(facet)) - begin[facet]
    corners = mesh.facet_vertices[np.column_stack([first, second, second + 1])]
    return mesh.vertices[corners], mesh.facet_normals[facet]


def _ascii(text: str) -> str:
    return text.encode("ascii", "replace").decode("ascii")
