"""Sizes below which given shares of the mass lie: of sensors, exact sums by class of size, in the series."""

from __future__ import annotations

import math

import numpy as np
import pytest

from helpers.cases import state_of
from helpers.inlets import BOX, case_of, inlet
from pdem.containers.group import OneRank
from pdem.features.sensors.columns import columns_of_sensor
from pdem.features.sensors.sizes import CLASSES_PER_OCTAVE, SizeSums, class_of_size, edge_of_class
from pdem.foundation.errors import CaseError
from pdem.run.simulation import Simulation
from pdem.watch.columns import texts_of

WIDE = {"distribution": "uniform", "min": 0.001, "max": 0.004}
GATE = {"point": [0.0, 0.0, -0.02], "normal": [0.0, 0.0, -1.0]}
POUR = inlet(count_rate=3000.0, radius=WIDE, velocity={"mean": 2.0, "random": 0.1})
PERCENTS = (10.0, 50.0, 80.0, 100.0)


def sums_of(diameter, mass, kind=None, kinds=1):
    found = SizeSums(kinds)
    found.add(np.zeros(len(mass), np.int64) if kind is None else kind, 0.5 * np.asarray(diameter), np.asarray(mass))
    return found


def quantile(diameter, mass, percent):
    """Return the smallest diameter with at least a percent of the mass up to it."""
    order = np.argsort(diameter)
    below = np.cumsum(mass[order])
    return diameter[order][np.argmax(below >= below[-1] * percent / 100.0 * (1.0 - 1e-12))]


def test_classes_begin_at_their_edges():
    for number in (-1500, -1, 0, 1, CLASSES_PER_OCTAVE, 5 * CLASSES_PER_OCTAVE + 7):
        edge = edge_of_class(number)
        assert class_of_size(np.array([np.nextafter(edge, 0.0), edge])).tolist() == [number - 1, number]
        assert edge_of_class(number + CLASSES_PER_OCTAVE) == 2.0 * edge
        assert edge_of_class(number + 1) / edge == pytest.approx(2.0 ** (1.0 / CLASSES_PER_OCTAVE), rel=1e-12)


def test_sizes_agree_with_sorted_particles():
    random = np.random.default_rng(1)
    diameter, density = np.exp(random.normal(-5.0, 1.0, 5000)), random.uniform(1e3, 3e3, 5000)
    mass = density * diameter**3
    found = sums_of(diameter, mass).passing(PERCENTS)
    expected = [quantile(diameter, mass, percent) for percent in PERCENTS]
    assert found == pytest.approx(expected, rel=2.0 ** (1.0 / CLASSES_PER_OCTAVE) - 1.0)


def test_a_single_size_is_exact():
    found = sums_of(np.full(1000, 0.0123), np.full(1000, 1e-3)).passing(PERCENTS)
    assert found == pytest.approx([0.0123] * 4, rel=1e-15)
    two = sums_of([0.01, 0.02], [3.0, 1.0])
    assert two.passing((74.0, 75.0, 76.0)) == pytest.approx([0.01, 0.01, 0.02], rel=1e-15)


def test_order_and_parts_make_no_difference():
    random = np.random.default_rng(2)
    diameter, mass = random.uniform(1e-4, 0.1, 400), random.uniform(1e-9, 1.0, 400)
    whole, parts = sums_of(diameter, mass), SizeSums(1)
    for rows in np.array_split(random.permutation(400), 7):
        one = sums_of(diameter[rows], mass[rows])
        parts.add_sums(one.first, one.limbs)
    assert parts.first == whole.first
    assert (parts.limbs == whole.limbs).all()
    assert whole.joined(OneRank()).passing(PERCENTS) == whole.passing(PERCENTS)


def test_subtracted_masses_leave_nothing():
    sums = sums_of([0.01, 0.5, 0.003], [0.1, 0.7, 0.3])
    sums.add(np.zeros(2, np.int64), np.array([0.25, 0.0015]), np.array([-0.7, -0.3]))
    assert sums.passing((50.0, 100.0)) == [0.01, 0.01]
    sums.add(np.zeros(1, np.int64), np.array([0.005]), np.array([-0.1]))
    assert not sums.limbs.any()
    assert all(math.isnan(one) for one in sums.passing(PERCENTS))
    assert all(math.isnan(one) for one in SizeSums(1).joined(OneRank()).passing(PERCENTS))


def test_kinds_are_apart():
    sums = sums_of([0.01, 0.02, 0.04], [1.0, 1.0, 6.0], np.array([0, 0, 1]), 2)
    assert sums.passing((50.0,)) == pytest.approx([0.04])
    assert sums.passing((50.0,), 0) == pytest.approx([0.01])
    assert sums.passing((50.0,), 1) == pytest.approx([0.04])


def run_of(*sensors, **sections):
    return Simulation(case_of(POUR, sensors=list(sensors), **sections), threads=1)


def test_regions_have_the_sizes_inside_now():
    run = run_of({"name": "box", "region": BOX, "passing": [20, 50, 80], "by": {"radii": [0.003]}})
    run.advance(2500)
    own, seen = run.gather(), run.sensors()["box"]
    inside = ((own["position"] >= BOX["lower"]) & (own["position"] <= BOX["upper"])).all(axis=1)
    diameter = 2.0 * own["radius"][inside]
    assert len(diameter) > 10
    small = diameter < 0.006
    for percent in (20, 50, 80):
        assert seen[f"p{percent}"] == pytest.approx(quantile(diameter, diameter**3, percent), rel=0.006)
        fine = quantile(diameter[small], diameter[small] ** 3, percent)
        assert seen[f"p{percent}_below-0.003"] == pytest.approx(fine, rel=0.006)


@pytest.mark.parametrize("where", [{"plane": GATE}, {"region": {"lower": [-0.1] * 3, "upper": [0.1, 0.1, -0.02]}}])
def test_outlets_have_the_sizes_of_all_that_they_removed(where):
    run = run_of({"name": "out", "remove": True, "passing": [50, 80], "by": "material", **where})
    word, inserted = "removed" if "region" in where else "passed", {}
    for _ in range(40):
        run.advance(100)
        inserted |= dict(zip(*(run.gather()[name].tolist() for name in ("id", "radius")), strict=True))
    own, seen = run.gather(), run.sensors()["out"]
    gone = 2.0 * np.array([radius for one, radius in inserted.items() if one not in set(own["id"].tolist())])
    assert len(gone) == seen[f"{word}_count"] > 20
    for percent in (50, 80):
        expected = quantile(gone, gone**3, percent)
        assert seen[f"{word}_p{percent}"] == seen[f"{word}_p{percent}_grain"] == pytest.approx(expected, rel=0.006)
        assert math.isnan(seen[f"{word}_p{percent}_steel"])


def test_what_comes_back_is_taken_off():
    up = {"material": "grain", "radius": 0.004, "positions": [[0.0, 0.0, -0.03]], "velocity": [0.0, 0.0, 1.0]}
    down = {"material": "grain", "radius": 0.003, "positions": [[0.05, 0.0, 0.0]]}
    sensor = {"name": "gate", "plane": {**GATE, "normal": [0.0, 0.0, 1.0]}, "passing": [50]}
    run = Simulation(case_of(particles=[up, down], sensors=[sensor]), threads=1)
    seen = set()
    for _ in range(20):
        run.advance(500)
        seen.add(round(run.sensors()["gate"]["passed_p50"], 6))
    assert 0.008 in seen
    assert math.isnan(run.sensors()["gate"]["passed_p50"])


def test_a_restart_continues_the_sizes():
    sensor = {"name": "gate", "plane": GATE, "passing": [50, 80]}
    run = run_of(sensor)
    run.advance(2500)
    middle = state_of(run)
    assert run.sensors()["gate"]["passed_count"] > 5
    again = Simulation(case_of(POUR, sensors=[sensor]), threads=1, state=middle)
    assert again.sensors()["gate"] == run.sensors()["gate"]
    for one in (run, again):
        one.advance(1500)
    assert again.sensors()["gate"] == run.sensors()["gate"]
    assert state_of(again)["sensor_sizes"]["sums"].tobytes() == state_of(run)["sensor_sizes"]["sums"].tobytes()
    later = Simulation(case_of(POUR, sensors=[{"name": "gate", "plane": GATE}]), threads=1, state=middle)
    assert "sensor_sizes" not in state_of(later)


@pytest.mark.parametrize(
    ("passing", "match"),
    [
        ([80, 50], "passing = .*: must rise"),
        ([0.0, 50], r"passing\[0\] = .*above 0|greater than 0"),
        ([50, 101], "at most 100|less than or equal"),
        ([], "passing = .*: "),
        ([50.00000001, 50.00000002], "same six digits"),
    ],
)
def test_percents_that_are_wrong_are_named(passing, match):
    with pytest.raises(CaseError, match=match):
        case_of(sensors=[{"name": "gate", "plane": GATE, "passing": passing}])


def test_columns_have_units_and_meanings():
    sensor = {"name": "out", "region": BOX, "remove": True, "passing": [12.5, 80], "by": "material"}
    case = case_of(sensors=[sensor])
    columns = [one for one in columns_of_sensor(case.sensors[0], case.materials) if "_p" in one[0]]
    names = [f"out_{word}p{percent}{kind}" for word in ("", "removed_") for kind in ("", "_grain", "_steel")
             for percent in ("12.5", "80")]  # fmt: skip
    assert columns == [(name, "m", "f8") for name in names]
    words = texts_of(names, case)
    assert words["out_p80"].meaning == "diameter below which 80 % of the mass in the region is"
    assert words["out_removed_p12.5_steel"].meaning.endswith("that has been taken out is, of steel")
