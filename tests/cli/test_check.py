"""``pdem check``: what it prints of a run to come, and what it says when it is stopped."""

from __future__ import annotations

import math
import signal
import subprocess
import sys

import pytest
from click.testing import CliRunner

import pdem
from pdem.cli import main
from pdem.preflight.contact_table import contact_rows, contact_table

CASE = """
time = {{end = 1.0}}
domain = {{lower = [0, 0, 0], upper = [1, 1, 1], gravity = [0, 0, -9.81], outside = "remove"}}
materials.grain = {{density = 2500.0, youngs_modulus = 1e8, poisson_ratio = 0.2}}
interactions.grain-grain = {{friction = 0.5, restitution = 0.05}}
output = {{folder = "{folder}"}}
[[particles]]
material = "grain"
"""


@pytest.fixture
def write_case(tmp_path):
    def write(text):
        path = tmp_path / "case.toml"
        path.write_text(CASE.format(folder=tmp_path / "out") + text)
        return path

    return write


def test_step_duration_and_disk_are_shown(write_case):
    path = write_case("radius = 0.01\npositions = [[0.5, 0.5, 0.5], [0.2, 0.2, 0.2]]")
    result = CliRunner().invoke(main, ["check", str(path)])
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert any("s, automatic: 3.33 % of the Rayleigh time" in line and line.endswith(" steps") for line in lines)
    assert any("33.3 % of the usual one, for restitution 0.05 of grain-grain" in line for line in lines)
    for subject in ("duration", "disk", "sizes"):
        assert sum(line.startswith(f"info: {subject}: ") for line in lines) == 1
    assert lines[-1] == "2 particles: 0 errors, 0 warnings"


def test_without_particles_the_step_has_to_be_given(write_case):
    path = write_case("")
    path.write_text(path.read_text().replace('[[particles]]\nmaterial = "grain"\n', ""))
    result = CliRunner().invoke(main, ["check", str(path)])
    assert result.exit_code == 2
    assert 'time.step = "auto": there are no particles to take it from' in result.stderr
    result = CliRunner().invoke(main, ["check", str(path), "--set", "time.step=1e-4"])
    assert result.exit_code == 0
    assert "info: time step: 0.0001 s, given by time.step; 10,000 steps" in result.stdout


SOON = """
from pdem.cli import main
from pdem.particles import random_filling
random_filling.PROGRESS_AFTER = 0.1
main()
"""
"""A `pdem` that tells how far it is at once, not after some seconds."""


def test_stopping_a_check_is_no_matter_of_checkpoints(write_case):
    path = write_case("radius = 0.004\nfill = {volume_fraction = 0.41}")
    process = subprocess.Popen(
        [sys.executable, "-c", SOON, "check", str(path)], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    said = ""
    while "placing particles" not in said:
        said += process.stderr.read(1)
        assert process.poll() is None, said
    process.send_signal(signal.SIGINT)
    said += process.communicate(timeout=60)[1]
    assert process.returncode == 99, said
    assert "the check was stopped before its end; nothing has been run or written" in said
    assert "checkpoint" not in said
    assert "Traceback" not in said


STICKY = """
time = {end = 1.0}
domain = {lower = [0, 0, 0], upper = [1, 1, 1], gravity = [0, 0, -9.81]}
materials.grain = {density = 2500.0, youngs_modulus = 1e7, poisson_ratio = 0.25}
materials.steel = {}
interactions.default = {friction = 0.5, restitution = 0.7, adhesion = {model = "jkr", work_of_adhesion = 0.05}}
[[particles]]
material = "grain"
radius = {distribution = "uniform", min = 1e-3, max = 2e-3}
fill = {count = 3}
velocity = [0.5, 0.0, 0.0]
[[walls]]
shape = "plane"
normal = [0, 0, 1]
point = [0, 0, 0]
material = "steel"
"""


def test_contacts_are_shown_by_pair_and_size():
    """Pull-off 1.5 pi w R, Bond number that over the lighter weight, sticking speed of the theory."""
    case = pdem.Case.from_text(STICKY)
    rows = list(contact_rows(case))
    assert [(row.subject, row.radius) for row in rows] == [
        (subject, radius) for subject in ("grain on grain", "grain on wall of steel") for radius in (1e-3, 2e-3)
    ]  # fmt: skip
    for row, effective in zip(rows, (0.5e-3, 1e-3, 1e-3, 2e-3), strict=True):
        mass = 2500.0 * 4.0 / 3.0 * math.pi * row.radius**3
        modulus = 1e7 / (1.0 - 0.25**2) * (1.0 if "wall" in row.subject else 0.5)
        pull = 1.5 * math.pi * 0.05 * effective
        assert row.pull_off == pytest.approx(pull, rel=1e-4)
        assert row.bond_number == pytest.approx(pull / (mass * 9.81), rel=1e-4)
        assert row.tabor_number == pytest.approx((effective * (0.05 / modulus) ** 2 / 6.4e-29) ** (1 / 3))
        speed = math.sqrt(14.184392 / (mass * (1.0 if "wall" in row.subject else 0.5)))
        speed *= (0.05**5 * effective**4 / modulus**2) ** (1 / 6)
        assert row.sticking_speed == pytest.approx(speed, rel=1e-4)
    text = contact_table(case)
    assert "sticks up to [m/s]" in text
    assert text.splitlines()[-1].startswith("  the time step is limited by ")
