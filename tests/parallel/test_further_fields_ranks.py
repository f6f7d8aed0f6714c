"""What features remember of particles, on any number of ranks: ghosts, migration, checkpoints, snapshots."""

from __future__ import annotations

import numpy as np
import pytest

import pdem
from decomposition.mpi import patient_barrier
from helpers.clusters import crowd
from helpers.marked_particles import HEAT, MARK, Warmth, changing_charges, of_copies, with_feature
from helpers.rank_cases import CLOUD, communicator, compare, compare_restart, divided, require_same_bits, state
from pdem.engine.between_steps import advance_by
from pdem.output.checkpoints.checkpoint import read_checkpoint

__all__ = ["changing_charges", "with_feature"]

DENSE = CLOUD.replace("volume_fraction = 0.25", "volume_fraction = 0.3").replace("0.012}", "0.006}")
DENSE = DENSE.replace("{random = 1.0, seed = 3}", "{random = 3.0, seed = 3}")
DENSE = DENSE.replace("[domain]\n", '[domain]\noutside = "keep"\n')
OUTPUT = "snapshots_every = 2e-3\nseries_every = 1e-3\ncheckpoint_every = 2e-3\n"


def owners(simulation):
    """Return the rank that owns each particle, by id; the same on all ranks."""
    everywhere = communicator().allgather(simulation.particles.id.tolist())
    return {one: rank for rank, ids in enumerate(everywhere) for one in ids}


@pytest.mark.ranks(1, 2, 3, 4, timeout=240)
def test_what_flows_through_contacts_has_the_bits_of_one_rank(ranks, with_feature):
    """The exchange between two particles on different ranks sees on both what the owners have."""
    with_feature(Warmth)
    case = divided(DENSE, "bisection" if ranks % 2 else "slabs", "always")
    begin = pdem.Simulation(case, communicator())
    first, at_first = begin.gather(), owners(begin)
    run = compare(case, 300)
    last, at_last = run.gather(), owners(run)
    moved = sum(at_last[one] != rank for one, rank in at_first.items())
    assert ranks == 1 or moved > 10
    own = run.particles
    if ranks > 1:
        assert own.ghosts > 0
        assert run.system.exchange.calls(run.system.contacts.pairs.rows_to_share(own)) is None
    if communicator().rank == 0:
        assert last["heat"].sum() == first["heat"].sum()
        assert np.count_nonzero(last["heat"] != first["heat"]) > 0.5 * len(first["id"])
        assert (last["mark"] == MARK.default).all()


@pytest.mark.ranks(1, 2, 3, 4, timeout=240)
@pytest.mark.parametrize("text", [DENSE, None], ids=["spheres", "clusters"])
def test_ghosts_have_in_each_step_what_owners_had_at_its_begin(ranks, changing_charges, text):
    """While a kernel takes many steps, in steps with new lists, and in single ones; members of clusters as well."""
    case = crowd("bisection") if text is None else divided(text, "bisection")
    run = pdem.Simulation(case, communicator())
    charges = run.system.features.get(changing_charges)
    for steps in (150, 1, 1, 60):
        run.advance(steps)
    assert sorted(charges.seen) == list(range(212))
    assert all(charges.seen.values()), [step for step, same in charges.seen.items() if not same]
    assert run.system.lists.detections > 3
    ghosts = int(communicator().allreduce(run.particles.ghosts))
    assert ghosts > 10 or ranks == 1
    np.testing.assert_array_equal(run.particles.charge, charges.values_of(run.particles.id, run.step)[0])
    traffic, without = (run.system.exchange.traffic(), run.system.exchange._ghosts.traffic() if ranks > 1 else None)
    if without is not None and text is not None:
        assert traffic.received == without.received + 8 * 4 * run.particles.ghosts
        assert traffic.receives == 3 * without.receives


@pytest.mark.ranks(2, 3, timeout=240)
def test_a_restart_on_another_number_of_ranks(ranks, with_feature):
    with_feature(Warmth)
    states = compare_restart(divided(DENSE, "bisection", "always"), 100, 150)
    if states is not None:
        middle, end = (one["particles"] for one in states)
        assert middle["heat"].dtype == np.int64
        assert (middle["heat"] != end["heat"]).any()


@pytest.mark.ranks(1, 3, timeout=240)
def test_checkpoints_and_snapshots_have_the_fields(ranks, with_feature, shared_path):
    """A run that goes on from the file of all ranks on one ends as theirs; a file without the fields gives defaults."""
    with_feature(Warmth)
    comm = communicator()
    text = DENSE.replace("end = 1.0", "end = 4e-3").replace("[output]\n", f"[output]\n{OUTPUT}")
    case = divided(text, "bisection")
    case.override(f'output.folder="{shared_path}/all"')
    run = pdem.Simulation(case, comm)
    run.run()
    end = state(run)
    middle = sorted((shared_path / "all").glob("checkpoint-*.h5"))[0]
    if comm.rank == 0:
        snapshot, particles = pdem.Results(shared_path / "all").at(4e-3), end["particles"]
        for name in ("heat", "mark"):
            np.testing.assert_array_equal(snapshot.columns[name], particles[name])
            assert snapshot.columns[name].dtype == particles[name].dtype
        held = read_checkpoint(middle).groups
        assert held["particles"]["heat"].dtype == np.int64
        alone = pdem.Simulation.restart(middle)
        assert 0 < alone.step < run.step
        advance_by(alone.system, alone.phases, run.step - alone.step)
        require_same_bits(state(alone), end)
        old = {name: dict(columns) for name, columns in held.items()}
        for name in ("heat", "mark"):
            del old["particles"][name]
        before = pdem.Simulation(case, state=old)
        assert (before.particles.heat == int(HEAT.default)).all()
        assert (before.particles.mark == MARK.default).all()
    patient_barrier(comm)


@pytest.mark.ranks(2, timeout=240)
def test_a_case_without_such_a_feature_has_no_such_columns(ranks):
    """Its messages, checkpoints and kernels are those of before."""
    run = pdem.Simulation(divided(DENSE, "bisection"), communicator())
    run.advance(20)
    exchange, own = run.system.exchange, run.particles
    assert "heat" not in own
    assert own.columns_beside_rows() == ()
    assert exchange.calls(run.system.contacts.pairs.rows_to_share(own)) is not None
    assert exchange.traffic() == exchange._ghosts.traffic()
    assert len(of_copies(run.system, "id")) == own.ghosts > 0
    found = state(run)
    if found is not None:
        assert "heat" not in found["particles"]
