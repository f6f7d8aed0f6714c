"""``pdem shape``: what it prints and writes, and what it refuses."""

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from helpers.cases import box
from pdem.cli import main
from pdem.containers.sphere_lists import read_spheres
from pdem.containers.sphere_union import union_of_spheres

TWO = """Name
two
Begin centers_and_radii
-0.5 0.0 0.0 1.0
0.5 0.0 0.0 1.0
End centers_and_radii
Volume
7.0685834705770347
Inertia per unit mass
0.425
0.7375
0.7375
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("two.clu").write_text(TWO)
    box([0, 0, 0], [2, 2, 2]).write("cube.obj")
    return tmp_path


def shape(*arguments):
    result = CliRunner().invoke(main, ["shape", *arguments], standalone_mode=False)
    assert result.exception is None, result.output
    return result


def row(text, name):
    """Return the numbers of a line of the table."""
    (line,) = [line for line in text.splitlines() if line.startswith(name)]
    return [float(word) for word in line[len(name) :].split()]


def test_a_cluster_of_kratos_and_its_list(here):
    result = shape("two.clu", "--scale", "0.001", "-o", "two.csv")
    assert result.return_value == 0
    union = row(result.output, "union")
    assert union == pytest.approx([7.068583e-9, 0, 0, 0, 4.25e-7, 7.375e-7, 7.375e-7])
    assert row(result.output, "the file") == pytest.approx(union)
    assert row(result.output, "sum of the spheres")[0] == pytest.approx(8.37758e-9, rel=1e-6)
    assert "warning" not in result.output
    spheres = read_spheres(here / "two.csv")
    assert spheres.centre == pytest.approx(np.array([[-5e-4, 0, 0], [5e-4, 0, 0]]), abs=1e-18)
    assert spheres.radius.tolist() == [0.001, 0.001]
    assert row(shape("two.csv").output, "union") == pytest.approx(union)


def test_a_mesh_is_filled(here):
    result = shape("cube.obj", "--spheres", "9", "--error", "0", "-o", "cube.csv")
    assert "cube.obj: 9 spheres, inertia within" in result.output
    assert row(result.output, "the mesh") == pytest.approx([8, 1, 1, 1, 2 / 3, 2 / 3, 2 / 3], rel=1e-5)
    spheres = read_spheres(here / "cube.csv")
    union = union_of_spheres(spheres.centre, spheres.radius)
    assert union.volume == pytest.approx(8.0, rel=1e-12)
    assert union.centre == pytest.approx(np.zeros(3), abs=1e-13)


@pytest.mark.parametrize(
    ("spheres", "warning"),
    [
        ("0 0 0 1\n3 0 0 1\n", "the shape is in 2 pieces that do not touch"),
        ("0 0 0 1\n0.1 0 0 0.5\n", "1 spheres are inside others (sphere 2) and change nothing"),
        ("0 0 0 1\n0 0 0 1\n", "1 spheres are inside others (sphere 2) and change nothing"),
        ("".join(f"{0.1 * x} 0 0 1\n" for x in range(101)), "101 spheres make many contacts"),
    ],
)
def test_what_is_doubtful(here, spheres, warning):
    Path("odd.txt").write_text(spheres)
    assert f"warning: odd.txt: {warning}" in shape("odd.txt").stderr


@pytest.mark.parametrize(
    ("old", "new", "warning"),
    [
        ("7.0685", "8.0", "the volume in the file differs by"),
        ("0.425", "0.4", "the smallest moment over mass in the file differs by -5.9 %"),
        ("-0.5 0.0", "-0.4 0.0", "the centre of mass, over the size, in the file differs by"),
    ],
)
def test_a_file_that_contradicts_its_spheres(here, old, new, warning):
    Path("odd.clu").write_text(TWO.replace(old, new))
    assert f"warning: odd.clu: {warning}" in shape("odd.clu").stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["cube.obj"], "cube.obj: is a mesh; say with how many spheres it may be filled"),
        (["two.clu", "--spheres", "3"], "two.clu: --spheres fills a mesh"),
        (["none.txt"], "none.txt: cannot be read: No such file"),
        (["two.clu", "-o", "two.clu"], "two.clu: is there already; --overwrite replaces it"),
        (["two.clu", "-o", "no/two.csv"], "no/two.csv: cannot be written (No such file or directory)"),
        (["open.obj", "--spheres", "3"], "open.obj: 5 of 5 facets close no volume"),
    ],
)
def test_what_is_refused(here, arguments, message):
    mesh = box([0, 0, 0], [1, 1, 1])
    type(mesh)(mesh.vertices, mesh.facet_vertices.reshape(-1, 4)[:5]).write("open.obj")
    result = CliRunner().invoke(main, ["shape", *arguments], standalone_mode=False)
    assert result.return_value == 2
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1
