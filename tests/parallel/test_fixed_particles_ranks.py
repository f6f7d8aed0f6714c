"""Fixed grains: the same bits on any number of ranks, whose cuts go through them, and after a restart on another."""

from __future__ import annotations

import pytest

import pdem
from helpers.fixed_grains import DOMAIN, bed, case_of, rough
from helpers.rank_cases import communicator, compare, compare_restart, require_same_bits, state

PAIR = {"spheres": [[0, 0, 0, 0.002], [0.002, 0, 0, 0.0015]]}


def case_with(**sections):
    """Return a case with two fixed groups, one of clusters, a wall that moves through them, and an outlet."""
    heap = {"lower": [-0.019, -0.019, 0.004], "upper": [0.019, 0.019, 0.05], "count": 40, "seed": 3}
    glued = [[0.004 * x, 0.018, 0.006] for x in range(-4, 5)]
    groups = [
        rough(name="bottom"), bed(velocity=[0.0, 0.0, -1.0]),
        {"material": "rough", "shape": "pair", "fixed": True, "name": "side", "positions": glued},
        {"material": "grain", "shape": "pair", "fill": heap, "velocity": {"random": 0.5}},
    ]  # fmt: skip
    blade = {
        "name": "blade", "shape": "box", "lower": [-0.02, -0.002, 0.0], "upper": [-0.016, 0.002, 0.01],
        "material": "steel", "translation": {"velocity": [0.5, 0.0, 0.0]},
    }  # fmt: skip
    out = {
        "name": "out", "region": {"lower": [-0.02, -0.02, -0.02], "upper": [-0.012, 0.02, 0.02]}, "remove": True,
    }  # fmt: skip
    given = {"walls": [blade], "sensors": [out], "shapes": {"pair": PAIR}}
    return case_of(*groups, domain={**DOMAIN, "periodic": [False, True, False]}, **{**given, **sections})


@pytest.mark.ranks(1, 2, 3, slow=(4,), timeout=300)
def test_any_number_of_ranks(ranks):
    """Many may be on a rank that has nothing else, or be copies alone."""
    run = compare(case_with(), 1500)
    assert run.sensors()["out"]["removed_count"] > 0
    assert run.fixed_loads()["bottom"]["force"][2] < 0.0
    alone = pdem.Simulation(case_with())
    alone.advance(1500)
    loads = [{name: one["force"].tolist() for name, one in each.fixed_loads().items()} for each in (run, alone)]
    assert loads[0] == loads[1]
    assert run.measures().contacts_per_particle == alone.measures().contacts_per_particle


@pytest.mark.ranks(3, timeout=300)
def test_restart_on_another_number(ranks):
    comm, case = communicator(), case_with()
    middle, end = comm.bcast(compare_restart(case, 800, 400))
    assert middle["particles"]["fixed"].any()
    again = pdem.Simulation(case, comm, state=middle)
    again.advance(400)
    last = state(again)
    if comm.rank == 0:
        require_same_bits(last, end)
    comm.Barrier()
