"""Sensors and outlets that belong to stages: they count and remove in these, and in no others."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.balance import require_balance
from helpers.cases import state_of
from helpers.inlets import BOX, case_of, inlet
from pdem.foundation.errors import CaseError
from pdem.output.checkpoints.checkpoint import read_checkpoint
from pdem.output.series import read_series
from pdem.preflight.before_stage import changes_before
from pdem.run.simulation import Simulation

STEP = 2e-5
LENGTH = 50 * STEP
DOMAIN = {"lower": [-0.1] * 3, "upper": [0.1] * 3}
STAGES = [{"name": name, "end": LENGTH} for name in ("fill", "cut", "rest", "again")]
UPPER = {"lower": [-0.1, -0.1, 0.015], "upper": [0.1, 0.1, 0.1]}
FEED = inlet(region=BOX, velocity=None, count=30, radius=0.003, every=1.0)
LATER = inlet(name="later", region=BOX, velocity=None, count=10, radius=0.003, stage="rest", every=1.0)


def outlet(**keys):
    return {"name": "strike_off", "region": UPPER, "remove": True, "every": 4 * STEP, **keys}


def case_with(*sensors, folder=".", insertions=(FEED, LATER), **sections):
    given = {"domain": DOMAIN, "stages": STAGES, "time": {"step": STEP, "end": 4 * LENGTH}, **sections}
    return case_of(*insertions, sensors=list(sensors), folder=folder, **given)


def above(run):
    return int(np.count_nonzero(run.gather()["position"][:, 2] >= 0.015))


@pytest.mark.parametrize(
    ("keys", "numbers"),
    [
        ({"stages": ["cut"]}, (False, True, False, False)),
        ({"stage": "cut"}, (False, True, True, True)),
        ({"stages": ["cut", "again"]}, (False, True, False, True)),
        ({"stages": ["fill"]}, (True, False, False, False)),
        ({}, (True, True, True, True)),
    ],
)
def test_an_outlet_acts_in_its_stages(keys, numbers):
    """Some grains lie above the cut from the begin, some come there when the third stage begins."""
    run = Simulation(case_with(outlet(**keys)), threads=1)
    removed = 0
    for number, acts in enumerate(numbers):
        run.advance(5)  # of the stage: it has acted at its first step, and at its fifth
        assert (above(run) > 0) == (not acts and number != 1)
        run.advance(45)
        seen = run.sensors()["strike_off"]
        assert (seen["removed_count"] > removed) <= acts
        removed = seen["removed_count"]
        came = sum(one.count for one in run.insertions.values())
        assert len(run.particles) == came - removed
    assert removed > 0


def test_the_last_step_of_the_stage_before_is_not_affected(tmp_path):
    output = {"folder": str(tmp_path / "out"), "series_every": 10 * STEP}
    case = case_with(outlet(stage="cut"), folder=tmp_path, output=output)
    Simulation(case, threads=1).run()
    rows = read_series(tmp_path / "out" / "series.h5")
    require_balance(case, rows)
    before = rows["step"] <= 50
    assert (rows["strike_off_removed_count"][before] == 0).all()
    assert (rows["strike_off_flow"][before] == 0.0).all()
    assert rows["strike_off_removed_count"][np.searchsorted(rows["step"], 60)] > 0
    assert rows["strike_off_count"][rows["step"] == 50][0] > 0  # what a region holds is always told
    stage = read_checkpoint(tmp_path / "out" / "stage-fill.h5")
    again = Simulation.restart(tmp_path / "out" / "stage-fill.h5", threads=1)
    assert len(again.particles) == 30
    again.case.override(f"output.folder={str(tmp_path / 'again')!r}")
    again.run()
    expected = read_series(tmp_path / "again" / "series.h5")
    rows = rows[rows["step"] > 50]
    assert stage.attributes["time"] == pytest.approx(LENGTH)
    for name in ("strike_off_removed_count", "strike_off_removed", "strike_off_flow", "particles", "mass"):
        assert expected[name][-len(rows) :].tobytes() == rows[name].tobytes(), name


def test_restarts_at_any_step_change_nothing():
    sensors = (
        outlet(stages=["cut", "again"], residence=True),
        {"name": "gate", "plane": {"point": [0, 0, 0.0], "normal": [0, 0, -1.0]}, "stage": "cut", "every": 3 * STEP},
    )
    falling = inlet(region=BOX, velocity=[0.0, 0.0, -4.0], count=30, radius=0.003)
    through = Simulation(case_with(*sensors, insertions=(falling, LATER)), threads=1)
    states = {}
    for step in (20, 50, 51, 77, 100, 120, 150, 160):
        through.advance(step - through.step)
        states[step] = state_of(through)
    through.advance(200 - through.step)
    expected, seen = state_of(through), through.sensors()
    assert seen["gate"]["passed_count"] > 0
    assert seen["strike_off"]["removed_count"] > 0
    for step, state in states.items():
        again = Simulation(case_with(*sensors, insertions=(falling, LATER)), threads=1, state=state)
        again.advance(200 - step)
        assert again.sensors() == seen, step
        found = state_of(again)
        for group, columns in expected.items():
            for name, column in columns.items():
                assert found[group][name].tobytes() == column.tobytes(), (step, group, name)


def test_a_plane_counts_those_that_pass_in_its_stages_alone():
    """A row of grains passes at one speed, one every 10 steps."""
    places = [[0.0, 0.0, 0.0005 + 0.01 * k] for k in range(10)]
    groups = [{"material": "grain", "radius": 0.003, "positions": places, "velocity": [0.0, 0.0, -0.01 / (10 * STEP)]}]
    gate = {"plane": {"point": [0, 0, 0.0], "normal": [0, 0, -1.0]}, "every": STEP}
    stages = [{"name": name, "end": 20 * STEP} for name in ("first", "second", "third", "last")]
    sensors = [
        {"name": "all", **gate},
        {"name": "later", **gate, "stage": "second"},
        {"name": "some", **gate, "stages": ["first", "third"]},
    ]
    case = case_with(*sensors, insertions=(), particles=groups, stages=stages, domain={**DOMAIN, "outside": "keep"})
    run = Simulation(case, threads=1)
    run.advance(80)
    found = {name: one["passed_count"] for name, one in run.sensors().items()}
    assert found == {"all": 8, "later": 6, "some": 4}


@pytest.mark.parametrize(
    ("keys", "match"),
    [
        ({"stage": "cutt"}, r"sensors\[0\]\.stage = \"cutt\": is no stage of this case; did you mean 'cut'"),
        ({"stages": ["cut", "rst"]}, r"sensors\[0\]\.stages\[1\] = \"rst\": is no stage of this case"),
        ({"stage": "cut", "stages": ["cut"]}, "is not allowed together with stage"),
        ({"stage": "cut", "remove": False}, "has no influence: a region alone is looked at for lines"),
        ({"stages": []}, r"sensors\[0\]\.stages"),
    ],
)
def test_rules(keys, match):
    with pytest.raises(CaseError, match=match):
        case_with(outlet(**keys))


def test_an_outlet_of_a_later_stage_may_differ_in_a_branch():
    """Not so one that has acted before."""
    case = case_with(outlet(stage="cut"))
    changed = case.changed(["sensors[0].region.lower=[-0.1, -0.1, 0.02]"])
    assert changes_before(case, changed, 1) == []
    assert [key for key, _, _ in changes_before(case, changed, 2)] == ["sensors[0].region.lower"]
    moved = case_with(outlet(stages=["cut"]))
    assert changes_before(case, moved, 2) == []
    assert changes_before(case, moved, 3)
