"""Calibrations: least squares on made-up functions with known answers and errors, and on a grain that bounces."""

from __future__ import annotations

import csv
import math
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from folders import CASE, PLATE

import pdem
from pdem.cli import main
from pdem.foundation.errors import CaseError, InputError
from pdem.sweeps.least_squares import covariance_of, minimise
from pdem.sweeps.sections import CalibrationPlan, plan_of_document

pytestmark = pytest.mark.compiles

FRICTION, RESTITUTION = "interactions.grain-grain.friction", "interactions.grain-grain.restitution"
FALL = (
    "particles=[{material='grain', radius=0.01, positions=[[0, 0, 0.01001]], velocity=[2, 0, -0.5]}]", "time.end=0.004",
    "output={folder='out', fields_every=0.004, checkpoint_every=0.004, series_every=0.004}", "domain.gravity=[0, 0, 0]",
)  # fmt: skip
RANGES = {
    FRICTION: {"min": 0.05, "max": 0.6, "start": 0.5},
    RESTITUTION: {"min": 0.2, "max": 0.9, "scale": "log"},
}


def test_a_curved_valley_has_its_bottom_where_it_is():
    def rosenbrock(places):
        x, y = (4.0 * np.array(places) - 2.0).T
        return np.column_stack((10.0 * (y - x**2), 1.0 - x))

    found = minimise(rosenbrock, np.array([0.3, 0.9]), 1e-4, 1e-9, 200)
    assert found.converged
    assert found.place == pytest.approx([0.75, 0.75], abs=1e-5)
    assert not minimise(rosenbrock, np.array([0.3, 0.9]), 1e-4, 1e-9, 2).converged


def test_errors_are_those_of_linear_regression():
    """Against numpy's polyfit with known errors of the data."""
    x, sigma = np.linspace(0.0, 1.0, 9), np.linspace(0.01, 0.03, 9)
    data = 0.2 + 0.5 * x + sigma * np.random.default_rng(3).normal(size=9)

    def residuals(places):
        return np.array([(a + b * x - data) / sigma for a, b in places])

    found = minimise(residuals, np.array([0.5, 0.1]), 0.05, 1e-6, 20)
    (b, a), expected = np.polyfit(x, data, 1, w=1.0 / sigma, cov="unscaled")
    assert found.place == pytest.approx([a, b], abs=1e-6)
    assert covariance_of(found.slopes) == pytest.approx(expected[::-1, ::-1], rel=1e-6)


def test_what_no_target_depends_on_has_no_error():
    found = covariance_of(np.array([[2.0, 0.0], [1.0, 0.0]]))
    assert found[0, 0] == pytest.approx(0.2)
    assert math.isinf(found[1, 1])
    together = covariance_of(np.array([[1.0, 1.0]]))
    assert np.isinf(np.diag(together)).all(), "only their sum is known"


def test_errors_cover_the_truth_as_often_as_they_say():
    """Fits to 400 noisy sets of data: 68 % of the true values lie within an error."""
    random, inside = np.random.default_rng(8), 0
    for _ in range(400):
        data = 0.6**2 + 0.02 * random.normal(size=4)

        def residuals(places, data=data):
            return np.array([(x[0] ** 2 - data) / 0.02 for x in places])

        found = minimise(residuals, np.array([0.5]), 0.01, 1e-6, 30)
        inside += abs(found.place[0] - 0.6) < math.sqrt(covariance_of(found.slopes)[0, 0])
    assert 0.61 < inside / 400 < 0.75


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


def test_friction_and_restitution_of_a_bounce_are_found(folder):
    """An impact that slides all through: upward = e v, slowed = friction (1 + e) v, with v = 0.5 m/s."""
    found = calibrated({"upward": (0.3, 0.01), "slowed": (0.2, 0.02)}, difference=0.01)
    assert found.converged
    assert found[RESTITUTION] == pytest.approx(0.6, abs=0.003)
    assert found[FRICTION] == pytest.approx(0.25, abs=0.002)
    errors = [one.error for one in found.parameters]
    by_restitution = -0.25 / 1.6 * 0.01 / 0.5
    expected = [math.hypot(0.02 / (1.6 * 0.5), by_restitution), 0.01 / 0.5]
    assert errors == pytest.approx(expected, rel=0.03)
    assert found.correlations[0, 1] == pytest.approx(by_restitution / expected[0], abs=0.02)
    assert found.correlations[0, 0] == pytest.approx(1.0)
    assert found.slopes[0] == pytest.approx([0.0, 0.5], abs=0.01)
    assert [one.found for one in found.matches] == pytest.approx([0.3, 0.2], abs=1e-3)
    assert math.isnan(found.probability)
    _files_hold_it(found)
    before = {path: path.stat().st_mtime_ns for path in Path("fit/runs").rglob("*.json")}
    again = calibrated({"upward": (0.3, 0.01), "slowed": (0.2, 0.02)}, difference=0.01)
    assert str(again) == str(found)
    assert {path: path.stat().st_mtime_ns for path in Path("fit/runs").rglob("*.json")} == before, (
        "nothing anew"
    )


def _files_hold_it(found):
    page = Path("fit/report.md").read_text()
    for file in re.findall(r"!\[.*\]\((.*)\)", page):
        assert (found.folder / file).stat().st_size > 10_000
    assert {"fit.png", "parameters.png", "table.csv", "parameters.csv"} <= {
        path.name for path in found.folder.iterdir()
    }
    rows = list(csv.DictReader(Path("fit/parameters.csv").read_text().splitlines()))
    assert [float(row["value"]) for row in rows] == [one.value for one in found.parameters]
    assert float(rows[0][f"correlation with {RESTITUTION}"]) == found.correlations[0, 1]
    assert "converged" in str(found)


def test_chance_makes_errors_larger_and_ends_are_named(folder):
    """A target beyond the range, and replicas that differ much."""
    found = pdem.calibrate(
        "grain.toml", {RESTITUTION: {"min": 0.3, "max": 0.5, "start": 0.45}},
        {"upward": (0.4, 0.001), "other": (0.0, 1.0)},
        {"upward": lambda results: results[-1].velocity[0, 2], "other": _scattered}, settings=FALL, folder="fit",
        threads=1, replicas=4, perturbation=1e-6, iterations=2,
    )  # fmt: skip
    assert found[RESTITUTION] == pytest.approx(0.5, abs=2e-3)
    assert "at the end of its range" in str(found)
    assert found.matches[1].chance == pytest.approx(3.0 / math.sqrt(4), rel=0.6)
    assert found.matches[0].deviation < -50.0
    assert found.probability < 1e-6
    assert len(found.table.rows) == 4 * len(found.table.points)


def _scattered(results):
    """Return a number that is another one for each radius."""
    return 3.0 * np.random.default_rng(results[-1].radius[0].view(np.int64)).normal()


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
    Path("fit.toml").write_text(FILE.replace('key = "', 'start = 0.1\nkey = "'))
    words = ["--quiet", "--threads", "1"]
    first = CliRunner().invoke(main, ["calibrate", "fit.toml", *words])
    assert first.exit_code in (0, 1), first.output
    assert "friction" in first.stdout
    again = CliRunner().invoke(main, ["calibrate", "out", *words])
    assert (again.exit_code, again.stdout) == (first.exit_code, first.stdout)
    assert CliRunner().invoke(main, ["calibrate", "out/runs"]).exit_code == 2


def test_scripts_give_targets_as_pairs(folder):
    for wrong, text in ((0.3, "give \\(value, uncertainty\\)"), ((0.3, -1.0), "greater than 0")):
        with pytest.raises((InputError, CaseError), match=text):
            calibrated({"upward": wrong, "slowed": (0.2, 0.02)})
    with pytest.raises(CaseError, match="difference"):
        plan_of_document(CalibrationPlan, {"case": "a", "folder": "b", "difference": 2.0}, "fit.toml")
