"""Liquid that particles carry: what they give to a bridge, and what they get back.

Liquid is counted in quanta, a power of two of a cubic metre, so that sums are exact in any order and nothing is lost
to the last bit. A particle owns an amount of liquid: its film, half of each of its bridges with other particles, and
all of those with walls. When a bridge forms, each of the two gives from its film what covers the part of its surface
that faces the other (Shi, McCarthy, Powder Technology 184 (2008) 64),

``share = (1 - sqrt(1 - (r_2 / (r_1 + r_2))^2)) / 2``,

a half at a wall, and less if the shares of all bridges that form in a step are more than there is. From then on both
own half of the bridge: that is what they get back when it ruptures, by which liquid goes from wet to dry particles.
Nothing has to happen then, for the film is what a particle owns less its parts of the bridges that there are.

A bridge holds at most what the case says; above `LEAST` of the cube of the harmonic mean radius there is one.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pdem.numerics.geometry_kernels import inlined_geometry

if TYPE_CHECKING:
    from numpy.typing import NDArray

ONE = float(1 << 40)
"""Shares are whole numbers of one over this: their sums are exact."""

WALL_SHARE = 1 << 39
"""Of a wall: half of the surface of a sphere faces it."""

LEAST = 1e-8
"""Volume of the smallest bridge over the cube of the harmonic mean radius; with less a contact is dry."""

DRY = -1.0
"""Volume of the bridge of a contact that has begun with less."""

DIGITS = 48
"""Bits of the number of quanta in a volume of the largest sphere; a double has 53."""


def quantum_of(largest_radius: float) -> float:
    """Return the volume of one quantum of liquid [m^3] for particles up to a radius [m]: a power of two."""
    volume = 4.0 / 3.0 * math.pi * max(largest_radius, 1e-30) ** 3
    return math.ldexp(1.0, math.frexp(volume)[1] - DIGITS)


def carried_by(radius: NDArray[np.float64], share: float) -> NDArray[np.float64]:
    """Return the liquid on spheres of some radii [m] that is a share of their own volume [m^3]."""
    return share * (4.0 / 3.0 * math.pi) * (radius * radius * radius)


def whole_quanta(volume: NDArray[np.float64], quantum: float) -> NDArray[np.float64]:
    """Return volumes [m^3] rounded down to whole quanta."""
    return np.floor(volume / quantum) * quantum


def offers(
    owned: NDArray[np.float64], bound: NDArray[np.float64], asked: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return what particles offer, of which each new bridge gets its share [m^3].

    Parameters
    ----------
    owned, bound : (n,) arrays
        Liquid that particles own, and the part of it in bridges [m^3].
    asked : (n,) int64 array
        Sum of the shares of all bridges that form.
    """
    return (owned - bound) * (ONE / np.maximum(asked, ONE))


@inlined_geometry
def pair_share(radius: float, other: float) -> int:
    """Return the part of the surface of a sphere that faces another one."""
    sine = other / (radius + other)
    return int(0.5 * ONE * (1.0 - math.sqrt(1.0 - sine * sine)))


@inlined_geometry
def given(offer: float, share: int, quantum: float) -> float:
    """Return how many quanta a particle gives of what it offers; rounded down twice, together they are never more."""
    return max(math.floor(offer * (share / ONE) / quantum) - 1.0, 0.0)


@inlined_geometry
def limited(first: float, second: float, most: float) -> tuple[float, float]:
    """Return what two give if that is limited, together an even number of quanta."""
    total = first + second
    if total > most:
        first, second = math.floor(first * (most / total)), math.floor(second * (most / total))
    if 2.0 * math.floor(0.5 * (first + second)) < first + second:
        if first >= second:
            first -= 1.0
        else:
            second -= 1.0
    return first, second
