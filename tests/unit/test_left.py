"""Particles that leave the domain: they never end a run, and are counted by side."""

from __future__ import annotations

import numpy as np
import pytest

import pdem
from helpers.balance import require_balance
from helpers.cases import state_of
from helpers.everything import STEP, case_in
from helpers.inlets import GRAIN, case_of, inlet
from pdem.features.departures.events import EVERY
from pdem.features.departures.feature import Departures
from pdem.foundation.errors import BlowUpError, CaseError
from pdem.output.series import read_series
from pdem.run.simulation import Simulation

R = 0.001
SOFT = {**GRAIN, "youngs_modulus": 1e5}
DISC_OF_GRAINS = [[0.02 * np.cos(a), 0.02 * np.sin(a), 0.05] for a in np.arange(6)]
FLOOR = {"shape": "plane", "size": 0.1, "normal": [0, 0, 1], "material": "steel"}


def stray(folder, end=1.0, outside=None, **more):
    """Return two grains that rest on a plate in an open box of 0.2 m, and one that rolls off it."""
    domain = {"lower": [-0.1] * 3, "upper": [0.1] * 3, "gravity": [0.0, 0.0, -9.81]}
    groups = [
        {"material": "grain", "radius": R, "positions": [[0, 0, 0.002], [0.01, 0, 0.002]]},
        {"material": "grain", "radius": R, "positions": [[0.049, 0, 0.002]], "velocity": [0.2, 0.0, 0.0]},
    ]
    sections = {
        "time": {"step": 2e-4, "end": end}, "materials": {"grain": SOFT, "steel": {}},
        "domain": domain if outside is None else {**domain, "outside": outside}, "particles": groups,
        "walls": [FLOOR], "output": {"folder": str(folder / "out"), "checkpoint_every": 0.5, "series_every": 0.05},
    }  # fmt: skip
    return case_of(folder=folder, **{**sections, **more})


@pytest.mark.parametrize("outside", [None, "remove", "keep"])
def test_a_stray_grain_ends_no_run(tmp_path, outside):
    """It reaches a radius per step after half a second. The others rest on."""
    case = stray(tmp_path, outside=outside)
    assert case.domain.outside == (outside or "remove")
    Simulation(case, threads=1).run()
    rows = read_series(tmp_path / "out" / "series.h5")
    assert rows["time"][-1] == pytest.approx(1.0)
    assert rows["left_-z"][-1] == rows["left"][-1] == 1
    assert rows["particles"][-1] == 2
    assert require_balance(case, rows) == (0, 1, 0)
    log = (tmp_path / "out" / "run.log").read_text()
    (line,) = [one for one in log.splitlines() if one.startswith("left the domain:")]
    assert "1 particle, 1.0472e-05 kg: 1 through -z; removed" in line
    assert f'domain.outside = "{outside or "remove"}"' in line


def test_kept_grains_fall_until_they_cannot_be_computed(tmp_path):
    """Then, half a radius in a step, only those that move away and touch nothing go."""
    run = Simulation(stray(tmp_path, outside="keep"), threads=1)
    while len(run.particles) == 3:
        fastest = np.abs(run.particles.velocity).max()
        run.advance(EVERY)
        assert run.time < 1.0
    assert 0.5 * R - EVERY * 9.81 * 4e-8 < fastest * 2e-4 < 0.5 * R
    assert run.step % EVERY == 0


def test_a_fast_grain_inside_or_coming_back_still_ends_the_run(tmp_path):
    groups = [{"material": "grain", "radius": R, "positions": [[0, 0, 0]], "velocity": [4.9, 0, 0]}]
    gravity = {"lower": [-0.1] * 3, "upper": [0.1] * 3, "gravity": [9.81, 0.0, 0.0]}
    case = stray(tmp_path, particles=groups, walls=[], domain={**gravity, "outside": "keep", "upper": [9.0, 1, 1]})
    with pytest.raises(BlowUpError, match="moved more than its radius"):
        Simulation(case, threads=1).advance(400)


def test_nothing_leaves_a_box_that_is_periodic_or_closed_by_gravity(tmp_path):
    domain = {"lower": [-0.1] * 3, "upper": [0.1] * 3, "periodic": [True, False, True]}
    case = stray(tmp_path, domain=domain, walls=[])
    run = Simulation(case, threads=1)
    run.write()
    run.advance(10 * EVERY)
    run.write()
    run.close()
    rows = read_series(tmp_path / "out" / "series.h5")
    assert [name for name in rows.dtype.names if name.startswith("left")] == [
        "left", "left_mass", "left_-y", "left_mass_-y", "left_+y", "left_mass_+y",
    ]  # fmt: skip
    assert rows["left"][-1] == 0
    assert rows["mass"][-1] == pytest.approx(3 * 2500.0 * 4.0 / 3.0 * np.pi * R**3)


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_sides_are_told_apart(tmp_path, axis, sign):
    """Of a particle that is beyond two sides, that counts which it is further beyond."""
    velocity = [0.0, 0.0, 0.0]
    velocity[axis], velocity[(axis + 1) % 3] = 2.0 * sign, 1.9
    groups = [{"material": "grain", "radius": R, "positions": [[0, 0, 0]], "velocity": velocity}]
    run = Simulation(stray(tmp_path, particles=groups, walls=[], domain={"lower": [-0.1] * 3, "upper": [0.1] * 3}))
    run.advance(5 * EVERY)
    side = f"left_{'+' if sign > 0 else '-'}{'xyz'[axis]}"
    run.write()
    rows = read_series(tmp_path / "out" / "series.h5")
    assert rows[side].tolist() == rows["left"].tolist() == [1]
    run.close()


def test_a_stage_ends_when_too_much_has_left(tmp_path):
    stages = [{"name": "spill", "until": {"quantity": "left_-z", "above": 0.5}}]
    case = stray(tmp_path, stages=stages)
    run = Simulation(case, threads=1)
    run.run()
    assert run.system.features.get(Departures).left.count.tolist() == [0, 0, 0, 0, 1, 0]
    assert run.time < 0.5
    with pytest.raises(CaseError, match=r"left_-q.*did you mean"):
        stray(tmp_path, stages=[{"name": "spill", "until": {"quantity": "left_-q", "above": 0.5}}])


def test_names_of_these_columns_are_not_for_sensors_and_insertions(tmp_path):
    with pytest.raises(CaseError, match="is taken by columns of what has left the domain"):
        case_of(inlet(name="left", count=3))


def test_everything_balances_over_stages_restarts_and_periodic_sides(tmp_path):
    """With clusters, insertions, an outlet that is a plane, and a side through which some leave."""
    case = case_in(tmp_path / "out", f"output.series_every={7 * STEP}", f"output.checkpoint_every={100 * STEP}")
    Simulation(case, threads=1).run()
    rows = read_series(tmp_path / "out" / "series.h5")
    came, left, out = require_balance(case, rows)
    assert came > 0
    assert left > 0
    assert out > 0
    middle = sorted((tmp_path / "out").glob("checkpoint-*.h5"))[1]
    Simulation.restart(middle, threads=1).run(overwrite=True)
    again = read_series(tmp_path / "out" / "series.h5")
    for name in ("mass", "left", "left_mass", "left_-x", "left_mass_+x", "left_-z"):
        assert again[name].tobytes() == rows[name].tobytes(), name


def test_an_earlier_checkpoint_and_series_go_on(tmp_path):
    """Those of a version that did not count what leaves."""
    case = stray(tmp_path, end=1.0)
    run = Simulation(case, threads=1)
    run.advance(1280)
    state = state_of(run)
    assert state["left"]["count"].sum() == 1
    del state["left"]
    again = Simulation(case, threads=1, state=state)
    assert again.system.features.get(Departures).left.count.sum() == 0
    assert len(again.particles) == 2


def test_an_earlier_series_gets_the_new_columns(tmp_path, monkeypatch):
    case = stray(tmp_path, end=0.2)
    with monkeypatch.context() as patch:
        patch.setattr(Departures, "columns", lambda feature, system: [])
        patch.setattr(Departures, "values", lambda feature, system, line: {})
        pdem.Simulation(case, threads=1).run()
    assert "mass" not in read_series(tmp_path / "out" / "series.h5").dtype.names
    again = Simulation.restart(tmp_path / "out", threads=1)
    again.case.override("time.end=0.4")
    again.run()
    rows = read_series(tmp_path / "out" / "series.h5")
    assert np.isnan(rows["mass"][rows["time"] < 0.2]).all()
    assert (rows["mass"][rows["time"] > 0.21] > 0.0).all()
    assert (rows["left"][rows["time"] < 0.2] == 0).all()
    assert rows["left"][-1] == 1
    table = np.genfromtxt(tmp_path / "out" / "series.csv", delimiter=",", names=True, deletechars="")
    assert len(table["left_[1]"]) == len(rows)
