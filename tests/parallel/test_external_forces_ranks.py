"""Forces and drags given for each particle, on any number of ranks: the same bits however ranks give them."""

from __future__ import annotations

import numpy as np
import pytest

import pdem
from decomposition.mpi import patient_barrier
from helpers.rank_cases import CLOUD, communicator, divided, require_same_bits, state
from pdem.foundation.errors import InputError

THIN = CLOUD.replace("volume_fraction = 0.25", "volume_fraction = 0.1")
ARRAY = """
[[forces]]
kind = "array"
"""
NAMES = ("external_force", "external_drag", "fluid_velocity")


def wind(ids, position):
    """Return what particles get: it follows from ids and positions alone."""
    force = 1e-4 * np.column_stack([np.cos(ids), np.sin(ids), position[:, 2]])
    return force, 1e-4 * (ids % 7), np.column_stack([position[:, 1], -position[:, 0], 0.0 * ids])


def give(run, how):
    """Give all particles what acts on them: each rank its own, by rows or by ids, all ranks all, or rank 0 alone."""
    own = run.particles
    if how == "rows":
        run.set_external_force(*wind(own.id, own.position))
        return
    ids, position = own.id.copy(), own.position.copy()
    if how != "own":
        joined = run.system.exchange.share(run.gather())
        ids, position = joined["id"][::-1], joined["position"][::-1]
        if how == "first" and run.system.exchange.rank:
            ids, position = ids[:0], position[:0]
    run.set_external_force(*wind(ids, position), ids=ids)


def advance(run, rounds, ways):
    for number in range(rounds):
        give(run, ways[(run.step // 20 + number) % len(ways)])
        run.advance(20)


SHEARED = (
    THIN.replace("periodic = [true, true, false]", "periodic = [true, true, true]")
    .replace("gravity = [0.3, 0.0, -2.0]\n", "")
    .replace(
        "[materials.glass]",
        '[domain.deformation.shear]\nvelocity_along = "x"\ngradient_along = "z"\nrate = 20.0\n[materials.glass]',
    )
)


@pytest.mark.ranks(1, 2, 3, 4, timeout=300)
@pytest.mark.parametrize("text", [THIN, SHEARED], ids=["box", "sheared"])
def test_external_forces_give_the_same_bits(ranks, text):
    """However they are given, with migration, across a restart on another number of ranks."""
    case = divided(text + ARRAY, "bisection" if ranks % 2 else "slabs", "always")
    comm = communicator()
    shared = pdem.Simulation(case, comm)
    advance(shared, 3, ("rows", "own", "all", "first"))
    shared.advance(5)
    middle = comm.bcast(state(shared))
    shared.advance(60)
    found, energies = state(shared), shared.energies()
    again = pdem.Simulation(case, comm if ranks != 4 else None, state=middle, threads=2)
    again.advance(60)
    assert again.energies() | {"residual": 0.0} == energies | {"residual": 0.0}  # that of a state counts from it on
    assert energies["own_forces"] != 0.0
    ended = state(again)
    if comm.rank == 0:
        assert set(NAMES) <= set(found["particles"])
        require_same_bits(ended, found)
        alone = pdem.Simulation(case)
        advance(alone, 3, ("rows",))
        alone.advance(65)
        require_same_bits(found, state(alone))
        assert alone.energies() == energies
    patient_barrier(comm)


@pytest.mark.ranks(2, timeout=120)
def test_what_ranks_give_has_to_agree(ranks):
    """On all ranks the same error, and nothing has changed."""
    run = pdem.Simulation(divided(THIN + ARRAY, "slabs", "always"), communicator())
    rank = run.system.exchange.rank
    with pytest.raises(InputError, match=r"ranks give different values \(external_force\) for particle 3"):
        run.set_external_force((float(rank), 0.0, 0.0), ids=[5 + rank, 3])
    with pytest.raises(InputError, match="there is no particle 100000"):
        run.set_external_force((0.0, 0.0, 0.0), ids=[100000] if rank else [])
    with pytest.raises(InputError, match="a drag is -1 kg/s"):
        run.set_external_force((0.0, 0.0, 0.0), -1.0 * rank)
    assert not run.particles.external_force.any()
