"""What any rank may hold any row of gets to where it belongs, and is counted the same for any number of ranks."""

from __future__ import annotations

import numpy as np
import pytest

from decomposition.bisection import cut
from decomposition.exchange import RankExchange
from decomposition.mpi import describe
from pdem.containers.exchange import Alone
from pdem.containers.id_directory import IDS_TOGETHER, IdDirectory
from pdem.detection.occupancy import local_density
from pdem.detection.radius_bins import binned_radii


@pytest.fixture
def exchange(communicator):
    return RankExchange(describe(communicator, 1), [0.0] * 3, [1.0] * 3, [True, False, False])


def share_of(exchange, count, seed):
    """Return a random part of the rows of all."""
    return np.flatnonzero(np.random.default_rng(seed).integers(0, exchange.size, count) == exchange.rank)


@pytest.mark.ranks(1, 2, 3, 8, slow=(4,))
@pytest.mark.parametrize("seed", range(4))
def test_ranks_find_the_cuts_that_one_process_finds(ranks, exchange, seed):
    rng = np.random.default_rng(seed)
    position = rng.normal(size=(3000, 3)) * 10.0 ** rng.uniform(-2, 2, 3)
    weights = rng.uniform(0.1, 2.0, 3000)
    mine = share_of(exchange, 3000, seed)
    for parts in (2, 7, 16):
        whole = cut(position, parts, weights=weights)
        found = cut(position[mine], parts, weights=weights[mine], over=exchange)
        moved = cut(position[mine], parts, before=found, over=exchange)
        for one, other in ((whole, found), (cut(position, parts, before=whole), moved)):
            np.testing.assert_array_equal(one.axis, other.axis)
            np.testing.assert_array_equal(one.place, other.place)


@pytest.mark.ranks(2, 3)
def test_a_slow_rank_gets_less_until_all_take_equally_long(ranks, exchange):
    """The last rank takes twice as long for a particle as the others do, which numbers of particles do not show."""
    position = np.random.default_rng(5).uniform(size=(6000, 3))
    exchange.divide(position[share_of(exchange, 6000, 1)])
    pace, spent, shares = 2e-3 if exchange.rank == ranks - 1 else 1e-3, np.zeros(1), []
    exchange.rebalance(np.zeros((0, 3)), spent, lambda: np.zeros((0, 1)))
    for _ in range(12):
        mine = position[exchange.owners(position) == exchange.rank]
        spent = spent + pace * len(mine)
        exchange.rebalance(mine, spent, lambda mine=mine: np.ones((len(mine), 1)))
        shares.append(len(mine) / 6000)
    slow = 1.0 / (2 * ranks - 1)
    assert shares[0] == pytest.approx(1.0 / ranks, rel=0.01)
    assert shares[-1] == pytest.approx(slow if exchange.rank == ranks - 1 else 2.0 * slow, rel=0.02)


@pytest.mark.ranks(1, 2, 3, 8, slow=(4,))
def test_rows_get_to_the_ranks_they_are_sent_to(ranks, exchange):
    rng = np.random.default_rng(exchange.rank)
    count = int(rng.integers(0, 50)) * (exchange.rank % 3 != 1)
    targets = rng.integers(0, ranks, count)
    rows = {"from": np.full(count, exchange.rank), "number": np.arange(count), "pair": rng.random((count, 2))}
    got = exchange.route(rows, targets)
    sent = exchange.in_order([np.array([exchange.rank])])
    assert sent.total == ranks
    assert int(exchange.add(np.array([len(got["from"])]))[0]) == int(exchange.add(np.array([count]))[0])
    assert (np.lexsort((got["number"], got["from"])) == np.arange(len(got["from"]))).all()
    for source in range(ranks):
        other = np.random.default_rng(source)
        number = int(other.integers(0, 50)) * (source % 3 != 1)
        to, pair = other.integers(0, ranks, number), other.random((number, 2))
        np.testing.assert_array_equal(got["pair"][got["from"] == source], pair[to == exchange.rank])


@pytest.mark.ranks(1, 2, 3, 8, slow=(4,))
def test_any_rank_finds_what_another_has_given_for_an_id(ranks, exchange):
    ids = np.random.default_rng(1).permutation(40 * IDS_TOGETHER)[:5000] ** 2
    mine = np.flatnonzero(np.arange(5000) % ranks == exchange.rank)
    directory = IdDirectory(exchange, ids[mine], 3 * ids[mine])
    asked = np.random.default_rng(2 + exchange.rank).choice(ids, 700 * (exchange.rank % 2))
    np.testing.assert_array_equal(directory.find(asked), 3 * asked)
    assert directory.find(np.array([-5, 10**12])).tolist() == [-1, -1]


@pytest.mark.ranks(1, 2, 3, 8, slow=(4,))
def test_sizes_and_density_are_those_of_all(ranks, exchange):
    rng = np.random.default_rng(5)
    radius = np.append(0.01 * rng.uniform(1.0, 30.0, 4000), [0.5, 0.005])
    mine = share_of(exchange, len(radius), 7)
    radii, counts = binned_radii(radius[mine], exchange)
    whole = binned_radii(radius, Alone())
    np.testing.assert_array_equal(radii, whole[0])
    np.testing.assert_array_equal(counts, whole[1])
    assert radii[-1] == 0.5
    assert counts.sum() == len(radius)
    assert radii[0] == 0.005
    position = rng.random((len(radius), 3))
    box = np.zeros(3), np.ones(3), [True] * 3
    exchange.divide(position if exchange.rank == 0 else position[:0])
    own = position[exchange.owners(position) == exchange.rank]
    together = local_density(own, 0.1, *box, over=exchange)
    assert together == pytest.approx(local_density(position, 0.1, *box), rel=0.1)
    assert together >= len(radius)


@pytest.mark.ranks(1, 2, 3, 8, slow=(4,))
def test_ranks_near_a_place_are_those_that_own_places_near_it(ranks, exchange):
    rng = np.random.default_rng(11)
    position = rng.random((2000, 3))
    exchange.divide(position if exchange.rank == 0 else position[:0])
    owner = exchange.owners(position)
    mine = np.flatnonzero(owner == exchange.rank)
    reach = np.where(np.arange(2000) % 100 == 0, 0.4, 0.02)
    rows, to = exchange.near(position[mine], reach[mine])
    found = set(zip(mine[rows].tolist(), to.tolist(), strict=True))
    assert len(found) == len(rows)
    for row in mine:
        apart = np.abs(position - position[row])
        apart[:, 0] = np.minimum(apart[:, 0], 1.0 - apart[:, 0])
        needed = set(np.unique(owner[(apart**2).sum(axis=1) <= reach[row] ** 2]).tolist())
        assert needed <= {rank for one, rank in found if one == row}
    assert len(rows) < 4 * len(mine) + ranks * 20
