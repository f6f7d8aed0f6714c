"""Cuts of space among ranks: everything has one owner, and all have equal work."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decomposition.balance import Balance
from decomposition.bisection import cut, with_exact_parts
from decomposition.partitioners import PARTITIONERS
from decomposition.repeats import Repeats
from pdem.case.sections.general import Decomposition
from pdem.containers.exchange import PartitionMethod

SEEDS = st.integers(0, 2**32 - 1)


def cloud(seed, count):
    generator = np.random.default_rng(seed)
    return generator, generator.normal(size=(count, 3)) * 10 ** generator.uniform(-2, 2, 3)


def test_cases_can_name_all_partitioners():
    named = get_args(Decomposition.model_fields["method"].annotation)
    assert set(PARTITIONERS) == set(get_args(PartitionMethod)) == set(named)


@pytest.mark.parametrize("method", PARTITIONERS)
def test_every_partitioner_gives_every_place_an_owner(method):
    _, position = cloud(1, 700)
    partition = PARTITIONERS[method](position.min(axis=0), position.max(axis=0))
    empty = partition(position[:0], 7)
    parts = partition(position, 7, 1.0 + position[:, 0] ** 2, partition(position, 7))
    for one in (empty, parts):
        owners = one.owners(position)
        assert ((owners >= 0) & (owners < 7)).all()
    assert len(np.unique(parts.owners(position))) == 7


@settings(max_examples=60, derandomize=True)
@given(seed=SEEDS, parts=st.integers(1, 40), axes=st.sampled_from([(0,), (1,), (2,), (0, 1, 2)]))
def test_parts_are_equal_in_number(seed, parts, axes):
    _, position = cloud(seed, 4000)
    numbers = np.bincount(cut(position, parts, axes).owners(position), minlength=parts)
    assert len(numbers) == parts
    # a cut of k parts is exact to a particle, so that no part is off by more than one for each cut around it
    assert np.abs(numbers - 4000 / parts).max() <= np.ceil(np.log2(parts)) + 1


@settings(max_examples=40, derandomize=True)
@given(seed=SEEDS, parts=st.integers(1, 40), axes=st.sampled_from([(1,), (0, 1, 2)]))
def test_some_parts_of_a_sample_are_made_exact(seed, parts, axes):
    _, position = cloud(seed, 4000)
    rough = cut(position[::20], parts, axes)
    whole = np.concatenate((position.min(axis=0), np.nextafter(position.max(axis=0), np.inf)))

    def count(box):
        return np.count_nonzero(((position >= box[:3]) & (position < box[3:])).all(axis=1))

    chosen = [0, parts // 2, parts - 1]
    exact = with_exact_parts(rough, chosen, whole, count)
    numbers = np.bincount(exact.owners(position), minlength=parts)
    assert numbers.sum() == 4000
    for part in chosen:
        assert abs(numbers[part] - 4000 / parts) <= np.ceil(np.log2(parts)) + 1
    around = {node for part in chosen for node, _ in rough.way_to(part)}
    others = [node for node in range(parts - 1) if node not in around]
    np.testing.assert_array_equal(exact.place[others], rough.place[others])


@settings(max_examples=40, derandomize=True)
@given(seed=SEEDS, parts=st.integers(1, 20))
def test_parts_are_equal_in_work(seed, parts):
    generator, position = cloud(seed, 4000)
    weights = generator.uniform(0.1, 2.0, 4000) * (1.0 + 4.0 * (position[:, 0] > 0.0))
    work = np.bincount(cut(position, parts, weights=weights).owners(position), weights, minlength=parts)
    assert np.abs(work - weights.sum() / parts).max() <= 11.0 * (np.ceil(np.log2(parts)) + 1)


@settings(max_examples=40, derandomize=True)
@given(seed=SEEDS, parts=st.integers(2, 64), count=st.sampled_from([0, 1, 2, 7]))
def test_more_parts_than_particles(seed, parts, count):
    _, position = cloud(seed, count)
    cuts = cut(position, parts)
    assert np.isfinite(cuts.place).all()
    owners = cuts.owners(position)
    assert ((owners >= 0) & (owners < parts)).all()
    assert np.bincount(owners, minlength=parts).max(initial=0) <= max(1, count // 2 + 1)


def test_boxes_of_eight_parts_are_cubes():
    position = np.random.default_rng(0).uniform(0.0, 1.0, (80_000, 3))
    owners = cut(position, 8).owners(position)
    corners = [tuple((position[owners == part].mean(axis=0) > 0.5).tolist()) for part in range(8)]
    assert len(set(corners)) == 8


def test_slabs_rise_along_their_axis():
    _, position = cloud(3, 700)
    owners = cut(position, 7, (1,)).owners(position)
    assert (np.diff(owners[np.argsort(position[:, 1])]) >= 0).all()
    np.testing.assert_array_equal(np.bincount(owners), 100)


def test_cuts_move_by_half_of_their_way_until_the_work_is_even():
    position = np.random.default_rng(1).uniform(0.0, 1.0, (20_000, 3)) * [4.0, 1.0, 1.0]
    weights = np.where(position[:, 0] < 1.0, 5.0, 1.0)
    cuts, worst = cut(position, 2), []
    first = cuts.place[0]
    for _ in range(12):
        worst.append(np.bincount(cuts.owners(position), weights).max() / weights.sum() * 2.0)
        cuts = cut(position, 2, weights=weights, before=cuts)
    assert worst[0] > 1.4
    assert worst[-1] < 1.001
    assert (np.diff(worst) < 1e-3).all()
    second = cut(position, 2, weights=weights, before=cut(position, 2)).place[0]
    best = cut(position, 2, weights=weights).place[0]
    np.testing.assert_allclose(second, 0.5 * (first + best))


def test_space_is_cut_anew_when_imbalance_has_cost_twice_as_much():
    balance = Balance("auto")
    np.testing.assert_array_equal(balance.since_cut(np.array([3.0, 1.0])), 0.0)
    np.testing.assert_array_equal(balance.since_cut(np.array([5.0, 1.5])), [2.0, 0.5])
    np.testing.assert_array_equal(balance.since_cut(np.array([6.0, 1.5])), [3.0, 0.5])
    assert not balance.is_due(0.0, 0.0)
    assert not balance.is_due(2.0, 1.0)
    assert balance.is_due(2.1, 1.0)
    balance.begin()
    balance.end()
    assert balance.cost > 0.0
    np.testing.assert_array_equal(balance.since_cut(np.array([6.5, 1.5])), [0.5, 0.0])
    assert balance.may_cut
    assert Balance("always").is_due(0.0, 1.0)
    assert not Balance("never").may_cut
    assert not Balance("never").is_due(1e9, 0.0)


def boxes_of(cuts, whole):
    """Return the box of each part, one after the other."""
    boxes, waiting = np.empty((cuts.parts, 6)), [(0 if cuts.parts > 1 else -1, whole)]
    while waiting:
        node, box = waiting.pop()
        if node < 0:
            boxes[-1 - node] = box
            continue
        below, above, axis = box.copy(), box.copy(), cuts.axis[node]
        below[3 + axis] = min(below[3 + axis], cuts.place[node])
        above[axis] = max(above[axis], cuts.place[node])
        waiting += [(cuts.below[node], below), (cuts.above[node], above)]
    return boxes


@settings(max_examples=60, derandomize=True)
@given(seed=SEEDS, parts=st.integers(1, 40), axes=st.sampled_from([(0,), (2,), (0, 2), (0, 1, 2)]))
def test_parts_know_the_axes_along_which_they_end(seed, parts, axes):
    _, position = cloud(seed, 500)
    cuts = cut(position, parts, axes)
    everywhere = np.array([-np.inf] * 3 + [np.inf] * 3)
    for part in range(parts):
        ends = np.isfinite(cuts.box(part, everywhere)).reshape(2, 3).any(axis=0)
        np.testing.assert_array_equal(cuts.axes_of(part), ends)


@settings(max_examples=60, derandomize=True)
@given(seed=SEEDS, parts=st.integers(1, 70), periodic=st.tuples(st.booleans(), st.booleans(), st.booleans()))
def test_the_parts_near_boxes_are_found(seed, parts, periodic):
    """By the walk down the tree as by a look at all of them, whatever the images."""
    rng, _ = cloud(seed, 0)
    cuts, period = cut(rng.random((100, 3)), parts), np.where(periodic, 1.0, 0.0)
    whole = np.repeat([0.0, 1.0], 3)
    lower = rng.random((3, 3))
    boxes = np.column_stack((lower, lower + rng.uniform(0.0, 0.3, (3, 3)), rng.uniform(0.0, 0.3, 3)))
    boxes[0, 0] = np.inf  # of no particles
    expected = set()
    shifts = np.stack(np.meshgrid(*[[-one, 0.0, one] for one in period]), axis=-1).reshape(-1, 3)
    for part, box in enumerate(boxes_of(cuts, whole)):
        for one in boxes[1:]:
            apart = np.maximum(box[:3] - one[3:6] - shifts, one[:3] + shifts - box[3:])
            within = np.linalg.norm(np.maximum(apart, 0.0), axis=1).min() <= one[6]
            expected |= {part} if within and (box[:3] <= box[3:]).all() else set()
    assert cuts.near(boxes, whole, Repeats.upright(period)).tolist() == sorted(expected)


def test_as_many_parts_touch_one_whatever_their_number():
    rng = np.random.default_rng(2)
    for parts in (64, 512, 4096):
        position = rng.random((40 * parts, 3))
        cuts = cut(position, parts)
        own = position[cuts.owners(position) == parts // 3]
        box = np.concatenate((own.min(axis=0), own.max(axis=0), [0.03 * parts ** (-1.0 / 3.0)]))[None]
        near = cuts.near(box, np.repeat([0.0, 1.0], 3), Repeats.upright(np.ones(3)))
        assert parts // 3 in near
        assert 7 <= len(near) <= 27
