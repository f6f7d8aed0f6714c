"""Legacy VTK files of grids: what pdem writes others read, and what others write pdem reads without meshio."""

from __future__ import annotations

import meshio
import numpy as np
import pytest

from pdem import Mesh, MeshError

CORNERS = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [2, 0, 0], [2, 1, 0], [0.5, 1.5, 0], [1, 2, 0], [2, 2, 0]]
FACETS = [[1, 4, 5, 2], [0, 1, 2], [2, 3, 0], [2, 5, 8, 7, 6]]
HEAD = "# vtk DataFile Version 3.0\nby hand\nASCII\nDATASET UNSTRUCTURED_GRID\n"
FIVE = "POINTS 5 float\n0 0 0 1 0 0 0 1 0\n1 1 0 0 2 0\n"
CELLS = FIVE + "CELLS 4 14\n2 0 1\n3 0 1 2\n1 4\n4 1 3 4 2\nCELL_TYPES 4\n3 5 1 9\n"


@pytest.fixture
def mesh():
    return Mesh(CORNERS, FACETS)


def loops(mesh):
    return [mesh.loop(number).tolist() for number in range(mesh.facet_count)]


def test_what_is_written_is_what_meshio_would_write(mesh, tmp_path):
    mesh.write(tmp_path / "own.vtk")
    blocks = [("quad", [mesh.loop(0)]), ("triangle", [mesh.loop(1), mesh.loop(2)]), ("polygon", [mesh.loop(3)])]
    meshio.write_points_cells(tmp_path / "other.vtk", mesh.vertices, blocks, file_format="vtk")
    own, other = ((tmp_path / name).read_bytes().split(b"\n", 2) for name in ("own.vtk", "other.vtk"))
    assert own[0] == other[0]
    assert own[2] == other[2]
    assert loops(Mesh.read(tmp_path / "own.vtk")) == loops(mesh)


def test_vtk_reads_what_is_written(mesh, tmp_path):
    legacy = pytest.importorskip("vtkmodules.vtkIOLegacy")
    mesh.write(tmp_path / "own.vtk")
    reader = legacy.vtkUnstructuredGridReader()
    reader.SetFileName(str(tmp_path / "own.vtk"))
    reader.Update()
    cells = map(reader.GetOutput().GetCell, range(4))
    found = [[cell.GetPointId(place) for place in range(cell.GetNumberOfPoints())] for cell in cells]
    assert found == loops(mesh)


def test_a_grid_by_hand(tmp_path):
    """Points and lines are passed over; Windows ends its lines otherwise."""
    text = HEAD + CELLS + "CELL_DATA 4\nSCALARS number int 1\nLOOKUP_TABLE default\n1 2 3 4\n"
    for content in (text, text.replace("\n", "\r\n")):
        (tmp_path / "a.vtk").write_bytes(content.encode())
        mesh = Mesh.read(tmp_path / "a.vtk")
        assert loops(mesh) == [[0, 1, 2], [1, 3, 4, 2]]
        assert sorted(mesh.report().passed_over) == [("line", 1), ("vertex", 1)]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (FIVE + "CELLS 1 4\n3 0 1 2\n", "CELL_TYPES of its cells do not fit"),
        (FIVE + "CELLS 1 4\n3 0 1 2\nCELL_TYPES 1\n9\n", "CELL_TYPES of its cells do not fit"),
        (FIVE + "CELLS 1 4\n3 0 1 2\nCELL_TYPES 2\n5 5\n", "CELL_TYPES of its cells do not fit"),
        (FIVE + "CELLS 1 4\n3 0 1 2\nCELL_TYPES\n", "does not say how much follows"),
        (FIVE + "CELLS 1 4\n3 0 1 2\nCELL_TYPES 1\n", "1 of 1 numbers are missing"),
        (FIVE + "CELL 1 4\n3 0 1 2\n", "'CELL' is no part of a grid"),
        (FIVE, "holds no facets"),
        (FIVE + "CELLS 1 5\n4 0 1 2 3\nCELL_TYPES 1\n10\n", "holds 1 tetra cells; walls are surfaces"),
        (FIVE + "CELLS 1 4\n3 0 1 7\nCELL_TYPES 1\n5\n", "vertices are numbered 0 to 4"),
    ],
)
def test_a_grid_that_is_wrong_is_refused(tmp_path, body, words):
    (tmp_path / "a.vtk").write_text(HEAD + body)
    with pytest.raises(MeshError, match=words):
        Mesh.read(tmp_path / "a.vtk")


def test_points_of_a_written_mesh_keep_their_bits(mesh, tmp_path):
    moved = Mesh(np.add(CORNERS, 1 / 3), FACETS)
    moved.write(tmp_path / "own.vtk")
    np.testing.assert_array_equal(Mesh.read(tmp_path / "own.vtk").vertices, moved.vertices)
