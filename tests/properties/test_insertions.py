"""What comes in while a case runs is what was asked for, where it is free, and the same after any restart."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from helpers.cases import quad, state_of
from helpers.inlets import BOX, DISC, case_of, inlet
from pdem.detection.find_pairs import find_pairs
from pdem.features.insertions.feature import Insertions
from pdem.output.checkpoints.checkpoint import read_checkpoint
from pdem.output.series import read_series
from pdem.run.simulation import Simulation

SIZES = {"distribution": "uniform", "min": 0.002, "max": 0.004}
MASS = 2500.0 * 4.0 / 3.0 * np.pi


def run_of(*insertions, meshes=(), state=None, **sections):
    return Simulation(case_of(*insertions, **sections), threads=1, meshes=list(meshes), state=state)


def touching(run):
    """Return how many particles of a simulation touch each other."""
    own = run.gather()
    return len(find_pairs(own["position"], own["radius"]).pairs)


def same(found, expected):
    for group, columns in expected.items():
        for name, column in columns.items():
            assert found[group][name].tobytes() == column.tobytes(), f"{group}/{name}"


@pytest.mark.parametrize("rate", [37.0, 700.0, 1234.5])
def test_numbers_agree_to_one_particle_at_every_event(rate):
    run = run_of(inlet(count_rate=rate, radius=0.002))
    every = run.system.features.get(Insertions).sources[0].interval
    for events in range(1, 4):
        run.advance(every)
        time = events * every * 2e-5
        assert len(run.particles) == run.insertions["inlet"].count == round(rate * time)
        assert abs(len(run.particles) - rate * time) <= 0.5
    assert touching(run) == 0


def test_masses_agree_to_half_a_particle():
    run = run_of(inlet(mass_rate=1.0, radius=SIZES))
    every = run.system.features.get(Insertions).sources[0].interval
    for events in range(1, 4):
        run.advance(every)
        asked, largest = 1.0 * events * every * 2e-5, MASS * 0.004**3
        assert abs(run.insertions["inlet"].mass - asked) <= 0.5 * largest
        assert run.insertions["inlet"].mass == pytest.approx(MASS * (run.particles.radius**3).sum(), rel=1e-12)


def test_a_table_begins_and_ends_when_it_says():
    rate = {"times": [0.0, 0.02, 0.04], "values": [0.0, 2000.0, 0.0]}
    run = run_of(
        inlet(count_rate=rate, start=0.01, end=0.03, radius=0.002, every=0.005), time={"step": 5e-5, "end": 1.0}
    )
    run.advance(200)
    assert len(run.particles) == 0
    run.advance(100)
    assert len(run.particles) == round(0.005 * 1250.0)
    run.advance(300)
    assert len(run.particles) == 30
    assert not run.insertions["inlet"].running


@pytest.mark.parametrize(("limit", "expected"), [({"count": 25}, 25), ({"mass": 25.2 * MASS * 0.002**3}, 25)])
def test_limits_are_met_exactly(limit, expected):
    run = run_of(inlet(count_rate=2000.0, radius=0.002, **limit))
    run.advance(2000)
    assert len(run.particles) == expected
    assert not run.insertions["inlet"].running
    assert run.system.features.get(Insertions).next_step > 10**9


def test_all_at_once_is_there_from_the_begin():
    run = run_of(inlet(region=BOX, count=20), domain={"lower": [-0.1] * 3, "upper": [0.1] * 3})
    assert len(run.particles) == 20
    own = run.gather()
    assert (own["position"] - 0.004 >= np.array(BOX["lower"])).all()
    assert (own["position"] + 0.004 <= np.array(BOX["upper"])).all()
    assert touching(run) == 0
    assert run.energies()["residual"] == 0.0


def test_free_fall_closes_the_ledger():
    """What comes in brings its energy: without contacts nothing is left over but rounding."""
    run = run_of(
        inlet(count_rate=1000.0, radius=0.002, velocity={"mean": 1.0, "random": 0.1}, angular_velocity=[5.0, 0, 0])
    )
    run.advance(1500)
    energies = run.energies()
    assert len(run.particles) > 20
    assert run.measures().pair_contacts == 0
    assert energies["outflow"] < 0.0
    assert abs(energies["residual"]) < 1e-12 * abs(energies["outflow"])


def test_a_stream_comes_through_its_face_wholly():
    run = run_of(inlet(count_rate=3000.0, radius=SIZES, velocity=2.0), domain={"lower": [-0.1] * 3, "upper": [0.1] * 3})
    every = run.system.features.get(Insertions).sources[0].interval
    run.advance(every)
    own = run.gather()
    depth = DISC["centre"][2] - own["position"][:, 2] - own["radius"]
    assert depth.min() >= 0.0
    assert depth.max() <= 2.0 * every * 2e-5 * (1.0 + 1e-12)
    assert (np.hypot(*own["position"][:, :2].T) + own["radius"] <= 0.03 * (1 + 1e-12)).all()
    assert (own["velocity"] == [0.0, 0.0, -2.0]).all()
    run.advance(3 * every)
    assert run.insertions["inlet"].waiting == 0
    assert touching(run) == 0


def test_what_does_not_fit_waits_and_is_told_once():
    domain = {"lower": [-0.1] * 3, "upper": [0.1] * 3}
    run = run_of(inlet(region=BOX, velocity=None, count_rate=40000.0, every=1e-3), domain=domain)
    with pytest.warns(RuntimeWarning, match=r"insertion inlet: \d+ of \d+ particles asked for until .* wait") as caught:
        run.advance(400)
    assert len(caught) == 1
    control = run.insertions["inlet"]
    assert control.count + control.waiting == round(40000.0 * 8e-3)
    assert control.waiting > 0
    assert touching(run) == 0
    largest = control.count
    run.remove(run.gather()["id"][: largest // 2])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run.advance(50)
    assert control.count > largest
    assert control.count + control.waiting == round(40000.0 * 9e-3)


def test_regions_are_filled_again_when_they_are_free():
    run = run_of(inlet(region=BOX, velocity=[0.0, 0.0, -3.0], count=400, every=2e-3))
    first = len(run.particles)
    run.advance(1500)
    assert first < 300
    assert len(run.particles) == 400
    assert touching(run) == run.measures().pair_contacts


def test_walls_are_avoided_where_they_are_now():
    wall = {"name": "lid", "mesh": "given", "material": "steel", "translation": {"velocity": [0.0, 0.0, -5.0]}}
    domain = {"lower": [-0.1] * 3, "upper": [0.1] * 3}
    insertion = inlet(region=BOX, velocity=None, count=10, every=1.0, start=0.004)
    run = run_of(insertion, meshes=[quad(half=0.2, height=0.04)], walls=[wall], domain=domain)
    run.advance(200)  # the lid is at 0.02
    assert len(run.particles) == 10
    assert run.measures().wall_contacts == 0
    assert np.abs(run.particles.position[:, 2] - 0.02).min() >= 0.004


def test_periodic_boxes_and_planes():
    flat = {"lower": [-0.05] * 3, "upper": [0.05] * 3, "dimension": 2, "periodic": [True, False, False]}
    region = {"lower": [-0.05, 0.0, -0.05], "upper": [0.05, 0.04, 0.05]}
    run = run_of(inlet(region=region, velocity=[0.0, -1.0, 0.0], count=30, every=0.01), domain=flat)
    own = run.gather()
    assert len(own["id"]) == 30
    assert (own["position"][:, 2] == 0.0).all()
    assert ((own["position"][:, 0] >= -0.05) & (own["position"][:, 0] < 0.05)).all()
    assert np.abs(own["position"][:, 0]).max() > 0.046  # some reach across the face
    assert run.measures().pair_contacts == 0
    pairs = find_pairs(
        own["position"][:, :2], own["radius"], lower=[-0.05] * 2, upper=[0.05] * 2, periodic=[True, False]
    )
    assert len(pairs.pairs) == 0


TWO = (
    inlet(count_rate=3000.0, radius=SIZES, velocity={"mean": 2.0, "random": 0.2}),
    inlet(name="heap", region=BOX, velocity=None, mass_rate=600.0, every=1e-3, radius=SIZES),
)


@pytest.mark.filterwarnings("ignore:insertion heap")
def test_restarts_go_on_with_the_same_bits():
    """In the middle of insertions of which one has particles that wait, at steps with and without an event."""
    through = run_of(*TWO)
    states = {}
    for step in (50, 99, 100, 123):
        through.advance(step - through.step)
        states[step] = state_of(through)
    through.advance(60)
    expected = state_of(through)
    assert through.insertions["heap"].waiting > 0
    for step, state in states.items():
        assert len(state["insertions_waiting"]["number"]) > 0
        again = run_of(*TWO, state=state)
        same(state_of(again), state)
        again.advance(through.step - step)
        same(state_of(again), expected)
        assert again.measures().energies == through.measures().energies


@pytest.mark.filterwarnings("ignore:insertion heap")
def test_runs_with_output_restart_with_the_same_bits(tmp_path):
    output = {"folder": str(tmp_path / "out"), "checkpoint_every": 0.0024, "series_every": 1e-4}
    case = case_of(*TWO, time={"step": 2e-5, "end": 0.005}, output=output)
    Simulation(case, threads=1).run()
    first, last = sorted((tmp_path / "out").glob("checkpoint*.h5"))[-2:]
    rows, content = read_series(tmp_path / "out" / "series.h5"), read_checkpoint(last).content
    assert rows["heap_count"][-1] + rows["heap_waiting"][-1] > rows["heap_count"][-1] > rows["heap_count"][0]
    assert rows["inlet_count"][-1] + rows["heap_count"][-1] == rows["particles"][-1]
    log = (tmp_path / "out" / "run.log").read_text()
    assert "insertion heap:" in log
    assert "still wait for a free place" in log
    Simulation.restart(first, threads=1).run(overwrite=True)
    assert read_checkpoint(last).content == content
    again = read_series(tmp_path / "out" / "series.h5")
    for name in ("inlet_count", "heap_mass", "heap_waiting", "residual", "outflow"):
        assert again[name].tobytes() == rows[name].tobytes()


@pytest.mark.filterwarnings("ignore:insertion heap")
def test_bits_do_not_depend_on_how_steps_are_taken_or_on_lists():
    whole, parts = run_of(*TWO), run_of(*TWO, detection={"skin": 0.02})
    whole.advance(200)
    while parts.step < 200:
        parts.advance(min(7, 200 - parts.step))
    same(state_of(parts), state_of(whole))


def test_insertions_do_not_depend_on_each_other():
    """Numbers are keyed by the name of the insertion: another one before it changes nothing."""
    alone = run_of(inlet(count=8, radius=SIZES))
    other = inlet(
        name="other", count=8, radius=SIZES, region={"lower": [-0.09, -0.09, -0.09], "upper": [0.09, 0.09, -0.06]}
    )
    both = run_of(other, inlet(count=8, radius=SIZES))
    for name in ("radius", "position", "velocity"):
        assert both.gather()[name][8:].tobytes() == alone.gather()[name].tobytes()
    assert both.gather()["radius"][:8].tobytes() != alone.gather()["radius"].tobytes()


def test_a_script_stops_an_insertion_for_good():
    run = run_of(inlet(count_rate=3000.0, radius=0.002))
    run.advance(1000)
    count = len(run.particles)
    assert count > 0
    assert "waiting" in repr(run.insertions["inlet"])
    run.insertions["inlet"].stop()
    run.advance(1000)
    again = run_of(inlet(count_rate=3000.0, radius=0.002), state=state_of(run))
    again.advance(1000)
    assert len(run.particles) == len(again.particles) == count


def test_an_insertion_that_is_new_after_a_restart_begins_there():
    run = run_of(inlet(count_rate=1000.0, radius=0.002))
    run.advance(1000)
    again = run_of(
        inlet(count_rate=1000.0, radius=0.002),
        inlet(name="new", count_rate=1000.0, radius=0.002, region=BOX, every=0.01),
        state=state_of(run),
    )
    again.advance(500)
    assert again.insertions["new"].count == 10
    assert again.insertions["inlet"].count == round(
        1000.0 * again.system.features.get(Insertions).sources[0].state.last * 2e-5
    )
