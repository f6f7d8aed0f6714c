"""Rows of candidates and the histories that go from list to list: any way of making them gives the same."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.cases import Grains, simulate
from helpers.crowds import LAW, in_rows, pairs_of_candidates, partners
from pdem.contact.law.dissipation import ENDED
from pdem.contact.pairs.contacts import PairContacts
from pdem.containers.particles import Particles
from pdem.containers.records import PairRecords
from pdem.detection import grid_kernels, neighbours
from pdem.detection.id_table import indexed
from pdem.detection.neighbours import NearPairs
from pdem.numerics.sums import ExactSums


def pairs_of(rng: np.random.Generator, rows: int, share: float) -> NearPairs:
    """Return random pairs of rows, each once and in any direction."""
    first, second = np.triu_indices(rows, 1)
    chosen = rng.permutation(np.flatnonzero(rng.random(len(first)) < share))
    turned = rng.random(len(chosen)) < 0.5
    one = np.where(turned, second[chosen], first[chosen]).astype(np.int32)
    other = np.where(turned, first[chosen], second[chosen]).astype(np.int32)
    return NearPairs.of(one, other)


def particles_of(ids: np.ndarray, ghosts: int) -> Particles:
    particles = Particles({"id": ids, "radius": 1.0 + ids * 7919 % 5})
    particles.count, particles.ghosts = len(ids) - ghosts, ghosts
    return particles


systems = st.tuples(st.integers(0, 2**32), st.integers(2, 40), st.integers(0, 15), st.sampled_from([0.05, 0.3, 1.0]))


def drawn(system) -> tuple[np.random.Generator, int, int, float]:
    """Return a generator, rows, those of ghosts, of which one is owned at least, and the share of pairs."""
    seed, rows, ghosts, share = system
    return np.random.default_rng(seed), rows, min(ghosts, rows - 1), share


@given(systems)
@settings(max_examples=40, deadline=None)
def test_candidates_are_in_the_order_of_their_first_rows_those_with_ghosts_last(system) -> None:
    """However pairs come; all of those given but between two ghosts, and each row has its own."""
    rng, rows, ghosts, share = drawn(system)
    owned = rows - ghosts
    particles = particles_of(rng.choice(10 * rows, rows, replace=False), ghosts)
    pairs, lists = pairs_of(rng, rows, share), PairContacts(LAW)
    lists.take_candidates(pairs, particles, ExactSums(ENDED))
    both = np.sort([lists.lower[: lists.candidates], lists.higher[: lists.candidates]], axis=0)
    given = np.sort([pairs.first, pairs.second], axis=0)
    given = given[:, given[0] < owned]
    assert sorted(zip(*both.tolist(), strict=True)) == sorted(zip(*given.tolist(), strict=True))
    for part in (both[:, : lists.inner], both[:, lists.inner :]):
        assert (np.diff(part[0]) >= 0).all()
    assert (both[1, : lists.inner] < owned).all()
    assert (both[1, lists.inner :] >= owned).all()
    for row in range(owned):
        entries = lists._entry[lists._start[row] : lists._start[row + 1]]
        assert sorted(entries // 2) == np.flatnonzero((both == row).any(axis=0)).tolist()


@given(systems)
@settings(max_examples=60, deadline=None)
def test_histories_go_on_by_rows_as_they_do_by_ids_and_as_a_dictionary_says(system) -> None:
    """From one list to another, with new rows, and particles that are ghosts in both."""
    rng, rows, ghosts, share = drawn(system)
    owned = rows - ghosts
    ids = rng.choice(10 * rows, rows, replace=False)
    before, ended = particles_of(ids, ghosts), ExactSums(ENDED)
    lists = PairContacts(LAW)
    lists.take_candidates(pairs_of(rng, rows, share), before, ended)
    touching = np.flatnonzero(rng.random(lists.candidates) < 0.6)
    known = ids[lists.lower[touching]], ids[lists.higher[touching]]
    history = rng.random((LAW.columns, len(touching)))
    lists.load_state(PairRecords(*known, history), before, indexed(before.id))
    lists.take_candidates(pairs_of_candidates(lists), before, ended)
    assert not ended.limbs.any()

    order = rng.permutation(owned).astype(np.int32)
    after = particles_of(np.concatenate((ids[:owned][order], rng.permutation(ids[owned:]))), ghosts)
    near = pairs_of(rng, rows, share)
    by_ids = PairContacts(LAW)
    by_ids.load_state(PairRecords(*known, history), after, indexed(after.id))
    lists.carry(before)
    lists.renumber(np.argsort(order).astype(np.int32))
    found = {}
    for one, way in (("rows", lists), ("ids", by_ids)):
        lost = ExactSums(ENDED)
        way.take_candidates(near, after, lost)
        lost.normalise()
        found[one] = in_rows(way, after.column("id"), owned), lost.limbs.tolist()
    assert found["rows"] == found["ids"]

    slots = {frozenset(pair): slot for slot, pair in enumerate(zip(*np.array(known).tolist(), strict=True), 1)}
    by_slot = [[0.0] * LAW.columns, *history.T.tolist()]
    expected: list[dict[int, list[float]]] = [{} for _ in range(owned)]
    new_ids = after.column("id")[:rows].tolist()
    met = set()
    for a, b in zip(near.first.tolist(), near.second.tolist(), strict=True):
        met.add(frozenset((new_ids[a], new_ids[b])))
        mine = by_slot[slots.get(frozenset((new_ids[a], new_ids[b])), 0)]
        for one, other in ((a, b), (b, a)):
            if one < owned:
                expected[one][new_ids[other]] = mine
    assert found["rows"][0] == [sorted(row.items()) for row in expected]
    our_ids = set(ids[:owned].tolist())
    gone = [slots[pair] - 1 for pair in slots if pair not in met and min(pair) in our_ids]
    total = ExactSums(ENDED)
    total.add("normal_damping", history[LAW.place("normal_damping"), gone])
    total.normalise()
    assert found["rows"][1][0] == total.limbs[0].tolist()


@pytest.mark.parametrize("parts", [2, 3, 5, neighbours.SEGMENTS])
def test_rows_do_not_depend_on_how_many_threads_share_the_work(monkeypatch, parts) -> None:
    rng = np.random.default_rng(5)
    particles = particles_of(rng.permutation(500), 100)
    near = pairs_of(rng, 500, 0.05)
    made = []
    for number in (1, parts):
        monkeypatch.setattr("pdem.contact.pairs.contacts.threads", lambda number=number: number)
        lists = PairContacts(LAW)
        lists.take_candidates(near, particles, ExactSums(ENDED))
        used = lists._start[particles.count]
        made.append(
            [
                lists.candidates, lists.lower[: lists.candidates].tolist(), lists.higher[: lists.candidates].tolist(),
                lists._start[: particles.count + 1].tolist(), lists._entry[:used].tolist(),
                partners(lists, particles.column("id"), particles.count).tolist(),
            ]
        )  # fmt: skip
    assert made[0] == made[1]
    assert made[0][0] > 1000


@pytest.mark.parametrize("parts", [1, 2, 7, 40])
def test_particles_are_sorted_into_buckets_however_the_buckets_are_shared(parts) -> None:
    rng = np.random.default_rng(6)
    count, buckets = 300, 31
    bucket_of = rng.integers(0, buckets, count)
    position, reach = rng.random((count, 3)), rng.random(count)
    start, order = np.full(buckets + 1, -7, np.int32), np.empty(count, np.int32)
    spheres, axes = np.empty(4 * count), rng.permutation(3)
    grid_kernels.sort_into_buckets(
        parts, count, buckets, (position, reach, bucket_of, axes), np.empty(parts, np.int64), start, order, spheres
    )  # fmt: skip
    expected = np.argsort(bucket_of, kind="stable")
    assert order.tolist() == expected.tolist()
    assert start.tolist() == np.searchsorted(np.sort(bucket_of), np.arange(buckets + 1)).tolist()
    assert np.array_equal(spheres.reshape(4, -1).T, np.column_stack((position[:, axes], reach))[expected])


def test_detection_in_every_step_allocates_nothing_that_grows_with_the_particles(tmp_path) -> None:
    """A periodic gas that makes its lists in each step, and puts particles in order every tenth time."""
    count, rng = 8000, np.random.default_rng(3)
    sites = np.stack(np.meshgrid(*[np.arange(20)] * 3), axis=-1).reshape(-1, 3) + 0.5
    grains = Grains(2.4e-3 * sites, 1e-3, rng.uniform(-0.1, 0.1, (count, 3)))
    run = simulate(
        tmp_path, grains, detection={"skin": 0.0}, step=1e-5, lower=[0.0] * 3, upper=[0.048] * 3, periodic=[True] * 3
    )
    run.advance(60)
    detections = run.system.lists.detections
    tracemalloc.start()
    run.advance(15)  # what Python and numpy keep from first calls, also of putting particles in order
    tracemalloc.reset_peak()
    held = tracemalloc.get_traced_memory()[0]
    run.advance(25)
    peak = tracemalloc.get_traced_memory()[1] - held
    tracemalloc.stop()
    assert run.system.lists.detections == detections + 40
    assert peak < 8 * count / 2  # half of one column
