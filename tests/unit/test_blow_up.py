"""What stops a run is told with place, wall and amount; the time step is blamed only where it is too long."""

from __future__ import annotations

import re

import numpy as np
import pytest

from helpers.cases import Grains, quad, simulate
from pdem.case.timestep import automatic_step
from pdem.foundation.errors import BlowUpError

R = 0.01
SOFT = {"grain": {"density": 1000.0, "youngs_modulus": 1e6, "poisson_ratio": 0.2}, "steel": {}}


def blow_up(tmp_path, *groups, steps=3000, **options):
    """Return what is said, and the simulation."""
    simulation = simulate(tmp_path, *groups, materials=SOFT, **options)
    with pytest.raises(BlowUpError) as error:
        simulation.advance(steps)
    return str(error.value), simulation


def at(position):
    return "(" + ", ".join(f"{x:.6g}" for x in position) + ") m, of radius 0.01 m,"


def test_a_particle_between_two_walls_is_told_to_be_squeezed(tmp_path):
    floor = {"mesh": quad(0.1), "name": "floor"}
    press = {"mesh": quad(0.1, 2.0 * R), "name": "press", "translation": {"velocity": [0.0, 0.0, -0.2]}}
    side = [0.05, 0.0, R]
    said, simulation = blow_up(tmp_path, Grains([[0.0, 0.0, R], side], R), walls=(floor, press))
    found = re.search(
        r"^step (\d+) \(time .* s\): particle (\d) at (\(.*?\) m), of radius 0.01 m, is ([\d.]+) % of its radius "
        r"inside wall (floor|press), more than limits.largest_overlap, 0.5, and touches wall (floor|press) as well: "
        r"it is squeezed between two walls. Leave a gap of a diameter between them, or stop one. "
        r"The time step .* is not above the automatic one, .*, and hardly the cause",
        said,
    )
    assert found, said
    assert {found[5], found[6]} == {"floor", "press"}
    assert 50.0 < float(found[4]) < 52.0
    particles = simulation.gather()
    assert at(particles["position"][int(found[2])]) in said
    assert "reduce time.step" not in said


def test_a_wall_is_named_and_others_that_are_touched_beside(tmp_path):
    """Thrown into a corner: the floor is not opposite to the side, nothing is squeezed."""
    from pdem.containers.meshes.mesh import Mesh

    side = Mesh([[0.0, -1, -1], [0.0, 1, -1], [0.0, 1, 1], [0.0, -1, 1]], [[0, 1, 2, 3]])
    walls = {"mesh": quad(1.0), "name": "floor"}, {"mesh": side, "name": "side"}
    grain = Grains([[0.995 * R, 0.0, R]], R, (0.0, 0.0, -25.0))
    said, _ = blow_up(tmp_path, grain, walls=walls)
    assert re.search(
        r"is \d\d(\.\d+)? % of its radius inside wall floor, .* and touches wall side as well\. The time", said
    ), said
    alone, _ = blow_up(tmp_path, Grains([[0.5, 0.0, R]], R, (0.0, 0.0, -25.0)), walls=walls[:1])
    assert "inside wall floor, more than limits.largest_overlap, 0.5. The time step" in alone


def test_pairs_are_told_with_both_places_and_sizes(tmp_path):
    grains = Grains([[-1.1 * R, 0.0, 0.0], [1.1 * R, 0.0, 0.0]], [R, 0.5 * R], [[20.0, 0, 0], [-20.0, 0, 0]])
    said, simulation = blow_up(tmp_path, grains)
    found = simulation.gather()["position"]
    assert f"particle 0 at {at(found[0])} overlaps particle 1 at {at(found[1]).replace('0.01', '0.005')} by" in said
    assert re.search(r"by \d+(\.\d+)? % of the smaller radius, more than limits.largest_overlap, 0.5. The time", said)


def test_the_time_step_is_blamed_where_it_is_above_the_automatic_one(tmp_path):
    grain = Grains([[0.5, 0.0, R]], R, (0.0, 0.0, -25.0))
    walls = ({"mesh": quad(1.0), "name": "floor"},)
    _, run = blow_up(tmp_path, grain, walls=walls)
    automatic = automatic_step(run.case)
    assert run.system.constants.time_step.dt == automatic
    said, _ = blow_up(tmp_path, grain, walls=walls, step=1.01 * automatic)
    assert f"s is above the automatic one, {automatic:.4g} s: reduce time.step" in said
    assert "hardly the cause" not in said
    said, _ = blow_up(tmp_path, grain, walls=walls, step=5.0 * automatic)
    assert "particle 0 at" in said


def test_a_particle_that_goes_too_far_is_told_with_its_speed(tmp_path):
    said, _ = blow_up(tmp_path, Grains([[0.0, 0.0, 1.0]], R, (0.0, 0.0, -2e3)), step=1e-5)
    assert "particle 0 at (0, 0, 0.98) m, of radius 0.01 m, moved more than its radius in one step" in said
    assert "(2000 m/s, 0.02 m in a step)" in said


def test_the_deepest_of_many_is_told(tmp_path):
    places = [[0.1 * k, 0.0, 0.4 * R - 1e-4 * (k == 7)] for k in range(12)]
    with pytest.raises(BlowUpError, match=r"particle 7 at \(0.7, 0, 0.0039\) m, .* is 61 % of its radius"):
        simulate(tmp_path, Grains(places, R), walls=({"mesh": quad(5.0)},))


JUMP = {"translation_table": {"times": [1e-3, 1e-3 + 1e-9], "displacements": [[0.0, 0, 0], [0.0, 0, -0.1]]}}


def test_a_wall_that_jumps_past_particles_stops_the_run(tmp_path):
    wall = {"mesh": quad(0.1, 0.05), "name": "lid", **JUMP}
    said, run = blow_up(tmp_path, Grains([[0.5, 0.0, 0.0], [0.0, 0.0, 0.0]], R), walls=(wall,), step=1e-5)
    assert run.step == 101
    assert said.startswith(
        "step 101 (time 0.00101 s): wall lid moved up to 0.1 m in one step (1e+04 m/s), past particle 1 at "
        "(0, 0, 0) m, of radius 0.01 m, which is less than that: it goes through particles. Let it move more slowly"
    )


def test_a_wall_may_jump_where_no_particle_is_or_by_less_than_a_radius(tmp_path):
    away = {"mesh": quad(0.1, 0.05), "name": "lid", **JUMP}
    run = simulate(tmp_path, Grains([[0.5, 0.0, 0.0]], R), walls=(away,), step=1e-5)
    run.advance(300)
    assert run.step == 300
    table = {"times": [1e-3, 1e-3 + 1e-9], "displacements": [[0.0, 0, 0], [0.0, 0, -0.9 * R]]}
    near = {"mesh": quad(0.1, 0.05), "translation_table": table}
    simulate(tmp_path, Grains([[0.0, 0.0, 0.0]], R), walls=(near,), step=1e-5).advance(300)


def test_small_particles_that_are_inserted_let_a_wall_be_too_fast(tmp_path):
    wall = {"mesh": quad(0.1, 0.05), "name": "lid", "translation": {"velocity": [0.0, 0.0, -100.0]}}
    run = simulate(tmp_path, Grains([[0.0, 0.0, 0.0]], R), walls=(wall,), step=1e-5)
    run.advance(2)
    with pytest.warns(RuntimeWarning, match="time step"):
        run.insert([[0.02, 0.0, 0.02]], 5e-4, "grain")
    with pytest.raises(BlowUpError, match=r"wall lid moved up to 0.001 m .* past particle 1 at"):
        run.advance(40)
    assert np.isfinite(run.gather()["position"]).all()
