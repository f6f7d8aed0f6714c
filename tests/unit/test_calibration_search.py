"""Searches for parameters of planted responses with planted chance: errors that hold, and few runs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from helpers.planted_responses import calibrated, holds, planted, searched
from pdem.sweeps.fitting.next_locations import next_locations, scan, scan_size
from pdem.sweeps.fitting.posterior import densest
from pdem.sweeps.fitting.search import FitProblem, FitSearch, solution

pytestmark = pytest.mark.compiles
REPETITIONS, FEW = 200, 40


def saturating(location):
    return 45.0 * (1.0 - math.exp(-3.0 * location[0]))


def with_optimum(location):
    return 30.0 - 60.0 * (location[0] - 0.6) ** 2


def two(location):
    x, y = location
    return np.array([10.0 + 20.0 * x + 10.0 * y**2, 5.0 - 3.0 * x + 6.0 * y])


def two_by_three(location):
    return np.append(two(location), 5.0 * location[0] * location[1])


def three(location):
    x, y, z = location
    return np.array([10.0 + 20.0 * x + 10.0 * y**2, 5.0 - 3.0 * x + 6.0 * y + z, 4.0 * z - 2.0 * x + y * z])


CASES = {
    "monotone": (saturating, [1.5], [0.55], [1.0], 1),
    "monotone, much chance": (lambda location: 10.0 + 30.0 * location[0], [3.0], [0.4], [1.0], 2),
    "monotone, steep end": (saturating, [1.5], [0.08], [1.0], 1),
    "two solutions": (with_optimum, [1.0], [0.3], [1.0], 1),
    "chance by location": (saturating, lambda location: np.array([0.1 + 3.0 * location[0]]), [0.4], [1.0], 3),
    "two parameters": (two, [1.0, 0.3], [0.4, 0.6], [1.0, 0.3], 1),
    "two parameters, three targets": (two_by_three, [1.0, 0.3, 0.2], [0.4, 0.6], [1.0, 0.3, 0.2], 2),
    "three parameters": (three, [1.0, 0.3, 0.2], [0.4, 0.6, 0.5], [1.0, 0.3, 0.2], 1),
}
QUICK = ("monotone", "two parameters")


@pytest.mark.parametrize(
    ("name", "repetitions"),
    [*((name, FEW) for name in QUICK), *(pytest.param(name, REPETITIONS, marks=pytest.mark.slow) for name in CASES)],
)
def test_the_truth_lies_in_what_is_stated_as_often_as_it_should(name, repetitions):
    """In 200 repetitions, or a few: within three standard errors of 68 and 95 %."""
    response, chance, truth, uncertainties, replicas = CASES[name]
    inside, runs = [], []
    for seed in range(repetitions):
        found = calibrated(
            response,
            np.array(chance) if isinstance(chance, list) else chance,
            truth,
            uncertainties,
            seed,
            replicas=replicas,
        )
        inside += holds(found, truth)
        runs.append(sum(point.values.shape[1] for point in found.points))
    likely, very = np.mean(inside, axis=0)
    print(f"{name}: {likely:.3f} {very:.3f}, {np.mean(runs):.1f} runs")
    spread = 3.0 / math.sqrt(repetitions)
    assert 0.6827 - 0.466 * spread < likely < 0.6827 + 0.466 * spread + 0.05
    assert very > 0.9545 - 0.208 * spread
    assert np.mean(runs) < 15.0 * (1 + len(truth)) * math.sqrt(replicas)


def test_what_no_target_depends_on_is_not_known_and_takes_few_runs():
    widths, runs, reached = [], [], []
    for seed in range(20):
        found = calibrated(lambda location: 20.0, np.array([0.5]), [0.4], [1.0], seed)
        likely = densest(found.samples.locations[:, 0], found.samples.weights, 0.6827)
        widths.append(sum(high - low for low, high in likely))
        runs.append(len(found.points))
        reached.append(found.is_reached)
    assert np.mean(np.array(widths) > 0.6) >= 0.9
    assert np.mean(reached) > 0.8
    assert np.mean(runs) < 15.0


def test_a_target_out_of_reach_is_never_reached_and_ends_early():
    for seed in range(20):
        random = np.random.default_rng(seed)
        problem = FitProblem(np.array([35.0]), np.array([1.0]), np.array([0.5]))
        search = searched(
            problem, planted(lambda location: 25.0 * (1.0 - math.exp(-3.0 * location[0])), np.array([1.0]), random)
        )
        found = search.solution()
        assert not found.is_reached
        assert found.probability < 1e-3
        assert found.best[0] > 0.5, "the nearest is at the end"
        assert len(found.points) <= 11


def test_the_calibration_that_took_luck_for_an_optimum():
    """Chance of 2.5 degrees, a wanted 30 that 25 is the most of: never called reached, whole range looked at."""
    for seed in range(20):
        random = np.random.default_rng(seed)
        problem = FitProblem(np.array([30.0]), np.array([1.0]), np.array([0.5]), runs=16)
        measure = planted(lambda location: 18.0 + 5.0 * location[0], np.array([2.5]), random)
        found = searched(problem, measure).solution()
        locations = np.array([point.location[0] for point in found.points])
        assert (locations.min(), locations.max()) == (0.0, 1.0)
        assert not found.is_reached
        assert len(locations) <= 16


def test_without_chance_few_runs_find_the_values():
    for seed in range(5):
        found = calibrated(two, np.zeros(2), [0.4, 0.6], [1e-3, 1e-3], seed)
        assert found.best == pytest.approx([0.4, 0.6], abs=1e-3)
        assert found.is_reached
        assert found.is_precise
        assert len(found.points) <= 20


def test_places_of_a_step_are_farther_apart_than_chance_hides():
    random = np.random.default_rng(1)
    problem = FitProblem(np.array([28.0]), np.array([1.0]), np.array([0.5]))
    search = FitSearch(problem)
    measure = planted(lambda location: 10.0 + 30.0 * location[0], np.array([2.0]), random)
    for _ in range(6):
        wanted = search.wanted()
        if search.found is not None and len(wanted) == 2:
            chance = math.sqrt(2.0 * search.found.responses[0].chance(wanted)[0])
            assert abs(np.diff(search.found.responses[0](wanted).mean)[0]) > 0.9 * chance
        search.points += measure(wanted)


@pytest.mark.parametrize("dimension", [1, 2, 3, 5])
def test_a_scan_has_values_over_all_of_each_range(dimension):
    locations = scan(np.full(dimension, 0.37))
    assert len(locations) == scan_size(dimension) == 1 + 4 * dimension
    assert locations[0].tolist() == [0.37] * dimension
    for column in locations[1:].T:
        gaps = np.diff(np.sort(column))
        assert (column.min(), column.max()) == (0.0, 1.0)
        assert gaps.max() <= 0.5
    apart = np.linalg.norm(locations[:, None] - locations[None], axis=2) + np.eye(len(locations))
    assert apart.min() > 0.1


def test_a_search_that_is_stopped_goes_on_and_new_targets_begin_with_all_that_is_known():
    random = np.random.default_rng(2)
    measure = planted(two, np.array([0.5, 0.2]), random)
    problem = FitProblem(two((0.4, 0.6)), np.array([1.0, 0.3]), np.array([0.5, 0.5]))
    whole = searched(problem, measure)
    again = FitSearch(problem, whole.points)
    assert len(again.wanted()) == 0, "all runs are there"
    assert again.solution().best.tobytes() == whole.solution().best.tobytes()
    part = FitSearch(problem, whole.points[:4])
    assert len(part.wanted()) == 5, "what is left of the scan"
    other = FitProblem(two((0.6, 0.3)), problem.uncertainties, problem.start)
    new = FitSearch(other, whole.points)
    assert len(new.wanted()) in (0, 3), "no scan"
    assert new.found.best == pytest.approx([0.6, 0.3], abs=0.15)


def test_places_without_a_number_are_left_out_and_not_looked_for_there():
    """Below 0.3 there is nothing to measure; the target is met at 0.45."""
    random = np.random.default_rng(4)

    def response(location):
        return saturating(location) if location[0] > 0.3 else math.nan

    target = np.array([saturating([0.45])])
    problem = FitProblem(target, np.array([1.0]), np.array([0.5]))
    found = searched(problem, planted(response, np.array([0.5]), random)).solution()
    assert found.best[0] == pytest.approx(0.45, abs=0.05)
    assert found.samples.locations[found.samples.weights > 1e-9, 0].min() > 0.1
    nothing = searched(problem, planted(lambda location: math.nan, np.array([0.5]), random))
    assert nothing.solution() is None
    assert len(nothing.points) == 5, "the scan, and no more"


def test_runs_are_never_more_than_allowed():
    for runs in (10, 15, 22):
        random = np.random.default_rng(runs)
        problem = FitProblem(np.array([28.0]), np.array([0.1]), np.array([0.5]), replicas=2, runs=runs)
        measure = planted(lambda location: 10.0 + 30.0 * location[0], np.array([3.0]), random, 2)
        search = searched(problem, measure)
        assert runs - 4 < 2 * len(search.points) <= runs
        assert not search.solution().is_precise


def test_the_next_places_lie_where_the_parameters_may():
    random = np.random.default_rng(5)
    problem = FitProblem(np.array([28.0]), np.array([0.5]), np.array([0.5]))
    measure = planted(lambda location: 10.0 + 30.0 * location[0], np.array([0.3]), random)
    found = solution(problem, measure(scan(np.array([0.5]))), 400)
    locations = next_locations(found.responses, problem.uncertainties, found.samples, 4, 1)
    assert np.abs(locations - 0.6).max() < 0.35
    assert np.abs(locations.mean() - 0.6) < 0.15
