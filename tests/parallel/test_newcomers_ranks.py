"""What cannot come in is refused on every rank with the same words, whichever rank has what is in its way."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import pdem
from pdem.containers.meshes.mesh import Mesh
from pdem.engine.state import gather_groups, local_groups
from pdem.foundation.errors import CaseError, InputError, PdemError

CASE = """
time = {step = 2e-5, end = 1.0}
domain = {lower = [-0.2, -0.2, -0.2], upper = [0.2, 0.2, 0.2]}
materials.grain = {density = 1000.0, youngs_modulus = 1e7, poisson_ratio = 0.2}
materials.gold = {density = 19300.0, youngs_modulus = 1e7, poisson_ratio = 0.2}
materials.steel = {}
interactions.grain-grain = {friction = 0.5, restitution = 0.6}
interactions.grain-steel = {friction = 0.5, restitution = 0.6}
interactions.gold-gold = {friction = 0.5, restitution = 0.6}
interactions.gold-steel = {friction = 0.5, restitution = 0.6}
[[particles]]
material = "grain"
radius = 0.005
positions = [[-0.15, 0.0, 0.0], [-0.05, 0.0, 0.0], [0.05, 0.0, 0.0], [0.15, 0.0, 0.0]]
[[walls]]
name = "floor"
mesh = "given"
material = "steel"
translation = {velocity = [0.0, 0.0, 4.0]}
[output]
folder = "unused"
"""
FLOOR = Mesh([[-1, -1, -0.1], [1, -1, -0.1], [1, 1, -0.1], [-1, 1, -0.1]], [[0, 1, 2, 3]])


def communicator():
    from mpi4py import MPI

    return MPI.COMM_WORLD


def state(run):
    return gather_groups(run.system, local_groups(run.system))


@pytest.mark.ranks(1, 2, 4)
def test_insertions_are_refused_alike(ranks):
    comm = communicator()
    run = pdem.Simulation(pdem.Case.from_text(CASE), comm, meshes=[FLOOR])
    run.advance(125)  # the floor is at -0.09
    before = state(run)
    wrong = [
        ([[0.149, 0.0, 0.0]], 0.005, "grain"), ([[-0.151, 0.0, 0.0]], 0.005, "grain"),
        ([[0.1, 0.0, -0.087]], 0.005, "grain"), ([[0.0, 0.1, 0.0]], 1e-4, "grain"),
        ([[0.0, 0.1, 0.0]], 0.005, "gold"), ([[0.0, 0.1, 7.0]], 0.005, "grain"), ([[0.0, 0.1, 0.0]], "x", "grain"),
    ]  # fmt: skip
    for given in wrong:
        with pytest.raises(PdemError) as caught:
            run.insert(*given)
        assert len(set(comm.allgather((type(caught.value).__name__, str(caught.value))))) == 1
    after = state(run)
    if comm.rank == 0:
        for group in before:
            for name, column in before[group].items():
                assert column.tobytes() == after[group][name].tobytes()
    assert run.insert([[0.1, 0.0, -0.08]], 0.005, "grain").tolist() == [4]


@pytest.mark.ranks(1, 3)
def test_doubts_are_told_by_the_first_rank_alone(ranks):
    comm = communicator()
    run = pdem.Simulation(pdem.Case.from_text(CASE), comm, meshes=[FLOOR])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run.insert([[0.1, 0.1, 0.1]], 8e-4, "grain")
    assert bool(caught) == (comm.rank == 0)


@pytest.mark.ranks(1, 2, 4)
def test_given_particles_are_refused_on_all_ranks(ranks):
    comm = communicator()
    case = pdem.Case.from_text(CASE)
    given = {
        "id": np.arange(2), "material": np.zeros(2, np.int32), "radius": np.full(2, 0.005),
        "position": np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.1]]),
    }  # fmt: skip
    for change, error in (({"id": np.zeros(2, np.int64)}, InputError), ({"radius": np.full(2, 1e-4)}, CaseError)):
        particles = {**given, **change} if comm.rank == 0 else None
        with pytest.raises(error) as caught:
            pdem.Simulation(case, comm, particles=particles, meshes=[FLOOR])
        assert len(set(comm.allgather(str(caught.value)))) == 1
    run = pdem.Simulation(case, comm, particles=given if comm.rank == 0 else None, meshes=[FLOOR])
    assert run.measures().particles == 2


@pytest.mark.ranks(1, 2)
def test_a_case_whose_particles_cannot_be_made_ends_all_ranks(ranks):
    """The first rank had raised it alone, and the others waited."""
    comm = communicator()
    case = pdem.Case.from_text(CASE)
    case.override("particles[0].positions=[[0, 0, 0], [0, 0, 0]]")
    with pytest.raises(CaseError, match="particles 0 and 1 are at one point") as caught:
        pdem.Simulation(case, comm, meshes=[FLOOR])
    assert len(set(comm.allgather(str(caught.value)))) == 1
