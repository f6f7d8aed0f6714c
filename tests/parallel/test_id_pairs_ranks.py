"""Pairs by ids over ranks: partners that are far away, migration, cuts, removal, restarts on other ranks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pdem
from decomposition.exchange import RankExchange
from decomposition.mpi import describe, patient_barrier
from helpers.linked_pairs import NOT_A_NUMBER, links_of
from helpers.marked_particles import with_feature
from helpers.rank_cases import CLOUD, communicator, compare, compare_restart, divided, owned_rows, state
from pdem.containers.particles import Particles
from pdem.containers.records import PairRecords, WallRecords
from pdem.engine.feature_set import row_keys
from pdem.engine.id_pairs.pairs_by_id import PairTable
from pdem.foundation.fields import Field
from pdem.run import simulation as simulations

__all__ = ["with_feature"]

FAST = CLOUD.replace("{random = 1.0, seed = 3}", "{random = 3.0, seed = 3}")
FAST = FAST.replace("step = 2e-5", "step = 8e-6").replace("youngs_modulus = 1e7", "youngs_modulus = 3e7")
FAST = FAST.replace("[domain]\n", '[domain]\noutside = "keep"\n')
FIELDS = (Field("bits", np.int64, (2,), "1", "bits"), Field("value", np.float64, (), "1", "value"))


class _Serial:
    """All pairs, by hand: what each rank has follows from who owns which particle."""

    def __init__(self, pairs, rng):
        self.columns = {tuple(pair): (rng.integers(-(2**62), 2**62, 2), rng.random()) for pair in pairs}

    def require(self, table, owned):
        """Require that a rank which owns some particles has just their pairs, in order, with their columns."""
        wanted = sorted(pair for pair in self.columns if pair[0] in owned or pair[1] in owned)
        assert list(zip(table.lower.tolist(), table.higher.tolist(), strict=True)) == wanted
        for row, pair in enumerate(wanted):
            assert table.columns["bits"][row].tolist() == self.columns[pair][0].tolist()
            assert table.columns["value"][row] == self.columns[pair][1]


@given(st.integers(0, 2**32), st.integers(1, 60), st.integers(0, 150), st.sampled_from(["bisection", "slabs"]))
@settings(max_examples=25)
def _random_tables(comm, seed, count, number, method):
    """Particles jump anywhere, some go out, some pairs end: tables are those of a serial one, on all ranks."""
    rng = np.random.default_rng(seed)
    drawn = np.sort(rng.integers(0, count, (number, 2)), axis=1)
    pairs = np.unique(drawn[drawn[:, 0] < drawn[:, 1]], axis=0)
    serial, position = _Serial(pairs.tolist(), rng), rng.random((count, 3))
    exchange = RankExchange(describe(comm, 1), [0.0] * 3, [1.0] * 3, [True] * 3, method)
    own = owned_rows(exchange, position)
    particles, table = Particles({"id": own, "position": position[own]}), PairTable("links", FIELDS)
    here = pairs[rng.integers(0, comm.size, len(pairs)) == comm.rank]
    values = [serial.columns[tuple(pair)] for pair in here.tolist()]
    bits = np.array([one for one, _ in values], np.int64).reshape(-1, 2)
    columns = {"lower": here[:, 0], "higher": here[:, 1], "bits": bits, "value": np.array([one for _, one in values])}
    table.load(exchange, particles, columns)
    serial.require(table, set(particles.id.tolist()))
    for _ in range(4):
        position = (position + rng.normal(0.0, rng.choice([0.01, 0.3]), (count, 3))) % 1.0
        particles.position[:] = position[particles.id]
        found = exchange.migrate(
            particles,
            lambda _: (PairRecords.none(9), WallRecords.none(9)),
            tables=lambda leaves: (table.records(table.with_any(particles.id[leaves])),),
        )
        if found is not None:
            table.keep(table.with_any(particles.id[~found.leaves]))
            table.join(found.tables[0])
            particles.replace_rows(found.leaves, found.arrived)
        gone = rng.permutation(count)[: rng.integers(0, 3)]
        table.keep(~table.with_any(gone))
        serial.columns = {pair: one for pair, one in serial.columns.items() if not {*pair} & {*gone.tolist()}}
        assert (exchange.owners(particles.position) == comm.rank).all()
        serial.require(table, set(particles.id.tolist()))
    together = exchange.collect(table.columns_of(table.counted(particles)))
    if comm.rank == 0:
        assert sorted(zip(together["lower"].tolist(), together["higher"].tolist(), strict=True)) == [*serial.columns]


@pytest.mark.ranks(1, 2, 3, 4, 8, timeout=400)
def test_random_tables_are_those_of_a_serial_one(ranks, communicator):
    if ranks > 1:
        _random_tables(communicator)


def far_pairs(number, seed, count=100, *, nearest=0.0):
    """Return pairs of the particles of a cloud, from near to far away, with their distances at time 0 [m]."""
    own = pdem.Simulation(pdem.Case.from_text(FAST)).gather()
    order, rng = np.argsort(own["id"]), np.random.default_rng(seed)
    position, ids = own["position"][order], own["id"][order]
    drawn = np.sort(rng.integers(0, min(count, len(ids)), (number, 2)), axis=1)
    pairs = np.unique(drawn[drawn[:, 0] < drawn[:, 1]], axis=0)
    branch = position[pairs[:, 1]] - position[pairs[:, 0]]
    period = np.array([0.12, 0.08, np.inf])
    branch -= np.where(np.isfinite(period), period, 0.0) * np.floor(branch / period + 0.5)
    length = np.sqrt((branch**2).sum(axis=1))
    return pairs[length > nearest], length[length > nearest]


def shared_pairs(*given, **named):
    comm = communicator()
    return comm.bcast(far_pairs(*given, **named) if comm.rank == 0 else None)


@pytest.mark.ranks(1, 2, 3, 4, 8, timeout=400)
@pytest.mark.parametrize("without", [False, True], ids=["contacts", "without contact"])
def test_far_partners_have_the_bits_of_one_rank(ranks, with_feature, without):
    """Springs across the whole cloud, periodic sides and cuts that move; many are cut on the way."""
    pairs, lengths = shared_pairs(150, 1)
    with_feature(links_of(pairs, 0.8 * lengths, without_contact=without, cut_at=1.3))
    run = compare(divided(FAST, "bisection" if ranks % 2 else "slabs", "always"), 300)
    (links,) = run.system.features.pair_tables
    own, energies = run.particles, run.energies()
    assert energies["cut_links"] > 0.0
    assert energies["links"] > 0.0
    assert run.system.lists.pair_distance > 0.06
    assert not np.isin(links.lower, own.id, invert=True)[~np.isin(links.higher, own.id)].any()
    np.testing.assert_array_equal(links.columns["mark"], np.stack((links.lower, links.higher), 1) | NOT_A_NUMBER)
    end = state(run)
    if communicator().rank == 0:
        assert 0 < len(end["links"]["lower"]) < len(pairs)
        assert end["particles"]["turned"].any()
        keys = list(zip(end["links"]["lower"], end["links"]["higher"], strict=True))
        assert keys == sorted(keys)


@pytest.mark.ranks(1, 2, 3, 4, timeout=400)
def test_a_restart_on_one_rank(ranks, with_feature):
    """In the midst of springs that are cut."""
    with_feature(links_of(*shared_pairs(150, 2), cut_at=1.03))
    states = compare_restart(divided(FAST, "bisection", "always"), 150, 150)
    if states is not None:
        numbers = [len(one["links"]["lower"]) for one in states]
        assert numbers[0] > numbers[1] > 0


@pytest.mark.ranks(2, 3, timeout=400)
def test_a_run_of_one_rank_goes_on_on_several(ranks, with_feature, monkeypatch):
    links = with_feature(links_of(*shared_pairs(150, 3), cut_at=1.03))
    monkeypatch.setattr(simulations, "ROW_KEYS", simulations.ROW_KEYS | row_keys([links]))
    comm, case = communicator(), divided(FAST, "slabs", "always")
    middle = end = None
    if comm.rank == 0:
        alone = pdem.Simulation(case)
        alone.advance(150)
        middle = state(alone)
        alone.advance(150)
        end = state(alone)
    patient_barrier(comm)
    shared = pdem.Simulation(case, comm, state=middle)
    shared.advance(150)
    found = state(shared)
    if comm.rank == 0:
        for group, columns in end.items():
            for name, column in columns.items():
                assert found[group][name].tobytes() == column.tobytes(), f"{group}/{name} differs"


@pytest.mark.ranks(1, 2, 3, 4, timeout=400)
def test_removed_particles_take_their_pairs_along(ranks, with_feature):
    """The energy of their springs goes with them; other pairs stay; new particles have none."""
    pairs, lengths = shared_pairs(150, 4)
    with_feature(links_of(pairs, 0.9 * lengths, cut_at=9.0))
    comm = communicator()
    runs = [pdem.Simulation(divided(FAST, "bisection", "always"), comm)]
    if comm.rank == 0:
        runs.append(pdem.Simulation(divided(FAST, "bisection", "always")))
    ends = []
    for run in runs:
        run.advance(60)
        before = run.energies()
        run.remove(np.arange(0, 60, 3))
        after = run.energies()
        assert after["outflow"] != before["outflow"]
        assert after["links"] < before["links"]
        run.advance(60)
        ends.append((state(run), run.energies()))
    patient_barrier(comm)
    if comm.rank == 0:
        (found, energies), (expected, others) = ends
        assert energies == others
        for name, column in expected["links"].items():
            assert found["links"][name].tobytes() == column.tobytes()
        gone = np.isin(pairs, np.arange(0, 60, 3)).any(axis=1)
        assert np.stack((expected["links"]["lower"], expected["links"]["higher"]), 1).tolist() == pairs[~gone].tolist()
