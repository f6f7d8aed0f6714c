"""Radii that are a trifle smaller, keyed by particle: to see what collisions make of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.numerics.random import keyed_uniform

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pdem.foundation.array_types import Floats

_STREAM = 0x70657274


def radius_factors(size: float, seed: int, keys: ArrayLike, stream: int = 0) -> Floats:
    """Return by what the radii of particles are to be multiplied: never above 1, so that nothing comes to overlap.

    Parameters
    ----------
    size : float
        Largest fraction by which a radius becomes smaller.
    seed : int
        Of the fractions.
    keys : array_like of int
        What tells particles apart; all spheres of a cluster have one.
    stream : int
        What tells those of an insertion from others.
    """
    factors: Floats = 1.0 - size * keyed_uniform(seed, _STREAM ^ stream, keys)
    return factors
