"""Sections of surfaces that move by themselves: keys, files, checks before a run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pytest

from pdem.case.model import Case
from pdem.case.moving_surfaces import surface_courses
from pdem.case.timestep import reference_speed
from pdem.case.wall_files import read_walls
from pdem.foundation.errors import CaseError
from pdem.preflight.surface_preflight import surface_findings

if TYPE_CHECKING:
    from pathlib import Path

HEAD = """
[time]
step = 1e-4
end = 1.0
[domain]
lower = [-1.0, -1.0, -1.0]
upper = [1.0, 1.0, 1.0]
[materials.steel]
[output]
folder = "results"
"""


def case_with(keys: str) -> Case:
    return Case.from_text(f'{HEAD}[[walls]]\nmaterial = "steel"\n{keys}')


BELT = 'shape = "plane"\nnormal = [0.0, 0.0, 1.0]\n[walls.surface]\n'


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("", r"walls\[0\]\.surface: needs exactly one of velocity, velocity_table, .*, has none of them"),
        (
            "velocity = [1, 0, 0]\nrotation = {rate = 1.0, axis = [0, 0, 1]}",
            r"walls\[0\]\.surface: needs exactly one of .*, has velocity and rotation",
        ),
        ("velocity = [1.0, 0.0]", r"walls\[0\]\.surface\.velocity = \[1\.0, 0\.0\]: has too few entries"),
        ("speed = 1.0", r"walls\[0\]\.surface\.speed = 1\.0: is not a key"),
        ("rotation = {rate = 1.0, axis = [0, 0, 0]}", r"surface\.rotation\.axis = .* is not a direction"),
        (
            "velocity_table = {times = [0.0, 1.0], velocities = [[1, 0, 0], [2, 0, 0], [3, 0, 0]]}",
            r"velocity_table\.times = .* has 2 entries and velocities 3",
        ),
        (
            "rotation_table = {times = [1.0, 0.5], rates = [1.0, 2.0], axis = [0, 0, 1]}",
            r"rotation_table\.times\[1\] = 0\.5: must rise",
        ),
        ("velocity_table = {times = [0.0, 1.0]}", r"velocity_table\.velocities: is missing"),
    ],
)
def test_bad_surfaces_name_wall_key_and_remedy(keys: str, message: str) -> None:
    with pytest.raises(CaseError, match=message):
        case_with(f"{BELT}{keys}")


def test_a_surface_that_can_move_nowhere_is_an_error_with_the_remedy() -> None:
    case = case_with(f"{BELT}velocity = [0.0, 0.0, 2.0]")
    meshes = read_walls(case)
    message = r"the velocity of its surface is at right angles to its only facet: .*translation"
    with pytest.raises(CaseError, match=rf"walls\[0\]\.surface: wall plane: {message}"):
        surface_courses(case, meshes)
    (found,) = surface_findings(case, np.array([0.01]), meshes, 1e-4)
    assert (found.level, found.subject) == ("error", "wall plane")
    assert re.match(message, found.message)
    still = case_with(f"{BELT}velocity = [0.0, 0.0, 0.0]")
    assert surface_courses(still, meshes)


def test_faces_across_the_velocity_are_counted_and_rest() -> None:
    keys = 'shape = "box"\nlower = [0, 0, 0]\nupper = [1, 1, 1]\nsurface = {velocity = [0.5, 0, 0]}'
    case = case_with(keys)
    (found,) = surface_findings(case, np.array([0.01]), read_walls(case), 1e-4)
    assert found.level == "info"
    assert "0.5 m/s, and rests on 2 of 6 facets" in found.message


def test_a_surface_that_is_too_fast_for_the_step_is_a_warning_with_a_step() -> None:
    case = case_with('shape = "sphere"\nradius = 0.5\nsurface = {rotation = {rate = 60.0, axis = [0, 0, 1]}}')
    (found,) = surface_findings(case, np.array([0.01]), read_walls(case), 1e-4)
    assert found.level == "warning"
    assert "at up to 29.97 m/s" in found.message  # no corner lies on the equator
    assert "use a step of at most 3.34e-05 s" in found.message


def test_the_speed_of_a_surface_counts_in_the_expected_speed_of_impacts() -> None:
    case = case_with(f"{BELT}velocity = [3.0, 4.0, 0.0]")
    assert reference_speed(case) == pytest.approx(5.0)


def test_tables_of_surfaces_are_read_from_files(tmp_path: Path) -> None:
    (tmp_path / "belt.csv").write_text("time,x,y,z\n0,1,0,0\n2,3,0,0\n")
    (tmp_path / "table.csv").write_text("0 1\n1 2\n")
    keys = 'material = "steel"\nshape = "plane"\nnormal = [0, 0, 1]\n'
    for name, table, speed in (
        ("belt", 'velocity_table = {file = "belt.csv"}', 2.0),
        ("table", 'rotation_table = {file = "table.csv", axis = [0, 0, 3], centre = [1, 0, 0]}', 2.0),
    ):
        case = Case.from_text(f'{HEAD}[[walls]]\nname = "{name}"\n{keys}surface = {{{table}}}', tmp_path)
        course = surface_courses(case, read_walls(case))[0]
        velocity, spin = course.at(1.0)
        assert (velocity + spin).max() == speed
        assert course.at(9.0)[0].max() + course.at(9.0)[1].max() in (3.0, 2.0)
    missing = Case.from_text(f'{HEAD}[[walls]]\n{keys}surface = {{velocity_table = {{file = "none.csv"}}}}', tmp_path)
    with pytest.raises(CaseError, match=r"none\.csv: cannot be read"):
        surface_courses(missing, read_walls(missing))


def test_in_two_dimensions_surfaces_stay_in_the_plane() -> None:
    head = HEAD.replace("upper = [1.0, 1.0, 1.0]", "upper = [1.0, 1.0, 1.0]\ndimension = 2")
    wall = '[[walls]]\nmaterial = "steel"\nshape = "plane"\nnormal = [0, 1, 0]\n'
    for keys, where in (
        ("velocity = [1, 0, 1]", r"surface\.velocity\[2\] = 1"),
        ("rotation = {rate = 1.0, axis = [1, 0, 0]}", r"surface\.rotation\.axis = "),
        (
            "velocity_table = {times = [0.0, 1.0], velocities = [[1, 0, 0], [1, 0, 2]]}",
            r"surface\.velocity_table\.velocities\[1\]\[2\] = 2",
        ),
    ):
        with pytest.raises(CaseError, match=rf"{where}.*dimension 2"):
            Case.from_text(f"{head}{wall}surface = {{{keys}}}")
