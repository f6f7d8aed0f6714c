"""Calibrations of a grain that bounces: known values and errors, what is told, stopped and gone on with."""

from __future__ import annotations

import csv
import math
import os
import re
import signal
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import pdem
from helpers.folders import CASE, PLATE
from pdem.cli import main
from pdem.foundation.errors import CaseError, InputError, Interrupted
from pdem.run.simulation import Simulation
from pdem.sweeps.calibration import _untaken
from pdem.sweeps.calibration_result import rounded
from pdem.sweeps.sections import CalibrationPlan, plan_of_document

pytestmark = pytest.mark.compiles

FRICTION, RESTITUTION = "interactions.grain-grain.friction", "interactions.grain-grain.restitution"
FALL = (
    "particles=[{material='grain', radius=0.01, positions=[[0, 0, 0.01001]], velocity=[2, 0, -0.5]}]", "time.end=0.004",
    "output={folder='out', snapshots_every=0.004, checkpoint_every=0.004, series_every=0.004}",
    "domain.gravity=[0, 0, 0]",
)  # fmt: skip
RANGES = {FRICTION: {"min": 0.05, "max": 0.6, "start": 0.5}, RESTITUTION: {"min": 0.2, "max": 0.9, "scale": "log"}}
TARGETS = {"upward": (0.3, 0.01), "slowed": (0.2, 0.02)}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("plate.stl").write_text(PLATE)
    Path("grain.toml").write_text(CASE)
    return tmp_path


def leaves(results):
    """Return velocities after the impact."""
    along, _, upward = results[-1].velocity[0]
    return {"upward": ("m/s", upward), "slowed": ("m/s", 2.0 - along)}


def calibrated(targets, **more):
    return pdem.calibrate(
        "grain.toml", RANGES, targets, {"own": leaves}, folder="fit", settings=FALL, threads=1, **more
    )


def written():
    """Return the runs that have been computed, and when."""
    return {path: path.stat().st_mtime_ns for path in Path("fit/runs").glob("*.json")}


def test_friction_and_restitution_of_a_bounce_are_found(folder):
    """An impact that slides all through: upward = e v, slowed = friction (1 + e) v, with v = 0.5 m/s."""
    found = calibrated(TARGETS)
    assert found.converged
    assert found.is_precise
    assert found[RESTITUTION] == pytest.approx(0.6, abs=0.003)
    assert found[FRICTION] == pytest.approx(0.25, abs=0.003)
    errors = [one.error for one in found.parameters]
    by_restitution = -0.25 / 1.6 * 0.01 / 0.5
    expected = [math.hypot(0.02 / (1.6 * 0.5), by_restitution), 0.01 / 0.5]
    assert errors == pytest.approx(expected, rel=0.1)
    for one, half, value in zip(found.parameters, expected, (0.25, 0.6), strict=True):
        for ((low, high),), many in ((one.likely, 1.0), (one.very_likely, 2.0)):
            assert (low, high) == pytest.approx((value - many * half, value + many * half), abs=0.35 * half)
    assert found.correlations[0, 1] == pytest.approx(by_restitution / expected[0], abs=0.08)
    assert found.correlations[0, 0] == pytest.approx(1.0)
    assert found.slopes[0] == pytest.approx([0.0, 0.5], abs=0.02)
    assert [one.found for one in found.matches] == pytest.approx([0.3, 0.2], abs=1e-3)
    assert all(one.scatter < 2e-3 for one in found.matches), "there is no chance in it"
    assert len(found.table.rows) <= 18
    _files_hold_it(found)
    before = written()
    again = calibrated(TARGETS)
    assert str(again) == str(found)
    assert written() == before, "nothing anew"
    other = calibrated({"upward": (0.25, 0.01), "slowed": (0.3, 0.02)})
    assert other[RESTITUTION] == pytest.approx(0.5, abs=0.005)
    assert written().items() >= before.items()
    assert len(written()) <= len(before) + 6, "a new target begins with all runs"


def _files_hold_it(found):
    page = Path("fit/report.md").read_text()
    for file in re.findall(r"!\[.*\]\((.*)\)", page):
        assert (found.folder / file).stat().st_size > 10_000
    assert {"fit.png", "parameters.png", "table.csv", "parameters.csv"} <= {
        path.name for path in found.folder.iterdir()
    }
    rows = list(csv.DictReader(Path("fit/parameters.csv").read_text().splitlines()))
    assert [float(row["value"]) for row in rows] == [one.value for one in found.parameters]
    assert float(rows[0]["68 % from"]) == found.parameters[0].likely[0][0]
    assert float(rows[0][f"correlation with {RESTITUTION}"]) == found.correlations[0, 1]
    assert "reached: all targets are met within their errors" in str(found)
    assert "* reached: all targets" in page
    assert re.search(r"friction +0\.2\d\d \+- 0\.02\d ", str(found)), "two digits of the error, and no more"


class _StopInRun:
    """Stops the n-th run in its middle, as by a signal of the batch system."""

    def __init__(self, monkeypatch, number):
        self.runs, advance = 0, Simulation.advance

        def advance_or_stop(simulation, steps, **more):
            if simulation.step == 0:
                self.runs += 1
                if self.runs == number:
                    os.kill(os.getpid(), signal.SIGTERM)
            return advance(simulation, steps, **more)

        monkeypatch.setattr(Simulation, "advance", advance_or_stop)


@pytest.mark.parametrize("number", [2, 7])
def test_a_calibration_that_is_stopped_goes_on(folder, monkeypatch, number):
    """In the scan, and in a step after it."""

    def one(name):
        ranges = {RESTITUTION: {"min": 0.2, "max": 0.9}}
        return pdem.calibrate(
            "grain.toml", ranges, {"upward": (0.3, 0.01)}, {"own": leaves}, folder=name, settings=FALL, threads=1
        )

    whole = one("whole")
    with monkeypatch.context() as context:
        _StopInRun(context, number)
        with pytest.raises(Interrupted, match="the same command again continues"):
            one("fit")
    before = written()
    assert len(before) == number - 1
    again = one("fit")
    assert written().items() >= before.items()
    assert len(written()) <= len(whole.table.rows) + 2
    assert again[RESTITUTION] == pytest.approx(whole[RESTITUTION], abs=0.005)


def test_targets_out_of_reach_are_called_so(folder):
    found = pdem.calibrate(
        "grain.toml", {RESTITUTION: {"min": 0.3, "max": 0.5, "start": 0.45}}, {"upward": (0.4, 0.001)},
        {"own": leaves}, settings=FALL, folder="fit", threads=1,
    )  # fmt: skip
    assert not found.is_reached
    assert not found.converged
    assert found[RESTITUTION] == pytest.approx(0.5, abs=0.01)
    text = str(found)
    assert re.search(r"NOT reached: upward: the nearest is 0\.2\d+ \+- \S+, wanted 0\.4 \+- 0\.001 m/s, \d+", text)
    assert f"tried: {RESTITUTION} from 0.3 to 0.5" in text
    assert "widen the range" in text
    assert "* NOT reached" in Path("fit/report.md").read_text()
    assert len(found.table.rows) <= 11, "no more is run when it cannot be reached"


def test_chance_is_told_and_what_it_hides(folder):
    """A number that is another one for each radius, whatever the restitution: runs differ by 3.0."""
    found = pdem.calibrate(
        "grain.toml", {RESTITUTION: {"min": 0.3, "max": 0.5}}, {"other": (0.0, 1.0)}, {"other": _scattered},
        settings=FALL, folder="fit", threads=1, replicas=2, perturbation=1e-6, runs=16,
    )  # fmt: skip
    assert found.matches[0].scatter == pytest.approx(3.0, rel=0.5)
    assert not found.converged
    assert "NOT known" in str(found)
    assert "chance hides" in str(found)
    assert found.needed > len(found.table.rows) == 14
    assert f"about {found.needed} runs in place of 14 would make it so (runs = {found.needed})" in str(found)


def _scattered(results):
    """Return a number that is another one for each radius and restitution."""
    numbers = [results[-1].radius[0], results[-1].velocity[0, 2]]
    return 3.0 * np.random.default_rng(np.array(numbers).view(np.int64)).normal()


def test_points_without_a_number_are_told_and_left_out(folder):
    def sometimes(results):
        upward = results[-1].velocity[0, 2]
        return {"upward": ("m/s", upward if upward > 0.17 else math.nan)}

    found = pdem.calibrate(
        "grain.toml", {RESTITUTION: {"min": 0.1, "max": 0.9}}, {"upward": (0.3, 0.01)}, {"own": sometimes},
        settings=FALL, folder="fit", threads=1,
    )  # fmt: skip
    assert found.converged
    assert found[RESTITUTION] == pytest.approx(0.6, abs=0.005)
    page = Path("fit/report.md").read_text()
    assert "| none |" in page
    assert "no number: the function returned nan for upward" in page
    with pytest.raises(
        InputError, match=r"target upward has no number at 5 of 5 points, as at .* = 0\.5 .*returned nan"
    ):
        pdem.calibrate(
            "grain.toml", {RESTITUTION: {"min": 0.1, "max": 0.9}}, {"upward": (0.3, 0.01)},
            {"own": lambda results: {"upward": ("m/s", math.nan)}}, settings=FALL, folder="none", threads=1,
        )  # fmt: skip


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (24.5258, 0.6, "24.53"), (0.3247, 0.0064, "0.3247"), (0.3247, 0.25, "0.32"), (123456.0, 2300.0, "123500"),
        (0.0, 0.01, "0.000"), (2.5e-7, 1.3e-9, "2.500e-07"), (0.25, math.inf, "0.25"), (1234.5, 150.0, "1230"),
    ],
)  # fmt: skip
def test_no_number_has_digits_beyond_its_error(value, error, text):
    assert rounded(value, error) == text


FILE = """
case = "grain.toml"
folder = "out"
settings = ["time.end=0.0005", "particles.0.velocity=[0.5, 0.0, -0.5]"]
[vary.friction]
key = "interactions.grain-grain.friction"
min = 0.05
max = 0.6
[measures.energy]
kind = "column"
column = "translation"
statistic = "last"
[targets.energy]
value = 1e-3
uncertainty = 1e-5
"""


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("max = 0.6", "", "needs either values, or min and max"),
        ("min = 0.05\nmax = 0.6", "values = [0.1]", "a calibration needs min and max"),
        ("uncertainty = 1e-5", "uncertainty = 0.0", "greater than 0"),
        ("[targets.energy]", "[targets.enrgy]", "did you mean 'energy'"),
        ("friction\"", "frction\"", "did you mean 'friction'"),
        ("min = 0.05", "min = -0.05", "vary.friction: "),
        ("[targets.energy]\nvalue = 1e-3\nuncertainty = 1e-5", "", "has 0 targets for 1 quantities"),
        ('column = "translation"', 'column = "rotations"', "did you mean 'rotation'"),
        ('"last"', '"last"\nstart = 1.0', "target energy has no number at friction = "),
        ('folder = "out"', 'folder = "out"\nruns = 4', "the scan of the ranges alone takes 5"),
        ('folder = "out"', 'folder = "out"\niterations = 4', "iterations"),
        ("grain.toml", "grin.toml", "no such case file"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_before_much_is_run(folder, old, new, text):
    assert old in FILE
    Path("fit.toml").write_text(FILE.replace(old, new))
    result = CliRunner().invoke(main, ["calibrate", "fit.toml", "--quiet", "--threads", "1"])
    assert result.exit_code == 2
    assert text in result.stderr, result.stderr
    assert result.stderr.count("pdem: error") == 1
    assert len(list(Path().glob("out/runs/*.json"))) <= 2


def test_commands_calibrate_from_a_file_and_go_on_with_its_folder(folder):
    """With the exit code 1 if the target is not reached, and 0 if it is."""
    Path("fit.toml").write_text(FILE.replace('key = "', 'start = 0.1\nkey = "'))
    words = ["--quiet", "--threads", "1"]
    first = CliRunner().invoke(main, ["calibrate", "fit.toml", *words])
    assert first.exit_code == 1, first.output
    assert "NOT reached: energy: the nearest is" in first.stdout
    again = CliRunner().invoke(main, ["calibrate", "out", *words])
    assert (again.exit_code, again.stdout) == (1, first.stdout)
    energies = [float(row["energy [J]"]) for row in csv.DictReader(Path("out/table.csv").read_text().splitlines())]
    near = 0.3 * max(energies) + 0.7 * min(energies)
    Path("near.toml").write_text(FILE.replace("1e-3\nuncertainty = 1e-5", f"{near}\nuncertainty = {0.05 * near}"))
    done = CliRunner().invoke(main, ["calibrate", "near.toml", "--threads", "1"])
    assert done.exit_code == 0, done.output
    assert "reached: the target is met within its error" in done.stdout
    assert "at most 21 in all (runs)" in done.stderr
    assert CliRunner().invoke(main, ["calibrate", "out/runs"]).exit_code == 2


def test_scripts_give_targets_as_pairs(folder):
    for wrong, text in ((0.3, "give \\(value, uncertainty\\)"), ((0.3, -1.0), "greater than 0")):
        with pytest.raises((InputError, CaseError), match=text):
            calibrated({"upward": wrong, "slowed": (0.2, 0.02)})
    with pytest.raises(CaseError, match="runs"):
        plan_of_document(CalibrationPlan, {"case": "a", "folder": "b", "runs": 0}, "fit.toml")


def test_a_point_that_is_there_is_not_run_again():
    """Next to it there is another one, as near as values are rounded."""
    document = {
        "case": "a", "folder": "b",
        "vary": {"x": {"min": 1.0, "max": 3.0}, "y": {"min": 1.0, "max": 100.0, "scale": "log"}},
        "targets": {"p": {"value": 1.0, "uncertainty": 1.0}, "q": {"value": 1.0, "uncertainty": 1.0}},
    }  # fmt: skip
    plan, taken = plan_of_document(CalibrationPlan, document, "fit.toml"), set()
    for location in ([0.3, 0.4], [0.0, 0.0], [1.0, 1.0]):
        for _ in range(5):
            point = _untaken(plan, np.array(location), np.full(2, 1e-4), taken)
            assert abs((point["x"] - 1.0) / 2.0 - location[0]) < 2e-3
            assert abs(math.log10(point["y"]) / 2.0 - location[1]) < 2e-3
            taken.add(tuple(point.values()))
    assert len(taken) == 15
