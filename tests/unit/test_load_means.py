"""Mean and largest loads of walls between lines of the series, beside the loads of every single step."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pdem
from helpers.cases import USUAL, Grains, make_case, quad, state_of
from pdem.contact.walls.evaluate import LOADS, NARROW
from pdem.contact.walls.step_loads import LoadsSoFar, StepLoads
from pdem.containers.meshes.mesh import Mesh
from pdem.foundation.errors import CaseError
from pdem.numerics.sums import NARROW_BELOW, NARROW_LIMBS, add_in_window

R, STEP, EVERY = 0.01, 1e-5, 37
MOTIONS = {
    "floor": {},
    "turning": {"rotation": {"rate": 30.0, "axis": [0.0, 0.0, 1.0], "centre": [0.055, 0.01, 0.0]}},
    "belt": {"surface": {"velocity": [0.5, 0.0, 0.0]}},
    "lid": {"servo": {"axis": [0.0, 0.0, -1.0], "force": 5.0, "largest_rate": 0.2}},
}
"""Walls below a bed and one above it, by how they move."""


def floor_at(x, y):
    """Return a square under a part of the bed."""
    corners = [[x + a * 0.025, y + b * 0.025, 0.0] for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
    return Mesh(corners, [[0, 1, 2, 3]])


def bed(folder, *, name="out", end=400, **output):
    """Return a case of a bed that is thrown about between walls of all kinds."""
    rng = np.random.default_rng(5)
    places = np.stack(np.meshgrid(*[np.arange(4) * 0.0205] * 3), axis=-1).reshape(-1, 3)
    group = Grains(places + np.array([0.0, 0.0, 1.02 * R]), R, 0.5 * rng.normal(size=places.shape))
    meshes = [floor_at(0.005, 0.005), floor_at(0.055, 0.005), floor_at(0.005, 0.055), quad(0.2, 0.0818)]
    walls = [{"name": name, "mesh": mesh, **keys} for mesh, (name, keys) in zip(meshes, MOTIONS.items(), strict=True)]
    every = {"series_every": EVERY * STEP, "snapshots_every": 1.0, "checkpoint_every": 100 * STEP}
    more = {"output": {"folder": str(folder / name), "mean_wall_loads": ["*"], **every, **output}}
    for wall in walls:
        wall["mesh"].write(folder / f"{wall['name']}.vtk")
    case = make_case(
        folder, group, law=USUAL, walls=tuple(walls), step=STEP,
        end=end * STEP, lower=[-0.3] * 3, upper=[0.3] * 3, gravity=(0.0, 0.0, -9.81), more=more,
    )  # fmt: skip
    for number, wall in enumerate(walls):
        case.override(f'walls.{number}.mesh="{wall["name"]}.vtk"')
    return case


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """Return the results of a run, and the loads in each of its steps."""
    folder, loads = tmp_path_factory.mktemp("means"), []
    simulation = pdem.Simulation(bed(folder), threads=1)

    def look(run):
        found = run.wall_loads()
        found["lid"]["travel"] = run.driven_walls()["lid"]["travel"]
        loads.append(found)

    simulation.run(observers=[pdem.every(steps=1)(look)])
    return pdem.Results(folder / "out"), loads


def columns(series, wall):
    """Return means (n, 7), largest force and torque (n, 2) of the series."""
    means = [f"{wall}_{what}_mean_{axis}" for what in ("force", "torque") for axis in "xyz"]
    return (
        np.stack([series[name] for name in (*means, f"{wall}_power_mean")], axis=1),
        np.stack([series[f"{wall}_{what}_max"] for what in ("force", "torque")], axis=1),
    )


@pytest.mark.parametrize("wall", MOTIONS)
def test_means_and_largest_are_those_of_all_steps_since_the_last_line(ran, wall):
    results, loads = ran
    series = results.series
    assert len(loads) == 401
    assert series["step"].tolist() == [*range(0, 400, EVERY), 400]
    means, largest = columns(series, wall)
    parts = [np.array([one[wall][what] for one in loads]).reshape(401, -1) for what in ("force", "torque", "power")]
    every = np.concatenate(parts, axis=1)
    sizes = np.stack([np.linalg.norm(one, axis=1) for one in parts[:2]], axis=1)
    for line, last in enumerate(series["step"].tolist()):
        steps = slice((last - 1) // EVERY * EVERY + 1, last + 1) if last else slice(0, 1)
        many = 6 if wall == "lid" else 7  # the power of a driven wall: see below
        np.testing.assert_allclose(means[line, :many], every[steps].mean(axis=0)[:many], rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(largest[line], sizes[steps].max(axis=0), rtol=1e-14)
    assert (largest > 1.1 * sizes[series["step"]]).any(), "lines alone do not see the largest loads"


def test_the_power_of_a_driven_wall_is_that_by_which_it_works(ran):
    """Over the steps between two lines: the sum of force times way."""
    results, loads = ran
    series, travel = results.series, np.array([one["lid"]["travel"] for one in loads])
    force = np.array([one["lid"]["force"][2] for one in loads])
    work = np.append(0.0, force[1:] * np.diff(travel))  # it goes down, against the force
    for line in range(1, len(series)):
        first, last = series["step"][line - 1 : line + 1]
        done = series["lid_power_mean"][line] * (last - first) * STEP
        assert done == pytest.approx(work[first + 1 : last + 1].sum(), rel=1e-9, abs=1e-15)
    assert np.abs(work).sum() > 1e-4


@pytest.mark.parametrize("chunk", [1, 13, 150])
def test_a_script_that_stops_anywhere_writes_the_same_lines(ran, tmp_path, chunk):
    """Lines that a script writes in between begin no interval."""
    simulation = pdem.Simulation(bed(tmp_path), threads=1)
    while simulation.step < 400:
        simulation.advance(min(chunk, 400 - simulation.step))
        if chunk > 1 or simulation.step % EVERY == 0 or simulation.step == 400:
            simulation.write()
    simulation.close()
    expected = ran[0].series
    found = pdem.Results(tmp_path / "out").series
    rows = [np.flatnonzero(found["step"] == step) for step in expected["step"]]
    seen = [(line, row[0]) for line, row in enumerate(rows) if len(row)]
    assert len(seen) >= (1 if chunk > 1 else 11)
    for line, row in seen:
        for wall in MOTIONS:
            for one, other in zip(columns(expected, wall), columns(found, wall), strict=True):
                assert one[line].tobytes() == other[row].tobytes()


def test_a_restart_goes_on_with_what_was_added_up(ran):
    """From checkpoints between lines, which are made anew."""
    results = ran[0]
    before = {name: results.series[name].copy() for name in results.series.names if "_mean" in name or "_max" in name}
    assert len(before) == 9 * len(MOTIONS)
    for path in sorted(results.folder.glob("checkpoint-*.h5"))[:-1]:
        pdem.Simulation.restart(path, threads=2).run(overwrite=True, observers=[])
        for name, column in before.items():
            assert results.series[name].tobytes() == column.tobytes()


def test_walls_that_are_asked_for_later_begin_then(tmp_path):
    """A state without their loads: the first mean is that of the steps since, the other one that of the interval."""
    first, loads = pdem.Simulation(bed(tmp_path, mean_wall_loads=["floor"]), threads=1), []
    first.advance(2 * EVERY + 10)
    case = bed(tmp_path, mean_wall_loads=["belt", "floor"])
    again = pdem.Simulation(case, threads=1, state=state_of(first))
    for _ in range(EVERY - 10):
        again.advance(1)
        loads.append(again.wall_loads()["belt"]["force"])
    again.write()
    again.close()
    first.advance(EVERY - 10)
    first.case.override(f'output.folder="{tmp_path / "first"}"')
    first.write()
    first.close()
    found, expected = (pdem.Results(tmp_path / name).series for name in ("out", "first"))
    np.testing.assert_allclose(columns(found, "belt")[0][0, :3], np.mean(loads, axis=0), rtol=1e-12, atol=1e-13)
    for one, other in zip(columns(found, "floor"), columns(expected, "floor"), strict=True):
        assert one.tobytes() == other.tobytes()


def test_names_of_no_wall_are_refused(tmp_path):
    with pytest.raises(CaseError, match=r"output.mean_wall_loads.*is not the name of a wall; did you mean 'floor'"):
        bed(tmp_path, mean_wall_loads=["flor"])
    case = bed(tmp_path, mean_wall_loads=["l*"])
    simulation = pdem.Simulation(case, threads=1)
    simulation.write()
    simulation.close()
    names = pdem.Results(tmp_path / "out").series.names
    assert [name for name in names if name.endswith("_max")] == ["lid_force_max", "lid_torque_max"]


def limbs_of(loads):
    """Return exact sums (steps, w * 7, limbs) of loads (steps, w, 7)."""
    found = np.zeros((*loads.reshape(len(loads), -1).shape, NARROW_LIMBS), np.int64)
    for place in np.ndindex(found.shape[:2]):
        add_in_window.py_func(found[place], float(loads.reshape(len(loads), -1)[place]), NARROW_BELOW)
    return found


@given(
    st.integers(0, 2**32), st.integers(1, 40), st.integers(1, 12), st.sampled_from((1e-30, 1.0, 1e12)),
    st.data(),
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_steps_may_be_joined_in_any_parts(seed, steps, interval, size, data):
    """However many at a time, within an interval: means and largest are the same to the bit, and right."""
    loads = size * np.random.default_rng(seed).normal(size=(steps, 2, LOADS))
    limbs, stops = limbs_of(loads), set(range(interval, steps, interval))
    cuts = sorted(stops | {steps} | set(data.draw(st.lists(st.integers(1, steps), max_size=8))))
    found = [LoadsSoFar.none(2, 0), LoadsSoFar.none(2, 0)]
    for number, parts in enumerate((cuts, sorted(stops | {steps}))):
        first = 0
        for last in parts:
            found[number] = found[number].followed_by(limbs[first:last], last, interval)
            first = last
    for one, other in zip(*found, strict=True):
        assert one.tobytes() == other.tobytes()
    begin = (steps - 1) // interval * interval
    assert found[0].begin.tolist() == [begin, begin]
    np.testing.assert_allclose(found[0].means(steps), loads[begin:].mean(axis=0), rtol=1e-9, atol=1e-9 * size)
    force = np.linalg.norm(loads[begin:, :, :3], axis=2).max(axis=0)
    np.testing.assert_allclose(found[0].largest[:, 0], force, rtol=1e-14)
    assert np.isnan(LoadsSoFar.none(1, steps).means(steps)).all()


def test_loads_are_joined_before_there_is_no_room_for_more():
    many = StepLoads(range(2000), 2000, 10**6)
    assert many.next_step == 1
    few = StepLoads([3], 5, 10)
    assert few.next_step == 10
    few.begin_at(25, LoadsSoFar.none(1, 20))
    assert few.next_step == 30
    assert StepLoads([0], 1, 10**6).next_step == 64
    assert NARROW.largest < 2.0 ** (32 * NARROW_LIMBS - NARROW_BELOW)
