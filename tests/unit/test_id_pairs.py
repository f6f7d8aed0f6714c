"""The table of pairs by ids on one rank: order, columns bit by bit, lists by particle, what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdem.containers.box_shape import UPRIGHT
from pdem.containers.group import OneRank
from pdem.containers.particles import Particles
from pdem.detection.neighbours import SEGMENTS, NearPairs
from pdem.engine.id_pairs.by_particle import pairs_of_particles
from pdem.engine.id_pairs.no_contact import leave_out
from pdem.engine.id_pairs.pair_places import FAR_SHARE, PairBox
from pdem.engine.id_pairs.pairs_by_id import PairTable
from pdem.foundation.errors import InputError
from pdem.foundation.fields import Field
from pdem.foundation.id_sets import pairs_among
from pdem.foundation.packed_row import PACKED
from pdem.motion.moving_box import BoxState, MovingBox

FIELDS = (
    Field("length", np.float64, (), "m", "length"),
    Field("bits", np.int64, (2,), "1", "whole numbers"),
    Field("frame", np.float64, (3, 3), "1", "frame", default=0.5),
)
OPEN = PairBox(np.zeros(3), np.zeros(3))


def particles_of(ids, position=None):
    where = np.zeros((len(ids), 3)) if position is None else position
    return Particles({"id": np.asarray(ids, np.int64), "position": where})


@st.composite
def pairs(draw, largest=30):
    """Return some pairs of different ids below `largest`, each once, in any order."""
    drawn = draw(st.lists(st.tuples(st.integers(0, largest - 1), st.integers(0, largest - 1)), max_size=40))
    some = sorted({(min(pair), max(pair)) for pair in drawn if pair[0] != pair[1]})
    return np.array(draw(st.permutations(some)), np.int64).reshape(-1, 2)


def filled(some, seed=0):
    """Return a table of pairs whose columns have arbitrary bits, those that are no number among them."""
    rng = np.random.default_rng(seed)
    columns = {
        "length": rng.integers(0, 2**63, len(some)).view(np.float64),
        "bits": rng.integers(-(2**62), 2**62, (len(some), 2)),
    }
    table = PairTable("links", FIELDS)
    table.replace(some[:, 0], some[:, 1], columns)
    return table, {tuple(pair): row for row, pair in enumerate(some.tolist())}, columns


@given(pairs())
def test_pairs_are_in_order_with_their_columns(some):
    table, row_of, columns = filled(some)
    assert list(zip(table.lower, table.higher, strict=True)) == sorted(map(tuple, some.tolist()))
    for row, pair in enumerate(zip(table.lower, table.higher, strict=True)):
        for name, column in columns.items():
            assert table.columns[name][row].tobytes() == column[row_of[pair]].tobytes()
    assert (table.columns["frame"] == 0.5).all()
    assert table.columns["frame"].shape == (len(some), 3, 3)


@given(pairs(), st.integers(0, 2**32))
def test_records_keep_every_bit(some, seed):
    """As they go to another rank, and join the pairs that are there."""
    table, _, _ = filled(some)
    goes = np.random.default_rng(seed).random(len(some)) < 0.5
    records, before = table.records(goes), table.columns_of(np.ones(len(some), bool))
    table.keep(~goes)
    assert len(table) == np.count_nonzero(~goes)
    table.join(records)
    for name, column in table.columns_of(np.ones(len(some), bool)).items():
        assert column.dtype == before[name].dtype
        assert column.tobytes() == before[name].tobytes()


@given(pairs(), st.permutations(range(30)), st.integers(0, 30))
def test_pairs_of_a_particle_are_in_the_order_of_partners(some, rows, owned):
    """Whatever rows particles have, beside a search by hand."""
    row_of = np.array(rows)
    table, _, _ = filled(some)
    ends = np.stack((row_of[table.lower], row_of[table.higher]), axis=1)
    starts, entries = pairs_of_particles(ends, owned)
    for particle, row in enumerate(row_of):
        if row >= owned:
            continue
        partners = []
        for entry in entries[starts[row] : starts[row + 1]]:
            pair, is_higher = entry >> 1, entry & 1
            assert (table.higher if is_higher else table.lower)[pair] == particle
            partners.append((table.lower if is_higher else table.higher)[pair])
        assert partners == sorted(np.concatenate((some[some[:, 0] == particle, 1], some[some[:, 1] == particle, 0])))
    assert starts[-1] == len(entries)


@given(pairs(6), pairs(6))
def test_pairs_are_found_among_others(some, wanted):
    others = set(map(tuple, wanted.tolist()))
    assert pairs_among(some, wanted).tolist() == [tuple(pair) in others for pair in some.tolist()]


@given(pairs(), st.permutations(range(30)), st.integers(1, 30), st.integers(0, 2**32))
def test_only_marked_pairs_are_left_out(some, rows, owned, seed):
    """Of near pairs of rows in any order, beside a search by hand."""
    rng, row_of = np.random.default_rng(seed), np.array(rows)
    table, _, _ = filled(some)
    ends = np.stack((row_of[table.lower], row_of[table.higher]), axis=1)
    marked = rng.integers(0, 2, len(some))
    near = rng.integers(0, 30, (200, 2)).astype(np.int32)
    near = near[near[:, 0] != near[:, 1]]
    lists = NearPairs.of(near[:, 0].copy(), near[:, 1].copy())
    found = lists.found.copy()
    leave_out(lists.first, lists.second, lists.begin, found, *pairs_of_particles(ends, owned), ends, marked)
    without = {frozenset(pair) for pair, mark in zip(ends.tolist(), marked, strict=True) if mark}
    for segment in range(SEGMENTS):
        begin, before = lists.begin[segment], lists.found[segment]
        wanted = [
            pair
            for pair in near[begin : begin + before].tolist()
            if frozenset(pair) not in without or min(pair) >= owned
        ]
        here = slice(begin, begin + found[segment])
        assert np.stack((lists.first[here], lists.second[here]), axis=1).tolist() == wanted


@given(st.lists(st.floats(0.0, 0.999), min_size=6, max_size=6), st.tuples(*[st.booleans()] * 3))
def test_the_higher_end_is_the_nearest_image(places, periodic):
    position = np.array(places).reshape(2, 3) * [2.0, 1.0, 4.0]
    period = np.where(periodic, [2.0, 1.0, 4.0], 0.0)
    box = PairBox(period, np.divide(1.0, period, out=np.zeros(3), where=period > 0.0))
    table = PairTable("links")
    table.replace(np.array([3]), np.array([7]), {})
    missing, longest = table.find_rows(particles_of([3, 7], position), np.array([0, 1]), box)
    packed = np.zeros((2, PACKED))
    packed[:, :3] = position
    table.follow(packed, box)
    branch = position[1] - position[0] + table.shift[0]
    assert not len(missing)
    assert longest == pytest.approx(math.sqrt(branch @ branch), rel=1e-12, abs=1e-300)
    limit = np.where(periodic, 0.5 * period, np.inf)
    assert (np.abs(branch) <= limit * (1.0 + 1e-12)).all()
    shift = np.divide(table.shift[0], period, out=np.zeros(3), where=period > 0.0)
    assert (shift == np.round(shift)).all()


coordinates = st.lists(st.floats(0.0, 0.999), min_size=3, max_size=3)
axes_of_shear = st.sampled_from([(UPRIGHT, UPRIGHT), (0, 1), (1, 0), (2, 1), (0, 2)])


@given(coordinates, coordinates, axes_of_shear, st.floats(-3.0, 3.0), st.floats(-2.0, 2.0))
def test_images_in_a_box_that_deforms(first, second, axes, lean, rate):
    """The shift and its velocity, beside the shape of the box and a difference in time."""
    box = MovingBox(np.zeros(3), np.array([2.0, 1.0, 4.0]), (True, True, True), 1e-3, *axes)
    shear = 0.0 if axes == (UPRIGHT, UPRIGHT) else rate
    box.load_state(BoxState(0, [2.0, 1.0, 4.0], [0.3, -0.2, 0.1], lean, 0.7 * shear))
    before, shape, after = (box.shape(step) for step in (0, 1, 2))
    position = np.array([first, second]) * shape.period
    table = PairTable("links")
    table.replace(np.array([3]), np.array([7]), {})
    images = PairBox(np.zeros(3), np.zeros(3), box.images(1))
    _, longest = table.find_rows(particles_of([3, 7], position), np.array([0, 1]), images)
    packed = np.zeros((2, PACKED))
    packed[:, :3] = position
    table.follow(packed, images)
    branch, way = position[1] - position[0] + table.shift[0], position[1] - position[0]
    turns = np.round(np.linalg.solve(shape.vectors.T, table.shift[0]))
    np.testing.assert_allclose(table.shift[0], turns @ shape.vectors, atol=1e-12)
    half = np.abs(branch) / shape.period
    assert half.max() < 0.5 + 1e-9
    if half.max() < 0.5 - 1e-9:
        np.testing.assert_allclose(branch, shape.nearest(way[None])[0], atol=1e-12)
    assert table.far[0] == (half.max() > FAR_SHARE) or abs(half.max() - FAR_SHARE) < 1e-9
    change = after.vectors - before.vectors
    if np.abs(change).max() < 0.1:  # else the lean has passed half a period, and other images take over
        np.testing.assert_allclose(table.drift[0], turns @ change / 2e-3, atol=1e-9)
    assert longest == pytest.approx(math.sqrt(branch @ branch), rel=1e-12, abs=1e-300)


@pytest.mark.parametrize(
    ("some", "message"),
    [
        ([(1, 2), (4, 4)], "links: particle 4 is paired with itself; give two different particles"),
        ([(2, 1)], "links: the pair 2, 1 has the higher id first; turn it round"),
        ([(1, 9)], "links: there is no particle 9, of the pair 1, 9; give ids of particles that exist"),
        ([(-1, 2)], "links: there is no particle -1, of the pair -1, 2; give ids of particles that exist"),
        ([(1, 2), (0, 2), (1, 2)], "links: the pair 1, 2 is there twice; give each pair once"),
    ],
)
def test_impossible_pairs_are_refused(some, message):
    lower, higher = np.array(some).T
    table = PairTable("links")
    with pytest.raises(InputError, match=message):
        table.load(OneRank(), particles_of(range(5)), {"lower": lower, "higher": higher})


def test_columns_have_numbers_of_eight_bytes():
    with pytest.raises(ValueError, match="pairs have numbers of 8 bytes, and kind has int32"):
        PairTable("links", [Field("kind", np.int32, (), "1", "kind")])


def test_pairs_that_stay_keep_their_rows():
    table = PairTable("links")
    table.replace(np.array([0, 0, 1]), np.array([1, 2, 2]), {})
    table.find_rows(particles_of([2, 1]), np.array([-1, -1, 1, 1, 0, 0]), OPEN)
    table.keep(np.array([True, False, True]))
    assert table.rows.tolist() == [[-1, 1], [1, 0]]
    assert table.of_particles.starts.tolist() == [0, 1, 3]
    assert table.of_particles.entries.tolist() == [3, 1, 2]
