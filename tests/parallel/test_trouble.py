"""What stops a run is told in the same words on every rank, whichever rank has the particles."""

from __future__ import annotations

import re

import pytest

import pdem
from decomposition.mpi import patient_barrier
from helpers.cases import quad
from pdem.foundation.errors import BlowUpError
from pdem.run.simulation import Simulation

CASE = """
[time]
step = 1e-4
end = 1.0
[domain]
lower = [-0.6, -0.1, -0.1]
upper = [0.6, 0.1, 0.1]
[materials.grain]
density = 1000.0
youngs_modulus = 1e6
poisson_ratio = 0.2
[materials.steel]
[interactions.grain-grain]
friction = 0.5
restitution = 0.4
[interactions.grain-steel]
friction = 0.5
restitution = 0.4
[[particles]]
material = "grain"
radius = 0.01
positions = {positions}
velocity = [0.0, 0.0, 0.0]
[[walls]]
name = "floor"
mesh = "floor"
material = "steel"
[[walls]]
name = "press"
mesh = "press"
material = "steel"
{move}
[output]
folder = "unused"
"""
ROW = [[0.05 * k - 0.5, 0.0, 0.0099 if k != 17 else 0.0098] for k in range(21)]
PAIR = [[0.05 * k - 0.5, 0.0, 0.0099] for k in range(21)] + [[0.003, 0.0, 0.0099]]
SLOW = "translation = {velocity = [0.0, 0.0, -0.3]}"
JUMP = "translation_table = {times = [0.01, 0.010001], displacements = [[0.0, 0, 0], [0.0, 0, -0.06]]}"


@pytest.mark.parametrize(
    ("positions", "move", "words"),
    [
        (ROW, SLOW, r"particle \d+ at .* inside wall (floor|press), .* it is squeezed between two walls"),
        (PAIR, "", r"particle 10 at \(0, .* overlaps particle 21 at \(0\.003, .* by 170 % of the smaller radius"),
        (ROW, JUMP, r"step 10[01] .*wall press moved up to 0\.06 m .* past particle 0 at \(-0\.5, 0, "),
    ],
)  # fmt: skip
@pytest.mark.ranks(3, timeout=240)
def test_the_same_words_on_every_rank_and_number_of_ranks(ranks, positions, move, words):
    from mpi4py import MPI

    comm = MPI.COMM_WORLD

    def said(communicator):
        case = pdem.Case.from_text(CASE.format(positions=positions, move=move))
        meshes = [quad(0.6), quad(0.6, 0.02)]
        with pytest.raises(BlowUpError) as error:
            Simulation(case, communicator, meshes=meshes, threads=1).advance(2000)
        return str(error.value)

    texts = comm.allgather(said(comm))
    assert len(set(texts)) == 1
    assert re.search(words, texts[0]), texts[0]
    if comm.rank == 0:
        assert said(None) == texts[0]
    patient_barrier(comm)
