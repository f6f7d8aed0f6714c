"""Ranks and their neighbours: who they are, how they are told, and that a detection costs as much on any number."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from decomposition.exchange import RankExchange
from decomposition.messages import Messages
from decomposition.mpi import describe
from helpers.clusters import crowd
from helpers.message_counts import CASES, EACH, NARROW, Bed, CountingCommunicator, Counts, largest
from helpers.rank_cases import CLOUD, divided, owned_rows
from pdem import Simulation
from pdem.containers.particles import Particles
from pdem.containers.records import PairRecords, WallRecords

AGREED = {"Iallreduce": 2, "Allreduce": 2}
"""What all ranks take part in: imbalance and costs, both at once; whether any particle leaves, where particles are.

Where a large particle comes to a rank that had none, ranks meet again, with a barrier."""

PARTNERS = {"boxes": 28, "thick slabs": 2, "thin slabs": 6, "few large": 28 + 4}
"""Most partners of a rank: parts that touch, not all in line; two; thin slabs in reach; and four owners more."""

PER_PARTNER, BESIDES = 100, 1400
"""Functions that Python calls for each partner, and besides."""


def check(communicator, name):
    bed = Bed(communicator, name)
    found = bed.measure()
    most = largest(communicator, None if bed.has_large else found)
    print(f"\n{communicator.size} ranks, {name}: {most}")
    meetings = most.calls.pop("Ibarrier", 0)
    assert meetings <= (name == "few large")
    assert dict(most.calls) == AGREED
    assert most.longest <= 8 * (6 + 2 + 2)
    assert most.partners <= min(PARTNERS[name], communicator.size - 1)
    # extents; copies, twice where there are two sizes; and what leaves: numbers, particles
    assert most.messages <= 6 * PARTNERS[name]
    assert most.functions <= BESIDES + PER_PARTNER * PARTNERS[name]
    assert most.sent <= 200 * 8 * EACH
    assert most.memory <= 2000 * 8 * EACH


@pytest.mark.ranks(8, timeout=240)
@pytest.mark.parametrize("name", CASES)
def test_a_detection_costs_the_same_on_more_ranks(ranks, communicator, name):
    check(communicator, name)


@pytest.mark.slow
@pytest.mark.ranks(16, 32, 64, timeout=900)
@pytest.mark.parametrize("name", CASES)
def test_a_detection_costs_the_same_on_many_ranks(ranks, communicator, name):
    check(communicator, name)


POINT_TO_POINT = {"Isend", "Issend", "Irecv", "Recv", "Iprobe", "Mprobe", "Send_init", "Recv_init"}


@pytest.mark.ranks(8, timeout=300)
@pytest.mark.parametrize("outside", ["keep", "remove"])
def test_a_run_asks_all_ranks_for_nothing_but_sums(ranks, communicator, outside):
    """One all-reduce for each step, two for each detection; five more for each look at who has left the box.

    Where space may be cut anew there are two more for each detection.

    Ranks have met each other when the run began.
    """
    text = CLOUD.replace("gravity", f'outside = "{outside}"\ngravity')
    text = text.replace("[output]", "[detection]\nskin = 0.1\n[output]").replace("random = 1.0", "random = 2.0")
    counts = Counts()
    case = divided(text, "bisection", "never")
    simulation = Simulation(case, CountingCommunicator(communicator, counts), threads=1)
    simulation.advance(5)
    system = simulation.system
    detections, particles = system.lists.detections, communicator.allreduce(system.particles.count)
    counts.calls.clear()
    simulation.advance(130)
    calls = dict(counts.calls)
    gone = particles - communicator.allreduce(system.particles.count)
    detections = system.lists.detections - detections
    least = 2 * detections
    assert detections > 3
    assert (gone > 0) == (outside == "remove")
    looks = 2  # at steps 64 and 128
    assert calls.pop("Iallreduce") == 130 + 1 + looks  # one for the call
    assert least <= calls.pop("Allreduce") <= least + 4 * looks
    assert set(calls) <= POINT_TO_POINT


@pytest.mark.ranks(2, timeout=300)
def test_clusters_go_to_neighbours_without_a_barrier(ranks, communicator):
    case, counts = crowd("bisection"), Counts()
    case.override('decomposition.balance="never"')
    case.override("detection.skin=0.1")
    simulation = Simulation(case, CountingCommunicator(communicator, counts), threads=1)
    simulation.advance(5)
    clusters = simulation.clusters
    before = clusters.number[: clusters.count].tolist()
    detections = simulation.system.lists.detections
    counts.calls.clear()
    simulation.advance(400)
    assert clusters.number[: clusters.count].tolist() != before
    assert simulation.system.lists.detections - detections > 20
    assert counts.calls.pop("Ibarrier", 0) <= 1  # where reaches have grown, ranks meet again
    assert set(counts.calls) <= POINT_TO_POINT | {"Iallreduce", "Allreduce"}


@pytest.mark.ranks(1, 2, 3, 8)
@pytest.mark.parametrize("seed", range(5))
def test_who_is_told_knows_it(ranks, communicator, seed):
    """Random targets, many rounds one after the other, some ranks with nothing to say."""
    messages = Messages(communicator.Dup())
    rng = np.random.default_rng(seed)
    for turn in range(10):
        told = rng.random((ranks, ranks)) < rng.random()  # the same on every rank
        targets = np.flatnonzero(told[communicator.rank])
        rows = np.array([[turn, communicator.rank, target] for target in targets], np.int64).reshape(-1, 3)
        sources, found = messages.notify(targets, rows)
        assert sources.tolist() == np.flatnonzero(told[:, communicator.rank]).tolist()
        assert found.tolist() == [[turn, source, communicator.rank] for source in sources]
        np.fill_diagonal(told, False)
        targets = np.flatnonzero(told[communicator.rank])
        others, theirs = messages.introduce(targets, np.array([1.0 * turn, communicator.rank]))
        assert others.tolist() == np.flatnonzero((told | told.T)[communicator.rank]).tolist()
        assert theirs.tolist() == [[turn, other] for other in others]
        rows = np.array([[1 + turn, communicator.rank, target] for target in targets], np.int64).reshape(-1, 3)
        sources, found = messages.tell_partners(others, targets, rows)
        assert sources.tolist() == np.flatnonzero(told[:, communicator.rank]).tolist()
        assert found.tolist() == [[1 + turn, source, communicator.rank] for source in sources]


@pytest.mark.ranks(1, 3, 8)
def test_rows_come_in_the_order_of_ranks(ranks, communicator):
    messages, mine = Messages(communicator.Dup()), communicator.rank
    others = np.array([other for other in range(ranks) if other != mine], np.int64)
    sent = (3 * mine + others) % 4
    rows = np.repeat(100 * mine + others, sent)
    found, received = messages.swap(others, rows, sent)
    assert received.tolist() == ((3 * others + mine) % 4).tolist()
    assert found.tolist() == np.repeat(100 * others + mine, received).tolist()
    assert messages.deliver(others, rows, sent, others, received).tolist() == found.tolist()


def contacts_of(particles, pairs, walls, leaves):
    gone = particles.id[leaves]
    some = np.isin(pairs.lower, gone) | np.isin(pairs.higher, gone)
    return pairs.take(some), walls.take(np.isin(walls.id, gone))


@pytest.mark.ranks(2, 3, 8)
def test_particles_find_their_owner_from_anywhere(ranks, communicator):
    """All begin on rank 0, as inserted ones do, and jump across space; contacts go with both particles."""
    rng = np.random.default_rng(3)
    count = 300
    exchange = RankExchange(describe(communicator, 1), [0.0] * 3, [1.0] * 3, [True] * 3)
    exchange.divide(rng.uniform(0.0, 1.0, (count, 3)))
    ids = np.arange(count if communicator.rank == 0 else 0)
    particles = Particles({"id": ids, "radius": np.full(len(ids), NARROW), "position": rng.random((len(ids), 3))})
    lower = ids[:-1] if len(ids) else ids
    pairs = PairRecords(lower, lower + 1, np.tile(1.0 * lower, (2, 1)))
    walls = WallRecords(ids, ids.astype(np.int8), ids, 2 * ids, np.tile(3.0 * ids, (4, 1)))
    for turn in range(4):
        found = exchange.migrate(particles, partial(contacts_of, particles, pairs, walls))
        if found is not None:
            stayed = particles.id[~found.leaves]
            assert not np.isin(found.pairs.lower, stayed).any()
            assert not np.isin(found.pairs.higher, stayed).any()
            particles.replace_rows(found.leaves, found.arrived)
            pairs = pairs.take(np.isin(pairs.lower, stayed) | np.isin(pairs.higher, stayed))
            pairs, walls = (pairs.joined(found.pairs), walls.take(np.isin(walls.id, stayed)).joined(found.walls))
        owned = communicator.allgather(particles.id)
        assert np.sort(np.concatenate(owned)).tolist() == list(range(count))
        assert (exchange._parts.owners(particles.position) == communicator.rank).all()
        here = np.isin(pairs.lower, particles.id) | np.isin(pairs.higher, particles.id)
        pairs = pairs.take(here)
        keys = np.sort(pairs.lower)
        ends = np.arange(count - 1)
        assert keys.tolist() == ends[np.isin(ends, particles.id) | np.isin(ends + 1, particles.id)].tolist()
        assert (pairs.history == pairs.lower).all()
        assert np.sort(walls.id).tolist() == np.sort(particles.id).tolist()
        assert (walls.history == 3.0 * walls.id).all()
        assert (walls.facet == 2 * walls.id).all()
        particles.position[:] = np.random.default_rng([turn, communicator.rank]).random((len(particles), 3))


@pytest.mark.ranks(2, 3, 8)
def test_particles_go_to_neighbours_without_asking_all_ranks(ranks, communicator, monkeypatch):
    """As long as none goes farther; then all are asked. The same particles arrive."""
    asked = []
    notify = Messages.notify
    monkeypatch.setattr(Messages, "notify", lambda *given: asked.append(1) or notify(*given))
    rng = np.random.default_rng(5)
    position = rng.random((400, 3))
    exchange = RankExchange(describe(communicator, 1), [0.0] * 3, [1.0] * 3, [True] * 3, "slabs")
    own = owned_rows(exchange, position)
    particles = Particles({"id": own, "radius": np.full(len(own), NARROW), "position": position[own]})
    for turn in range(6):
        exchange.make_ghosts(particles, lambda radius, *_: radius.copy(), np.array([NARROW]))
        jumps = turn == 4  # half of the box, which is farther than a neighbour on eight ranks
        moves = np.random.default_rng(turn).uniform(-0.02, 0.02, (400, 3))
        moves[:, 0] += 0.5 * jumps
        position = (position + moves) % 1.0
        particles.position[:] = position[particles.id]
        asked.clear()
        found = exchange.migrate(particles, lambda _: (PairRecords.none(9), WallRecords.none(9)))
        assert bool(asked) == (jumps and ranks == 8)
        particles.replace_rows(found.leaves, found.arrived)
        assert (exchange.owners(particles.position) == communicator.rank).all()
        assert (particles.position == position[particles.id]).all()
        assert np.sort(np.concatenate(communicator.allgather(particles.id))).tolist() == list(range(400))
