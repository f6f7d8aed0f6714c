"""Strengths of single bonds: random numbers that the ids of their particles determine."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pdem.features.bonds.section import CUT, NormalStrength, WeibullStrength
from pdem.foundation import exact_math
from pdem.numerics.random import keyed_bits, keyed_uniform

if TYPE_CHECKING:
    from pdem.features.bonds.section import BondSection
    from pdem.foundation.array_types import Floats, Integers

    Scatter = float | WeibullStrength | NormalStrength | None

TENSILE_STREAM, SHEAR_STREAM = 0x626F6E64, 0x626F6E65
"""Streams of random numbers of tensile and shear strengths."""


def pair_uniform(seed: int, stream: int, lower: Integers, higher: Integers) -> Floats:
    """Return for each pair of ids a uniform number (n,) in (0, 1), which depends only on the ids, seed and stream."""
    first = keyed_bits(seed, stream, lower).view(np.int64)
    return keyed_uniform(seed, first, higher)


def scattered(given: Scatter, stream: int, lower: Integers, higher: Integers) -> Floats:
    """Return the strength of each pair of ids (n,) [Pa], infinite if the case gives no strength.

    A Weibull distribution of modulus m has the scale mean / Gamma(1 + 1/m).
    """
    if not isinstance(given, (WeibullStrength, NormalStrength)):
        return np.full(len(lower), math.inf if given is None else given)
    uniform = pair_uniform(given.seed, stream, lower, higher)
    if isinstance(given, WeibullStrength):
        scale = given.mean / exact_math.gamma(1.0 + 1.0 / given.modulus)
        return np.asarray(scale * exact_math.power(-exact_math.log(uniform), 1.0 / given.modulus))
    low = exact_math.normal_share(-CUT)
    deviations = exact_math.normal_quantile(low + (1.0 - 2.0 * low) * uniform)
    return np.asarray(given.mean + given.deviation * deviations)


def strengths_of(section: BondSection, lower: Integers, higher: Integers) -> Floats:
    """Return tensile strength, shear strength [Pa] and fracture energy [J/m^2] (n, 3) of bonds with given ids."""
    energy = math.inf if section.fracture_energy is None else section.fracture_energy
    tensile = scattered(section.tensile_strength, TENSILE_STREAM, lower, higher)
    shear = scattered(section.shear_strength, SHEAR_STREAM, lower, higher)
    return np.stack([tensile, shear, np.full(len(lower), energy)], axis=-1)
