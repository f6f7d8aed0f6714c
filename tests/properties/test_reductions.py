"""Reductions of a simulation against plain sums, for any values, order and mask."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from pdem.containers.exchange import Alone
from pdem.foundation.errors import InputError
from pdem.run.reading.reductions import Reductions

VALUES = st.floats(-1e200, 1e200)


def view_of(count, position=None):
    """Return what reductions need of a simulation of so many particles in a box from 0 to 1."""
    view = Reductions()
    position = np.zeros((count, 3)) if position is None else position
    particles = SimpleNamespace(count=count, position=position)
    domain = SimpleNamespace(lower=(0.0, 0.0, 0.0), upper=(1.0, 1.0, 1.0))
    view.system = SimpleNamespace(particles=particles, exchange=Alone(), case=SimpleNamespace(domain=domain))
    return view


@st.composite
def values_and_masks(draw):
    count = draw(st.integers(0, 30))
    values = draw(arrays.arrays(np.float64, count, elements=VALUES))
    mask = draw(arrays.arrays(np.bool_, count))
    return values, mask, np.array(draw(st.permutations(range(count))), np.int64)


@given(values_and_masks())
@settings(max_examples=50)
def test_sums_are_rounded_once_whatever_the_order(drawn):
    values, mask, order = drawn
    view = view_of(len(values))
    total = view.sum(values, mask)
    assert total == math.fsum(values[mask])
    assert view.sum(values[order], mask[order]) == total
    columns = view.sum(np.column_stack((values, np.ones(len(values)))), mask)
    assert columns.tolist() == [total, float(mask.sum())]
    assert view.minimum(values, mask) == min(values[mask], default=math.inf)
    assert view.maximum(values, mask) == max(values[mask], default=-math.inf)


@given(values_and_masks())
@settings(max_examples=50)
def test_histograms_are_those_of_numpy(drawn):
    values, mask, _ = drawn
    edges = [-1e200, -1.0, 0.0, 1e-300, 5.0, 1e200]
    view = view_of(len(values))
    expected, _ = np.histogram(values[mask], edges)
    found = view.histogram(values, edges, where=mask)
    assert found.dtype == np.int64
    assert found.tolist() == expected.tolist()
    weights = np.abs(values) % 7.0
    weighed = view.histogram(values, edges, weights, mask)
    for k in range(5):
        low, high = edges[k], edges[k + 1]
        inside = mask & (values >= low) & ((values < high) | ((k == 4) & (values == high)))
        assert weighed[k] == math.fsum(weights[inside])


@given(st.integers(0, 1000), st.integers(1, 40))
@settings(max_examples=25)
def test_cells_are_those_of_numpy(seed, count):
    rng = np.random.default_rng(seed)
    position, values = rng.uniform(-0.2, 1.2, (count, 3)), rng.normal(size=count)
    position[0] = 1.0
    found = view_of(count, position).by_cell(values, (3, 2, 5))
    expected, _ = np.histogramdd(position, (3, 2, 5), [(0.0, 1.0)] * 3, weights=values)
    np.testing.assert_allclose(found, expected, atol=1e-14)
    many = view_of(count, position).by_cell(1.0, (40, 40, 40))
    assert many.sum() == ((position >= 0.0) & (position <= 1.0)).all(axis=1).sum()


def test_means():
    view = view_of(4)
    assert view.mean([1.0, 2.0, 3.0, 6.0]) == 3.0
    assert view.mean([1.0, 2.0, 3.0, 6.0], [1.0, 0.0, 0.0, 1.0]) == 3.5
    assert view.mean([1.0, 2.0, 3.0, 6.0], where=np.array([True, True, False, False])) == 1.5
    assert math.isnan(view.mean(1.0, where=np.zeros(4, bool)))
    assert view.sum() == 4.0


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda view: view.sum([1.0, 2.0]), "the values have the shape"),
        (lambda view: view.maximum(np.ones((3, 3))), "the values have the shape"),
        (lambda view: view.sum([1.0, math.nan, 2.0]), "1 of the values are not finite"),
        (lambda view: view.sum(["a", "b", "c"]), "give numbers"),
        (lambda view: view.sum(1.0, [1, 0, 1]), "give a mask for the 3 particles"),
        (lambda view: view.histogram([1.0, 2.0, 3.0], [2.0, 1.0]), "two or more rising numbers"),
        (lambda view: view.by_cell(1.0, (0, 1, 1)), "three numbers of at least 1"),
        (lambda view: view.by_cell(1.0, (10**4,) * 3), "10000000 cells at most"),
        (lambda view: view.by_cell(1.0, (1, 1, 1), upper=(0.0, 1.0, 1.0)), "has no size"),
    ],
)
def test_mistakes_are_named(call, said):
    with pytest.raises(InputError, match=said):
        call(view_of(3))
