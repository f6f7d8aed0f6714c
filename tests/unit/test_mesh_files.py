"""Mesh files: formats with triangles, quads and polygons, and what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import meshio
import numpy as np
import pytest

from pdem.containers.meshes.mesh import Mesh
from pdem.foundation.errors import MeshError

if TYPE_CHECKING:
    from pathlib import Path

CORNERS = np.array([[x, y, z] for x in (0.0, 1.0) for y in (0.0, 1.0) for z in (0.0, 1.0)]) + 1 / 3
QUADS = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
TRIANGLES = [[loop[a] for a in part] for loop in QUADS for part in ((0, 1, 2), (0, 2, 3))]
HEXAGON = [[np.cos(a), np.sin(a), 0.0] for a in np.pi / 3 * np.arange(6)]


def same_facets(one: Mesh, other: Mesh, tolerance: float) -> bool:
    """Tell whether two meshes have the same facets in the same order."""
    return one.facet_count == other.facet_count and all(
        len(one.loop(f)) == len(other.loop(f))
        and np.allclose(
            np.sort(one.vertices[one.loop(f)], axis=0),
            np.sort(other.vertices[other.loop(f)], axis=0),
            atol=tolerance,
            rtol=0,
        )
        for f in range(one.facet_count)
    )


@pytest.mark.parametrize("suffix", ["stl", "obj", "ply", "vtk", "vtu", "msh", "off"])
def test_triangles_return_from_every_format(tmp_path: Path, suffix: str) -> None:
    mesh = Mesh(CORNERS, TRIANGLES)
    mesh.write(tmp_path / f"box.{suffix}")
    assert same_facets(mesh, Mesh.read(tmp_path / f"box.{suffix}"), 0.0)


@pytest.mark.parametrize("suffix", ["obj", "ply", "vtk", "vtu"])
def test_mixed_polygons_return_in_order(tmp_path: Path, suffix: str) -> None:
    facets = [[0, 1, 2, 3, 4, 5], [0, 6, 1], [1, 6, 7, 2], [3, 4, 8]]
    mesh = Mesh([*HEXAGON, [2, 0, 0], [1.5, 1.73205080757, 0], [0, 0, 1]], facets, flatness=1.0)
    mesh.write(tmp_path / f"plate.{suffix}")
    assert same_facets(mesh, Mesh.read(tmp_path / f"plate.{suffix}", flatness=1.0), 1e-15)


def test_binary_stl_is_welded(tmp_path: Path) -> None:
    meshio.write_points_cells(tmp_path / "box.stl", CORNERS, [("triangle", TRIANGLES)], binary=True)
    mesh = Mesh.read(tmp_path / "box.stl")
    assert (mesh.vertex_count, mesh.edge_count) == (8, 18)
    assert mesh.report().closed


@pytest.mark.parametrize("binary", [True, False])
def test_gmsh_passes_over_lines_and_says_so(tmp_path: Path, binary: bool) -> None:
    cells = [("line", [[0, 1], [1, 3]]), ("triangle", TRIANGLES), ("quad", QUADS[:1])]
    meshio.write_points_cells(tmp_path / "a.msh", CORNERS, cells[:2], file_format="gmsh22", binary=binary)
    mesh = Mesh.read(tmp_path / "a.msh")
    assert mesh.facet_count == 12
    assert mesh.report().passed_over == (("line", 2),)


def test_scale_is_applied(tmp_path: Path) -> None:
    Mesh(CORNERS, QUADS).write(tmp_path / "box.obj")
    np.testing.assert_allclose(Mesh.read(tmp_path / "box.obj", scale=1e-3).vertices, 1e-3 * CORNERS)
    with pytest.raises(MeshError, match="scale is 0"):
        Mesh.read(tmp_path / "box.obj", scale=0.0)


def test_obj_with_texture_indices_and_groups(tmp_path: Path) -> None:
    lines = [f"v {x} {y} {z} 1.0" for x, y, z in CORNERS]
    lines += ["vt 0 0", "vn 0 0 1", "g lid", "f 1/1/1 2/1/1 4/1/1 3/1/1", "g rest", "f 5//1 7//1 \\", "8//1 6//1"]
    lines += ["f -8 -7 -3 -4 # relative"]
    (tmp_path / "a.obj").write_text("\n".join(lines))
    assert same_facets(Mesh.read(tmp_path / "a.obj"), Mesh(CORNERS, QUADS[:3]), 1e-15)


def test_ply_with_other_names_and_colours(tmp_path: Path) -> None:
    header = (
        "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\n"
        "element face 2\nproperty uchar red\nproperty list uchar int vertex_index\nend_header\n"
    )
    (tmp_path / "a.ply").write_text(header + "0 0 0\n1 0 0\n1 1 0\n0 1 0\n255 3 0 1 2\n255 3 0 2 3\n")
    assert Mesh.read(tmp_path / "a.ply").facet_count == 2


def test_missing_empty_and_foreign_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(MeshError, match=r"nowhere\.stl: does not exist"):
        Mesh.read(tmp_path / "nowhere.stl")
    with pytest.raises(MeshError, match="is a folder"):
        Mesh.read(tmp_path)
    (tmp_path / "empty.stl").write_text("")
    with pytest.raises(MeshError, match=r"empty\.stl: the file is empty"):
        Mesh.read(tmp_path / "empty.stl")
    (tmp_path / "void.stl").write_text("solid void\nendsolid void\n")
    with pytest.raises(MeshError, match=r"void\.stl: .*no facets"):
        Mesh.read(tmp_path / "void.stl")


@pytest.mark.parametrize("suffix", ["stl", "obj", "ply", "vtk", "vtu", "msh", "xyz"])
@pytest.mark.parametrize("content", [b"v 1 2\nf 1 2 x\nnothing of the kind\n", bytes(range(256)) * 3])
def test_garbage_is_refused_without_noise(
    tmp_path: Path, suffix: str, content: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / f"bad.{suffix}"
    path.write_bytes(content)
    with pytest.raises(MeshError, match=rf"bad\.{suffix}: ") as error:
        Mesh.read(path)
    assert "\n" not in str(error.value)
    assert capfd.readouterr().out == ""


def test_truncated_binary_stl_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "box.stl"
    meshio.write_points_cells(path, CORNERS, [("triangle", TRIANGLES)], binary=True)
    path.write_bytes(path.read_bytes()[:-70])
    with pytest.raises(MeshError, match="cannot be read"):
        Mesh.read(path)


def test_volume_and_curved_cells_are_refused(tmp_path: Path) -> None:
    meshio.write_points_cells(tmp_path / "a.vtu", CORNERS, [("tetra", [[0, 1, 2, 4]])])
    with pytest.raises(MeshError, match="1 tetra cells; walls are surfaces"):
        Mesh.read(tmp_path / "a.vtu")
    meshio.write_points_cells(tmp_path / "b.vtu", CORNERS, [("triangle6", [[0, 1, 2, 4, 5, 6]])])
    with pytest.raises(MeshError, match="triangle6 cells"):
        Mesh.read(tmp_path / "b.vtu")


def test_poly_data_in_xml_is_refused_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "a.vtp").write_text("<VTKFile></VTKFile>")
    with pytest.raises(MeshError, match=r"PolyData in XML \(.vtp\) is not read; write it as .vtk"):
        Mesh.read(tmp_path / "a.vtp")


def test_bad_facet_of_a_file_names_file_and_facet(tmp_path: Path) -> None:
    (tmp_path / "a.obj").write_text("v 0 0 0\nv 1 0 0\nv 1 1 1\nv 0 1 0\nf 1 2 4\nf 1 2 3 4\n")
    with pytest.raises(MeshError, match=r"a\.obj: facet 1 .*not planar"):
        Mesh.read(tmp_path / "a.obj")


def test_formats_that_cannot_hold_polygons_refuse_them(tmp_path: Path) -> None:
    mesh = Mesh(CORNERS, QUADS)
    for suffix in ("stl", "off", "unknown"):
        with pytest.raises(MeshError, match=f"box.{suffix}"):
            mesh.write(tmp_path / f"box.{suffix}")
        assert not (tmp_path / f"box.{suffix}").exists()


def test_gmsh_holds_triangles_and_quads_together(tmp_path: Path) -> None:
    mesh = Mesh(CORNERS, [*QUADS[:3], *TRIANGLES[6:]])
    mesh.write(tmp_path / "box.msh")
    assert same_facets(mesh, Mesh.read(tmp_path / "box.msh"), 0.0)
