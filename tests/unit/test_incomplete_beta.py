"""The regularised incomplete beta function, against scipy and closed forms."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import betainc

from pdem.foundation.errors import InputError
from pdem.foundation.incomplete_beta import incomplete_beta

PARAMETERS = st.floats(0.02, 80.0)
SHARES = st.floats(1e-300, 1.0)


@given(PARAMETERS, PARAMETERS, SHARES)
def test_it_is_the_function_of_scipy(alpha, beta, share):
    assert incomplete_beta(alpha, beta, share) == pytest.approx(betainc(alpha, beta, share), abs=1e-13)


@given(PARAMETERS, SHARES)
def test_with_one_parameter_1_it_is_a_power(alpha, share):
    assert incomplete_beta(alpha, 1.0, share) == pytest.approx(share**alpha, abs=1e-13)


def test_it_is_0_at_0_and_1_at_1():
    assert incomplete_beta(0.51, 11.95, 0.0) == 0.0
    assert incomplete_beta(0.51, 11.95, 1.0) == 1.0


@pytest.mark.parametrize("arguments", [(0.0, 1.0, 0.5), (1.0, -1.0, 0.5), (100.0, 71.0, 0.5), (1.0, float("nan"), 0.5)])
def test_parameters_out_of_range_are_refused(arguments):
    with pytest.raises(InputError, match=r"parameters .* of a beta distribution: give positive ones"):
        incomplete_beta(*arguments)


@pytest.mark.parametrize("share", [-1e-9, 1.1, float("nan")])
def test_numbers_out_of_range_are_refused(share):
    with pytest.raises(InputError, match="give a number from 0 to 1"):
        incomplete_beta(1.0, 1.0, share)
