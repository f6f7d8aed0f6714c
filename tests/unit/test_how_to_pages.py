"""The Python scripts of docs/how-to, on results of a small case with the names that they use."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

import pdem

PAGES = Path(__file__).resolve().parents[2] / "docs" / "how-to"
SCRIPTS = {
    name: text
    for page in sorted(PAGES.glob("*.md"))
    for name, text in re.findall(r"```python\n# (\w+\.py)\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
}
CASE = """
[time]
step = 5e-5
end = 0.02
[domain]
lower = [-0.15, -0.06, -0.15]
upper = [0.15, 0.06, 0.15]
gravity = [0.0, 0.0, -9.81]
[materials.grain]
density = 2500.0
youngs_modulus = 1e7
poisson_ratio = 0.25
[materials.steel]
[interactions.default]
friction = 0.5
restitution = 0.5
[[particles]]
material = "grain"
radius = 0.005
fill = {count = 300, lower = [-0.08, -0.045, -0.08], upper = [0.08, 0.045, 0.0]}
velocity = [0.0, 0.0, -2.0]
[[insertions]]
name = "inlet"
material = "grain"
radius = 0.005
region = {lower = [-0.03, -0.04, -0.1], upper = [0.03, 0.04, -0.04]}
count_rate = 2000.0
[[walls]]
name = "drum"
shape = "cylinder"
axis = [0.0, 1.0, 0.0]
radius = 0.12
length = 0.1
material = "steel"
rotation = {rate = {rpm = 38}, axis = [0.0, 1.0, 0.0]}
[output]
folder = "results/drum"
series_every = 0.002
snapshots_every = 0.01
mean_wall_loads = ["drum"]
"""

pytestmark = pytest.mark.compiles


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with the results that the scripts read."""
    folder = tmp_path_factory.mktemp("how_to")
    case = pdem.Case.from_text(CASE)
    case.override(f"output.folder={str(folder / 'results' / 'drum')!r}")
    simulation = pdem.Simulation(case, threads=1)
    simulation.run()
    simulation.close()
    shutil.copytree(folder / "results" / "drum", folder / "results" / "pouring")
    return folder


def run(name, folder, monkeypatch, capsys):
    """Run a script, from its first line on instead of the second half of its run; return the lines that it prints."""
    monkeypatch.chdir(folder)
    exec(compile(SCRIPTS[name].replace("> 0.5", "> 0.0"), name, "exec"), {})
    return capsys.readouterr().out.splitlines()


def test_the_scripts_are_there():
    assert list(SCRIPTS) == ["coordination.py", "angle.py", "balance.py", "force.py"]


def test_the_histogram_counts_all_particles(folder, monkeypatch, capsys):
    lines = [line.split() for line in run("coordination.py", folder, monkeypatch, capsys)]
    last = pdem.Results("results/drum")[-1]
    assert sum(int(count) for _, count, _ in lines) == len(last["id"])
    assert sum(int(contacts) * int(count) for contacts, count, _ in lines) == last["contact_count"].sum() > 0


def test_the_angle_comes_with_its_remarks(folder, monkeypatch, capsys):
    angle, *remarks = run("angle.py", folder, monkeypatch, capsys)
    assert re.fullmatch(r"(-?[\d.]+|nan) deg", angle)
    assert remarks  # the grains still fall


def test_the_mass_balance_closes(folder, monkeypatch, capsys):
    amounts, error = run("balance.py", folder, monkeypatch, capsys)
    inserted, inside, left = map(float, re.findall(r"([\d.]+) kg", amounts))
    assert inserted == pytest.approx(inside + left, abs=2e-6)
    assert inserted > 100 * 2500.0 * 4.18879 * 0.005**3
    assert float(error.split()[2]) < 1e-12


def test_power_is_torque_times_rate(folder, monkeypatch, capsys):
    torque, power, force = (float(line.split()[2]) for line in run("force.py", folder, monkeypatch, capsys))
    assert power == pytest.approx(-torque * 38 * 2 * 3.141592653589793 / 60, rel=1e-9)
    assert force > 0.0
