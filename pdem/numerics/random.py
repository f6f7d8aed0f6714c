"""Random numbers keyed by identity instead of drawn from a sequence.

The number for a key depends on the seed, the stream and the key alone, and not on the quantity of numbers drawn, their
order, or the rank. All arithmetic is on 64-bit integers and therefore the same on every machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from pdem.foundation.array_types import Floats

# An odd number near 2^64 / golden ratio, and the multipliers of the finalising mixer of splitmix64
# (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014; variant 13 of Stafford).
_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    values = (values ^ (values >> np.uint64(30))) * _FIRST
    values = (values ^ (values >> np.uint64(27))) * _SECOND
    return values ^ (values >> np.uint64(31))


def _words(values: ArrayLike) -> NDArray[np.uint64]:
    # At least one dimension: arrays wrap around silently, numpy scalars would warn.
    return np.atleast_1d(np.asarray(values)).astype(np.int64).astype(np.uint64)


def keyed_bits(seed: int, stream: ArrayLike, keys: ArrayLike) -> NDArray[np.uint64]:
    """Return 64 random bits for each key.

    Parameters
    ----------
    seed : int
        Number that the user chooses, in [-2^63, 2^63).
    stream : array_like of int
        One for all keys or one for each. Separates purposes that share a seed and keys (radius, each component of the
        velocity, ...).
    keys : array_like of int
        Identities, for instance particle ids; any shape.

    Returns
    -------
    ndarray of uint64
        Shape of `keys`.
    """
    state = _mixed(_words(seed) + _STEP)
    state = _mixed((state ^ _words(stream)) * _STEP + _FIRST)
    bits = _mixed(_mixed(_words(keys) * _STEP + state) + state * _SECOND)
    return bits.reshape(np.shape(keys))


def keyed_uniform(seed: int, stream: ArrayLike, keys: ArrayLike) -> Floats:
    """Return one uniform number per key from the open interval (0, 1).

    Parameters
    ----------
    seed, stream, keys
        As for `keyed_bits`.

    Returns
    -------
    ndarray of float64
        Shape of `keys`; multiples of 2^-52 shifted by 2^-53, so neither 0 nor 1 occurs.
    """
    top = keyed_bits(seed, stream, keys) >> np.uint64(12)
    return (top.astype(np.float64) + 0.5) * 2.0**-52


def keyed_vectors(seed: int, stream: ArrayLike, keys: ArrayLike, components: int = 3) -> Floats:
    """Return `components` independent uniform numbers per key, shape ``(n, components)``.

    Uses the streams `stream` to ``stream + components - 1``.
    """
    first = np.asarray(stream)
    columns = [keyed_uniform(seed, first + component, keys) for component in range(components)]
    return np.stack(columns, axis=-1)
