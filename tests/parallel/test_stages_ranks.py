"""Stages end at the same step and change the same bits on any number of ranks, and after restarts on others."""

from __future__ import annotations

import pytest
from inlets import case_of, inlet
from rank_cases import communicator, compare, require_same_bits, state

import pdem
from cases import quad
from pdem.foundation.errors import CaseError

STEP = 2e-5
BED = {"name": "bed", "region": {"lower": [-0.1] * 3, "upper": [0.1, 0.1, 0.03]}}
WALLS = [
    {"name": "gate", "mesh": "given", "material": "steel"},
    {"name": "floor", "mesh": "given", "material": "steel"},
    {
        "name": "lid",
        "mesh": "given",
        "material": "steel",
        "stage": "open",
        "translation": {"velocity": [0, 0, 0.1]},
    },
]
MESHES = [quad(0.2, 0.0), quad(0.2, -0.03), quad(0.2, 0.08)]
STAGES = [
    {"name": "fill", "until": {"quantity": "bed_mass", "above": 0.02, "latest": 0.5, "every": 5 * STEP}},
    {
        "name": "tilt", "until": {"quantity": "gate_force_z", "below": -0.02, "for": 40 * STEP, "every": 20 * STEP},
        "interactions": {"grain-steel": {"friction": 0.1}},
        "gravity_table": {"times": [0.0, 0.01], "values": [[0, 0, -9.81], [4.0, 0, -9.0]], "every": 9 * STEP},
    },
    {"name": "open", "walls": {"gate": {"remove": True}, "lid": {"add": True}}, "gravity": [0.0, 1.0, -9.0]},
]  # fmt: skip


def case():
    pour = inlet(mass_rate=3.0, stage="fill", end=0.03, velocity={"mean": 2.0, "random": 0.2})
    late = inlet(name="late", stage="open", count=5, region={"lower": [-0.05] * 3, "upper": [0.05] * 3})
    late["region"] = {"lower": [-0.09, -0.09, 0.05], "upper": [0.09, 0.09, 0.07]}
    return case_of(pour, late, walls=WALLS, stages=STAGES, sensors=[BED])


@pytest.mark.ranks(1, 2, 3, 4, timeout=240)
def test_any_number_of_ranks(ranks):
    run = compare(case(), 3000, meshes=MESHES)
    assert run.stage == "open"
    ends = [one.end for one in run.system.stages.states]
    assert 100 < ends[0] < ends[1] < 2900
    energies = run.energies()
    assert energies["stages"] > 0.0
    assert energies["gravity_work"] != 0.0
    assert not run.wall_loads()["gate"]["force"].any()
    assert run.insertions["late"].count == 5


@pytest.mark.ranks(3, timeout=240)
def test_restart_at_the_end_of_a_stage_on_another_number(ranks):
    comm, stages = communicator(), case()
    first = pdem.Simulation(stages, comm, meshes=MESHES)
    while first.stage != "open":
        last = state(first) if first.system.stages.is_over else None
        first.advance(5)
        middle = last if first.stage == "open" else None
    begin = first.system.stages.state.begin
    first.advance(begin + 400 - first.step)
    through = state(first)
    if comm.rank == 0:
        assert int(middle["counters"]["step"]) == begin
        alone = pdem.Simulation(stages, None, state=middle, meshes=MESHES)
        alone.advance(400)
        require_same_bits(state(alone), through)
    comm.Barrier()
    again = pdem.Simulation(stages, comm, state=comm.bcast(middle), meshes=MESHES)
    again.advance(400)
    last = state(again)
    if comm.rank == 0:
        require_same_bits(last, through)
    comm.Barrier()


@pytest.mark.ranks(2)
def test_a_table_that_is_missing_is_told_on_all_ranks(ranks):
    stages = [{"name": "a", "gravity_table": {"file": "none.csv"}}]
    missing = case_of(inlet(count_rate=1.0), stages=stages)
    with pytest.raises(CaseError, match=r"none.csv: cannot be read") as caught:
        pdem.Simulation(missing, communicator())
    assert len(set(communicator().allgather(str(caught.value)))) == 1
