"""Nodes of quadrature and quantiles of the normal distribution, against other ways to compute them."""

from __future__ import annotations

import numpy as np
import pytest

from pdem.foundation import exact_math
from pdem.foundation.normal_quantiles import normal_quantiles
from pdem.foundation.quadrature import gauss_legendre


@pytest.mark.parametrize("count", [2, 20, 64])
def test_nodes_and_weights_of_numpy(count):
    nodes, weights = np.polynomial.legendre.leggauss(count)
    np.testing.assert_allclose(gauss_legendre(count)[0], nodes, rtol=0.0, atol=2e-16)
    np.testing.assert_allclose(gauss_legendre(count)[1], weights, rtol=1e-11)


@pytest.mark.parametrize("power", [0, 2, 10, 38])
def test_polynomials_are_integrated_exactly(power):
    nodes, weights = gauss_legendre(20)
    assert exact_math.total(weights * nodes**power) == pytest.approx(2.0 / (power + 1), rel=4e-16)


def test_quantiles_of_all_parts_of_the_distribution():
    shares = np.concatenate([np.linspace(1e-3, 0.999, 500), 10.0 ** np.linspace(-300.0, -1.0, 200), [0.075, 0.925]])
    np.testing.assert_allclose(normal_quantiles(shares), exact_math.normal_quantile(shares), rtol=2e-15)


def test_quantiles_at_the_ends_and_in_the_middle():
    assert normal_quantiles([0.0, 0.5, 1.0]).tolist() == [-np.inf, 0.0, np.inf]
    assert normal_quantiles(0.5).shape == ()
    assert normal_quantiles(np.zeros((0,))).shape == (0,)
