"""Samples of probability densities with known means and covariances, and the regions that hold most of them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdem.sweeps.fitting.posterior import densest, sampled


def normal(mean, covariance):
    inverse = np.linalg.inv(covariance)
    return lambda locations: (
        lambda factor: -0.5 * np.einsum("ni,ij,nj->n", locations - mean, inverse, locations - mean) / factor**2
    )


@settings(max_examples=20, deadline=None)
@given(st.floats(0.2, 0.8), st.floats(-5.0, -1.2), st.floats(0.03, 0.97), st.integers(1, 4))
def test_narrow_and_correlated_normal_densities(middle, width, correlation, dimension):
    mean, sigma = np.full(dimension, middle), 10.0**width
    covariance = sigma**2 * (correlation * np.ones((dimension, dimension)) + (1.0 - correlation) * np.eye(dimension))
    found = sampled(normal(mean, covariance), dimension, 6000)
    assert found.mean == pytest.approx(mean, abs=0.15 * sigma)
    assert found.covariance == pytest.approx(covariance, abs=0.2 * sigma**2)
    for column, share in ((0, 0.6827), (-1, 0.9545)):
        ((low, high),) = densest(found.locations[:, column], found.weights, share)
        half = 1.0 if share < 0.9 else 2.0
        assert low == pytest.approx(middle - half * sigma, abs=0.25 * half * sigma)
        assert high == pytest.approx(middle + half * sigma, abs=0.25 * half * sigma)


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_a_density_that_is_even_stays_so(dimension):
    found = sampled(lambda locations: lambda factor: np.zeros(len(locations)), dimension, 1000)
    assert found.mean == pytest.approx(0.5, abs=0.02)
    ((low, high),) = densest(found.locations[:, 0], found.weights, 0.95)
    assert 0.93 < high - low <= 1.0


@pytest.mark.parametrize("width", [0.05, 0.01, 0.001])
def test_two_narrow_maxima_are_found_with_their_weights(width):
    def density(locations):
        off = (locations[:, 0] - np.array([[0.2], [0.7]])) / width

        def widened(factor):
            both = np.exp(-0.5 * (off / factor) ** 2)
            return np.log(0.3 * both[0] + 0.7 * both[1] + 1e-300)

        return widened

    found = sampled(density, 1, 2000)
    assert found.weights[found.locations[:, 0] < 0.45].sum() == pytest.approx(0.3, abs=0.06)
    both = densest(found.locations[:, 0], found.weights, 0.9545)
    assert len(both) == 2
    assert both[0][0] < 0.2 < both[0][1] < 0.45 < both[1][0] < 0.7 < both[1][1]
    assert sum(high - low for low, high in both) == pytest.approx(8.0 * width, rel=0.25)


def test_a_density_at_an_end_of_the_range_reaches_it():
    found = sampled(lambda locations: lambda factor: -locations[:, 0] / 0.01 / factor, 1, 2000)
    ((low, high),) = densest(found.locations[:, 0], found.weights, 0.6827)
    assert low == 0.0
    assert high == pytest.approx(0.01 * -math.log(1.0 - 0.6827), rel=0.15)


def test_places_where_there_is_no_density_get_no_weight():
    def density(locations):
        return lambda factor: np.where(
            locations[:, 0] < 0.3, -1e30, -0.5 * ((locations[:, 0] - 0.3) / 0.1 / factor) ** 2
        )

    found = sampled(density, 1, 1000)
    assert found.weights[found.locations[:, 0] < 0.3].sum() == 0.0
    assert found.mean[0] == pytest.approx(0.3 + 0.1 * math.sqrt(2.0 / math.pi), abs=0.01)


def test_the_same_samples_each_time():
    first, second = (sampled(normal(np.array([0.4, 0.6]), 0.01 * np.eye(2)), 2, 500) for _ in range(2))
    assert first.locations.tobytes() == second.locations.tobytes()


def test_a_narrow_maximum_is_found_beside_heavy_tails():
    """A needle in a moat: far from it, where less is known, the density is higher than near it."""

    def density(locations):
        far = np.linalg.norm(locations - 0.63, axis=1)
        error = 1e-5 + 0.1 * far

        def widened(factor):
            total = np.hypot(error, 1e-4 * factor)
            return -4.0 * np.log1p((30.0 * far / total) ** 2 / 8.0) - np.log(total)

        return widened

    found = sampled(density, 2, 400)
    assert found.mean == pytest.approx([0.63, 0.63], abs=1e-4)
