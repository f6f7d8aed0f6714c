"""Walls that kernels place as planned: the bits of one step at a time, whatever moves, stops or comes and goes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.cases import box
from helpers.falling_heap import FLOOR, by_single_steps, falling, require_same
from helpers.generated_motions import motions
from pdem.containers.meshes.mesh import join_meshes
from pdem.engine import contact_forces
from pdem.motion.motions import RigidMotion
from pdem.motion.planned_walls import MOST_STEPS, place_walls
from pdem.motion.walls import MovingWalls

LOWER, UPPER = [-1.0, -0.5, -0.25], [1.0, 0.5, 0.25]


def walls_of(given_motions):
    """Return boxes that move as given, of which facets on one side alone are watched."""
    mesh = join_meshes([box(LOWER, UPPER) for _ in given_motions])
    walls = MovingWalls(
        mesh, mesh.facet_wall, mesh.vertex_wall, [RigidMotion(one.parts, one.centre) for one in given_motions]
    )
    walls.watch(np.arange(0, mesh.facet_count, 3))
    return walls


def numbers_of(walls):
    return {
        name: getattr(walls, name)
        for name in (
            "vertices", "normals", "centre", "velocity", "angular_velocity", "anchor", "anchor_velocity",
            "velocity_gradient", "mean_velocity", "displacements", "largest_displacement", "moved",
        )
    }  # fmt: skip


@given(st.lists(motions, min_size=1, max_size=3), st.integers(0, 40), st.floats(1e-4, 0.05), st.data())
@settings(max_examples=60, deadline=None)
def test_planned_steps_have_the_bits_of_single_ones(given_motions, first, dt, data):
    planned, single = walls_of(given_motions), walls_of(given_motions)
    if planned.planned is None:
        assert not single.moves
        return
    present = np.array(data.draw(st.lists(st.booleans(), min_size=len(given_motions), max_size=len(given_motions))))
    for walls in (planned, single):
        walls.set_present(present)
        walls.place(first * dt, (first - 1) * dt)
        walls.note_places()
    step, last = first, first + 80
    while step < last:
        steps = planned.planned_steps(step, last, lambda step: step * dt, (np.inf, np.inf))
        taken = data.draw(st.integers(1, min(steps, MOST_STEPS)))
        row, poses, places = planned.planned.arguments(step)
        for k in range(taken):
            place_walls(row + k, poses, places)
            single.place((step + k + 1) * dt, (step + k) * dt)
        step += taken
        planned.adopt_planned(step, step * dt, (step - 1) * dt)
        expected = numbers_of(single)
        for name, found in numbers_of(planned).items():
            np.testing.assert_array_equal(found, expected[name], err_msg=name)
        for wall in planned.planned.walls:
            assert planned.passage(wall)[0] == single.passage(wall)[0]
        step += 1  # and one at a time
        for walls in (planned, single):
            walls.place(step * dt, (step - 1) * dt)
        expected = numbers_of(single)
        for name, found in numbers_of(planned).items():
            np.testing.assert_array_equal(found, expected[name], err_msg=name)


@given(motions, st.floats(1e-4, 0.05), st.floats(0.0, 1.0), st.floats(0.0, 1.0))
@settings(max_examples=60, deadline=None)
def test_a_plan_ends_before_a_wall_is_too_far_away_or_too_fast(motion, dt, margin, largest):
    walls = walls_of([motion])
    if walls.planned is None:
        return
    walls.place(0.0, -dt)
    walls.note_places()
    steps = walls.planned_steps(0, MOST_STEPS, lambda step: step * dt, (margin, largest))
    for step in range(1, steps + 2):
        walls.place(step * dt, (step - 1) * dt)
        within = walls.moved <= margin and walls.largest_displacement <= largest
        assert within == (step <= steps) or step > MOST_STEPS


COURSES = {
    "oscillates": {"oscillation": {"amplitude": [0.0, 0.0, 2e-3], "frequency": 40.0}},
    "stops and starts": {
        "translation_table": {
            "times": [0.0, 0.002, 0.006, 0.01],
            "displacements": [[0, 0, 0], [0, 0, 1e-3], [0, 0, 1e-3], [1e-3, 0, 0]],
        }
    },
    "turns and slides": {
        "rotation": {"rate": 20.0, "axis": [0.0, 0.3, 1.0], "centre": [0.01, 0.0, 0.0]},
        "translation": {"velocity": [0.05, 0.0, 0.0]},
    },
}


@pytest.mark.parametrize("course", COURSES)
def test_runs_have_the_bits_of_single_steps(tmp_path, monkeypatch, course):
    taken, take = [], contact_forces.ContactSteps.take

    def noted(self, most, **options):
        steps = take(self, most, **options)
        taken.append((steps, self._planned))
        return steps

    monkeypatch.setattr(contact_forces.ContactSteps, "take", noted)
    wall = {**FLOOR, **COURSES[course]}
    many = falling(tmp_path, wall)
    many.advance(600)
    assert sum(steps for steps, planned in taken if planned) > 200
    single = by_single_steps(falling(tmp_path, wall), 600)
    require_same(single, many)
    np.testing.assert_array_equal(many.system.walls.vertices, single.system.walls.vertices)
