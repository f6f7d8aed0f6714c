"""Where meshes are put when they are read: scaled, then turned, then moved."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from helpers.cases import box
from pdem.case.explain.keys import explain
from pdem.case.groups.inlets import face_at
from pdem.case.model import Case
from pdem.case.wall_files import read_walls
from pdem.containers.meshes.mesh import Mesh
from pdem.containers.meshes.placement import Placement, placement_of
from pdem.foundation.errors import CaseError, MeshError
from pdem.preflight.restart_checks import check_continuable

VECTORS = st.tuples(*[st.floats(-5.0, 5.0)] * 3)
AXES = VECTORS.filter(lambda axis: np.linalg.norm(axis) > 0.1)
POINTS = np.random.default_rng(1).normal(size=(20, 3))

CASE = """
time = {{end = 1.0}}
domain = {{lower = [-9, -9, -9], upper = [9, 9, 9]}}
materials.grain = {{density = 1000.0, youngs_modulus = 1e7, poisson_ratio = 0.2}}
materials.steel = {{}}
interactions.default = {{friction = 0.5, restitution = 0.4}}
[[particles]]
material = "grain"
radius = 0.05
positions = [[8, 8, 8]]
[[walls]]
mesh = "box.obj"
material = "steel"
{keys}
"""


def case_of(folder, keys="", more=""):
    box([0, 0, 0], [1, 2, 3]).write(folder / "box.obj")
    return Case.from_text(CASE.format(keys=keys) + more, folder)


@given(st.floats(1e-3, 1e3), AXES, st.floats(-7.0, 7.0), VECTORS, VECTORS)
def test_a_placement_is_the_rotation_of_scipy(scale, axis, angle, centre, offset):
    placed = placement_of(scale, {"axis": axis, "angle": angle, "centre": centre}, offset).applied(POINTS)
    turn = Rotation.from_rotvec(np.divide(axis, np.linalg.norm(axis)) * angle)
    expected = turn.apply(scale * POINTS - centre) + centre + offset
    np.testing.assert_allclose(placed, expected, rtol=0, atol=1e-13 * (10.0 + 3.0 * scale))
    in_degrees = {"axis": axis, "angle": {"degrees": float(np.degrees(angle))}, "centre": centre}
    np.testing.assert_allclose(
        placement_of(scale, in_degrees, offset).applied(POINTS), expected, rtol=0, atol=1e-13 * (10 + 3 * scale)
    )


@pytest.mark.parametrize(
    ("degrees", "turned"),
    [
        (0, [1, 2, 3]), (90, [-2, 1, 3]), (180, [-1, -2, 3]), (270, [2, -1, 3]), (-90, [2, -1, 3]), (360, [1, 2, 3]),
        (450, [-2, 1, 3]), (-540, [-1, -2, 3]), (3.6e6 + 90, [-2, 1, 3]),
    ],
)  # fmt: skip
def test_quarter_turns_are_exact(degrees, turned):
    rotate = {"axis": [0, 0, 7], "angle": {"degrees": degrees}}
    assert placement_of(1.0, rotate, [0, 0, 0]).applied(np.array([[1.0, 2, 3]])).tolist() == [turned]
    for axis in np.eye(3).tolist():  # any axis, and back again
        there = placement_of(1.0, {"axis": axis, "angle": {"degrees": degrees}}, [0, 0, 0]).applied(POINTS)
        back = placement_of(1.0, {"axis": axis, "angle": {"degrees": -degrees}}, [0, 0, 0]).applied(there)
        np.testing.assert_array_equal(back, POINTS)


def test_the_order_is_scale_rotations_offset(tmp_path):
    box([0, 0, 0], [1000, 2000, 3000]).write(tmp_path / "box.obj")
    rotate = [
        {"axis": [0, 0, 1], "angle": {"degrees": 90}},
        {"axis": [1, 0, 0], "angle": {"degrees": 90}, "centre": [0, 1, 0]},
    ]
    mesh = Mesh.read(tmp_path / "box.obj", 1e-3, rotate=rotate, offset=[10, 20, 30])
    assert mesh.vertices.min(axis=0).tolist() == [8.0, 18.0, 29.0]
    assert mesh.vertices.max(axis=0).tolist() == [10.0, 21.0, 30.0]
    assert mesh.report().volume == pytest.approx(6.0)


def test_nothing_leaves_the_bits_alone(tmp_path):
    points = np.abs(POINTS) * [1.0, -1.0, 0.0]
    assert Placement().applied(points).tobytes() == points.tobytes()
    assert Placement().applied(points[:, :2]).tolist() == points.tolist()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"scale": 0.0}, "scale is 0.0; it must be a positive number"),
        ({"scale": "mm"}, "scale is 'mm'; give a finite number"),
        ({"rotate": {"axis": [0, 0, 0], "angle": 1.0}}, "axis is zero; give a direction"),
        ({"rotate": {"axis": [0, 0, 1]}}, "rotate has no 'angle'; its keys are axis, angle and centre"),
        ({"rotate": {"axis": [0, 0, 1], "degrees": 90}}, "rotate has no 'angle'"),
        ({"rotate": {"axis": [0, 0, 1], "angle": 1.0, "center": [0, 0, 0]}}, "rotate has the key 'center'"),
        ({"rotate": {"axis": [0, 1], "angle": 1.0}}, r"axis is \[0, 1\]; give three numbers"),
        ({"rotate": {"axis": [0, 0, 1], "angle": "90"}}, "angle is '90'; give a finite number"),
        ({"rotate": {"axis": [0, 0, 1], "angle": {"deg": 90}}}, r'give rad, or {"degrees": ...}'),
        ({"rotate": 90}, "rotate is 90; give one rotation or a list of them"),
        ({"offset": 1.0}, "offset is 1.0; give three numbers"),
        ({"offset": [0, 0, float("nan")]}, "offset is nan; give a finite number"),
    ],
)
def test_wrong_arguments_are_named(tmp_path, arguments, message):
    box([0, 0, 0], [1, 2, 3]).write(tmp_path / "box.obj")
    with pytest.raises(MeshError, match=message) as caught:
        Mesh.read(tmp_path / "box.obj", **arguments)
    assert str(caught.value).startswith(f"{tmp_path / 'box.obj'}: ")


@pytest.mark.parametrize(
    ("keys", "lower", "upper"),
    [
        ("offset = [1, 2, 3]", [1, 2, 3], [2, 4, 6]),
        ("scale = 2.0\noffset = [1, 2, 3]", [1, 2, 3], [3, 6, 9]),
        ("rotate = {axis = [0, 0, 1], angle = {degrees = 90}}", [-2, 0, 0], [0, 1, 3]),
        ("rotate = {axis = [0, 0, 1], angle = {degrees = 90}, centre = [1, 1, 0]}", [0, 0, 0], [2, 1, 3]),
        (
            "[[walls.rotate]]\naxis = [0, 0, 1]\nangle = {degrees = 90}\n[[walls.rotate]]\naxis = [0, 1, 0]\n"
            "angle = {degrees = 90.0}",
            [0, 0, 0],
            [3, 1, 2],
        ),
    ],
)
def test_a_case_places_its_meshes(tmp_path, keys, lower, upper):
    case = case_of(tmp_path, keys)
    (mesh,) = read_walls(case)
    assert mesh.vertices.min(axis=0).tolist() == lower
    assert mesh.vertices.max(axis=0).tolist() == upper
    again = Case.from_text(case.to_toml(), tmp_path)
    assert read_walls(again)[0].vertices.tobytes() == mesh.vertices.tobytes()


def test_faces_are_placed_as_walls_are(tmp_path):
    Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2, 3]]).write(tmp_path / "face.obj")
    more = """
[[sensors]]
name = "gate"
[sensors.face]
shape = "mesh"
mesh = "face.obj"
scale = 2.0
rotate = {axis = [1, 0, 0], angle = {degrees = 90}}
offset = [1, 0, 0]
"""
    case = case_of(tmp_path, "", more)
    face = face_at(case, case.sensors[0].face, ["sensors", 0, "face"])
    ends = np.unique(face.origin + (face.rim @ face.axes).reshape(-1, 3), axis=0)
    np.testing.assert_allclose([ends.min(axis=0), ends.max(axis=0)], [[1, 0, 0], [3, 0, 2]], atol=1e-15)
    assert face.area == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("rotate = {axis = [0, 0, 0], angle = 1.0}", "walls[0].rotate.axis = [0, 0, 0]: is not a direction"),
        (
            "rotate = [{axis = [0, 0, 1], angle = 1.0}, {axis = [0, 0, 0], angle = 1.0}]",
            "walls[0].rotate[1].axis = [0, 0, 0]: is not a direction",
        ),
        ("rotate = {axis = [0, 0, 1]}", "walls[0].rotate.angle: is missing"),
        ("rotate = {axis = [0, 0, 1], angel = 1.0}", "is not a key; did you mean 'angle'?"),
        ("rotate = {axis = [0, 0, 1], angle = {degree = 90}}", "did you mean 'degrees'?"),
        ('rotate = {axis = [0, 0, 1], angle = "90"}', 'walls[0].rotate.angle = "90": must be a number'),
        ("offset = 1.0", "walls[0].offset = 1.0: must be three numbers"),
        ("offset = [1.0]", "walls[0].offset = [1.0]: has too few entries, at least 3 are needed"),
        ("move = [1, 2, 3]", "walls[0].move = [1, 2, 3]: is not a key"),
    ],
)
def test_wrong_keys_are_named(tmp_path, keys, message):
    with pytest.raises(CaseError) as caught:
        case_of(tmp_path, keys)
    assert message in str(caught.value)


def test_a_restart_keeps_the_placement(tmp_path):
    case = case_of(tmp_path, "offset = [1, 0, 0]")
    moved = case.changed(["walls.0.offset=[1, 0, 1e-9]"])
    with pytest.raises(CaseError, match=r"walls\[0\].offset of wall box: a restart keeps the meshes"):
        check_continuable(case, moved)


def test_keys_are_explained():
    assert "after scale" in explain("walls.rotate")
    assert "degrees" in explain("walls.rotate.angle")
    assert "in m" in explain("walls.offset")
