"""Members of clusters stand in the blocks that kernels go through: each in one lane, and those of a block alike."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pdem.containers.clusters import STATE, Clusters, ShapeArrays
from pdem.containers.particles import Particles
from pdem.engine.clusters.steps import with_members_together
from pdem.motion.clusters.cluster_blocks import BLOCK
from pdem.motion.clusters.rigid_clusters import copied_members, first_block, owned_members

SIZES = 1, 3, 4
SHAPES = ShapeArrays(
    np.concatenate(([0], np.cumsum(SIZES))), np.zeros((8, 3)), np.ones(8), np.ones(3), np.ones((3, 3)), np.ones(3)
)  # fmt: skip


def mixture(shapes, single, seed):
    """Return clusters of these shapes, particles in any order, some single spheres among them, and cluster numbers."""
    sizes = np.array([SIZES[shape] for shape in shapes], np.int64)
    number = 1 + np.cumsum(sizes) - sizes
    members, rng = int(sizes.sum()), np.random.default_rng(seed)
    order = rng.permutation(members + single)
    cluster = np.concatenate((np.repeat(number, sizes), np.zeros(single, np.int64)))[order]
    columns = {
        name: np.zeros((len(order), 3)) for name in ("position", "velocity", "angular_velocity", "force", "torque")
    }
    columns |= {"id": order.astype(np.int64), "cluster": cluster, "radius": np.ones(len(order))}
    clusters = Clusters(SHAPES)
    states = np.zeros((len(shapes), STATE))
    states[:, 13] = shapes
    clusters.replace(number, np.zeros((len(shapes), 3), np.int32), states)
    return clusters, columns, number


def check(members, clusters, cluster, ids, size_of):
    """Check that each member has one lane, and what fills up the last block."""
    seen = []
    assert first_block.py_func(0, 3, members) == 0
    assert first_block.py_func(3, 3, members) == len(members.first) - 1
    for b, (first, last) in enumerate(zip(members.first[:-1], members.first[1:], strict=True)):
        assert 0 < last - first <= BLOCK
        lanes = members.row[members.lane[b] : members.lane[b + 1]].reshape(-1, BLOCK)
        spheres = members.sphere[members.lane[b] : members.lane[b + 1]].reshape(-1, BLOCK)
        for c in range(BLOCK):
            k = members.order[min(first + c, last - 1)]
            rows = lanes[:, c]
            assert (cluster[rows] == clusters.number[k]).all()
            assert len(rows) == size_of(clusters.number[k])
            assert len(set(ids[rows].tolist())) == len(rows)
            shape = int(clusters.states[k, 13])
            np.testing.assert_array_equal(spheres[:, c], SHAPES.begin[shape] + ids[rows] + 1 - clusters.number[k])
            if first + c < last:
                seen.extend(rows.tolist())
    assert sorted(seen) == np.flatnonzero(cluster).tolist()


@given(st.lists(st.integers(0, 2), max_size=40), st.integers(0, 5), st.integers(0, 1000))
def test_owned_members_have_one_lane_each(shapes, single, seed):
    clusters, columns, _ = mixture(shapes, single, seed)
    particles = Particles(columns)
    sizes = {number: SIZES[shape] for number, shape in zip(clusters.number, clusters.shape.astype(int), strict=True)}
    members = owned_members(clusters, particles)
    check(members, clusters, particles.cluster, particles.id, sizes.__getitem__)
    for b, (begin, end) in enumerate(itertools.pairwise(members.lane)):
        ids = particles.id[members.row[begin:end]].reshape(-1, BLOCK)
        assert (np.diff(ids, axis=0) == 1).all(), b


@given(st.lists(st.integers(0, 2), min_size=1, max_size=40), st.integers(0, 1000))
def test_copies_of_members_have_one_lane_each(shapes, seed):
    """Not all members of a cluster have to be here."""
    clusters, columns, _ = mixture(shapes, 2, seed)
    here = np.random.default_rng(seed).random(len(columns["id"])) < 0.6
    cluster, ids = columns["cluster"][here], columns["id"][here]
    some = SimpleNamespace(count=0, ghosts=len(ids), column={"cluster": cluster, "id": ids}.__getitem__)
    check(copied_members(clusters, some), clusters, cluster, ids, lambda number: int((cluster == number).sum()))


@given(st.lists(st.integers(0, 2), max_size=40), st.integers(0, 5), st.integers(0, 1000))
def test_members_are_put_together_where_their_first_one_stands(shapes, single, seed):
    _, columns, _ = mixture(shapes, single, seed)
    particles = Particles(columns)
    order = with_members_together(np.arange(particles.count, dtype=np.int32), particles)
    assert sorted(order.tolist()) == list(range(particles.count))
    cluster, ids = particles.cluster[order], particles.id[order]
    for number in np.unique(cluster[cluster > 0]):
        rows = np.flatnonzero(cluster == number)
        assert rows[-1] - rows[0] == len(rows) - 1
        assert (np.diff(ids[rows]) > 0).all() or len(rows) == 1
    firsts = [int(np.flatnonzero(particles.cluster == n)[0]) for n in dict.fromkeys(cluster[cluster > 0].tolist())]
    assert firsts == sorted(firsts)
