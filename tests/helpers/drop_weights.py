"""Tables of drop-weight tests with counts drawn from known constants."""

from __future__ import annotations

import numpy as np

from pdem.laboratory.fracture_model import broken_share, median_energy

COPPER = {"fracture_energy": 213.5, "size": 8.07e-3, "exponent": 1.22, "spread": 0.8}
"""Constants of a copper ore."""

SIZES = 1e-3, 2e-3, 5e-3, 10e-3, 20e-3, 50e-3
RATIOS = 0.3, 0.5, 0.8, 1.2, 1.8, 2.6
"""Energies over the median of the size."""


def drawn(seed, sizes=SIZES, ratios=RATIOS, tested=30, greatest=4.0):
    """Return columns of a table: each size with each energy."""
    size = np.repeat(np.asarray(sizes, float), len(ratios))
    median = median_energy(size, *(COPPER[name] for name in ("fracture_energy", "size", "exponent")))
    energy = median * np.tile(ratios, len(sizes))
    share = broken_share(energy, median, COPPER["spread"], greatest)
    broken = np.random.default_rng(seed).binomial(tested, share)
    return {"size": size, "energy": energy, "broken": broken, "tested": np.full(len(size), tested)}
