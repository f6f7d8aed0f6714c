"""``pdem mesh``: what it writes is read back, what it says is right, and it destroys nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import pyvista
from click.testing import CliRunner

from pdem.cli.mesh import mesh as command
from pdem.containers.meshes.mesh import Mesh

if TYPE_CHECKING:
    from pathlib import Path

CASE = """
[time]
step = 1e-4
end = 1.0
[domain]
lower = [-1.0, -1.0, -1.0]
upper = [1.0, 1.0, 1.0]
[materials.steel]
[[walls]]
shape = "cylinder"
axis = [1, 0, 0]
radius = 0.25
length = 0.5
material = "steel"
[[walls]]
name = "lid"
shape = "box"
lower = [0.0, 0.0, 0.0]
upper = [1.0, 1.0, 1.0]
open = ["+z"]
material = "steel"
[output]
folder = "results"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mill.toml").write_text(CASE)
    return tmp_path


def said(*arguments: str) -> str:
    result = CliRunner().invoke(command, arguments, standalone_mode=False, catch_exceptions=False)
    return result.output


def test_vtk_holds_polygons_and_the_number_of_the_wall(folder: Path) -> None:
    lines = said("mill.toml").splitlines()
    assert lines[0].startswith("cylinder  cylinder: 64 facets, ")
    assert "closed, volume 0.0978" in lines[0]
    assert lines[1] == "lid       box: 5 facets, 5 m2, open, 0 to 1 x 0 to 1 x 0 to 1 m"
    assert lines[2] == "wrote mill-walls.vtk"
    both = Mesh.read(folder / "mill-walls.vtk")
    assert both.facet_count == 69
    assert both.facet_areas[64:].sum() == pytest.approx(5.0)
    fields = pyvista.read(folder / "mill-walls.vtk").cell_data
    assert fields["wall"].tolist() == 64 * [0] + 5 * [1]
    assert fields["facet"].tolist() == [*range(64), *range(5)]


def test_stl_has_a_solid_for_each_wall(folder: Path) -> None:
    said("mill.toml", "-o", "walls.stl")
    lid = Mesh.read(folder / "walls.stl", group="lid")
    assert lid.facet_count == 10
    assert lid.facet_areas.sum() == pytest.approx(5.0)
    drum = Mesh.read(folder / "walls.stl", group="cylinder")
    report = drum.report()
    assert report.closed
    assert report.normals_outward


def test_other_formats_are_written_too(folder: Path) -> None:
    said("mill.toml", "-o", "walls.ply")
    said("mill.toml")
    areas = [Mesh.read(folder / name).facet_areas.sum() for name in ("walls.ply", "mill-walls.vtk")]
    assert areas[0] == pytest.approx(areas[1])


def test_no_file_is_replaced_unless_asked_for(folder: Path) -> None:
    said("mill.toml", "-o", "walls.stl")
    (folder / "walls.stl").write_text("mine")
    assert "walls.stl: is there already; --overwrite replaces it" in said("mill.toml", "-o", "walls.stl")
    assert (folder / "walls.stl").read_text() == "mine"
    said("mill.toml", "-o", "walls.stl", "--overwrite")
    assert (folder / "walls.stl").read_text().startswith("solid cylinder")


def test_a_file_of_the_case_is_never_replaced(folder: Path) -> None:
    said("mill.toml", "-o", "lid.stl")
    text = CASE.replace('shape = "cylinder"\naxis = [1, 0, 0]\nradius = 0.25\nlength = 0.5', 'mesh = "lid.stl"')
    (folder / "mesh.toml").write_text(text.replace('name = "lid"', 'name = "other"'))
    before = (folder / "lid.stl").read_bytes()
    assert "lid.stl: is the file of walls[0].mesh of the case; name another file" in said(
        "mesh.toml", "-o", "lid.stl", "--overwrite"
    )
    assert (folder / "lid.stl").read_bytes() == before


def test_a_case_without_walls_says_so(folder: Path) -> None:
    (folder / "none.toml").write_text(CASE.partition("[[walls]]")[0] + '[output]\nfolder = "results"\n')
    assert "the case has no walls" in said("none.toml")
    assert not (folder / "none-walls.vtk").exists()


def test_defects_of_a_file_are_said(folder: Path) -> None:
    said("mill.toml", "-o", "lid.stl")
    text = (folder / "lid.stl").read_text()
    thin = "facet normal 0 0 0\nouter loop\n" + 3 * "vertex 0 0 0\n" + "endloop\nendfacet\n"
    (folder / "lid.stl").write_text(text.replace("solid lid\n", f"solid lid\n{thin}", 1))
    head, _, _ = CASE.partition("[[walls]]")
    walls = '[[walls]]\nmesh = "lid.stl"\ngroup = "lid"\nmaterial = "steel"\n[output]\nfolder = "results"\n'
    (folder / "file.toml").write_text(head + walls)
    answer = said("file.toml")
    assert "lid  mesh: 10 facets, 5 m2, open" in answer
    assert "warning: wall lid: 1 facets have fewer than three distinct corners or no area" in answer
