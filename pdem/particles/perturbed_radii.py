"""Slightly reduced radii, keyed by particle, to measure the sensitivity to small differences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.numerics.random import keyed_uniform

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pdem.foundation.array_types import Floats

_STREAM = 0x70657274


def radius_factors(size: float, seed: int, keys: ArrayLike, stream: int = 0) -> Floats:
    """Return factors for the radii of particles: never above 1, so that no new overlap arises.

    Parameters
    ----------
    size : float
        Largest relative reduction of a radius.
    seed : int
        Seed of the random factors.
    keys : array_like of int
        Key of each particle; all spheres of a cluster have the same key.
    stream : int
        Random stream, different for each insertion.
    """
    factors: Floats = 1.0 - size * keyed_uniform(seed, _STREAM ^ stream, keys)
    return factors
