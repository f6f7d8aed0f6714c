"""Sensors count every particle once, outlets take out what they count, and restarts go on."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.cases import state_of
from helpers.inlets import BOX, DISC, case_of, inlet
from pdem.engine.views.series_line import SeriesLine
from pdem.features.insertions.feature import Insertions
from pdem.features.sensors.feature import Sensors
from pdem.features.sensors.report import line_values
from pdem.output.checkpoints.checkpoint import read_checkpoint
from pdem.output.series import read_series
from pdem.run.simulation import Simulation

MASS = 2500.0 * 4.0 / 3.0 * np.pi
SIZES = {"distribution": "uniform", "min": 0.002, "max": 0.004}
LOW = {"point": [0.0, 0.0, -0.02], "normal": [0.0, 0.0, -1.0]}
POUR = inlet(count_rate=2000.0, radius=SIZES, velocity={"mean": 2.0, "random": 0.1})


def run_of(*sensors, insertions=(POUR,), state=None, **sections):
    return Simulation(case_of(*insertions, sensors=list(sensors), **sections), threads=1, state=state)


def test_a_plane_counts_what_has_passed():
    domain = {"lower": [-0.1] * 3, "upper": [0.1] * 3, "gravity": [0.0, 0.0, -9.81], "outside": "keep"}
    run = run_of({"name": "gate", "plane": LOW, "by": {"radii": [0.003]}}, domain=domain)
    for _ in range(3):
        run.advance(run.system.features.get(Sensors).places[0].interval * 15)
        own, seen = run.gather(), run.sensors()["gate"]
        below = own["position"][:, 2] <= -0.02
        assert seen["passed_count"] == np.count_nonzero(below)
        assert seen["passed"] == pytest.approx(MASS * (own["radius"][below] ** 3).sum(), rel=1e-12)
        small = below & (own["radius"] < 0.003)
        assert seen["passed_count_below-0.003"] == np.count_nonzero(small)
        assert seen["passed_count_from-0.003"] == np.count_nonzero(below) - np.count_nonzero(small)
    assert seen["passed_count"] > 20


def test_what_comes_back_is_taken_off():
    up = {"material": "grain", "radius": 0.004, "positions": [[0.0, 0.0, -0.03]], "velocity": [0.0, 0.0, 1.0]}
    run = run_of({"name": "gate", "plane": LOW}, insertions=(), particles=[up])
    counts = set()
    for _ in range(20):
        run.advance(500)
        counts.add(run.sensors()["gate"]["passed_count"])
    assert counts == {0, -1}
    assert run.particles.position[0, 2] < -0.02
    assert run.sensors()["gate"]["passed_count"] == 0
    assert run.sensors()["gate"]["passed"] == 0.0


def test_a_face_counts_inside_its_outline_alone():
    wide = {"name": "wide", "face": {**DISC, "centre": [0.0, 0.0, -0.02], "radius": 0.05}}
    half = {
        "name": "half",
        "face": {"corners": [[0, -0.05, -0.02], [0, 0.05, -0.02], [0.05, 0.05, -0.02], [0.05, -0.05, -0.02]]},
    }
    run = run_of(wide, half)
    run.advance(3000)
    own, seen = run.gather(), run.sensors()
    below = own["position"][:, 2] <= -0.02
    assert seen["wide"]["passed_count"] == pytest.approx(np.count_nonzero(below), abs=5)
    right = below & (own["position"][:, 0] > 0.0)
    assert seen["half"]["passed_count"] == pytest.approx(np.count_nonzero(right), abs=5)
    assert seen["half"]["passed_count"] > 5


@pytest.mark.parametrize("where", [{"region": {"lower": [-0.1] * 3, "upper": [0.1, 0.1, -0.02]}}, {"plane": LOW}])
def test_outlets_take_out_what_they_count(where):
    """Mass balance to one particle: what came in is there, or has been taken out; the ledger closes."""
    run = run_of({"name": "out", "remove": True, **where})
    run.advance(4000)
    own, seen = run.gather(), run.sensors()["out"]
    word = "removed" if "region" in where else "passed"
    control = run.insertions["inlet"]
    assert seen[f"{word}_count"] > 20
    assert control.count == len(own["id"]) + seen[f"{word}_count"]
    inside = MASS * (own["radius"] ** 3).sum()
    assert control.mass == pytest.approx(inside + seen[word], rel=1e-12)
    assert own["position"][:, 2].min() > -0.05
    energies = run.energies()
    assert abs(energies["residual"]) < 1e-3 * abs(energies["translation"])


def test_regions_report_what_is_in_them():
    run = run_of({"name": "box", "region": BOX, "by": "material"})
    run.advance(2500)
    own, seen = run.gather(), run.sensors()["box"]
    inside = ((own["position"] >= BOX["lower"]) & (own["position"] <= BOX["upper"])).all(axis=1)
    mass = MASS * own["radius"][inside] ** 3
    assert seen["count"] == seen["count_grain"] == np.count_nonzero(inside) > 5
    assert seen["mass"] == pytest.approx(mass.sum(), rel=1e-12)
    assert seen["solid_fraction"] == pytest.approx(mass.sum() / 2500.0 / (0.08 * 0.08 * 0.03), rel=1e-12)
    mean = (mass[:, None] * own["velocity"][inside]).sum(axis=0) / mass.sum()
    assert [seen[f"velocity_{axis}"] for axis in "xyz"] == pytest.approx(mean, abs=1e-9)
    assert seen["count_steel"] == 0


def test_stays_in_a_region_are_those_of_a_fall():
    """Particles that fall freely stay as long as the fall takes, to an interval."""
    domain = {"lower": [-0.1] * 3, "upper": [0.1] * 3, "outside": "keep"}
    layer = {"lower": [-0.1, -0.1, -0.03], "upper": [0.1, 0.1, 0.01]}
    insertion = inlet(count_rate=300.0, radius=0.002, velocity=2.0)
    run = run_of(
        {"name": "fall", "region": layer, "residence": True, "every": 1e-3}, insertions=(insertion,), domain=domain
    )
    run.advance(5000)
    seen = run.sensors()["fall"]
    assert seen["stays"] > 10
    assert seen["mean_stay"] == pytest.approx(0.02, abs=1e-3)
    assert seen["stays"] + seen["count"] == np.count_nonzero(run.gather()["position"][:, 2] <= 0.01)


def test_mixing_rises_when_two_layers_are_stirred():
    materials = {"red": {"density": 1000.0, "youngs_modulus": 1e7, "poisson_ratio": 0.25}}
    materials["blue"] = materials["red"]
    pairs = {key: {"friction": 0.5, "restitution": 0.5} for key in ("red-red", "red-blue", "blue-blue")}
    box = {"lower": [-0.05, -0.05, 0.0], "upper": [0.05, 0.05, 0.1]}
    sensor = {"name": "bed", "region": box, "mixing": {"materials": ["red", "blue"], "cells": [1, 1, 4], "least": 4}}
    found = []
    for mixed in (False, True):
        fills = [{**box, "count": 150, "seed": seed} for seed in (1, 2)]
        if not mixed:
            fills[0]["upper"], fills[1]["lower"] = [0.05, 0.05, 0.05], [-0.05, -0.05, 0.05]
        groups = [
            {"material": name, "radius": 0.004, "fill": fill} for name, fill in zip(materials, fills, strict=True)
        ]
        run = run_of(sensor, insertions=(), materials=materials, interactions=pairs, particles=groups)
        found.append(run.sensors()["bed"]["lacey"])
    assert found[0] < 0.0
    assert found[1] > 0.9


ALL = (
    {"name": "gate", "plane": {**LOW, "point": [0.0, 0.0, 0.0]}, "by": "material"},
    {
        "name": "out",
        "region": {"lower": [-0.1] * 3, "upper": [0.1, 0.1, -0.03]},
        "remove": True,
        "by": {"radii": [0.003]},
    },
    {"name": "fall", "region": BOX, "residence": True},
)


def test_runs_with_sensors_restart_with_the_same_bits(tmp_path):
    output = {"folder": str(tmp_path / "out"), "checkpoint_every": 0.02, "series_every": 1e-3}
    case = case_of(POUR, sensors=list(ALL), time={"step": 2e-5, "end": 0.06}, output=output)
    Simulation(case, threads=1).run()
    *_, middle, last = sorted((tmp_path / "out").glob("checkpoint*.h5"))
    rows, content = read_series(tmp_path / "out" / "series.h5"), read_checkpoint(last).content
    stays = (tmp_path / "out" / "fall_residence.csv").read_text()
    assert rows["gate_passed_count"][-1] > rows["out_removed_count"][-1] > 10
    assert rows["fall_stays"][-1] > 10
    assert rows["gate_flow"].max() > 0.0
    assert len(read_checkpoint(middle).groups["sensor_particles"]["id"]) > 0
    Simulation.restart(middle, threads=1).run(overwrite=True)
    assert read_checkpoint(last).content == content
    assert (tmp_path / "out" / "fall_residence.csv").read_text() == stays
    again = read_series(tmp_path / "out" / "series.h5")
    for name in again.dtype.names:
        if name not in ("particle_steps_per_second", "detections"):
            assert again[name].tobytes() == rows[name].tobytes(), name


def test_sensors_change_no_bit_of_the_motion():
    plain, watched = run_of(), run_of(ALL[0], ALL[2])
    for run in (plain, watched):
        run.advance(1500)
    found, expected = state_of(watched), state_of(plain)
    for name, column in expected["particles"].items():
        assert found["particles"][name].tobytes() == column.tobytes()


def test_flow_is_what_has_passed_per_time():
    """Lines closer than events repeat the flow between the last two events; its mean is what has passed."""
    sensor = {"name": "gate", "plane": {**LOW, "point": [0.0, 0.0, 0.02]}, "every": 4e-4}
    run = run_of(sensor)
    place, flows = run.system.features.get(Sensors).places[0], []
    for _ in range(400):
        run.advance(5)
        flows.append(
            line_values(run.system, run.system.features.get(Sensors).places, SeriesLine(run.system))["gate_flow"]
        )
    by_event = np.array(flows).reshape(-1, 4)  # the last line of each row is at an event, with its flow
    assert place.interval == 20
    assert (by_event[1:, :3] == by_event[:-1, 3:]).all()
    passed = run.sensors()["gate"]["passed"]
    assert by_event[:, 3].sum() * 4e-4 == pytest.approx(passed, rel=1e-9)
    assert passed > 0.0


@pytest.mark.parametrize(("inlet_every", "outlet_every"), [(1e-4, 1e-3), (1e-3, 1e-4)])
def test_a_restart_with_a_shorter_interval_acts_at_once(inlet_every, outlet_every):
    """The next event would have been before the step of the checkpoint."""
    outlet = {"name": "out", "region": {"lower": [-0.1] * 3, "upper": [0.0, 0.1, 0.025]}, "remove": True}

    def given(first, second):
        return case_of(inlet(count_rate=1e3, every=first), sensors=[{**outlet, "every": second}])

    run = Simulation(given(1e-3, 1e-3), threads=1)
    run.advance(40)
    again = Simulation(given(inlet_every, outlet_every), threads=1, state=state_of(run))
    again.advance(20)
    assert again.step == 60
    last = (
        again.system.features.get(Insertions).sources[0].state.last,
        again.system.features.get(Sensors).places[0].state.last,
    )
    assert last == ((60, 50) if inlet_every < outlet_every else (50, 60))
