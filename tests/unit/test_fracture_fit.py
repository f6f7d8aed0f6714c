"""Fracture energies from drop-weight tests: known constants are recovered within their errors, and gaps are named."""

from __future__ import annotations

import math

import numpy as np
import pytest

import pdem
from helpers.drop_weights import COPPER, RATIOS, SIZES, drawn
from pdem.features.breakage.strength_models import Growth, Tavares
from pdem.foundation.errors import InputError
from pdem.laboratory.drop_weights import drop_weights_of
from pdem.laboratory.fracture_fit import FRACTURE_KEYS, fit_drop_weights
from pdem.laboratory.fracture_model import FractureModel, broken_share, median_energy

TRUE = np.log([COPPER[name] for name in FRACTURE_KEYS])


def test_medians_and_shares_are_those_of_the_model():
    """Numbers that were computed apart, for copper ore with a largest energy of four medians."""
    median = median_energy(np.array(SIZES), *(COPPER[name] for name in FRACTURE_KEYS[:3]))
    assert median == pytest.approx([2941.118, 1384.419, 596.360, 377.855, 284.055, 236.570], abs=6e-4)
    share = broken_share(np.array([0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 9.0]), 1.0, 0.8, 4.0)
    assert share == pytest.approx([0.022121, 0.144772, 0.5, 0.768749, 0.915165, 0.996989, 1.0, 1.0], abs=6e-7)


def test_the_fit_has_the_model_of_runs():
    """The fit and the strengths of a run are written apart; what the fit finds must mean the same in a case."""
    model = Tavares(COPPER["fracture_energy"], COPPER["size"], COPPER["exponent"], 0.8, 4.0, Growth(67.7, 0.029))
    radius, energy = np.array(SIZES) / 2.0, np.geomspace(10.0, 9000.0, len(SIZES))
    median = median_energy(2.0 * radius, *(COPPER[name] for name in FRACTURE_KEYS[:3]))
    assert median == pytest.approx(model.median(radius), rel=1e-13)
    assert broken_share(energy, median, 0.8, 4.0) == pytest.approx(model.broken_share(radius, energy), abs=1e-13)


@pytest.mark.parametrize("is_curve", [True, False])
def test_slopes_are_those_of_the_likelihood(is_curve):
    model = FractureModel(drop_weights_of(drawn(3)), 4.0, is_curve)
    theta = TRUE + 0.1 if is_curve else np.append(np.log(np.linspace(2000.0, 200.0, 6)), math.log(0.7))
    slope = model.terms(theta).slope
    for number in range(len(theta)):
        step = np.zeros(len(theta))
        step[number] = 1e-5
        both = model.terms(theta + step).value - model.terms(theta - step).value
        assert slope[number] == pytest.approx(both / 2e-5, rel=1e-6, abs=1e-6)


def test_the_fit_is_the_largest_likelihood():
    fit = fit_drop_weights(drawn(1))
    best = fit.model.terms(fit.logarithms)
    assert abs(best.slope).max() < 1e-2
    random = np.random.default_rng(0)
    for _ in range(50):
        assert fit.model.terms(fit.logarithms + 0.05 * random.normal(size=4)).value < best.value
    assert fit.deviance == pytest.approx(fit.model.deviance(fit.logarithms))
    assert fit.freedom == 36 - 4
    assert 0.001 < fit.p_value < 1.0


def test_large_tables_give_the_constants():
    fit = fit_drop_weights(drawn(5, tested=100_000))
    for name, value in COPPER.items():
        assert fit[name].value == pytest.approx(value, rel=0.02)
        assert abs(fit[name].value - value) < 4.0 * fit[name].error
    assert not fit.unknown


def test_errors_and_intervals_cover_the_truth():
    """Of 100 tables 95 % of the intervals should hold each constant: 88 of 100 is three standard deviations less."""
    held, near, p_values = dict.fromkeys(FRACTURE_KEYS, 0), dict.fromkeys(FRACTURE_KEYS, 0), []
    for seed in range(100):
        fit = fit_drop_weights(drawn(seed))
        p_values.append(fit.p_value)
        for name, value in COPPER.items():
            key = fit[name]
            held[name] += key.low <= value <= key.high
            near[name] += abs(math.log(key.value / value)) < 1.96 * key.error / key.value
    assert min(held.values()) >= 88
    assert min(near.values()) >= 88
    assert 0.2 < np.median(p_values) < 0.7


def test_ends_of_intervals_are_where_the_likelihood_has_fallen():
    table = drawn(2)
    fit = fit_drop_weights(table)
    best = fit.model.terms(fit.logarithms).value
    for name in FRACTURE_KEYS:
        for end in (fit[name].low, fit[name].high):
            again = fit_drop_weights(table, fixed={name: end})
            assert again.model.terms(again.logarithms).value == pytest.approx(best - 1.9207, abs=0.02)


def test_one_size_tells_its_median_and_spread():
    fit = fit_drop_weights(drawn(4, sizes=(5e-3,), tested=200))
    assert fit.unknown == FRACTURE_KEYS[:3]
    assert not fit.model.is_curve
    median, error = fit.medians(5e-3)
    assert abs(median[0] - 596.36) < 3.0 * error[0]
    assert fit["median at 0.005 m"].error == pytest.approx(error[0])
    assert abs(fit["spread"].value - 0.8) < 3.0 * fit["spread"].error
    with pytest.raises(InputError, match="medians of its own sizes alone"):
        fit.medians(4e-3)
    with pytest.raises(InputError, match="no 'exponent'"):
        fit["exponent"]


def test_two_sizes_tell_two_keys_of_the_median():
    table = drawn(4, sizes=(2e-3, 20e-3), tested=200)
    assert fit_drop_weights(table).unknown == FRACTURE_KEYS[:3]
    fit = fit_drop_weights(table, fixed={"exponent": 1.22})
    assert not fit.unknown
    assert fit["exponent"] == ("exponent", 1.22, 0.0, 1.22, 1.22)
    for name in ("fracture_energy", "size", "spread"):
        assert fit[name].low < COPPER[name] < fit[name].high
    assert fit.freedom == 12 - 3
    one = fit_drop_weights(drawn(4, sizes=(5e-3,)), fixed={"exponent": 1.22, "size": 8.07e-3})
    assert abs(one["fracture_energy"].value - 213.5) < 4.0 * one["fracture_energy"].error


def test_small_sizes_tell_a_power_law_alone():
    """All sizes are far below d0: an interval has one end, and the medians are known."""
    fit = fit_drop_weights(drawn(0, sizes=(0.1e-3, 0.2e-3, 0.5e-3)))
    assert set(fit.unknown) >= {"fracture_energy", "size"}
    assert fit["fracture_energy"].low is None
    assert fit["size"].high is None
    assert fit["spread"].low < 0.8 < fit["spread"].high
    median, error = fit.medians([0.1e-3, 0.5e-3])
    true = median_energy([0.1e-3, 0.5e-3], *(COPPER[name] for name in FRACTURE_KEYS[:3]))
    assert (abs(median - true) < 3.5 * error).all()
    assert (error < 0.1 * median).all()


def test_energies_that_break_all_or_none_tell_a_range_of_the_spread():
    """Counts without a mixed row: the spread may be as small as one likes."""
    fit = fit_drop_weights({"size": [0.01] * 4, "energy": [100, 200, 400, 800], "tested": [20] * 4,
                            "broken": [0, 0, 20, 20]})  # fmt: skip
    assert fit["spread"].low is None
    assert fit["spread"].high < 0.6
    assert 200.0 < fit.medians(0.01)[0][0] < 400.0
    assert "spread" in fit.unknown


def test_energies_beyond_the_largest_are_possible():
    """All break beyond four medians; a survivor there raises the median."""
    table = {"size": [0.01] * 4, "energy": [100, 200, 400, 5000], "tested": [20] * 4, "broken": [3, 10, 17, 20]}
    plain = fit_drop_weights(table).medians(0.01)[0][0]
    assert 150.0 < plain < 260.0
    survivor = fit_drop_weights(table | {"broken": [3, 10, 17, 19]}).medians(0.01)[0][0]
    assert survivor > 5000.0 / 4.0 * 0.99


def test_the_largest_energy_counts():
    table = drawn(6, tested=10_000, greatest=8.0)
    right, wrong = fit_drop_weights(table, greatest=8.0), fit_drop_weights(table, greatest=2.7)
    assert right.p_value > 1e-3 > wrong.p_value
    assert right["spread"].value == pytest.approx(0.8, abs=0.02)


@pytest.mark.parametrize(
    ("options", "fact"),
    [
        ({"greatest": 1.0}, "greatest is 1; give a number above 1, such as 4"),
        ({"fixed": {"exponnent": 1.0}}, "'exponnent' cannot be fixed; did you mean 'exponent'"),
        ({"fixed": {"exponent": 0.0}}, "exponent is fixed at 0.0; give a number above 0"),
        ({"fixed": {"spread": math.nan}}, "spread is fixed at nan"),
        ({"fixed": dict(COPPER)}, "are all fixed, so that nothing is left to fit"),
    ],
)
def test_wrong_arguments_are_named(options, fact):
    with pytest.raises(InputError, match=fact.replace("(", r"\(")):
        fit_drop_weights(drawn(0), **options)


def test_too_few_conditions_are_named():
    with pytest.raises(InputError, match="3 different pairs of size and energy for 4 unknowns"):
        fit_drop_weights(drawn(0, sizes=SIZES[:3], ratios=(1.2,)))
    with pytest.raises(InputError, match="exponent fixed, and 1 size in the table: fix 1 more of"):
        fit_drop_weights(drawn(0, sizes=SIZES[:1]), fixed={"exponent": 1.2})


def test_the_name_is_public():
    assert pdem.fit_drop_weights is fit_drop_weights
    assert isinstance(fit_drop_weights(drawn(0, ratios=RATIOS[1:5])), pdem.FractureFit)
