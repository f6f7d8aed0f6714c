"""Wear of walls and collisions by energy have the same bits on any ranks and threads, and after restarts."""

from __future__ import annotations

import pytest

import pdem
from decomposition.mpi import patient_barrier
from helpers.rank_cases import CLOUD, communicator, divided, require_same_bits, state

WALLS = "".join(
    f"""
[[walls]]
name = "{name}"
shape = "plane"
point = [0.0, 0.0, {height}]
normal = [0.0, 0.0, {normal}]
material = "glass"
wear = {{model = "{model}", coefficient = 1e-9}}
"""
    for name, model, height, normal in (("floor", "archard", 0.0, 1.0), ("lid", "finnie", 0.08, -1.0))
)
CASE = CLOUD.replace("volume_fraction = 0.25", "volume_fraction = 0.3") + WALLS
CASE = CASE.replace("[output]", "[output]\ncollision_energies = {sizes = [0.004], lowest = 1e-12}")


def numbers(run):
    """Return what has been counted, on all ranks alike, and depths by wall, on the first."""
    found = run.collisions()
    collisions = {"counts": found.counts, "energies": found.energies}
    walls = run.nodal_forces() or {}
    return {"collisions": collisions, "wear": {name: wall["wear"] for name, wall in walls.items()}}


@pytest.mark.ranks(3, slow=(1,), timeout=300)
def test_counts_have_the_same_bits(ranks):
    case, comm = divided(CASE, "bisection", "always"), communicator()
    shared = pdem.Simulation(case, comm)
    shared.advance(150)
    middle = comm.bcast(state(shared))
    shared.advance(150)
    found, ended = numbers(shared), state(shared)
    again = pdem.Simulation(case, comm, state=middle, threads=2)
    again.advance(150)
    counted = numbers(again)
    require_same_bits({"collisions": found["collisions"]}, {"collisions": counted["collisions"]})
    if comm.rank == 0:
        require_same_bits(counted, found)
        alone = pdem.Simulation(case, threads=2)
        alone.advance(300)
        require_same_bits(numbers(alone), found)
        require_same_bits(ended, state(alone))
        assert found["collisions"]["counts"].sum() > 100
        assert all(depth.max() > 0.0 for depth in found["wear"].values())
        total, lost = alone.collisions().energy(loss="normal").sum(), alone.energies()["normal_damping"]
        assert 0.1 * lost < total < lost
    patient_barrier(comm)
