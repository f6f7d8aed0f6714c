"""Surface meshes from and to files: meshio for most formats, plyfile for PLY, own readers for STL, OBJ and VTK."""

from __future__ import annotations

import contextlib
import io
import warnings
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.containers.mesh_text import RawSurface, read_obj, read_stl
from pdem.containers.mesh_vtk import read_vtk, write_vtk
from pdem.foundation.arguments import real_number
from pdem.foundation.errors import MeshError
from pdem.foundation.memory_limit import at_most

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    Blocks = list[tuple[str, NDArray[np.int64]]]

_SURFACE = {"triangle", "quad", "polygon"}
_ANY = ".obj, .ply, .vtk or .vtu"
_NO_SURFACE = {"vertex", "line"}
_MEMORY, _MEMORY_PER_BYTE = 1 << 30, 100  # a wrong number in a file may ask for much more
_VOLUME = ("tetra", "hexahedron", "wedge", "pyramid", "polyhedron", "penta")


def read_surface(path: Path, scale: float, group: str | None = None) -> RawSurface:
    """Read vertices and facets of a surface from a file.

    Parameters
    ----------
    path : Path
        The file; its extension tells the format.
    scale : float
        Factor on all coordinates.
    group : str, optional
        Only the facets of this part of the file: an STL solid, an OBJ group or object, a Gmsh physical group.

    Returns
    -------
    RawSurface
        Positions in m.

    Raises
    ------
    MeshError
        If the file is missing, cannot be read, has no facets, no such group, or has volume or curved cells.
    """
    _check_request(path, scale)
    readers: dict[str, Callable[[Path], RawSurface | None]] = {
        ".ply": _read_ply, ".stl": read_stl, ".obj": read_obj, ".vtk": read_vtk
    }  # fmt: skip
    reader = readers.get(path.suffix.lower())
    try:
        with warnings.catch_warnings(), at_most(_MEMORY + _MEMORY_PER_BYTE * path.stat().st_size):
            warnings.simplefilter("ignore")
            surface = None if reader is None else reader(path)
            if surface is None:
                surface = _read_by_meshio(path)
    except MeshError:
        raise
    except Exception as error:
        raise MeshError(f"{path}: {_unreadable(path, _one_line(error))}") from error
    if len(surface.vertices) == 0 or len(surface.start) < 2:
        raise MeshError(f"{path}: holds no facets; a wall needs at least one: check the export")
    return _of_group(path, surface._replace(vertices=surface.vertices * scale), group)


def _of_group(path: Path, surface: RawSurface, group: str | None) -> RawSurface:
    """Return the facets of one group, with the vertices that they use."""
    if group is None:
        return surface
    if group not in surface.groups:
        known = (
            f"give one of {', '.join(map(repr, surface.groups))}"
            if surface.groups
            else "it names none: leave group out, and all of the file is taken"
        )
        raise MeshError(f"{path}: has no group {group!r}; {known}")
    chosen = surface.facet_group == surface.groups.index(group)
    sides = np.diff(surface.start)
    used, loops = np.unique(surface.loops[np.repeat(chosen, sides)], return_inverse=True)
    start = np.concatenate((np.zeros(1, np.int64), np.cumsum(sides[chosen])))
    if len(start) < 2:
        raise MeshError(f"{path}: group {group!r} holds no facets; a wall needs at least one: name another")
    if used[0] < 0 or used[-1] >= len(surface.vertices):
        return surface  # the check of all indices names the facet
    return surface._replace(
        vertices=surface.vertices[used], start=start, loops=loops.astype(np.int64).reshape(-1),
        facet_group=surface.facet_group[chosen],
    )  # fmt: skip


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
            _write_ply(path, vertices, start, loops)
            return
        if suffix == ".vtk":
            write_vtk(path, vertices, start, loops)
            return
        import meshio

        with _listening(said):
            blocks = _blocks_of(start, loops)
            kinds = "gmsh" if len(blocks) == 1 else "gmsh22"  # meshio's 4.1 takes one kind of facets only
            file_format = kinds if suffix == ".msh" else None
            meshio.write_points_cells(path, vertices, blocks, file_format=file_format)
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
    if not real_number(f"{path}: scale", scale, MeshError) > 0:
        raise MeshError(f"{path}: scale is {scale}; it must be a positive number")
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise MeshError(f"{path}: {what}; a mesh file is needed: check the path")
    if path.stat().st_size == 0:
        raise MeshError(f"{path}: the file is empty; at least one facet is needed: export it again")


def _read_by_meshio(path: Path) -> RawSurface:
    """Read with meshio, which prints its complaints and may end the process: both are caught here."""
    import meshio

    said = io.StringIO()
    try:
        with _listening(said):
            mesh = meshio.read(path)
    except (Exception, SystemExit) as error:
        reason = _first_line(said.getvalue()) or _one_line(error)
        raise MeshError(f"{path}: {_unreadable(path, reason)}") from error
    if "cannot handle" in said.getvalue():
        reason = _first_line(said.getvalue())
        raise MeshError(f"{path}: {reason}; walls are triangles, quads and polygons: export those")
    if "not closed" in said.getvalue():
        raise MeshError(f"{path}: {_unreadable(path, 'it breaks off: ' + _first_line(said.getvalue()))}")
    cells = [(block.type, np.asarray(block.data)) for block in mesh.cells]
    passed_over = _checked_cells(path, [(kind, data) for kind, data in cells if len(data)])
    surface = [place for place, (kind, data) in enumerate(cells) if kind in _SURFACE and len(data)]
    groups, facet_group = _physical_groups(mesh, surface)
    start, loops = _rows([cells[place][1] for place in surface])
    points = np.asarray(mesh.points, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] not in (2, 3):
        raise ValueError(f"its points have shape {points.shape}")
    return RawSurface(points, start, loops, groups, facet_group, passed_over)


def _physical_groups(mesh: Any, surface: list[int]) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Return the names of Gmsh's physical surfaces, and which of them each facet belongs to."""
    tags = mesh.cell_data.get("gmsh:physical")
    if tags is None:
        return (), np.full(sum(len(mesh.cells[place].data) for place in surface), -1)
    tag = np.concatenate([np.zeros(0, np.int64), *(np.asarray(tags[place]) for place in surface)]).astype(int)
    names = {int(number): name for name, (number, dimension) in mesh.field_data.items() if dimension == 2}
    numbers = [int(number) for number in np.unique(tag) if number != 0]
    place = np.searchsorted(numbers, tag)
    return tuple(names.get(number, str(number)) for number in numbers), np.where(tag == 0, -1, place)


def _rows(tables: list[NDArray[Any]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows of several tables as compressed rows."""
    sizes = [np.full(len(table), table.shape[1], dtype=np.int64) for table in tables]
    start = np.concatenate(
        (np.zeros(1, np.int64), np.cumsum(np.concatenate([np.zeros(0, np.int64), *sizes])))
    )
    flat = [np.asarray(table).reshape(-1).astype(np.int64) for table in tables]
    return start, np.concatenate([np.zeros(0, np.int64), *flat])


def _unreadable(path: Path, reason: str) -> str:
    if path.suffix.lower() == ".vtp":
        return "PolyData in XML (.vtp) is not read; write it as .vtk, .ply or .stl"
    known = "STL, OBJ, PLY, VTK, VTU and Gmsh files are read"
    return f"cannot be read ({reason}); {known}: check that the file is whole and of the format its name says"


def _read_ply(path: Path) -> RawSurface:
    """Read PLY with plyfile: meshio misses faces named vertex_index and faces with other properties."""
    data = _ply_data(path)
    corner = data["vertex"].data
    vertices = np.column_stack([corner[axis] for axis in "xyz"]).astype(np.float64)
    start, flat = np.zeros(1, np.int64), np.zeros(0, np.int64)
    if "face" in {element.name for element in data.elements} and len(data["face"].data):
        fields = data["face"].data.dtype.names
        loops = data["face"].data["vertex_indices" if "vertex_indices" in fields else "vertex_index"]
        if loops.ndim == 2:
            start, flat = _rows([loops])
        else:
            sizes = np.fromiter(map(len, loops), dtype=np.int64, count=len(loops))
            start, flat = np.concatenate(([0], np.cumsum(sizes))), np.concatenate(loops).astype(np.int64)
    return RawSurface(vertices, start, flat, (), np.full(len(start) - 1, -1))


def _ply_data(path: Path) -> Any:
    """Read all faces as triangles, or as quads, which is fast; one by one where they are not."""
    from plyfile import PlyData

    for sides in (3, 4):
        known = {"face": {"vertex_indices": sides, "vertex_index": sides}}
        try:
            return PlyData.read(str(path), known_list_len=known)
        except Exception:  # other names, lists or sizes
            continue
    return PlyData.read(str(path), mmap=False)


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
