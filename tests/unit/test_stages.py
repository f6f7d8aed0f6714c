"""Stages of a run: when they end, and that nothing of it depends on how a run is cut into pieces."""

from __future__ import annotations

import warnings

import pytest

from helpers.cases import Grains, quad, state_of
from helpers.rank_cases import require_same_bits
from helpers.staged_grains import MASS, STEP, G, R, on_plate, run_of
from pdem.engine.stages.timeline import AT_LATEST, BY_CONDITION, BY_TIME
from pdem.foundation.errors import CheckpointError
from pdem.run.rebase_ledger import rebase_ledger


def test_a_stage_ends_after_its_time_however_a_run_is_cut(tmp_path):
    stages = [{"name": "a", "end": 50 * STEP}, {"name": "b", "end": 30 * STEP}, {"name": "c"}]
    run = run_of(tmp_path, Grains([0, 0, 1], R), stages=stages)
    seen = []
    for pieces in (7, 43, 1, 28, 1, 1, 40):
        run.advance(pieces)
        seen.append((run.step, run.stage))
    # at its last step a stage is still the present one
    assert seen == [(7, "a"), (50, "a"), (51, "b"), (79, "b"), (80, "b"), (81, "c"), (121, "c")]
    states = run.system.stages.states
    assert [(one.begin, one.end, one.outcome) for one in states] == [(0, 50, BY_TIME), (50, 80, BY_TIME), (80, -1, 0)]
    other = run_of(tmp_path, Grains([0, 0, 1], R), stages=stages)
    other.advance(121)
    require_same_bits(state_of(other), state_of(run))


def test_one_stage_changes_no_bit(tmp_path):
    grains = Grains([[0, 0, R], [0.001, 0, 3.1 * R]], R)
    walls = ({"mesh": quad(0.1), "name": "plate"},)
    plain = run_of(tmp_path, grains, walls=walls)
    staged = run_of(tmp_path, grains, walls=walls, stages=[{"name": "all"}])
    for run in (plain, staged):
        run.advance(300)
    expected, found = state_of(plain), state_of(staged)
    assert found.pop("stages")["begin"].tolist() == [0]
    require_same_bits(found, expected)
    assert {**staged.energies(), "stages": 0.0} == {**plain.energies(), "stages": 0.0}
    assert plain.system.stages.next_step > 2**60
    assert plain.stage == ""


def bouncing(folder, until, **options):
    """Return a grain that falls on a plate and comes to rest, with a stage until then."""
    walls = ({"mesh": quad(0.1), "name": "plate"},)
    stages = [{"name": "fall", "until": until}, {"name": "rest"}]
    return run_of(folder, Grains([0, 0, 1.2 * R], R), walls=walls, stages=stages, **options)


def test_a_condition_has_to_hold_without_a_break(tmp_path):
    """The step of the end is that which a record of the energy at every look gives."""
    limit, looks, held = 2e-7, 10, 40
    until = {"quantity": "kinetic_energy_per_particle", "below": limit, "for": held * STEP, "every": looks * STEP}
    run = bouncing(tmp_path, until)
    record, step = [], 0
    plain = run_of(tmp_path, Grains([0, 0, 1.2 * R], R), walls=({"mesh": quad(0.1), "name": "plate"},))
    since, breaks = None, 0
    while since is None or step - since < held:
        plain.advance(looks)
        step += looks
        energies = plain.energies()
        record.append(energies["translation"] + energies["rotation"])
        breaks += since is not None and record[-1] >= limit
        since = None if record[-1] >= limit else step if since is None else since
    assert breaks >= 1, "the grain turns round at the top before it rests"
    run.advance(step + 5)
    state = run.system.stages.states[0]
    assert (state.end, state.outcome, state.value) == (step, BY_CONDITION, record[-1])
    assert run.stage == "rest"


def test_a_condition_that_is_not_reached_ends_at_its_latest_with_a_warning(tmp_path):
    until = {"quantity": "contacts_per_particle", "above": 5.0, "latest": 25 * STEP, "every": 10 * STEP}
    run = bouncing(tmp_path, until)
    with pytest.warns(RuntimeWarning, match=r"contacts_per_particle above 5 was not reached \(it was 0\)"):
        run.advance(60)
    assert (run.system.stages.states[0].end, run.system.stages.states[0].outcome) == (25, AT_LATEST)
    assert any("not reached" in line for line in run.system.progress.notices)


@pytest.mark.parametrize(
    ("quantity", "value"),
    [
        ("particles", lambda run: 1.0),
        ("contacts_per_particle", lambda run: run.measures().contacts_per_particle),
        ("gate_force_z", lambda run: run.wall_loads()["gate"]["force"][2]),
        ("gate_power", lambda run: run.wall_loads()["gate"]["power"]),
        ("bed_mass", lambda run: run.sensors()["bed"]["mass"]),
        ("kinetic_energy_per_particle", lambda run: run.measures().kinetic),
    ],
)
def test_quantities_are_those_that_scripts_see(tmp_path, quantity, value):
    bed = {"name": "bed", "region": {"lower": [-1, -1, 0], "upper": [1, 1, 1]}}
    until = {"quantity": quantity, "above": 1e9, "every": 10 * STEP}
    run = on_plate(tmp_path, {"name": "only", "until": until}, more={"sensors": [bed]})
    run.advance(20)
    assert run.system.stages.state.value == value(run)


def test_without_particles_a_condition_on_means_does_not_hold(tmp_path):
    until = {"quantity": "kinetic_energy_per_particle", "below": 1.0, "every": STEP}
    more = {
        "insertions": [{
            "name": "inlet", "material": "grain", "radius": R, "count": 1, "start": 10 * STEP,
            "region": {"lower": [-0.1] * 3, "upper": [0.1] * 3}, "velocity": [0.0, 0.0, -1e-3], "every": 1.0,
        }]
    }  # fmt: skip
    run = run_of(tmp_path, stages=[{"name": "empty", "until": until}], more=more)
    run.advance(30)
    assert run.system.stages.states[0].end == 11


ALL = [
    {"name": "fill", "until": {
        "quantity": "kinetic_energy_per_particle", "below": 5e-7, "for": 30 * STEP, "latest": 0.08, "every": 10 * STEP,
    }},
    {"name": "tilt", "end": 60 * STEP, "gravity_table": {
        "times": [0.0, 60 * STEP], "values": [[0, 0, -G], [3.0, 0, -9.0]], "every": 7 * STEP,
    }, "interactions": {"grain-steel": {"friction": 0.1}}},
    {"name": "open", "walls": {"gate": {"remove": True}, "net": {"add": True}}},
]  # fmt: skip


def with_everything(folder, state=None, **options):
    walls = (
        {"mesh": quad(0.2), "name": "gate"},
        {"mesh": quad(0.2, -0.001), "name": "net"},
        {"mesh": quad(0.05, 0.2), "name": "rotor", "stage": "tilt", "rotation": {"rate": 3.0, "axis": [1, 0, 0]}},
    )
    places = [[0.021 * k, 0.004 * (k % 2), (1.01 + 0.01 * k) * R] for k in range(4)]
    grains = Grains(places, R, [0.0, 0.0, -0.05])
    return run_of(folder, grains, stages=ALL, walls=walls, state=state, **options)


def test_a_restart_at_any_step_makes_the_same_bits(tmp_path):
    """In the middle of stages and of the time for which a condition holds, at looks, and at the end of stages."""
    run, states = with_everything(tmp_path), {}
    while run.stage != "open" or run.step < run.system.stages.states[2].begin + 2:
        run.advance(1)
        states[run.step] = state_of(run)
    first, second, _ = run.system.stages.states
    assert first.outcome == BY_CONDITION
    held = [step for step, one in states.items() if one["stages"]["since"][0] >= 0 > one["stages"]["end"][0]]
    assert held
    until = run.step + 800
    run.advance(800)
    expected, energies = state_of(run), run.energies()
    assert expected["particles"]["velocity"][:, 2].max() > 0.0, "they have met the net"
    chosen = [
        held[0] - 1,
        held[0],
        held[len(held) // 2],
        first.end - 1,
        first.end,
        first.end + 1,
        second.end - 3,
        second.end,
    ]
    for step in [*chosen, second.end + 1]:
        again = with_everything(tmp_path, state=states[step], threads=2 if step == first.end else 1)
        assert again.step == step
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            again.advance(until - step)
        require_same_bits(state_of(again), expected)
        assert {**again.energies(), "residual": 0.0} == {**energies, "residual": 0.0}


def test_a_checkpoint_of_a_stage_that_is_not_there_is_refused(tmp_path):
    stages = [{"name": "a", "end": 10 * STEP}, {"name": "b"}]
    run = run_of(tmp_path, Grains([0, 0, 1], R), stages=stages)
    run.advance(15)
    with pytest.raises(CheckpointError, match=r"no stage of that name \(it has x, y\); keep its name"):
        run_of(tmp_path, Grains([0, 0, 1], R), stages=[{"name": "x", "end": 1.0}, {"name": "y"}], state=state_of(run))


def test_a_checkpoint_without_stages_begins_the_first(tmp_path):
    run = run_of(tmp_path, Grains([0, 0, 1], R))
    run.advance(15)
    stages = [{"name": "a", "end": 10 * STEP}, {"name": "b", "gravity": [0.0, 0.0, 0.0]}]
    again = run_of(tmp_path, Grains([0, 0, 1], R), stages=stages, state=state_of(run))
    again.advance(11)
    assert [one.begin for one in again.system.stages.states] == [15, 25]


def test_a_stage_that_is_due_before_the_step_of_a_restart_ends_at_once(tmp_path):
    stages = [{"name": "a", "end": 100 * STEP}, {"name": "b"}]
    run = run_of(tmp_path, Grains([0, 0, 1], R), stages=stages)
    run.advance(50)
    shorter = [{"name": "a", "end": 20 * STEP}, {"name": "b"}]
    again = run_of(tmp_path, Grains([0, 0, 1], R), stages=shorter, state=state_of(run))
    again.advance(2)
    assert [(one.begin, one.end) for one in again.system.stages.states] == [(0, 51), (51, -1)]


def test_the_ledger_of_a_changed_case_goes_on_in_the_same_stage(tmp_path):
    """Energies of the case before are those of its stage, not of its begin."""
    stages = [{"name": "a", "end": 20 * STEP}, {"name": "b", "gravity": [0.0, 0.0, -5.0]}]
    run = run_of(tmp_path, Grains([0, 0, 0.5], R), stages=stages)
    run.advance(50)
    other = [stages[0], {"name": "b", "gravity": [0.0, 0.0, -7.0]}]
    again = run_of(tmp_path, Grains([0, 0, 0.5], R), stages=other, state=state_of(run))
    again.first_balance = run.first_balance
    place = run.particles.position[0, 2]
    assert rebase_ledger(again, run.case) == pytest.approx(2.0 * MASS * place, rel=1e-9)
    assert again.energies()["residual"] == pytest.approx(run.energies()["residual"], abs=1e-15)


@pytest.mark.parametrize(("depth", "count"), [(0.3, 2), (0.04, 0), (-0.1, 0)])
def test_a_wall_is_added_where_grains_are(tmp_path, depth, count):
    grains = Grains([[0.0, 0.0, R * (1.0 - depth)], [0.04, 0.0, R * (1.01 - depth)], [0.0, 0.04, 5 * R]], R)
    walls = ({"mesh": quad(0.1), "name": "lid"}, {"mesh": quad(0.1, -1.0), "name": "floor"})
    stages = [{"name": "open"}, {"name": "closed", "walls": {"lid": {"add": True}}}]
    stages[0]["end"] = STEP
    run = run_of(tmp_path, grains, walls=walls, stages=stages, gravity=(0.0, 0.0, 0.0))
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        run.advance(2)
    texts = [str(one.message) for one in found]
    expected = f"stage closed adds wall lid where {count} particles are: particle 0 overlaps it by 30 % of its radius"
    assert len(texts) == (count > 0)
    assert all(text.startswith(expected) for text in texts)
