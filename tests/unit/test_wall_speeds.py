"""Walls that go too far in one step are found before the run, whatever moves them, where particles can be."""

from __future__ import annotations

import re

import numpy as np
import pytest
import tomli_w

from helpers.cases import Grains, box, make_case
from pdem.case.groups.initial import initial_particles
from pdem.case.model import Case
from pdem.motion.courses import Oscillating, Steady, TabulatedCourse
from pdem.preflight.preflight import preflight

R, STEP, END = 0.01, 1e-4, 1.0
PADDLE = box([-0.2, -0.01, 0.0], [0.2, 0.01, 0.1])
AXIS = {"axis": [0.0, 0.0, 1.0], "centre": [0.1, 0.0, 0.0]}
REACH = float(np.hypot(0.3, 0.01))  # of the paddle, from the axis
BODY = {"mass": 1.0, "centre": [0.0, 0.0, 0.05], "inertia": [1.0, 1.0, 1.0]}


def found(tmp_path, wall, motions=None, outside="remove", grains=R, end=END):
    """Return (level, way over the smallest radius, text) of the findings about the speed of one wall."""
    case = make_case(
        tmp_path, Grains([[0.0, 0.0, 0.5], [0.3, 0.3, 0.5]], [grains, 2 * R]), walls=({"mesh": PADDLE},), step=STEP,
        end=end, lower=(-1, -1, -1), upper=(1, 1, 1), outside=outside,
    )  # fmt: skip
    document = case.model_dump(exclude_none=True, exclude_defaults=True, mode="json")
    document["walls"][0] |= wall
    document["motions"] = motions or {}
    case = Case.from_text(tomli_w.dumps(document), tmp_path)
    said = [
        one for one in preflight(case, initial_particles(case, [PADDLE]), [PADDLE]) if "in one step" in one.message
        and one.subject == "wall wall0"
    ]  # fmt: skip
    if not said:
        return None
    (one,) = said
    share = float(re.search(r"([\d.e+]+) % of the smallest radius", one.message)[1]) / 100.0
    return one.level, share, one.message


def shift(velocity):
    return {"translation": {"velocity": [velocity * R / STEP, 0.0, 0.0]}}


def turn(share):
    return {"rotation": {"rate": share * R / STEP / REACH, **AXIS}}


def table(rise, begin=0.5, end=0.5 + 1e-9):
    return {"translation_table": {"times": [begin, end], "displacements": [[0.0, 0, 0], [0.0, 0, rise * R]]}}


@pytest.mark.parametrize("share", [0.09, 0.11, 0.99, 1.02, 3.0])
@pytest.mark.parametrize("move", [shift, turn])
def test_from_a_tenth_of_the_radius_on_it_is_doubtful_and_above_one_an_error(tmp_path, move, share):
    said = found(tmp_path, move(share), end=10 * STEP)
    if share < 0.1:
        assert said is None
        return
    assert said[:2] == ("error" if share > 1.0 else "warning", pytest.approx(share, rel=0.006))
    assert f"of the smallest radius {R:g} m" in said[2]
    assert f"at {share * R / STEP:.4g} m/s" in said[2]
    assert "let it move at most 10 m/s, or use a step of at most" in said[2]
    longest = float(re.search(r"at most ([\d.e-]+) s$", said[2])[1])
    assert longest == pytest.approx(0.1 * STEP / share, rel=1e-2)


def test_smaller_particles_ask_for_more(tmp_path):
    assert found(tmp_path, shift(0.06), end=10 * STEP) is None
    assert found(tmp_path, shift(0.06), grains=0.5 * R, end=10 * STEP)[:2] == ("warning", pytest.approx(0.12))


@pytest.mark.parametrize("begin", [0.5, 0.50003, 0.0, 0.99995])
def test_a_jump_is_as_long_as_it_is_however_short_it_takes(tmp_path, begin):
    assert found(tmp_path, table(2.0, begin, begin + 1e-9))[:2] == ("error", pytest.approx(2.0, rel=1e-2))
    assert found(tmp_path, table(0.5, begin, begin + 1e-9))[:2] == ("warning", pytest.approx(0.5, rel=1e-2))
    text = found(tmp_path, table(50.0, begin, begin + 1e-9))[2]
    assert text.endswith("let it move at most 10 m/s, so that this way takes 0.05 s")
    assert found(tmp_path, table(0.05, begin, begin + 1e-9)) is None
    assert found(tmp_path, table(2.0, begin, begin + 40 * STEP)) is None


def test_a_jump_among_many_rows_is_found(tmp_path):
    times = np.linspace(0.0, 1.0, 5001)
    rise = 1e-4 * np.sin(20.0 * times) + np.where(times > 0.7413, 3.0 * R, 0.0)
    np.savetxt(tmp_path / "way.csv", np.column_stack((times, 0 * times, 0 * times, rise)), delimiter=",")
    level, share, text = found(tmp_path, {"translation_table": {"file": "way.csv"}})
    assert (level, share) == ("error", pytest.approx(3.0 * STEP / 2e-4, rel=1e-2))
    begin = float(re.search(r"the one from ([\d.]+) s", text)[1])
    assert 0.7411 < begin < 0.7416


def test_carried_motions_are_taken_together(tmp_path):
    """A shift that grows carries the wall away from the axis on which it is."""
    away = {"rotation": turn(0.09)["rotation"]}
    assert found(tmp_path, {"on": "arm"}, {"arm": away}) is None
    shifted = {"on": "arm", "translation": {"velocity": [0.6, 0.0, 0.0]}}
    level, share, _ = found(tmp_path, shifted, {"arm": away}, outside="keep")
    assert (level, share) == ("warning", pytest.approx(0.09 * np.hypot(0.7, 0.01) / REACH, rel=0.05))
    both = {"on": "arm", "swing": {"amplitude": 0.1, "frequency": 100.0, **AXIS}}
    level, share, _ = found(tmp_path, both, {"arm": away})
    expected = 0.09 + 0.1 * 2 * np.pi * 100.0 * STEP * REACH / R
    assert (level, share) == ("warning", pytest.approx(expected, rel=0.02))


def test_what_happens_where_no_particle_can_be_is_passed_over(tmp_path):
    rows = [[0.0, 0, 0], [0.0, 0, 1.5], [0.0, 0, 1.5], [0.0, 0, 9.0]]
    far = {"translation_table": {"times": [0.1, 0.2, 0.5, 0.5 + 1e-9], "displacements": rows}}
    slow = found(tmp_path, far)
    assert slow[:2] == ("warning", pytest.approx(0.15, rel=1e-2))
    assert found(tmp_path, far, outside="keep")[0] == "error"


def test_servos_and_bodies_are_looked_at(tmp_path):
    servo = {"axis": [0.0, 0.0, 1.0], "force": 1.0, "largest_rate": 0.3 * R / STEP}
    assert found(tmp_path, {"servo": servo})[:2] == ("warning", pytest.approx(0.3, rel=1e-2))
    servo = {**AXIS, "torque": 1.0, "largest_rate": 2.0 * R / STEP / REACH}
    assert found(tmp_path, {"servo": servo})[:2] == ("error", pytest.approx(2.0, rel=1e-2))
    body = {**BODY, "velocity": [0.0, 3.0 * R / STEP, 0.0]}
    assert found(tmp_path, {"body": body})[:2] == ("error", pytest.approx(3.0, rel=1e-2))
    assert found(tmp_path, {"body": BODY}) is None


def test_turns_by_whole_circles_are_not_overlooked(tmp_path):
    rate = 2.0 * np.pi / STEP
    level, share, _ = found(tmp_path, {"rotation": {"rate": rate, **AXIS}}, end=3 * STEP)
    assert level == "error"
    assert share > 100.0


@pytest.mark.parametrize(
    "course",
    [
        Steady(3.0), Oscillating(0.3, 2.0, 0.7), Oscillating(-0.3, 11.0, -2.0),
        TabulatedCourse((0.0, 0.3, 0.30001, 0.6, 1.0), (0.0, 1.0, 1.5, 0.0, 0.1)),
        TabulatedCourse((0.1, 0.2, 0.5), (0.0, 1.0, 0.7)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("step", [1e-3, 1e-2])
def test_courses_know_when_they_are_fastest(course, step):
    def way(time):
        return abs(course(time + step)[0] - course(time)[0])

    most = max(way(time) for time in np.linspace(0.0, 1.2, 20001))
    assert max(way(time) for time in course.fastest(step)) >= 0.9999 * most
