"""Files of all formats: one mesh returns from each, and damaged files end in one clear error."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import meshio
import numpy as np
import pytest
from plyfile import PlyData

from pdem.containers.meshes.mesh import Mesh
from pdem.foundation.errors import MeshError

if TYPE_CHECKING:
    from pathlib import Path

SECONDS = 10
"""After which a reader is taken to hang; reading takes milliseconds."""


def half_round(sides: int) -> Mesh:
    """Return a closed surface: a dome of triangles and quads on a polygon of many sides, or of triangles only."""
    angle = 2 * np.pi * np.arange(6) / 6
    low = np.column_stack((np.cos(angle), np.sin(angle), 0 * angle))
    high = 0.5 * low + [0.0, 0.0, 0.5]
    points = np.vstack((low, high, [[0.0, 0.0, 0.75]])) / 3 + 0.1
    follow = [(k, (k + 1) % 6) for k in range(6)]
    facets = [[a, b, 6 + b, 6 + a] for a, b in follow] + [[6 + a, 6 + b, 12] for a, b in follow]
    facets.append(list(range(6))[::-1])
    if sides < 6:
        facets[-1:] = [[5, 4, 3, 2], [5, 2, 1, 0]]
    if sides < 4:
        facets = [[loop[0], *loop[k : k + 2]] for loop in facets for k in range(1, len(loop) - 1)]
    return Mesh(points, facets)


def ascii_ply(path: Path, mesh: Mesh) -> None:
    mesh.write(path)
    data = PlyData.read(str(path), mmap=False)
    data.text = True
    data.write(str(path))


def by_meshio(path: Path, mesh: Mesh, **options) -> None:
    loops = [mesh.loop(f) for f in range(mesh.facet_count)]
    kinds = {3: "triangle", 4: "quad"}
    cells = [(kinds.get(len(loop), "polygon"), loop[None]) for loop in loops]
    runs = [[cells[0][0], []]]
    for kind, loop in cells:
        if kind != runs[-1][0]:
            runs.append([kind, []])
        runs[-1][1].append(loop[0])
    if options.get("file_format") == "gmsh":
        options["point_data"] = {"gmsh:dim_tags": np.array([[2, 1 + k % len(runs)] for k in range(mesh.vertex_count)])}
        ones = [np.full(len(run), 1 + k, np.int32) for k, (_, run) in enumerate(runs)]
        options["cell_data"] = {"gmsh:geometrical": ones, "gmsh:physical": [0 * one for one in ones]}
    meshio.write_points_cells(path, mesh.vertices, [(kind, np.array(run)) for kind, run in runs], **options)


def poly_data(path: Path, mesh: Mesh, *, binary: bool, version: int) -> None:
    """Write as VTK, ParaView and PyVista do, with attributes, fields and lines besides."""
    from vtkmodules.util.numpy_support import numpy_to_vtk, numpy_to_vtkIdTypeArray
    from vtkmodules.vtkCommonCore import vtkPoints
    from vtkmodules.vtkCommonDataModel import vtkCellArray, vtkPolyData
    from vtkmodules.vtkIOLegacy import vtkPolyDataWriter

    data, points, cells, lines = vtkPolyData(), vtkPoints(), vtkCellArray(), vtkCellArray()
    points.SetData(numpy_to_vtk(mesh.vertices, deep=True))
    cells.SetData(
        numpy_to_vtkIdTypeArray(mesh.facet_start, deep=True), numpy_to_vtkIdTypeArray(mesh.facet_vertices, deep=True)
    )
    lines.InsertNextCell(2, [0, 1])
    data.SetPoints(points)
    data.SetPolys(cells)
    data.SetLines(lines)
    normals = numpy_to_vtk(mesh.facet_normals, deep=True)
    normals.SetName("normals")
    data.GetCellData().AddArray(normals)
    time = numpy_to_vtk(np.array([0.5]), deep=True)
    time.SetName("TIME")
    data.GetFieldData().AddArray(time)
    writer = vtkPolyDataWriter()
    writer.SetInputData(data)
    writer.SetFileName(str(path))
    writer.SetFileVersion(version)
    (writer.SetFileTypeToBinary if binary else writer.SetFileTypeToASCII)()
    assert writer.Write()


# format: ending, how to write it, sides of the largest facet it holds, digits kept
FORMATS = {
    "stl-text": ("stl", lambda p, m: by_meshio(p, m, binary=False), 3, 1e-15),
    "stl-binary": ("stl", lambda p, m: by_meshio(p, m, binary=True), 3, 1e-7),
    "obj": ("obj", lambda p, m: m.write(p), 6, 1e-15),
    "ply-text": ("ply", ascii_ply, 6, 1e-15),
    "ply-binary": ("ply", lambda p, m: m.write(p), 6, 0.0),
    "vtk-text": ("vtk", lambda p, m: by_meshio(p, m, binary=False), 6, 1e-15),
    "vtk-binary": ("vtk", lambda p, m: by_meshio(p, m, binary=True), 6, 0.0),
    **{
        f"polydata{version}-{'binary' if binary else 'text'}": (
            "vtk",
            partial(poly_data, binary=binary, version=version),
            6,
            0.0 if binary else 1e-5,
        )
        for version in (42, 51)
        for binary in (True, False)
    },
    "vtu": ("vtu", lambda p, m: by_meshio(p, m), 6, 0.0),
    "vtu-text": ("vtu", lambda p, m: by_meshio(p, m, binary=False), 6, 1e-11),
    "gmsh22-text": ("msh", lambda p, m: by_meshio(p, m, file_format="gmsh22", binary=False), 4, 1e-15),
    "gmsh22-binary": ("msh", lambda p, m: by_meshio(p, m, file_format="gmsh22", binary=True), 4, 0.0),
    "gmsh41-text": ("msh", lambda p, m: by_meshio(p, m, file_format="gmsh", binary=False), 4, 1e-15),
    "gmsh41-binary": ("msh", lambda p, m: by_meshio(p, m, file_format="gmsh", binary=True), 4, 0.0),
}


class Hangs(BaseException):
    """Not caught where all errors of a reader are."""


@contextmanager
def time_limit():
    """Raise where something hangs."""

    def stop(*_):
        raise Hangs

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def written(folder: Path, name: str, sides: int) -> tuple[Path, Mesh]:
    suffix, write, most, _ = FORMATS[name]
    mesh = half_round(min(sides, most))
    path = folder / f"dome.{suffix}"
    write(path, mesh)
    return path, mesh


def loops_of(mesh: Mesh) -> list[list[tuple[float, ...]]]:
    """Return the facets by their positions, each from its lowest on, sorted."""
    loops = []
    for facet in range(mesh.facet_count):
        points = [tuple(np.round(point, 6).tolist()) for point in mesh.vertices[mesh.loop(facet)]]
        first = points.index(min(points))
        loops.append(points[first:] + points[:first])
    return sorted(loops)


@pytest.mark.parametrize("sides", [3, 4, 6])
@pytest.mark.parametrize("name", FORMATS)
def test_one_mesh_returns_from_every_format(tmp_path: Path, name: str, sides: int) -> None:
    path, mesh = written(tmp_path, name, sides)
    back = Mesh.read(path)
    assert loops_of(back) == loops_of(mesh)
    assert back.vertex_count == mesh.vertex_count  # welded
    assert back.report().closed
    order, other = (np.lexsort(np.round(m.vertices, 6).T) for m in (mesh, back))
    np.testing.assert_allclose(back.vertices[other], mesh.vertices[order], rtol=0, atol=FORMATS[name][3] or 1e-300)
    np.testing.assert_allclose(Mesh.read(path, scale=1e-3).vertices, 1e-3 * back.vertices, rtol=1e-14)


def outcome(path: Path) -> Mesh | None:
    """Read a damaged file: a mesh, or None for one line of a `MeshError`; all else is a fault."""
    read, said = None, ""
    with time_limit():
        try:
            read = Mesh.read(path)
        except MeshError as error:
            said = str(error)
    assert read is not None or (said.startswith(f"{path}: ") and "\n" not in said)
    return read


@pytest.mark.parametrize("name", FORMATS)
def test_torn_files_are_refused(tmp_path: Path, name: str) -> None:
    """A file cut anywhere is refused; only OBJ cannot tell, it says nowhere how much there should be."""
    path, mesh = written(tmp_path, name, 3)
    whole = path.read_bytes()
    for length in np.unique(np.linspace(1, len(whole) - 1, 25).astype(int)):
        path.write_bytes(whole[:length])
        read = outcome(path)
        if read is not None and name != "obj":
            assert loops_of(read) == loops_of(mesh), f"cut to {length} of {len(whole)} bytes"


@pytest.mark.parametrize("name", FORMATS)
def test_changed_bytes_end_in_a_mesh_or_an_error(tmp_path: Path, name: str) -> None:
    path, _ = written(tmp_path, name, 4)
    whole = path.read_bytes()
    generator = np.random.default_rng(5)
    for _ in range(40):
        content = bytearray(whole)
        for place in generator.integers(0, len(content), generator.integers(1, 4)):
            content[place] = generator.integers(0, 256)
        path.write_bytes(content)
        read = outcome(path)
        assert read is None or np.isfinite(read.vertices).all()


STL = "\n".join(
    f"solid {name}\nfacet normal 0 0 1\nouter loop\nvertex {x} 0 0\nvertex {x + 1} 0 0\nvertex {x} 1 0\n"
    f"endloop\nendfacet\nendsolid {name}"
    for x, name in enumerate(["lid of box", "floor", "lid of box"])
)
OBJ = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\no whole\ng lid of box\nf 1 2 3\ng floor\nf 2 4 3\ng lid of box\nf 1 2 4\n"


@pytest.mark.parametrize(("suffix", "text"), [("stl", STL), ("obj", OBJ)])
def test_parts_are_chosen_by_name(tmp_path: Path, suffix: str, text: str) -> None:
    path = tmp_path / f"parts.{suffix}"
    path.write_text(text)
    assert Mesh.read(path).facet_count == 3
    assert Mesh.read(path).report().groups == ("lid of box", "floor")
    lid = Mesh.read(path, group="lid of box")
    assert (lid.facet_count, lid.report().unused_vertices) == (2, 0)
    floor = Mesh.read(path, group="floor")
    assert floor.vertices[floor.facet_vertices].max(axis=0)[0] == {"stl": 2.0, "obj": 1.0}[suffix]
    with pytest.raises(MeshError, match=r"no group 'flor'; give one of 'lid of box', 'floor'"):
        Mesh.read(path, group="flor")


def test_objects_are_the_parts_of_an_obj_file_without_groups(tmp_path: Path) -> None:
    path = tmp_path / "parts.obj"
    path.write_text(OBJ.replace("g ", "o "))
    assert Mesh.read(path, group="floor").facet_count == 1


@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize("version", ["gmsh22", "gmsh"])
def test_physical_surfaces_of_gmsh_are_parts(tmp_path: Path, version: str, binary: bool) -> None:
    points = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0], [2, 0, 0]]
    cells = [("triangle", [[0, 1, 2]]), ("triangle", [[1, 3, 2]]), ("triangle", [[1, 4, 3]])]
    tags = {"gmsh:physical": [[7], [9], [11]], "gmsh:geometrical": [[1], [2], [3]]}
    tags = {name: [np.array(one, np.int32) for one in column] for name, column in tags.items()}
    mesh = meshio.Mesh(
        np.array(points, float), cells, cell_data=tags if version == "gmsh22" else {},
        point_data={}, field_data={"lid": np.array([7, 2]), "floor": np.array([9, 2])},
    )  # fmt: skip
    path = tmp_path / "parts.msh"
    if version == "gmsh22":
        mesh.write(path, file_format=version, binary=binary)
    else:
        path.write_text(GMSH41)
    assert Mesh.read(path).report().groups == ("lid", "floor", "11")
    for group, corner in (("lid", 1.0), ("floor", 1.0), ("11", 2.0)):
        part = Mesh.read(path, group=group)
        assert (part.facet_count, part.vertices[:, 0].max()) == (1, corner)
    with pytest.raises(MeshError, match=r"give one of 'lid', 'floor', '11'"):
        Mesh.read(path, group="rim")


GMSH41 = """$MeshFormat
4.1 0 8
$EndMeshFormat
$PhysicalNames
2
2 7 "lid"
2 9 "floor"
$EndPhysicalNames
$Entities
0 0 3 0
1 0 0 0 1 1 0 1 7 0
2 0 0 0 1 1 0 1 9 0
3 0 0 0 2 1 0 1 11 0
$EndEntities
$Nodes
1 5 1 5
2 1 0 5
1
2
3
4
5
0 0 0
1 0 0
0 1 0
1 1 0
2 0 0
$EndNodes
$Elements
3 3 1 3
2 1 2 1
1 1 2 3
2 2 2 1
2 2 4 3
2 3 2 1
3 2 5 4
$EndElements
"""


def test_a_group_of_a_file_without_any_is_refused(tmp_path: Path) -> None:
    path, _ = written(tmp_path, "vtu", 3)
    with pytest.raises(MeshError, match="no group 'lid'; it names none: leave group out"):
        Mesh.read(path, group="lid")


def test_one_wrong_coordinate_is_named_instead_of_joining_everything(tmp_path: Path) -> None:
    mesh = half_round(3)
    vertices = mesh.vertices.copy()
    vertices[4, 1] = 1e12
    with pytest.raises(MeshError, match=r"vertex 4 is .*1000000000000.*correct its coordinates"):
        Mesh(vertices, mesh.facet_vertices.reshape(-1, 3))
    vertices[4, 1] = 1e200
    with pytest.raises(MeshError, match=r"vertex 4 of facet \d+ .*at most 1e\+15"):
        Mesh(vertices, mesh.facet_vertices.reshape(-1, 3))


HEAD = "# vtk DataFile Version 3.0\nby hand\nASCII\nDATASET POLYDATA\n"
FIVE = "POINTS 5 float\n0 0 0 1 0 0 0 1 0\n1 1 0 0 2 0\n"


def test_poly_data_by_hand(tmp_path: Path) -> None:
    """Strips are triangles one way round; points and lines are passed over; Windows ends its lines otherwise."""
    path = tmp_path / "a.vtk"
    text = HEAD + FIVE + "METADATA\nINFORMATION 0\n\nLINES 1 3\n2 0 1\nTRIANGLE_STRIPS 1 6\n5 0 1 2 3 4\nCELL_DATA 4\n"
    for content in (text, text.replace("\n", "\r\n")):
        path.write_bytes(content.encode())
        mesh = Mesh.read(path)
        assert [mesh.loop(k).tolist() for k in range(3)] == [[0, 1, 2], [1, 3, 2], [2, 3, 4]]
        assert mesh.facet_normals[:, 2].tolist() == [1.0, 1.0, 1.0]
        assert mesh.report().passed_over == (("line", 1),)
    path.write_text(HEAD + FIVE + "POLYGONS 2 9\n3 0 1 2\n4 1 3 4 2\n")
    assert np.diff(Mesh.read(path).facet_start).tolist() == [3, 4]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (FIVE + "POLYGONS 1 4\n3 0 1 2", "its last line has no end"),
        (FIVE + "POLYGONS 2 8\n3 0 1 2\n3 1\n", "2 of 8 numbers are missing"),
        (FIVE + "POLYGONS 2 8\n3 0 1 2\n9 1 2 3\n", "sizes of its cells do not fit"),
        (FIVE + "POLYGONS\n", "does not say how much follows"),
        (FIVE + "POLYGON 1 4\n3 0 1 2\n", "'POLYGON' is no part of PolyData"),
        (FIVE, "holds no facets"),
        ("POINTS 3 quad\n0 0 0\n", "'quad' is no type of numbers"),
    ],
)
def test_poly_data_that_is_wrong_is_refused(tmp_path: Path, body: str, words: str) -> None:
    (tmp_path / "a.vtk").write_text(HEAD + body)
    with pytest.raises(MeshError, match=words):
        Mesh.read(tmp_path / "a.vtk")
