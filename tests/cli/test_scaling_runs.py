"""``pdem scaling run`` and ``report`` through the command line, with a launcher."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from pdem.cli import main

ROOT = Path(__file__).resolve().parents[2]

CASE = """
[time]
step = 1e-5
end = 1.0
[domain]
lower = [0.0, 0.0, 0.0]
upper = [0.03, 0.02, 0.02]
[materials.grain]
density = 2500.0
youngs_modulus = 1e7
poisson_ratio = 0.25
[interactions.grain-grain]
restitution = 0.8
friction = 0.5
[[particles]]
material = "grain"
radius = {distribution = "power-law", exponent = -3.0, min = 0.0005, max = 0.002}
fill = {count = 300}
velocity = {random = 0.1, seed = 1}
[detection]
levels = 2
"""


@pytest.fixture
def pdem(tmp_path, monkeypatch):
    """Run a command in this process; what it launches finds this pdem."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return lambda *arguments: CliRunner().invoke(main, list(map(str, arguments)))


def test_a_plan_alone_is_reported(tmp_path, pdem):
    (tmp_path / "case.toml").write_text(CASE)
    plan = ("scaling", "plan", "case.toml", "--ranks", "2,4", "--steps", 0, "--output", "out", "--no-plots")
    assert pdem(*plan).exit_code == 0
    report = pdem("scaling", "report", "out", "--no-plots")
    assert report.exit_code == 0, report.output
    assert "out holds a plan and no measured runs; pdem scaling run case.toml adds them" in report.output
    assert "Plan of case.toml" in (tmp_path / "out" / "report.html").read_text()


def test_runs_are_measured_reported_and_begin_as_planned(tmp_path, pdem):
    (tmp_path / "case.toml").write_text(CASE)
    run = ("scaling", "run", "case.toml", "--ranks", "1,2", "--steps", 20, "--warm-up", 5, "--repeats", 1)
    done = pdem(*run, "--output", "out")
    assert done.exit_code == 0, done.output
    files = sorted((tmp_path / "out").glob("run-*.json"))
    assert len(files) == 2
    one, two = (json.loads(path.read_text()) for path in files)
    assert (one["ranks"], two["ranks"], two["particles"]) == (1, 2, 300)
    assert sum(one["start"]["ghosts"][0]) == one["end"]["sent"][0] == 0
    assert two["phases"]["compute"]["min"] <= two["phases"]["compute"]["mean"] <= two["phases"]["compute"]["max"]
    assert two["seconds_per_step"] > 0.0
    assert two["imbalance"] >= 1.0

    plan = pdem("scaling", "plan", "case.toml", "--ranks", 2, "--steps", 10, "--output", "out")
    assert plan.exit_code == 0, plan.output
    alone, row = json.loads((tmp_path / "out" / "plan.json").read_text())["rows"]  # one rank was measured, too
    assert alone["ranks"] == 1
    assert row["bytes_per_step"]["max"] == max(two["start"]["sent"]) > 0
    assert row["ghosts"]["max"] == max(map(sum, two["start"]["ghosts"]))

    report = pdem("scaling", "report", "out")
    assert report.exit_code == 0, report.output
    assert "strong scaling" in report.output
    assert "predicted / measured" in report.output
    assert "data:image/png" in (tmp_path / "out" / "report.html").read_text()

    before = [path.stat().st_mtime_ns for path in files]
    again = pdem(*run, "--output", "out")
    assert again.exit_code == 0  # there is nothing left to do
    assert [path.stat().st_mtime_ns for path in files] == before
    other = pdem(*run, "--set", "time.step=2e-5", "--output", "out")
    assert other.exit_code == 2
    assert "another kind" in other.output
