"""Fragments of any bonds: against a search by flooding, and independent of the order of particles."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdem.features.bonds.results.fragments import NEVER_BONDED, fragments_of, labels_of
from pdem.foundation.errors import InputError


@st.composite
def bonded(draw):
    """Return rising ids, and pairs of different ones among these."""
    ids = np.array(sorted(draw(st.sets(st.integers(0, 10**12), min_size=1, max_size=30))), np.int64)
    rows = st.integers(0, len(ids) - 1)
    pairs = draw(st.lists(st.tuples(rows, rows).filter(lambda pair: pair[0] < pair[1]), max_size=40, unique=True))
    return ids, ids[np.array(pairs, np.int64).reshape(-1, 2)]


def flooded(ids, pairs):
    """Return the lowest id that each particle reaches, by passing on lower labels until nothing changes."""
    labels = {one: one for one in ids.tolist()}
    changed = True
    while changed:
        changed = False
        for first, second in pairs.tolist():
            lowest = min(labels[first], labels[second])
            changed |= labels[first] != lowest or labels[second] != lowest
            labels[first] = labels[second] = lowest
    return [labels[one] for one in ids.tolist()]


@given(bonded())
def test_labels_are_the_lowest_ids_that_bonds_reach(case):
    ids, pairs = case
    assert labels_of(ids, pairs).tolist() == flooded(ids, pairs)


@given(bonded(), st.randoms(use_true_random=False), st.integers(2, 3))
def test_fragments_are_sums_over_their_particles(case, random, dimension):
    ids, pairs = case
    count = len(ids)
    radius = np.array([random.uniform(1e-4, 1e-2) for _ in ids])
    material = np.array([random.randrange(2) for _ in ids])
    label = labels_of(ids, pairs)
    single = ~np.isin(ids, pairs)
    label[single & [random.random() < 0.3 for _ in ids]] = NEVER_BONDED
    density = np.array([1000.0, 3000.0])
    table = {"id": ids, "radius": radius, "material": material, "fragment": label}
    found = fragments_of(table, density, dimension)
    mass = density[material] * 4.0 / 3.0 * np.pi * radius**3
    size = 4.0 / 3.0 * np.pi * radius**3 if dimension == 3 else np.pi * radius**2
    for number, one in enumerate(found.fragment.tolist()):
        members = label == one
        assert found.members(one).tolist() == ids[members].tolist()
        assert found.particles[number] == members.sum()
        assert found.mass[number] == pytest.approx(mass[members].sum(), rel=1e-12)
        diameter = found.equivalent_diameter[number]
        shape = np.pi / 6.0 * diameter**3 if dimension == 3 else np.pi / 4.0 * diameter**2
        assert shape == pytest.approx(size[members].sum(), rel=1e-12)
    assert set(found.fragment.tolist()) == set(label.tolist()) - {NEVER_BONDED}
    assert (np.diff(found.mass) <= 0.0).all()
    mixed = np.array(random.sample(range(count), count))
    again = fragments_of({name: column[mixed] for name, column in table.items()}, density, dimension)
    for name in ("ids", "labels", *found.table):
        np.testing.assert_array_equal(getattr(found, name), getattr(again, name))


def test_the_size_distribution_is_by_mass():
    table = {
        "id": np.array([4, 1, 2, 9]), "radius": np.full(4, 0.5), "material": np.zeros(4, np.int64),
        "fragment": np.array([1, 1, NEVER_BONDED, 9]),
    }  # fmt: skip
    found = fragments_of(table, np.array([6.0 / np.pi]), 3)
    assert found.table["fragment"].tolist() == [1, 9]
    np.testing.assert_allclose(found.mass, [2.0, 1.0])
    np.testing.assert_allclose(found.equivalent_diameter, [2.0 ** (1.0 / 3.0), 1.0])
    assert found.passing(0.5) == 0.0
    assert found.passing(1.1) == pytest.approx(1.0 / 3.0)
    assert found.passing(2.0) == 1.0
    assert repr(found) == "Fragments(2 of 3 particles, the largest 2 kg)"
    with pytest.raises(InputError, match="no fragment has the label 4"):
        found.members(4)
    empty = fragments_of({name: column[:0] for name, column in table.items()}, np.array([1.0]), 3)
    assert (len(empty), empty.largest_mass) == (0, 0.0)
    assert np.isnan(empty.passing(1.0))
