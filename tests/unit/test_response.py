"""Responses fitted through noisy observations: errors that hold, exact functions, chance that depends on location."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm
from scipy.stats import t as student

from pdem.sweeps.fitting.observations import observed, relative_variances
from pdem.sweeps.fitting.response import Prediction, Response, log_density, normal_scores


def seen(function, locations, chance=0.0, replicas=1, seed=0):
    random = np.random.default_rng(seed)
    values = [function(one) + np.atleast_1d(chance) * random.normal(size=replicas) for one in locations]
    return observed(list(locations), values)


def saturating(location):
    return 45.0 * (1.0 - math.exp(-3.0 * location[0]))


def evenly(count):
    return np.linspace(0.0, 1.0, count)[:, None]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(-10.0, 10.0), min_size=3, max_size=3), st.floats(1e-6, 1e6), st.integers(0, 100))
def test_a_plane_without_chance_is_found_exactly(slopes, scale, seed):
    def plane(location):
        return scale * (slopes[0] + np.dot(slopes[1:], location))

    locations = np.random.default_rng(seed).random((7, 2))
    response, there = Response(seen(plane, locations)), np.random.default_rng(seed + 1).random((5, 2))
    size = scale * (abs(slopes[1]) + abs(slopes[2]) + 1e-9 * abs(slopes[0]) + 1e-12)
    assert response(there).mean == pytest.approx([plane(one) for one in there], abs=0.02 * size)


def test_a_smooth_function_without_chance_is_met_within_its_errors():
    response, there = Response(seen(saturating, evenly(9))), np.random.default_rng(1).random((50, 1))
    found = response(there)
    off = found.mean - [saturating(one) for one in there]
    assert np.abs(off).max() < 0.2
    assert np.all(np.abs(off) < 5.0 * np.sqrt(found.variance) + 1e-6)
    at_points = response(evenly(9))
    assert at_points.mean == pytest.approx([saturating(one) for one in evenly(9)], abs=5e-2)


@pytest.mark.parametrize("replicas", [1, 3])
@pytest.mark.parametrize("function", [saturating, lambda location: 10.0 + 30.0 * location[0], lambda location: 20.0])
def test_errors_hold_the_truth_as_often_as_they_say(function, replicas):
    """Of 200 sets of observations, as Student's distribution has it."""
    inside = []
    for seed in range(200):
        locations = np.random.default_rng(1000 + seed).random((12, 1))
        response = Response(seen(function, locations, 1.5, replicas, seed))
        found = response(np.array([[0.3], [0.7]]))
        off = np.abs(found.mean - [function([0.3]), function([0.7])]) / np.sqrt(found.variance)
        inside += [[one < student.ppf(0.8413, found.freedom), one < student.ppf(0.9772, found.freedom)] for one in off]
    likely, very = np.mean(inside, axis=0)
    assert 0.6 < likely < 0.85
    assert 0.91 < very < 0.995


def test_chance_is_found_from_replicas_and_without():
    for replicas, count in ((3, 8), (1, 24)):
        found = [
            math.sqrt(Response(seen(saturating, evenly(count), 2.0, replicas, seed)).chance(np.array([[0.5]]))[0])
            for seed in range(40)
        ]
        assert np.median(found) == pytest.approx(2.0, rel=0.2)


def test_chance_that_depends_on_the_place_is_found_from_replicas():
    def chance(location):
        return 0.05 + 3.0 * location[0]

    random, ratios = np.random.default_rng(3), []
    for _ in range(20):
        locations = list(evenly(10))
        values = [saturating(one) + chance(one) * random.normal(size=3) for one in locations]
        response = Response(observed(locations, values))
        low, high = np.sqrt(response.chance(np.array([[0.1], [0.9]])))
        ratios.append(high / low)
    assert 3.0 < np.median(ratios) < 15.0, "2.75 over 0.35, and a prior towards 1"


def test_chance_that_is_the_same_everywhere_is_hardly_taken_for_another():
    steep = [relative_variances(seen(saturating, evenly(10), 2.0, 3, seed))[1][0] for seed in range(40)]
    assert abs(np.mean(steep)) < 0.4
    assert np.std(steep) < 1.2
    variances, none = relative_variances(seen(saturating, evenly(10), 2.0, 1))
    assert np.all(variances == 1.0)
    assert np.all(none == 0.0)


def test_runs_without_a_number_do_not_count():
    locations = list(evenly(4))
    some = observed(
        locations, [np.array([1.0, np.nan]), np.array([np.nan, np.nan]), np.array([2.0, 4.0]), np.array([np.inf, 7.0])]
    )
    assert some.counts.tolist() == [1.0, 2.0, 1.0]
    assert some.means.tolist() == [1.0, 3.0, 7.0]
    assert some.squares.tolist() == [0.0, 2.0, 0.0]
    assert some.locations[:, 0].tolist() == [locations[0][0], locations[2][0], locations[3][0]]


def test_densities_and_scores_are_those_of_students_distribution():
    found = Prediction(np.array([1.0, 3.0]), np.array([4.0, 4.0]), 5.0)
    assert log_density(found, 2.5, 0.0) == pytest.approx(student.logpdf(2.5, 5.0, [1.0, 3.0], 2.0))
    scores = normal_scores(found, 2.5, 0.0)
    assert scores == pytest.approx(-norm.isf(student.sf([0.75, -0.25], 5.0)))
    exact = Prediction(np.array([1.0]), np.array([1e-20]), 5.0)
    assert log_density(exact, 2.5, 0.5) == pytest.approx(norm.logpdf(2.5, 1.0, 0.5), abs=1e-4)
    assert normal_scores(exact, 2.5, 0.5) == pytest.approx(-3.0, abs=1e-4)
