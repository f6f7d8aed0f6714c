"""Meshes by all kinds of programs are read rightly, with a word of what is left out, or refused with the reason."""

from __future__ import annotations

import meshio
import pytest

from helpers import odd_meshes
from pdem.containers.meshes.mesh import Mesh
from pdem.foundation.errors import MeshError
from pdem.preflight.wall_checks import mesh_warnings


def written(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("name", odd_meshes.RIGHT)
def test_the_cube_is_read(tmp_path, name, capfd):
    mesh = Mesh.read(written(tmp_path, name, odd_meshes.RIGHT[name]))
    report = mesh.report()
    assert (report.area, report.volume, report.closed) == (pytest.approx(6.0), pytest.approx(1.0), True)
    assert (mesh.facet_count, report.vertices - report.unused_vertices) in ((12, 8), (6, 8))
    said = list(mesh_warnings(report))
    assert (said == []) == (name not in odd_meshes.SAID)
    assert odd_meshes.SAID.get(name, "") in "; ".join(said)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", odd_meshes.TWICE)
def test_solids_are_parts(tmp_path, name):
    path = written(tmp_path, name, odd_meshes.TWICE[name])
    report = Mesh.read(path).report()
    assert (report.facets, report.duplicated_facets, report.area) == (24, 12, pytest.approx(12.0))
    assert Mesh.read(path, group="a").report().area == pytest.approx(12.0 if "same" in name else 6.0)


@pytest.mark.parametrize("name", odd_meshes.WRONG)
def test_what_is_wrong_is_told(tmp_path, name, capfd):
    content, words = odd_meshes.WRONG[name]
    path = written(tmp_path, name, content)
    with pytest.raises(MeshError) as caught:
        Mesh.read(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert words in message
    assert message.isprintable()
    assert len(message) < len(str(path)) + 330
    assert capfd.readouterr() == ("", "")


def test_names_keep_their_letters(tmp_path):
    for name in ("latin.stl", "number-sign-in-name.obj", "groups.obj"):
        written(tmp_path, name, odd_meshes.RIGHT[name])
    assert Mesh.read(tmp_path / "latin.stl").report().groups == (odd_meshes.NAME,)
    assert Mesh.read(tmp_path / "number-sign-in-name.obj").report().groups == ("part#1",)
    assert Mesh.read(tmp_path / "groups.obj", group="lid").facet_count == 10


def test_polygons_of_an_stl_are_cut_where_they_are_bent(tmp_path):
    bent = odd_meshes.stl(odd_meshes.QUADS).replace("vertex 1.000000e+00 1.000000e+00 1.000000e+00", "vertex 1 1 1.5")
    path = written(tmp_path, "bent.stl", bent)
    with pytest.raises(MeshError, match=r"facet 5 .* is not planar"):
        Mesh.read(path)
    assert Mesh.read(path, split_facets=True).report().closed


@pytest.mark.parametrize("suffix", ["vtu", "vtk", "inp", "mesh"])
@pytest.mark.parametrize("kind", ["tetra", "hexahedron"])
def test_volumes_beside_the_surface_are_left_out_of_all_formats(tmp_path, suffix, kind):
    corners = {"tetra": [[0, 1, 2, 4]], "hexahedron": [[0, 4, 6, 2, 1, 5, 7, 3]]}[kind]
    cells = [("triangle", odd_meshes.TRIANGLES), (kind, corners)]
    meshio.write_points_cells(tmp_path / f"a.{suffix}", odd_meshes.CORNERS, cells)
    report = Mesh.read(tmp_path / f"a.{suffix}").report()
    assert (report.facets, report.area, report.volume) == (12, pytest.approx(6.0), pytest.approx(1.0))
    assert report.passed_over == ((kind, 1),)
    meshio.write_points_cells(tmp_path / f"b.{suffix}", odd_meshes.CORNERS, cells[1:])
    with pytest.raises(MeshError, match=rf"b.{suffix}: holds 1 {kind} cells; walls are surfaces"):
        Mesh.read(tmp_path / f"b.{suffix}")


@pytest.mark.parametrize("change", [lambda text: "\ufeff" + text, lambda text: text.replace("\n", "\r")])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_formats_of_libraries_are_read_with_marks(tmp_path, change, encoding, capfd):
    path = tmp_path / "a.off"
    meshio.write_points_cells(path, odd_meshes.CORNERS, [("triangle", odd_meshes.TRIANGLES)])
    path.write_bytes(change(path.read_text()).encode(encoding))
    assert Mesh.read(path).report().volume == pytest.approx(1.0)
    assert capfd.readouterr() == ("", "")
