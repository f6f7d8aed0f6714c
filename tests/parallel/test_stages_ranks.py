"""Stages end at the same step and change the same bits on any number of ranks, and after restarts on others."""

from __future__ import annotations

import warnings

import pytest

import pdem
from helpers.cases import quad
from helpers.inlets import case_of, inlet
from helpers.rank_cases import communicator, compare, require_same_bits, state
from pdem.foundation.errors import CaseError

STEP = 2e-5
BED = {"name": "bed", "region": {"lower": [-0.1] * 3, "upper": [0.1, 0.1, 0.03]}}
WALLS = [
    {"name": "gate", "mesh": "given", "material": "steel"},
    {"name": "floor", "mesh": "given", "material": "steel"},
    {"name": "lid", "mesh": "given", "material": "steel", "stage": "open", "translation": {"velocity": [0, 0, 0.1]}},
]
MESHES = [quad(0.2, 0.0), quad(0.2, -0.03), quad(0.2, 0.08)]
GRAINS = {
    "material": "grain", "radius": 0.004, "velocity": [0.0, 0.1, -0.3],
    "positions": [[0.01 * x, 0.01 * y, 0.0041] for x in range(-4, 5) for y in range(-4, 6)],
}  # fmt: skip
STAGES = [
    {"name": "fill", "until": {"quantity": "bed_mass", "above": 0.0608, "latest": 0.5, "every": 5 * STEP}},
    {
        "name": "tilt", "until": {"quantity": "gate_force_z", "below": -0.5, "for": 20 * STEP, "every": 5 * STEP},
        "interactions": {"grain-steel": {"friction": 0.1}},
        "gravity_table": {"times": [0.0, 0.01], "values": [[0, 0, -9.81], [4.0, 0, -9.0]], "every": 9 * STEP},
    },
    {"name": "open", "walls": {"gate": {"remove": True}, "lid": {"add": True}}, "gravity": [0.0, 1.0, -9.0]},
]  # fmt: skip
LAST = 250


def case():
    pour = inlet(stage="fill", count_rate=5e3, region={"lower": [-0.09, -0.09, 0.01], "upper": [0.09, -0.06, 0.03]})
    late = inlet(
        name="late", stage="open", count=5, region={"lower": [-0.09, -0.09, 0.05], "upper": [0.09, 0.09, 0.07]}
    )
    return case_of({**pour, "every": 10 * STEP}, late, walls=WALLS, stages=STAGES, sensors=[BED], particles=[GRAINS])


@pytest.mark.ranks(2, 3, slow=(4,), timeout=240)
def test_any_number_of_ranks(ranks):
    run = compare(case(), LAST, meshes=MESHES)
    assert run.stage == "open"
    ends = [one.end for one in run.system.stages.states]
    assert 5 <= ends[0] < ends[1] < LAST - 20
    energies = run.energies()
    assert energies["stages"] > 0.0
    assert energies["gravity_work"] != 0.0
    assert not run.wall_loads()["gate"]["force"].any()
    assert run.insertions["late"].count == 5


@pytest.mark.ranks(3, timeout=240)
def test_restart_at_the_end_of_a_stage_on_another_number(ranks):
    comm, stages = communicator(), case()
    first = pdem.Simulation(stages, comm, meshes=MESHES)
    while not (first.stage == "tilt" and first.system.stages.is_over):
        first.advance(5)
    middle, end = state(first), first.step
    first.advance(100)
    through = state(first)
    if comm.rank == 0:
        assert int(middle["counters"]["step"]) == end
        alone = pdem.Simulation(stages, None, state=middle, meshes=MESHES)
        alone.advance(100)
        require_same_bits(state(alone), through)
    comm.Barrier()
    again = pdem.Simulation(stages, comm, state=comm.bcast(middle), meshes=MESHES)
    assert again.stage == "tilt"
    again.advance(100)
    last = state(again)
    if comm.rank == 0:
        require_same_bits(last, through)
    comm.Barrier()


@pytest.mark.ranks(3)
def test_an_added_wall_where_grains_of_any_rank_are_is_told_once(ranks):
    grains = {**GRAINS, "positions": [[0.08 * x, 0.0, 0.083 + 1e-4 * x] for x in range(-1, 2)]}
    stages = [{"name": "fill", "end": 2 * STEP}, {"name": "open", "walls": {"lid": {"add": True}}}]
    case = case_of(walls=WALLS, stages=stages, particles=[grains])
    run = pdem.Simulation(case, communicator(), meshes=MESHES)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        run.advance(3)
    texts = communicator().allgather([str(one.message) for one in found])
    (text,) = [text for of_rank in texts for text in of_rank]
    assert "adds wall lid where 3 particles are: particle 0 overlaps it" in text


@pytest.mark.ranks(2)
def test_a_table_that_is_missing_is_told_on_all_ranks(ranks):
    stages = [{"name": "a", "gravity_table": {"file": "none.csv"}}]
    missing = case_of(inlet(count_rate=1.0), stages=stages)
    with pytest.raises(CaseError, match=r"none.csv: cannot be read") as caught:
        pdem.Simulation(missing, communicator())
    assert len(set(communicator().allgather(str(caught.value)))) == 1
