"""Measures of sweeps on made-up results: exact numbers of rates, times, torques, slopes."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

import pdem
from helpers.everything import case_in
from helpers.made_results import TIME, Made, section, value
from pdem.foundation.errors import CaseError, InputError
from pdem.sweeps.measure_checks import check_measures
from pdem.sweeps.measures import measured


def test_the_rate_of_discharge_is_that_of_the_steady_part():
    """Begin and end of the flow do not count."""
    passed = np.interp(TIME, [0.0, 0.5, 0.7, 1.5, 1.9, 2.0], [0.0, 0.0, 0.05, 0.85, 1.0, 1.0])
    results = Made(out_passed=passed)
    found = value(results, kind="discharge-rate", sensor="out")
    assert found == ("kg/s", pytest.approx(1.0, rel=1e-9), (), False)
    whole = value(results, kind="discharge-rate", sensor="out", shares=[0.0, 1.0])
    assert whole.value < 0.8
    early = value(results, kind="discharge-rate", sensor="out", end=0.4)
    assert early.value == 0.0
    assert "no flow" in early.remarks[0]
    with pytest.raises(InputError, match=r"no column in_passed or in_removed"):
        value(results, kind="discharge-rate", sensor="in")


def test_the_time_of_mixing_counts_from_the_begin_of_the_window():
    results = Made(bed_lacey=np.where(TIME < 0.5, np.nan, 1.0 - np.exp(-(TIME - 0.5) / 0.2)))
    exact = -0.2 * math.log(0.1)
    found = value(results, kind="mixing-time", sensor="bed", stage="turning")
    assert found.value == pytest.approx(exact - 0.01, abs=1e-3), "the first line of the stage is a line later"
    half = value(results, kind="mixing-time", sensor="bed", level=0.5, start=0.5)
    assert half.value == pytest.approx(0.2 * math.log(2.0), abs=1e-3)
    assert math.isnan(value(results, kind="mixing-time", sensor="bed", level=0.9999).value)


def test_torque_and_power_are_means_of_the_last_half():
    case = case_in("unused")
    results = Made(
        blade_torque_x=0.0 * TIME, blade_torque_y=3.0 + 0.0 * TIME, blade_torque_z=-TIME, blade_power=TIME**2
    )
    results.case = case
    assert value(results, kind="torque", wall="blade")[:2] == ("N m", pytest.approx(1.5)), "against the particles"
    assert value(results, kind="torque", wall="blade", start=0.0).value == pytest.approx(1.0)
    assert value(results, kind="torque", wall="blade", axis=[0.0, 2.0, 0.0]).value == pytest.approx(-3.0)
    assert value(results, kind="power", wall="blade").value == pytest.approx((8.0 - 1.0) / 3.0, rel=1e-3)
    with pytest.raises(InputError, match="no wall"):
        value(results, kind="power", wall="blades")


def test_without_an_axis_the_torque_is_the_length_of_its_mean():
    results = Made(gate_torque_x=3.0 + 0.0 * TIME, gate_torque_y=-4.0 + 0.0 * TIME, gate_torque_z=0.0 * TIME)
    results.case = case_in("unused")
    assert value(results, kind="torque", wall="gate").value == pytest.approx(5.0)


def test_numbers_of_columns():
    results = Made(bed_mass=TIME**2)
    expected = {"last": 4.0, "largest": 4.0, "smallest": 0.0, "mean": 4.0 / 3.0, "slope": 2.0}
    for statistic, number in expected.items():
        found = value(results, kind="column", column="bed_mass", statistic=statistic)
        assert found.value == pytest.approx(number, rel=1e-3, abs=1e-12)
        assert found.unit == ("kg/s" if statistic == "slope" else "kg")
    with pytest.raises(InputError, match="did you mean 'bed_mass'"):
        value(results, kind="column", column="bed_mas")
    with pytest.raises(InputError, match="no line in the window"):
        value(results, kind="column", column="bed_mass", start=5.0)


def test_own_functions_return_numbers_in_several_ways():
    results = SimpleNamespace()
    assert measured("m", lambda results: 3, results) == {"m": ("1", 3.0, (), False)}
    assert measured("m", lambda results: ("kg", np.float64(2.0)), results) == {"m": ("kg", 2.0, (), False)}
    both = measured("m", lambda results: {"a": 1.0, "b": ("s", 2.0)}, results)
    assert both == {"a": ("1", 1.0, (), False), "b": ("s", 2.0, (), False)}
    with pytest.raises(InputError, match="measure m: ZeroDivisionError"):
        measured("m", lambda results: 1 / 0, results)
    with pytest.raises(InputError, match="return a number"):
        measured("m", lambda results: "many", results)


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ({"kind": "discharge-rate", "sensor": "outlets"}, "did you mean 'outlet'"),
        ({"kind": "discharge-rate", "sensor": "box"}, "that counts what passes"),
        ({"kind": "mixing-time", "sensor": "box"}, "sensor with mixing of this name; it has none"),
        ({"kind": "torque", "wall": "blde"}, "did you mean 'blade'"),
        ({"kind": "power", "wall": "blade", "stage": "truning"}, "did you mean 'turning'"),
        ({"kind": "python:none.py:f"}, "none.py"),
    ],
)
def test_what_is_not_there_is_found_before_any_run(tmp_path, keys, text):
    with pytest.raises(CaseError, match="(?s)" + text):
        check_measures({"m": section(**keys)}, case_in("unused"))


def test_a_function_in_a_file_beside_the_case(tmp_path):
    (tmp_path / "own.py").write_text("def twice(results):\n    return 2 * results.number\n")
    case = pdem.Case.from_text(case_in("unused").to_toml(), tmp_path)
    results = SimpleNamespace(case=case, number=4)
    assert value(results, kind="python:own.py:twice").value == 8.0
    with pytest.raises(CaseError, match="did you mean 'twice'"):
        value(results, kind="python:own.py:twise")
