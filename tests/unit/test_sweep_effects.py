"""Main effects beside chance: against SciPy's analysis of variance, on made-up measurements with known effects."""

from __future__ import annotations

import csv
import itertools
import math

import numpy as np
import pytest
from scipy.stats import f_oneway, kstest

from pdem.foundation.errors import InputError
from pdem.sweeps.effects import analysed
from pdem.sweeps.report import summary, write_report
from pdem.sweeps.table import RunTable, SweepRow, spread

GRID = [{"a": a, "b": b} for a, b in itertools.product([0.1, 0.2, 0.3], ["x", "y"])]


def measured(truth, chance, replicas, seed=0, points=GRID):
    random = np.random.default_rng(seed)
    return [[truth(one) + chance * random.normal() for _ in range(replicas)] for one in points]


def by_name(analysis):
    return {one.name: one for one in analysis.effects}


def test_one_quantity_is_the_analysis_of_variance_of_scipy():
    points = [{"a": a} for a in (1.0, 2.0, 4.0)]
    values = measured(lambda one: one["a"], 2.0, 7, points=points)
    found = by_name(analysed("m", "s", points, values))["a"]
    assert found.probability == pytest.approx(f_oneway(*values).pvalue, rel=1e-9)
    means = [np.mean(some) for some in values]
    assert found.size == pytest.approx(max(means) - min(means))


def test_effects_are_told_from_chance():
    values = measured(lambda one: 5.0 * one["a"] + 0.001 * (one["b"] == "y"), 0.05, 4)
    analysis = analysed("m", "s", GRID, values)
    found = by_name(analysis)
    assert found["a"].is_larger
    assert not found["b"].is_larger
    assert not found[""].is_larger
    assert found["a"].size == pytest.approx(1.0, abs=4 * found["a"].error)
    assert analysis.chance == pytest.approx(0.05, rel=0.4)
    assert analysis.freedom == 18


def test_what_effects_of_single_quantities_do_not_explain_is_said():
    values = measured(lambda one: one["a"] * (1.0 if one["b"] == "x" else -1.0), 0.001, 3)
    assert by_name(analysed("m", "s", GRID, values))[""].is_larger


def test_without_repetitions_nothing_is_known():
    analysis = analysed("m", "s", GRID, measured(lambda one: one["a"], 0.0, 1))
    assert math.isnan(analysis.chance)
    assert {one.is_larger for one in analysis.effects} == {None}
    assert "give replicas" in analysis.effects[0].verdict()


def test_what_chance_does_not_change_at_all():
    """Repetitions with the same bits: every effect is larger, and none is none."""
    values = [[3.0 + one["a"]] * 2 for one in GRID]
    found = by_name(analysed("m", "s", GRID, values))
    assert found["a"].is_larger
    assert found["a"].size == pytest.approx(0.2)
    assert not found["b"].is_larger
    assert not found[""].is_larger


def test_many_values_are_a_parabola():
    points = [{"a": a, "b": b} for a, b in np.random.default_rng(3).random((40, 2)).tolist()]
    values = measured(lambda one: 4.0 * (one["a"] - 0.5) ** 2, 0.01, 3, points=points)
    found = by_name(analysed("m", "s", points, values))
    assert found["a"].size == pytest.approx(1.0, rel=0.1)
    assert found["a"].is_larger
    assert not found["b"].is_larger


def test_probabilities_without_effect_are_uniform():
    found = [
        by_name(analysed("m", "1", GRID, measured(lambda one: 1.0, 1.0, 3, seed)))["a"].probability
        for seed in range(200)
    ]
    assert kstest(found, "uniform").pvalue > 1e-3


def test_runs_without_a_value_do_not_count():
    values = measured(lambda one: one["a"], 0.0, 2)
    values[0] = [math.nan, values[0][1]]
    values[1] = [math.nan, math.inf]
    analysis = analysed("m", "s", GRID, values)
    assert analysis.freedom == 4
    assert analysed("m", "s", GRID[:2], [[1.0], [math.nan]]) is None


def table():
    values = measured(lambda one: 5.0 * one["a"], 0.01, 2)
    rows = [
        SweepRow(point, replica, one, f"runs/{point}{replica}", "finished", "", {"rate": values[point][replica]})
        for point, one in enumerate(GRID)
        for replica in range(2)
    ]
    rows[3] = SweepRow(1, 1, GRID[1], "runs/x", "failed", "step 5: it blew up\nmore", {})
    return RunTable(tuple(rows), {"rate": "kg/s"})


def test_tables_and_report_hold_all(tmp_path):
    found = table()
    found.write(tmp_path)
    with (tmp_path / "table.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 12
    assert [float(row["rate [kg/s]"]) for row in rows] == pytest.approx(found.column("rate"), nan_ok=True)
    assert rows[3]["state"] == "failed"
    with (tmp_path / "points.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["runs"] for row in rows] == ["2", "1", "2", "2", "2", "2"]
    assert float(rows[0]["rate error [kg/s]"]) == pytest.approx(spread(found.at_points("rate")[0])[2])
    with (tmp_path / "effects.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["quantity"] for row in rows] == ["a", "b", "rest"]
    paths = write_report(found, tmp_path, "A sweep")
    page = (tmp_path / "report.md").read_text()
    assert "| a | 1" in page or "| a | 0.99" in page
    assert "larger than chance" in page
    assert "step 5: it blew up more" in page
    assert [path.name for path in paths] == ["report.md", "effects.png"]
    assert "12 runs: 11 finished, 1 failed" in summary(found)
    (tmp_path / "effects.png").unlink()
    (tmp_path / "effects.png").mkdir()
    with pytest.raises(InputError, match=r"effects.png: cannot be written"):
        write_report(found, tmp_path, "A sweep")


def test_remarks_and_details_of_measures_are_told_where_they_belong(tmp_path):
    """Details stand in the table of runs alone; remarks there, in the report, and one of each kind in the terminal."""
    doubt = {"angle": ("flat top: out to 25 of 61 mm; give more grains",)}
    none = {"angle": ("no heap: level",)}
    rows = [
        SweepRow(0, 0, GRID[0], "runs/a", "finished", "", {"angle": 20.0, "angle_error": 0.5}, doubt),
        SweepRow(0, 1, GRID[0], "runs/b", "finished", "", {"angle": 21.0, "angle_error": 0.6}, doubt),
        SweepRow(1, 0, GRID[2], "runs/c", "finished", "", {"angle": 30.0, "angle_error": 0.7}),
        SweepRow(1, 1, GRID[2], "runs/d", "finished", "", {"angle": math.nan, "angle_error": math.nan}, none),
    ]
    found = RunTable(tuple(rows), {"angle": "deg"}, (), {"angle_error": "deg"})
    assert [one.measure for one in found.analyses] == ["angle"]
    assert found.column("angle_error")[2] == 0.7
    text = summary(found)
    assert "angle_error" not in text
    assert "remark: angle: flat top in 2 of 4 runs; point 0: out to 25 of 61 mm; give more grains" in text
    assert "remark: angle: no heap in 1 of 4 runs; point 1, replica 1: level" in text
    found.write(tmp_path)
    with (tmp_path / "table.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert [line["angle_error [deg]"] for line in lines] == ["0.5", "0.6", "0.7", "nan"]
    assert lines[3]["remarks"] == "angle: no heap: level"
    write_report(found, tmp_path, "A sweep")
    page = (tmp_path / "report.md").read_text()
    assert "* `runs/d` (point 1, replica 1), angle: no heap: level" in page


def test_values_at_which_nothing_could_be_measured_are_drawn_without_a_mean(tmp_path):
    """No heap at all with a = 0.1, whatever b is: pictures are drawn all the same, without a warning."""
    rows = [
        SweepRow(
            number,
            0,
            one,
            f"runs/{number}",
            "finished",
            "",
            {"angle": math.nan if one["a"] == 0.1 else 20.0 + one["a"]},
        )
        for number, one in enumerate(GRID)
    ]
    found = RunTable(tuple(rows), {"angle": "deg"})
    assert (tmp_path / "effects.png") in write_report(found, tmp_path, "A sweep")


def test_a_report_needs_no_plots(tmp_path, monkeypatch):
    monkeypatch.setattr("pdem.sweeps.report.can_draw", lambda: False)
    assert [path.name for path in write_report(table(), tmp_path, "A sweep")] == ["report.md"]
