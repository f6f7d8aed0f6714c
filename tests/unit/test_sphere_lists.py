"""Files of spheres: their formats, and what is wrong with them."""

import contextlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdem.containers.meshes.solid import Solid
from pdem.containers.sphere_lists import read_spheres, require_possible
from pdem.foundation.errors import InputError

VTK = """# vtk DataFile Version 3.0
spheres
ASCII
DATASET POLYDATA
POINTS 2 float
0.0 0.0 0.0
1.0 0.0 0.0
VERTICES 2 4
1 0
1 1
POINT_DATA 2
SCALARS radius float 1
LOOKUP_TABLE default
1.0
2.0
"""

CLUSTER = """//
//   Cluster Name: "two"
Name
two

Begin centers_and_radii
-0.5 0.0 0.0 1.0
// a comment
0.5 0.0 0.0 1.0
End centers_and_radii

Particle_center_and_diameter
0 0 0 3

Size
3
Volume
7.0685
Inertia per unit mass
0.425
0.7375
0.7375
"""
TWO = [[-0.5, 0.0, 0.0, 1.0], [0.5, 0.0, 0.0, 1.0]]


def spheres_of(path, text, name="shape.txt"):
    file = path / name
    file.write_text(text, encoding="utf-8")
    found = read_spheres(file)
    return np.column_stack((found.centre, found.radius)).tolist()


@pytest.mark.parametrize(
    "text",
    [
        "-0.5 0 0 1\n0.5 0 0 1\n",
        "# x y z r\n-0.5\t0\t0\t1\n\n  0.5 0 0 1  # second",
        "x,y,z,r\n-0.5,0,0,1\n0.5,0,0,1\n",
        "X [m]; Y [m]; Z [m]; Radius [m]\n-0.5;0;0;1\n0.5;0;0;1\n",
        "id,radius,x,y,z\n1,1,-0.5,0,0\n2,1,0.5,0,0\n",
        "\ufeff-5e-1, 0, 0, 1, 7\r\n.5, 0, 0, 1, 7\r\n",
        "name,x,y,z,r,material\nbig grain,-0.5,0,0,1,quartz\n,0.5,0,0,1,\n",
        "x y z radius\n-0.5\t0\t0\t1\n0.5 0 0 1 glass\n",
        "X [m] Y [m] Z [m] r (m)\n-0.5 0 0 1\n0.5 0 0 1\n",
        "x, y, z, r\n-0.5 0 0 1\n0.5 0 0 1\n",
    ],
)
def test_tables(tmp_path, text):
    assert spheres_of(tmp_path, text) == TWO


def test_a_cluster_of_kratos(tmp_path):
    assert spheres_of(tmp_path, CLUSTER, "two.clu") == TWO
    found = read_spheres(tmp_path / "two.clu")
    assert found.volume == 7.0685
    assert found.inertia_per_mass.tolist() == [0.425, 0.7375, 0.7375]
    short = CLUSTER[: CLUSTER.index("Volume")]
    assert spheres_of(tmp_path, short, "two.clu") == TWO
    assert read_spheres(tmp_path / "two.clu").volume is None
    other = CLUSTER.replace("Inertia per unit mass\n0.425\n0.7375\n0.7375", "Inertia unit mass\n0.425 0.7375 0.7375")
    assert spheres_of(tmp_path, other, "two.clu") == TWO
    assert read_spheres(tmp_path / "two.clu").inertia_per_mass.tolist() == [0.425, 0.7375, 0.7375]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.txt", "", "has no spheres; give lines of x, y, z and radius"),
        ("a.txt", "0 0 0 1\n0 0 0\n", "line 2: '0 0 0' are not 4 numbers"),
        ("a.txt", "0 0 0 1\n0 0 one 1\n", "line 2: '0 0 one 1' are not 4 numbers"),
        ("a.txt", "0 0 0 1\n0,1 0,2 -0,3 1,1\n", "line 2: '0,1 0,2 -0,3 1,1' has commas within numbers; write decimal"),
        ("a.csv", "x;y;z;r\n0;0;0;1,5\n", "line 2: '0;0;0;1,5' has commas within numbers"),
        ("a.txt", "0 0 0 1\n\n0 0 0 -2\n", "line 3: a sphere at 0, 0, 0 of radius -2; numbers must be finite"),
        ("a.txt", "0 nan 0 1\n", "line 1: a sphere at 0, nan, 0 of radius 1"),
        ("a.csv", "x,y,r\n0,0,1\n", "line 1: the names of columns are x, y, r; x, y, z and r"),
        ("a.csv", "x,y,z,r,radius\n0,0,0,1,1\n", "line 1: the names of columns are x, y, z, r, radius"),
        ("a.vtk", "0 0 0 1\n", "cannot be read as spheres: is no legacy VTK file of PolyData"),
        ("a.vtk", VTK.split("POINT_DATA")[0], "it has no radius for each of its points"),
        ("a.vtk", VTK.replace("radius", "mass"), "it has no radius for each of its points"),
        ("a.vtk", VTK.replace("\n2.0\n", "\n"), "it breaks off: 1 of 2 numbers are missing"),
        ("a.vtk", VTK.replace("2.0", "-2.0"), "sphere 2: a sphere at 1, 0, 0 of radius -2; numbers must be finite"),
        ("a.vtk", VTK.replace("POINT_DATA", "CELL_DATA"), "is no number for each point"),
        ("a.clu", "0 0 0 1\n", "needs one part from Begin centers_and_radii"),
        ("a.clu", CLUSTER.replace("End centers_and_radii", ""), "needs one part from Begin"),
        ("a.clu", CLUSTER.replace("7.0685", "-7"), "Volume must be positive, and is -7"),
        ("a.clu", CLUSTER.replace("0.425\n0.7375\n0.7375\n", "0.425\n"), "'0.425' are not 3 numbers"),
        ("a.clu", CLUSTER.replace("0.5 0.0 0.0 1.0\nEnd", "0.5 0.0 0.0 1.0 3\nEnd"), "are not 4 numbers"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_line(tmp_path, name, text, message):
    with pytest.raises(InputError) as caught:
        spheres_of(tmp_path, text, name)
    assert message in str(caught.value)
    assert name in str(caught.value)


def test_radii_may_stand_in_a_field_beside_others(tmp_path):
    head, _ = VTK.split("SCALARS")
    text = head + "FIELD FieldData 2\nmass 1 2 double\n5 6\nradius 1 2 double\n1 2\n"
    assert [row[3] for row in spheres_of(tmp_path, text, "a.vtk")] == [1.0, 2.0]
    more = VTK.replace("SCALARS", "SCALARS mass double\nLOOKUP_TABLE default\n5 6\nSCALARS")
    assert [row[3] for row in spheres_of(tmp_path, more, "a.vtk")] == [1.0, 2.0]


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(InputError, match=r"none.txt: cannot be read: No such file"):
        read_spheres(tmp_path / "none.txt")
    (tmp_path / "b.txt").write_bytes(b"\xff\xfe\x00\x80")
    with pytest.raises(InputError, match=r"b.txt: cannot be read"):
        read_spheres(tmp_path / "b.txt")


@settings(max_examples=200)
@given(st.text(max_size=80), st.sampled_from(["a.txt", "a.clu", "a.vtk"]))
def test_no_text_does_more_than_an_error(tmp_path_factory, text, name):
    file = tmp_path_factory.mktemp("fuzz") / name
    file.write_text(text, encoding="utf-8", errors="replace")
    with contextlib.suppress(InputError):
        found = read_spheres(file)
        assert len(found.radius)
        assert (found.radius > 0.0).all()


@pytest.mark.parametrize(
    ("moments", "possible"),
    [
        ((1.0, 1.0, 1.0), True),
        ((1.0, 1.0, 2.0), True),
        ((1.0, 1.0, 2.1), False),
        ((0.0, 1.0, 1.0), False),
        ((-1.0, 1.0, 1.0), False),
    ],
)
def test_impossible_tensors_are_refused(moments, possible):
    solid = Solid(1.0, np.zeros(3), np.diag(moments))
    if possible:
        require_possible(solid, "shape rod")
    else:
        with pytest.raises(InputError, match=r"shape rod: principal moments .* belong to no body"):
            require_possible(solid, "shape rod")
    odd = solid._replace(inertia=np.diag(moments) + np.array([[0, 0.1, 0], [0, 0, 0], [0, 0, 0]]))
    with pytest.raises(InputError, match=r"shape rod: a tensor of inertia is symmetric"):
        require_possible(odd, "shape rod")
