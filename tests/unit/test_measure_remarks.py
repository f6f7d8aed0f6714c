"""Measures say when their number means nothing, or little, on made-up results of which that is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pdem
from helpers.everything import case_in
from helpers.made_results import TIME, Made, remarks, section, value
from pdem.foundation.errors import CaseError, InputError
from pdem.sweeps.measure_checks import check_measures

RATE = {"kind": "discharge-rate", "sensor": "out"}
MIXING = {"kind": "mixing-time", "sensor": "bed"}
BED = {"kind": "column", "column": "bed_mass"}


@given(rate=st.floats(-5.0, 5.0).filter(lambda rate: abs(rate) > 1e-3), begin=st.floats(0.0, 1.0))
def test_a_steady_flow_has_its_rate_whatever_way_it_goes(rate, begin):
    passed = rate * np.maximum(TIME - begin, 0.0)
    found = value(Made(out_passed=passed), **RATE)
    assert found.value == pytest.approx(rate)
    assert not found.remarks


def test_a_flow_that_is_not_steady_yet_is_told():
    """A hopper that opens slowly: the rate rises all the time."""
    assert remarks(Made(out_passed=TIME**2), **RATE) == ["not steady"]
    assert remarks(Made(out_passed=TIME**2), **RATE, start=1.9) == []


def test_a_flow_that_stands_still_is_told():
    passed = np.interp(TIME, [0.0, 0.8, 1.2, 2.0], [0.0, 0.8, 0.8, 1.6])
    assert remarks(Made(out_passed=passed), **RATE) == ["blocked"]


def test_a_flow_of_few_grains_or_lines_is_told():
    count = np.floor(TIME * 10.0)
    results = Made(out_passed=1e-3 * count, out_passed_count=count)
    assert remarks(results, **RATE) == ["few grains"]
    step = np.where(TIME < 1.0, 0.0, 1.0)
    found = value(Made(out_passed=step), **RATE)
    assert math.isnan(found.value)
    assert "too few lines" in found.remarks[0]


def test_chance_of_single_grains_is_no_change_of_the_rate():
    """A steady flow whose grains come at random: in 50 of them at most a few are called unsteady."""
    random, called = np.random.default_rng(2), 0
    for _ in range(50):
        count = np.cumsum(random.poisson(0.5, len(TIME)))
        called += "not steady" in remarks(Made(out_passed=1e-3 * count, out_passed_count=count), **RATE)
    assert called <= 2


def test_an_index_of_mixing_that_is_none_or_was_high_before():
    assert remarks(Made(bed_lacey=np.full(len(TIME), np.nan)), **MIXING) == ["no index"]
    assert remarks(Made(bed_lacey=0.4 * TIME), **MIXING) == ["not reached"]
    assert "0.8" in value(Made(bed_lacey=0.4 * TIME), **MIXING).remarks[0]
    assert remarks(Made(bed_lacey=0.95 + 0.0 * TIME), **MIXING) == ["mixed already"]
    assert remarks(Made(bed_lacey=np.minimum(0.6 + 0.3 * TIME, 1.0)), **MIXING) == ["mixed in part"]
    falls = np.interp(TIME, [0.0, 0.5, 1.0, 2.0], [0.0, 0.95, 0.5, 0.5])
    assert remarks(Made(bed_lacey=falls), **MIXING) == ["falls again"]
    assert remarks(Made(bed_lacey=np.minimum(TIME, 1.0)), **MIXING) == []


def test_mixing_of_one_material_is_refused_before_any_run():
    sensor = {"name": "bed", "region": {"lower": [-0.008] * 3, "upper": [0.008, 0.008, 0.016]}}
    mixing = {"materials": ["grain", "steel"], "cells": [2, 2, 2]}
    case = case_in("unused", sensors=[{**sensor, "mixing": mixing}])
    with pytest.raises(CaseError, match="no particles of steel, so that nothing mixes"):
        check_measures({"m": section(**MIXING)}, case)


def test_loads_that_change_or_of_less_than_a_turn_are_told():
    load = {"blade_power": TIME, "blade_torque_x": 0.0 * TIME, "blade_torque_y": 0.0 * TIME, "blade_torque_z": -TIME}
    results = Made(**load)
    assert remarks(results, kind="power", wall="blade", start=0.0) == ["not steady"]
    assert remarks(results, kind="torque", wall="blade", start=0.0) == ["not steady"]
    noise = 1.0 + 0.3 * np.random.default_rng(1).normal(size=len(TIME))
    assert remarks(Made(blade_power=noise), kind="power", wall="blade") == []
    assert remarks(Made(blade_power=0.0 * TIME), kind="power", wall="blade") == ["no load"]
    assert remarks(Made(blade_power=noise), kind="power", wall="blade", start=1.0, end=1.03) == ["less than a turn"]
    assert remarks(Made(blade_power=noise), kind="power", wall="blade", start=1.0, end=1.012)[0] == "too few lines"
    with pytest.raises(Exception, match="is not a direction"):
        section(kind="torque", wall="blade", axis=[0.0, 0.0, 0.0])


def test_lines_without_a_number_do_not_count():
    gaps = np.where((TIME > 0.5) & (TIME < 0.7), np.nan, 3.0)
    found = value(Made(bed_mass=gaps), **BED)
    assert found.value == pytest.approx(3.0)
    assert "lines left out" in found.remarks[0]
    for statistic in ("mean", "last", "largest", "smallest", "slope", "deviation"):
        none = value(Made(bed_mass=np.full(len(TIME), np.nan)), **BED, statistic=statistic)
        assert math.isnan(none.value)
        assert "no number" in none.remarks[0]
        assert math.isfinite(value(Made(bed_mass=gaps), **BED, statistic=statistic).value)


def test_the_velocity_in_an_empty_sensor_is_none():
    """The sensor `box` of the case has a mean velocity of 0 where it has no particle."""
    count = np.where(TIME < 1.0, 0, 5)
    results = Made(box_count=count, box_velocity_z=np.where(TIME < 1.0, 0.0, -2.0))
    found = value(results, kind="column", column="box_velocity_z")
    assert found.value == pytest.approx(-2.0)
    assert "lines left out" in found.remarks[0]


@given(st.lists(st.floats(0.01, 1.0), min_size=3, max_size=30))
def test_means_and_deviations_do_not_depend_on_how_lines_are_spaced(gaps):
    """Those of a sine over whole periods, with lines that are unevenly far apart, more of them where it is high."""
    time = np.unique(np.concatenate((np.linspace(0.0, 2.0, 401), np.cumsum(gaps) % 0.5)))
    results = Made(time=time, bed_mass=2.0 + np.sin(2.0 * np.pi * time))
    assert value(results, **BED).value == pytest.approx(2.0, abs=1e-3)
    assert value(results, **BED, statistic="deviation").value == pytest.approx(math.sqrt(0.5), abs=1e-3)


def test_windows_that_reach_beyond_the_run_are_told():
    results = Made(bed_mass=TIME)
    assert remarks(results, **BED, end=3.0) == ["cut short"]
    assert remarks(results, **BED, end=2.0) == []
    assert remarks(results, **BED, stage="filling", end=1.0) == ["cut short"]
    assert remarks(results, **BED, start=1.99) == ["too few lines"]
    with pytest.raises(InputError, match="no line in the window"):
        value(results, **BED, start=2.5)
    with pytest.raises(Exception, match="needs start below end"):
        section(**BED, start=1.0, end=0.5)
    with pytest.raises(Exception, match="must rise"):
        section(**RATE, shares=[0.8, 0.2])


def test_a_function_that_returns_no_number_is_told():
    from pdem.sweeps.measures import measured

    found = measured("m", lambda results: ("kg", math.nan), None)["m"]
    assert math.isnan(found.value)
    assert "no number" in found.remarks[0]


def test_a_measure_of_a_single_run(tmp_path, monkeypatch):
    """`pdem.measure` takes a folder or results, and refuses what a sweep refuses."""
    results = Made(bed_mass=TIME)
    monkeypatch.setattr("pdem.sweeps.measure.Results", Made)
    assert pdem.measure(results, "column", column="bed_mass", statistic="slope").value == pytest.approx(1.0)
    for kind, keys, text in (
        ("colum", {}, 'measures.measure.kind = "colum": must be one of'),
        ("column", {"colum": "bed_mass"}, "did you mean 'column'"),
        ("torque", {"wall": "blde"}, "did you mean 'blade'"),
    ):
        with pytest.raises(CaseError, match=text):
            pdem.measure(results, kind, **keys)
