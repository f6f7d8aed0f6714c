"""The examples of docs/scripting.md, on a small case of the name they use."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import tomli_w

import pdem
from helpers.cases import GRAIN, USUAL
from pdem.preflight.preflight import preflight

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "scripting.md").read_text(encoding="utf-8")
SCRIPTS = dict(re.findall(r"```python\n# (\w+\.py)\n(.*?)```", TEXT, re.DOTALL))
FORCES, *_ = re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)

CASE = {
    "time": {"step": 1e-4, "end": 0.03},
    "domain": {"lower": [-0.1, -0.1, 0.0], "upper": [0.1, 0.1, 0.2], "periodic": [True] * 3},
    "materials": {"grain": {**GRAIN, "youngs_modulus": 1e6}},
    "interactions": {"grain-grain": USUAL},
    "particles": [
        {"material": "grain", "radius": 0.01, "fill": {"count": 60}, "velocity": {"random": 1.0, "seed": 4}}
    ],
    "output": {"folder": "results/hopper", "series_every": 1e-3, "snapshots_every": 1e-2},
}  # fmt: skip


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hopper.toml").write_text(tomli_w.dumps(CASE))
    return tmp_path


def run_script(name):
    names = {}
    exec(compile(SCRIPTS[name], name, "exec"), names)
    return pdem.Results(names["case"].output.folder)


def test_the_scripts_are_there():
    assert list(SCRIPTS) == ["watch.py", "steer.py", "by_hand.py", "forces.py", "settling.py"]


def test_an_observer_adds_columns(folder):
    series = run_script("watch.py").series
    assert series.units["bed_height"] == "m"
    assert 0.15 < series["bed_height"][0] < 0.2
    assert series["falling"][0] > 10


def test_observers_steer(folder):
    series = run_script("steer.py").series
    assert series.units["mean_energy"] == "J"
    assert series["mean_energy"][0] > 0.0


def test_a_loop_by_hand(folder, capsys):
    results = run_script("by_hand.py")
    assert results.series["step"][-1] == 200
    assert pdem.Simulation.restart("results/by_hand").step == 200
    assert capsys.readouterr().out.endswith(" 60\n")


def test_forces_from_outside_carry_particles_along(folder):
    results = run_script("settling.py")
    last = results.at(results.times[-1])
    volume = 4.0 / 3.0 * np.pi * last.radius**3
    np.testing.assert_allclose(last.external_force[:, 2], 9810.0 * volume)
    assert results.series["own_forces"][-1] > 0.0


def test_forces_of_the_page_act_together(folder):
    (folder / "forces.py").write_text(SCRIPTS["forces.py"])
    case = pdem.Case.from_text((folder / "hopper.toml").read_text() + FORCES, folder)
    run = pdem.Simulation(case)
    found = preflight(case, {name: run.particles[name] for name in run.particles}, [])
    assert any(one.subject == "forces[3]" for one in found)
    run.advance(20)
    plain = pdem.Simulation(pdem.Case.from_text((folder / "hopper.toml").read_text(), folder))
    plain.advance(20)
    change = run.gather()["velocity"] - plain.gather()["velocity"]
    np.testing.assert_allclose(change[:, 0].mean(), 0.3 * 20e-4, rtol=0.3)
    assert run.energies()["own_forces"] != 0.0
