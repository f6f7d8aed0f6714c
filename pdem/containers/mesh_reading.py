"""Surface meshes from and to files: meshio for most formats, plyfile for PLY."""

from __future__ import annotations

import contextlib
import io
import warnings
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.foundation.errors import MeshError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    Blocks = list[tuple[str, NDArray[np.int64]]]

_SURFACE = {"triangle", "quad", "polygon"}
_ANY = ".obj, .ply, .vtk or .vtu"
_NO_SURFACE = {"vertex", "line"}
_VOLUME = ("tetra", "hexahedron", "wedge", "pyramid", "polyhedron", "penta")


def read_surface(
    path: Path, scale: float
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64], tuple[tuple[str, int], ...]]:
    """Read vertices and facets of a surface from a file.

    Parameters
    ----------
    path : Path
        The file; its extension tells the format.
    scale : float
        Factor on all coordinates.

    Returns
    -------
    vertices : ndarray, shape (V, 3)
        Positions [m] as in the file, not welded.
    start, loops : ndarray, shapes (F + 1,) and (K,), int64
        Facets in compressed rows, in the order of the file.
    passed_over : tuple of (str, int)
        Kinds and numbers of cells that are no surface.

    Raises
    ------
    MeshError
        If the file is missing, cannot be read, has no facets, or has volume or curved cells.
    """
    _check_request(path, scale)
    vertices, blocks = _read_ply(path) if path.suffix.lower() == ".ply" else _read_by_meshio(path)
    passed_over = _checked_cells(path, blocks)
    surface = [cells for kind, cells in blocks if kind in _SURFACE]
    if len(vertices) == 0 or not surface:
        raise MeshError(f"{path}: holds no facets; a wall needs at least one: check the export")
    sizes = np.concatenate([np.full(len(cells), cells.shape[1], dtype=np.int64) for cells in surface])
    start = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(sizes)))
    return vertices * scale, start, np.concatenate([cells.reshape(-1) for cells in surface]), passed_over


def write_surface(
    path: Path, vertices: NDArray[np.float64], start: NDArray[np.int64], loops: NDArray[np.int64]
) -> None:
    """Write facets to a file in the format that its extension names.

    Raises
    ------
    MeshError
        If the format cannot hold these facets or the file cannot be written.
    """
    import meshio

    suffix = path.suffix.lower()
    if suffix == ".stl" and np.diff(start).max() > 3:
        raise MeshError(f"{path}: STL holds triangles only, this mesh has polygons: write {_ANY}")
    said = io.StringIO()
    try:
        if suffix == ".ply":
            _write_ply(path, vertices, start, loops)
            return
        with _listening(said):
            file_format = "gmsh" if suffix == ".msh" else None
            meshio.write_points_cells(path, vertices, _blocks_of(start, loops), file_format=file_format)
    except (Exception, SystemExit) as error:
        raise MeshError(f"{path}: cannot be written ({_one_line(error)}): write {_ANY}") from error
    if "Skipping" in said.getvalue() or "Discarding" in said.getvalue():
        path.unlink(missing_ok=True)
        raise MeshError(f"{path}: the format cannot hold these facets: write {_ANY}")


@contextlib.contextmanager
def _listening(said: io.StringIO) -> Iterator[None]:
    """Take down what meshio prints, and ignore its warnings (text STL files make it overflow a header)."""
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _check_request(path: Path, scale: float) -> None:
    if not (np.isfinite(scale) and scale > 0):
        raise MeshError(f"{path}: scale is {scale}; it must be a positive number")
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise MeshError(f"{path}: {what}; a mesh file is needed: check the path")
    if path.stat().st_size == 0:
        raise MeshError(f"{path}: the file is empty; at least one facet is needed: export it again")


def _read_by_meshio(path: Path) -> tuple[NDArray[np.float64], Blocks]:
    """Read with meshio, which prints its complaints and may end the process: both are caught here."""
    import meshio

    said = io.StringIO()
    try:
        with _listening(said):
            if path.suffix.lower() == ".obj":
                mesh = meshio.read(_plain_obj(path), file_format="obj")
            else:
                mesh = meshio.read(path)
    except (Exception, SystemExit) as error:
        reason = _first_line(said.getvalue()) or _one_line(error)
        raise MeshError(f"{path}: {_unreadable(path, reason)}") from error
    if "cannot handle" in said.getvalue():
        reason = _first_line(said.getvalue())
        raise MeshError(f"{path}: {reason}; walls are triangles, quads and polygons: export those")
    blocks = [(block.type, np.asarray(block.data)) for block in mesh.cells]
    return np.asarray(mesh.points, dtype=np.float64), [
        (kind, cells.astype(np.int64) if kind in _SURFACE else cells) for kind, cells in blocks if len(cells)
    ]


def _plain_obj(path: Path) -> io.StringIO:
    """Return an OBJ file's vertices and faces alone, indices counted from the first vertex.

    meshio stumbles over normals and texture points that are not one per vertex, and over relative indices.
    """
    lines = []
    vertices = 0
    for line in path.read_text().replace("\\\n", " ").splitlines():
        match line.split("#")[0].split():
            case ["v", x, y, z, *_]:
                vertices += 1
                lines.append(f"v {x} {y} {z}")
            case ["f", *corners]:
                indices = [int(corner.split("/")[0]) for corner in corners]
                absolute = [index if index >= 0 else vertices + 1 + index for index in indices]
                lines.append("f " + " ".join(map(str, absolute)))
            case ["v", *_]:
                raise ValueError(f"{line.strip()!r} is no vertex")
    return io.StringIO("\n".join(lines))


def _unreadable(path: Path, reason: str) -> str:
    if "PolyData" in reason or "POLYDATA" in reason:
        return "VTK PolyData is not read; write it as an unstructured grid (.vtu), or as .ply or .stl"
    known = "STL, OBJ, PLY, VTK, VTU and Gmsh files are read"
    return f"cannot be read ({reason}); {known}: check that the file is whole and of the format its name says"


def _read_ply(path: Path) -> tuple[NDArray[np.float64], Blocks]:
    """Read PLY with plyfile: meshio misses faces named vertex_index and faces with other properties."""
    from plyfile import PlyData

    try:
        data = PlyData.read(str(path))
        names = {element.name for element in data.elements}
        corner = data["vertex"].data
        vertices = np.column_stack([corner[axis] for axis in "xyz"]).astype(np.float64)
        if "face" not in names or len(data["face"].data) == 0:
            return vertices, []
        fields = data["face"].data.dtype.names
        loops = data["face"].data["vertex_indices" if "vertex_indices" in fields else "vertex_index"]
    except Exception as error:
        raise MeshError(f"{path}: {_unreadable(path, _one_line(error))}") from error
    return vertices, _blocks_by_size(loops)


def _blocks_by_size(loops: NDArray[Any]) -> Blocks:
    """Return consecutive loops of equal length as tables, in order."""
    if loops.ndim == 2:
        return [("polygon", loops.astype(np.int64))]
    sizes = np.fromiter(map(len, loops), dtype=np.int64, count=len(loops))
    flat = np.concatenate(loops).astype(np.int64)
    return [("polygon", table) for table in _tables(np.concatenate(([0], np.cumsum(sizes))), flat)]


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


def _write_ply(
    path: Path, vertices: NDArray[np.float64], start: NDArray[np.int64], loops: NDArray[np.int64]
) -> None:
    from plyfile import PlyData, PlyElement

    corner = np.zeros(len(vertices), dtype=[(axis, "f8") for axis in "xyz"])
    for number, axis in enumerate("xyz"):
        corner[axis] = vertices[:, number]
    faces = np.empty(len(start) - 1, dtype=[("vertex_indices", "O")])
    faces["vertex_indices"] = np.split(loops.astype(np.int32), start[1:-1])
    elements = [PlyElement.describe(corner, "vertex"), PlyElement.describe(faces, "face")]
    PlyData(elements, text=False, byte_order="<").write(str(path))


def _checked_cells(path: Path, blocks: Blocks) -> tuple[tuple[str, int], ...]:
    """Refuse cells that are no planar facets; return how many points and lines were passed over."""
    passed_over: dict[str, int] = {}
    for kind, cells in blocks:
        if kind in _NO_SURFACE:
            passed_over[kind] = passed_over.get(kind, 0) + len(cells)
        elif kind.startswith(_VOLUME):
            raise MeshError(f"{path}: holds {len(cells)} {kind} cells; walls are surfaces: export those")
        elif kind not in _SURFACE:
            raise MeshError(
                f"{path}: holds {len(cells)} {kind} cells; facets are planar triangles, quads and polygons "
                "of straight edges: export linear cells"
            )
    return tuple(passed_over.items())


def _one_line(error: BaseException) -> str:
    return _first_line(str(error)) or type(error).__name__


def _first_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0] if lines else ""
