"""Motions of walls: velocities are the derivatives of places, carried motions compose, tables go where they say."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pdem
from helpers.cases import box
from helpers.generated_motions import motions
from pdem.case.wall_motions import motion_of
from pdem.motion.courses import Oscillating, Steady, TabulatedCourse
from pdem.motion.motions import MotionTurn, RigidMotion, Shift
from pdem.motion.walls import MovingWalls

POINTS = np.random.default_rng(0).uniform(-1.0, 1.0, (7, 3))


@given(motions, st.floats(0.01, 2.0))
@settings(max_examples=150, deadline=None)
def test_velocities_are_the_derivatives_of_places(motion, time):
    if any(abs(time - (0.37 * k - 0.5)) < 1e-4 for k in range(8)):
        return  # a bend
    h = 1e-5
    late, early = motion.pose(time + h).place(POINTS), motion.pose(time - h).place(POINTS)
    now = motion.pose(time)
    speed = max(1.0, motion.largest_speed(np.array([[30.0] * 3])))
    np.testing.assert_allclose(now.velocity_at(now.place(POINTS)), (late - early) / (2 * h), atol=1e-6 * speed**3)
    np.testing.assert_allclose(now.rotation @ now.rotation.T, np.eye(3), atol=1e-14)


@given(motions)
@settings(max_examples=50, deadline=None)
def test_at_time_0_everything_is_where_its_mesh_is(motion):
    np.testing.assert_allclose(motion.pose(0.0).place(POINTS), POINTS, atol=1e-13)


@given(motions, st.floats(0.0, 2.0), st.floats(1e-6, 1e-3))
@settings(max_examples=100, deadline=None)
def test_mean_velocity_is_the_way_over_the_time_and_no_point_moves_farther_than_said(motion, before, step):
    mesh = box([-1.0, -0.5, -0.25], [1.0, 0.5, 0.25])
    walls = MovingWalls(mesh, np.zeros(6, np.int32), np.zeros(8, np.int32), [motion])
    walls.place(before, before)
    walls.note_places()
    then = walls.vertices.copy()
    walls.place(before + step, before)
    way = (walls.vertices - then) / step
    arms = walls.vertices - walls.centre[0]
    mean = walls.mean_velocity[0] + arms @ walls.velocity_gradient[0].T
    np.testing.assert_allclose(mean, way, atol=1e-13 / step * 30.0)
    moved = np.linalg.norm(walls.vertices - then, axis=1).max()
    assert walls.moved == pytest.approx(moved, abs=1e-14)


def test_a_blade_on_a_rotor_on_a_moving_arm():
    """By hand: the arm moves along x, the rotor turns about z through (1, 0, 0), the blade swings about its own y."""
    arm = Shift((Steady(2.0), Steady(0.0), Steady(0.0)))
    rotor = MotionTurn((0.0, 0.0, 3.0), (1.0, 0.0, 0.0), Steady(math.pi))
    blade = MotionTurn((0.0, 1.0, 0.0), (2.0, 0.0, 0.0), TabulatedCourse((0.0, 1.0), (0.0, 0.5 * math.pi)))
    pose = RigidMotion([arm, rotor, blade]).pose(0.5)
    # the blade's tip (2, 0, 1) has swung by 45 degrees towards +x, then the rotor by 90 degrees
    swung = np.array([2.0 + math.sqrt(0.5), 0.0, math.sqrt(0.5)])
    turned = np.array([1.0, swung[0] - 1.0, swung[2]])
    np.testing.assert_allclose(
        pose.place(np.array([[2.0, 0.0, 1.0]]))[0], turned + np.array([1.0, 0.0, 0.0]), atol=1e-14
    )
    # the blade's axis y points to -x by now
    np.testing.assert_allclose(pose.spin, [-0.5 * math.pi, 0.0, math.pi], atol=1e-14)


def test_tables_are_followed_and_end():
    table = TabulatedCourse((1.0, 2.0, 4.0), (0.5, 1.5, 0.5))
    assert [table(time)[0] for time in (0.0, 1.0, 1.5, 2.0, 3.0, 4.0, 9.0)] == [0.0, 0.0, 0.5, 1.0, 0.5, 0.0, 0.0]
    assert [table(time)[1] for time in (0.5, 1.0, 2.0, 3.9, 4.0)] == [0.0, 1.0, -0.5, -0.5, 0.0]
    assert table.largest_rate == 1.0
    late = TabulatedCourse((-1.0, 1.0), (0.0, 2.0))
    assert late(0.0) == (0.0, 1.0)
    assert late(1.0) == (1.0, 0.0)


CASE = """
[time]
step = 1e-5
end = 1.0
[domain]
lower = [-1.0, -1.0, -1.0]
upper = [1.0, 1.0, 1.0]
[materials.steel]
[motions.arm]
translation_table = {{times = [0.0, 1.0], displacements = [[0.0, 0.0, 0.0], [0.3, 0.0, 0.0]]}}
[motions.rotor]
on = "arm"
rotation = {{rate = 10.0, axis = [0, 0, 1], centre = [0.5, 0.0, 0.0]}}
[[walls]]
mesh = "blade.stl"
material = "steel"
{wall}
[output]
folder = "unused"
"""


def test_a_case_says_who_carries_whom():
    text = CASE.format(wall='on = "rotor"\nswing = {amplitude = 0.1, frequency = 2.0, axis = [1, 0, 0]}')
    case = pdem.Case.from_text(text)
    motion = motion_of(case.walls[0], case.motions)
    assert [type(part).__name__ for part in motion.parts] == ["Shift", "MotionTurn", "MotionTurn"]
    assert motion.parts[1].angle == Steady(10.0)
    assert motion.parts[2].angle == Oscillating(0.1, 2.0, 0.0)
    assert motion.centre.tolist() == [0.0, 0.0, 0.0]
    assert pdem.Case.from_text(case.to_toml()).walls == case.walls


@pytest.mark.parametrize(
    ("wall", "message"),
    [
        ('on = "roter"', r"walls\[0\].on.*is no motion of this case; did you mean 'rotor'\?"),
        ("swing = {amplitude = 1.0, frequency = 0.0, axis = [1, 0, 0]}", r"swing.frequency"),
        ("rotation = {rate = 1.0, axis = [0, 0, 0]}", r"rotation.axis.*is not a direction"),
        ("rotation_table = {times = [0.0, 1.0], angles = [0.0, 1.0, 2.0], axis = [1, 0, 0]}", "2 entries and angles 3"),
        ("rotation_table = {times = [0.0, 1.0, 1.0], angles = [0.0, 1.0, 2.0], axis = [1, 0, 0]}", "must rise: 1.0 is"),
        ("translation_table = {times = [0.0], displacements = [[0.0, 0, 0]]}", "translation_table.times"),
        ("oscillation = {amplitude = [1e30, 0, 0], frequency = 1.0}", "beyond all reason"),
        ("rotation = {rate = 1.0, axis = [1, 0, 0], center = [0, 0, 0]}", "did you mean"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_motion_is_said(wall, message):
    with pytest.raises(pdem.PdemError, match=message):
        pdem.Case.from_text(CASE.format(wall=wall))


def test_motions_that_carry_each_other_in_a_circle_are_refused():
    text = CASE.format(wall="").replace("[motions.arm]", '[motions.arm]\non = "rotor"')
    with pytest.raises(pdem.PdemError, match="arm on rotor on arm; let one of them be on none"):
        pdem.Case.from_text(text)


def fused(a: float, b: float, c: float) -> float:
    """Return a b + c, rounded once."""
    return float(Fraction(a) * Fraction(b) + Fraction(c))


def times(a, b):
    """Return the product of two matrices, or of a matrix and a vector, as it was rounded before it was compiled."""
    if b.ndim == 1:
        return np.array([fused(r[2], b[2], fused(r[0], b[0], float(r[1] * b[1]))) for r in a])
    columns = b.T
    return np.array([[fused(r[2], c[2], fused(r[1], c[1], float(r[0] * c[0]))) for c in columns] for r in a])


def plainly(motion: RigidMotion, time: float):
    """Return rotation, shift, spin and flow by the formulas."""
    result = np.eye(3), np.zeros(3), np.zeros(3), np.zeros(3)
    for part in motion.parts:
        state = part.state(time)
        if isinstance(part, Shift):
            one = np.eye(3), np.array(state[:3]), np.zeros(3), np.array(state[3:])
        else:
            x, y, z = direction = np.array(part.axis) / math.hypot(*part.axis)
            skew, angle = (np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]), math.remainder(state[0], 2 * math.pi))
            turn = np.eye(3) + math.sin(angle) * skew + (1.0 - math.cos(angle)) * times(skew, skew)
            centre, spin = np.array(part.centre), state[1] * direction
            one = turn, centre - times(turn, centre), spin, -np.cross(spin, centre)
        (turn, shift, spin, flow), turned = result, times(result[0], one[2])
        result = (
            times(turn, one[0]), times(turn, one[1]) + shift, spin + turned,
            flow + times(turn, one[3]) - np.cross(turned, shift),
        )  # fmt: skip
    return result


@given(motions, st.floats(0.0, 3.0))
@settings(max_examples=150, deadline=None)
def test_poses_have_the_bits_of_their_formulas_on_every_processor(motion, time):
    pose = motion.pose(time)
    for seen, expected in zip(
        (pose.rotation, pose.translation, pose.spin, pose.origin_velocity), plainly(motion, time), strict=True
    ):
        np.testing.assert_array_equal(seen, expected)


def test_a_wall_that_rests_in_its_table_is_not_moved_again():
    table = Shift(tuple(TabulatedCourse((1.0, 2.0, 3.0, 4.0), (0.0, rise, rise, 0.0)) for rise in (0.1, 0.0, -0.2)))
    turn = MotionTurn((0.0, 0.0, 1.0), (0.1, 0.0, 0.0), TabulatedCourse((1.0, 2.0), (0.0, 1.0)))
    for motion in (RigidMotion([table]), RigidMotion([table, turn])):
        mesh = box([-1.0, -0.5, -0.25], [1.0, 0.5, 0.25])
        walls = MovingWalls(mesh, np.zeros(6, np.int32), np.zeros(8, np.int32), [motion])
        for begin, end, rests in ((0.1, 0.9, True), (1.1, 1.9, False), (2.1, 2.9, True), (4.1, 5.0, True)):
            walls.place(begin, begin - 0.1)
            kept = walls.pose_of(0)
            walls.place(end, end - 0.1)
            assert (walls.pose_of(0) is kept) == rests
            expected = np.array(motion.pose(end).place(mesh.vertices))
            np.testing.assert_allclose(walls.vertices, expected, atol=1e-15)
            assert bool(np.abs(walls.mean_velocity).max() > 1e-10) != rests
            assert bool(walls.displacements[0] > 0.0) != rests
