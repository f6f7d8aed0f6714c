"""Designs of sweeps, what their files may say, and values as TOML."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import qmc

import pdem
from helpers.folders import CASE
from pdem.cli import main
from pdem.foundation.errors import CaseError
from pdem.sweeps.calibration import check_calibration
from pdem.sweeps.design import points_of, share_of, value_at
from pdem.sweeps.examples import study_command, study_names, study_roots, study_text, study_title
from pdem.sweeps.jobs import toml_value
from pdem.sweeps.sections import SweepPlan, Varied, plan_of_document, text_of_plan
from pdem.sweeps.setup import jobs_of_setup, read_setup

FRICTION = "interactions.grain-grain.friction"


def plan_of(**keys):
    return plan_of_document(SweepPlan, {"case": "case.toml", "folder": "out", **keys}, "sweep.toml")


def points(**keys):
    return points_of(plan_of(**keys), pdem.Case.from_text(CASE))


def test_a_grid_has_all_combinations_in_order():
    found = points(vary={"a": {"values": [1, 2]}, "b": {"min": 0.1, "max": 10.0, "count": 3, "scale": "log"}})
    assert [(one["a"], pytest.approx(one["b"])) for one in found] == [
        (1, 0.1), (1, 1.0), (1, 10.0), (2, 0.1), (2, 1.0), (2, 10.0),
    ]  # fmt: skip


def test_a_latin_hypercube_has_one_point_in_each_slice():
    found = points(
        vary={"a": {"min": 2.0, "max": 4.0}, "b": {"values": ["x", "y"]}}, design="latin-hypercube", points=8
    )
    slices = np.floor((np.array([one["a"] for one in found]) - 2.0) / 2.0 * 8).astype(int)
    assert sorted(slices.tolist()) == list(range(8))
    assert sorted(one["b"] for one in found) == ["x"] * 4 + ["y"] * 4
    again = points(
        vary={"a": {"min": 2.0, "max": 4.0}, "b": {"values": ["x", "y"]}}, design="latin-hypercube", points=8
    )
    assert again == found
    other = points(vary={"a": {"min": 2.0, "max": 4.0}}, design="latin-hypercube", points=8, seed=1)
    assert [one["a"] for one in other] != [one["a"] for one in found]


def test_sobol_fills_space_evenly():
    found = points(vary={name: {"min": 0.0, "max": 1.0} for name in "abc"}, design="sobol", points=64)
    sample = np.array([[one[name] for name in "abc"] for one in found])
    random = np.random.default_rng(0).random(sample.shape)
    assert qmc.discrepancy(sample) < 0.2 * qmc.discrepancy(random)


def test_whole_numbers_stay_whole_where_the_case_has_one():
    vary = {
        "kept": {"key": "output.checkpoints_kept", "min": 2, "max": 9, "count": 4},
        "radius": {"key": "particles[0].radius", "min": 1, "max": 2, "count": 2},
    }
    found = points(vary=vary)
    assert [type(one["kept"]) for one in found] == [int] * 8
    assert sorted({one["kept"] for one in found}) == [2, 4, 7, 9]
    assert all(isinstance(one["radius"], float) for one in found)


@given(st.floats(0.0, 1.0), st.sampled_from(["linear", "log"]))
def test_shares_and_values_of_a_range_belong_together(share, scale):
    varied = Varied(min=1e-3, max=50.0, scale=scale)
    value = value_at(varied, share)
    assert 1e-3 <= value <= 50.0
    assert share_of(varied, value) == pytest.approx(share, abs=1e-9)


TABLES = st.recursive(
    st.none().map(lambda _: 0) | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(TABLES)
def test_values_written_as_toml_are_read_back(value):
    assert tomllib.loads(f"value = {toml_value(value)}")["value"] == value


def test_values_of_numpy_are_written_as_numbers():
    assert toml_value({"a": np.float64(0.1), "b": np.arange(3)}) == "{a = 0.1, b = [0, 1, 2]}"
    with pytest.raises(TypeError, match="TOML does not have"):
        toml_value(1j)


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ({"vary": {"a": {}}}, "needs either values, or min and max"),
        ({"vary": {"a": {"values": [1], "min": 0.0, "max": 1.0}}}, "needs either values, or min and max"),
        ({"vary": {"a": {"min": 0.0}}}, "needs either values, or min and max"),
        ({"vary": {"a": {"min": 1.0, "max": 1.0, "count": 2}}}, "needs min below max"),
        ({"vary": {"a": {"min": 0.0, "max": 1.0, "count": 2, "scale": "log"}}}, 'needs min above 0 with scale = "log"'),
        ({"vary": {"a": {"key": "b", "keys": ["c"], "values": [1]}}}, "has both key and keys"),
        ({"vary": {"a": {"min": 0.0, "max": 1.0}}}, "a is a range without count"),
        ({"vary": {"a": {"vaules": [1]}}}, "did you mean 'values'"),
        ({"design": "sobol", "vary": {}}, "needs points"),
        ({"design": "sobol", "points": 12}, "power of 2"),
        ({"points": 4}, "a grid does not take"),
        ({"design": "gird"}, "design"),
        ({"replicas": 0}, "must be at least 1"),
        ({"measures": {"m": {"kind": "discharge-rat", "sensor": "s"}}}, "measures.m.kind ="),
        ({"measures": {"m": {"kind": "discharge-rate"}}}, "measures.m.sensor"),
        ({"measures": {"m": {"kind": "python:laws.py"}}}, "measures.m"),
        ({"measures": {"m": {"kind": "torque", "wall": "w", "axis": [0, 0]}}}, "axis"),
        ({"mesures": {}}, "did you mean 'measures'"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_file_is_said(keys, text):
    with pytest.raises(CaseError) as error:
        plan_of(**keys)
    assert "sweep.toml: " in str(error.value)
    assert text in str(error.value), str(error.value)


def test_too_many_runs_are_refused():
    with pytest.raises(CaseError, match="more than 100000 runs"):
        points(vary={name: {"min": 0.0, "max": 1.0, "count": 1000} for name in "ab"})


def test_a_plan_is_written_and_read():
    plan = plan_of(vary={FRICTION: {"values": [0.1, 0.2]}}, replicas=3, measures={"m": {"kind": "power", "wall": "w"}})
    assert plan_of_document(SweepPlan, tomllib.loads(text_of_plan(plan)), "again") == plan


@pytest.mark.parametrize("name", study_names())
def test_every_example_is_written_with_its_case_and_checked(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["new", name, "--folder", "files"])
    assert f"next: pdem {study_command(name)} files/{name}.toml" in result.output
    assert study_title(name) in CliRunner().invoke(main, ["new", "--list"]).output
    assert tomllib.loads(study_text(name))["folder"] == f"results/{name}"
    setup = read_setup(study_roots()[study_command(name)].model, Path("files") / f"{name}.toml")
    jobs, names = jobs_of_setup(setup)
    assert len(names) == len(setup.runs) <= len(jobs)
    if study_command(name) == "calibrate":
        check_calibration(setup)


def test_keys_are_explained():
    def explained(key):
        return CliRunner().invoke(main, ["explain", key]).output

    assert "explain sweep" in explained("")
    assert "replicas" in explained("sweep")
    text = explained("sweep.vary.count")
    assert "Number of values that a grid takes from the range." in text
    assert "example, of pdem new repose_sweep:\n  count = 2" in text
    assert 'kind = "discharge-rate"' in explained("sweep.measures")
    assert "did you mean 'replicas'" in explained("sweep.replica")
