"""Contacts of particles that change rank: every rank has those of its own, and what is lost is counted once."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from decomposition.migration import _without_known
from helpers.crowds import LAW, in_rows, pairs_of_candidates
from pdem.contact.law.dissipation import ENDED
from pdem.contact.pairs.contacts import PairContacts
from pdem.containers.particles import Particles
from pdem.containers.records import PairRecords
from pdem.detection.id_table import indexed
from pdem.detection.neighbours import NearPairs
from pdem.foundation.id_sets import rows_among
from pdem.numerics.sums import ExactSums

RANKS = 3


def radii_of(ids):
    return 1.0 + ids * 7919 % 5


def with_ghosts(particles, ids):
    """Append all other particles as ghosts."""
    others = np.setdiff1d(ids, particles.id)
    particles.reserve(particles.count + len(others))
    particles.ghosts = len(others)
    rows = slice(particles.count, particles.count + len(others))
    particles.column("id")[rows], particles.column("radius")[rows] = others, radii_of(others)


def near_of(particles, pairs):
    """Return those pairs of ids of which a particle is owned, in rows."""
    ids = particles.column("id")[: particles.count + particles.ghosts]
    order = np.argsort(ids)
    rows = order[np.searchsorted(ids, pairs, sorter=order)].astype(np.int32).reshape(-1, 2)
    rows = rows[(rows < particles.count).any(axis=1)]
    return NearPairs.of(rows[:, 0].copy(), rows[:, 1].copy())


class Rank:
    """What a rank owns of a crowd, and its contacts."""

    def __init__(self, number, ids, owner, known, history):
        self.number, self.lost = number, ExactSums(ENDED)
        own = ids[owner == number]
        self.particles, self.lists = Particles({"id": own, "radius": radii_of(own)}), PairContacts(LAW)
        with_ghosts(self.particles, ids)
        self.lists.take_candidates(near_of(self.particles, known), self.particles, self.lost)
        mine = np.isin(known, own).any(axis=1)
        records = PairRecords(known[mine, 0], known[mine, 1], history[:, mine])
        self.lists.load_state(records, self.particles, indexed(own))
        self.lists.take_candidates(pairs_of_candidates(self.lists), self.particles, self.lost)
        assert not self.lost.limbs.any()

    def leave(self, new_owner):
        self.leaves = np.array([new_owner[one] != self.number for one in self.particles.id.tolist()], bool)
        self.gone = self.particles.id[self.leaves]
        self.stayed = self.particles.id[~self.leaves]
        self.records = self.lists.records(self.particles, self.leaves)

    def arrive(self, ranks, new_owner):
        arrived, pairs = np.empty(0, np.int64), PairRecords.none(LAW.columns)
        for other in ranks:
            here = np.array([one for one in other.gone.tolist() if new_owner[one] == self.number], np.int64)
            found = other.records
            pairs = pairs.joined(found.take(np.isin(found.lower, here) | np.isin(found.higher, here)))
            arrived = np.concatenate((arrived, here))
        self.lists.carry(self.particles, self.leaves)
        columns = {"id": arrived, "radius": radii_of(arrived)}
        row_now, rows = self.particles.replace_rows(self.leaves, columns)
        self.lists.renumber(row_now)
        self.lists.append(_without_known(pairs, self.stayed), arrived, columns["radius"], rows)

    def detect(self, ids, near):
        with_ghosts(self.particles, ids)
        self.lists.take_candidates(near_of(self.particles, near), self.particles, self.lost)
        return in_rows(self.lists, self.particles.column("id"), self.particles.count)


@given(st.tuples(st.integers(0, 2**32), st.integers(2, 20), st.sampled_from([0.1, 0.4, 1.0])))
@settings(max_examples=60, deadline=None)
def test_contacts_follow_their_particles_and_are_lost_once(crowd):
    seed, count, share = crowd
    rng = np.random.default_rng(seed)
    ids = np.sort(rng.choice(5 * count, count, replace=False))
    before, after = rng.integers(0, RANKS, (2, count))
    new_owner = dict(zip(ids.tolist(), after.tolist(), strict=True))
    every = ids[np.stack(np.triu_indices(count, 1), axis=1)]
    known = every[rng.random(len(every)) < share]
    near = every[rng.random(len(every)) < 0.7]
    history = rng.random((LAW.columns, len(known)))
    ranks = [Rank(number, ids, before, known, history) for number in range(RANKS)]
    for rank in ranks:
        rank.leave(new_owner)
    for rank in ranks:
        rank.arrive(ranks, new_owner)

    slots = {frozenset(pair): slot for slot, pair in enumerate(known.tolist())}
    met = [frozenset(pair) for pair in near.tolist()]
    none = [0.0] * LAW.columns
    total, expected = ExactSums(ENDED), ExactSums(ENDED)
    for rank in ranks:
        found = rank.detect(ids, near)
        assert np.sort(rank.particles.id).tolist() == ids[after == rank.number].tolist()
        assert rank.particles.radius.tolist() == radii_of(rank.particles.id).tolist()
        for one, row in zip(rank.particles.id.tolist(), found, strict=True):
            mine = [(next(iter(pair - {one})), slots.get(pair)) for pair in met if one in pair]
            assert row == sorted((other, none if slot is None else history[:, slot].tolist()) for other, slot in mine)
        total.limbs += rank.lost.limbs
    gone = [slot for pair, slot in slots.items() if pair not in set(met)]
    expected.add("normal_damping", history[LAW.place("normal_damping"), gone])
    for sums in (total, expected):
        sums.normalise()
    assert total.limbs[0].tolist() == expected.limbs[0].tolist()


@given(st.lists(st.integers(0, 400), max_size=60), st.lists(st.integers(0, 2**40), max_size=8))
def test_few_among_many(ids, wanted):
    ids, wanted = np.array(ids, np.int64), np.array(wanted, np.int64)
    assert rows_among(ids, wanted).tolist() == np.flatnonzero(np.isin(ids, wanted)).tolist()
