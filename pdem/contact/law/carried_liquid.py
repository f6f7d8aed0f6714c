"""Liquid that particles carry: how much of it flows into a bridge that forms, and how it is shared afterwards.

Contacts exchange liquid (`pdem.contact.exchange`): it is counted in quanta, a power of two of a cubic metre, so that
sums are exact in any order and the volume is conserved to the last bit. The functions of contacts here are plain Python
functions, from which the kernels of that exchange are made.

A particle owns an amount of liquid: its film, half of each bridge with a second particle, and each bridge with a wall.
When a bridge forms, each of the two particles gives the film on the part of its surface that faces the second one
(Shi, McCarthy, Powder Technology 184 (2008) 64),

``share = (1 - sqrt(1 - (r_2 / (r_1 + r_2))^2)) / 2``,

a half at a wall, and less if the bridges that form in a step ask for more than the film. Afterwards each of the two
owns half of the bridge and gets this half back when the bridge ruptures: liquid flows from wet to dry particles. No
exchange is necessary at the rupture, since the film is the owned liquid less the parts of present bridges.

The case limits the volume of a bridge; a bridge forms if its volume is above `LEAST` of the cube of the harmonic mean
radius.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats, Integers

ONE = float(1 << 40)
"""Shares are integers in units of one over this number: their sums are exact."""

WALL_SHARE = 1 << 39
"""Share of a bridge with a wall: half of the surface of a sphere faces the wall."""

LEAST = 1e-8
"""Volume of the smallest bridge over the cube of the harmonic mean radius; a contact with less liquid is dry."""

DRY = -1.0
"""Volume of the bridge in the history of a dry contact."""


def largest_amount(radius: float) -> float:
    """Return the volume [m^3] of a sphere of a radius [m], for which quanta of liquid are chosen."""
    some = max(radius, 1e-30)
    return 4.0 / 3.0 * math.pi * some * some * some


def carried_by(radius: Floats, share: float) -> Floats:
    """Return the liquid on spheres of some radii [m] that is a share of their own volume [m^3]."""
    return share * (4.0 / 3.0 * math.pi) * (radius * radius * radius)


def offers(owned: Floats, bound: Floats, asked: Integers) -> Floats:
    """Return the liquid that particles offer to new bridges, which each get a share of it [m^3].

    Parameters
    ----------
    owned, bound : (n,) arrays
        Liquid that particles own, and the part of it in bridges [m^3].
    asked : (n,) int64 array
        Sum of the shares of all bridges that form.
    """
    return (owned - bound) * (ONE / np.maximum(asked, ONE))


def pair_share(radius: float, other: float) -> int:
    """Return the part of the surface of a sphere that faces a second one, in units of one over `ONE`."""
    sine = other / (radius + other)
    return int(0.5 * ONE * (1.0 - math.sqrt(1.0 - sine * sine)))


def given(offer: float, share: int, quantum: float) -> float:
    """Return the number of quanta that a particle gives; rounded down twice: the sum never exceeds the offer."""
    return max(math.floor(offer * (share / ONE) / quantum) - 1.0, 0.0)


def limited(first: float, second: float, most: float) -> tuple[float, float]:
    """Return the quanta that two particles give, limited to `most` in total and made an even number in total."""
    total = first + second
    if total > most:
        first, second = math.floor(first * (most / total)), math.floor(second * (most / total))
    if 2.0 * math.floor(0.5 * (first + second)) < first + second:
        if first >= second:
            first -= 1.0
        else:
            second -= 1.0
    return first, second


def is_new(pair: int, parameters: Any, volume: float) -> bool:
    """Return whether a contact has just begun and its bridge gets liquid from the particles.

    Here and below, `parameters` are the largest volume of a bridge over the cube of the harmonic mean radius by row of
    the pair table, 0 for no carried liquid, and the quantum [m^3]; `volume` is the volume in the history [m^3].
    """
    return bool(volume == 0.0 and parameters[0][pair] > 0.0)


def bound_in_pair(radius: float, other: float, overlap: float, pair: int, parameters: Any, volume: float) -> int:
    """Return how many quanta a particle owns in its bridge with a second one: half of it."""
    return int(0.5 * max(volume, 0.0) / parameters[1])


def bound_at_wall(radius: float, overlap: float, pair: int, parameters: Any, volume: float) -> int:
    """Return how many quanta a particle owns in its bridge with a wall: all of it."""
    return int(max(volume, 0.0) / parameters[1])


def asked_by_pair(radius: float, other: float, overlap: float, pair: int, parameters: Any, volume: float) -> int:
    """Return the share that a new bridge asks of a particle."""
    return pair_share(radius, other)


def asked_by_wall(radius: float, overlap: float, pair: int, parameters: Any, volume: float) -> int:
    """Return the share that a new bridge with a wall asks of a particle."""
    return WALL_SHARE


def form_pair(
    offer: float, other_offer: float, radius: float, other: float, overlap: float, pair: int, dt: float,
    parameters: Any, volume: float,
) -> tuple[float, float]:  # fmt: skip
    """Form a bridge between two particles; return the flow from the first to the second, and its volume [m^3].

    Each owns half of it afterwards: the difference between its gift and this half flows to the second particle.
    """
    quantum, effective = parameters[1], radius * other / (radius + other)
    cube = 8.0 * effective * effective * effective / quantum
    first, second = limited(
        given(offer, pair_share(radius, other), quantum), given(other_offer, pair_share(other, radius), quantum),
        parameters[0][pair] * cube,
    )  # fmt: skip
    if first + second < max(LEAST * cube, 2.0):
        return 0.0, DRY
    half = 0.5 * (first + second)
    return (first - half) * quantum, 2.0 * half * quantum


def form_at_wall(
    offer: float, wall_offer: float, radius: float, overlap: float, pair: int, dt: float, parameters: Any,
    volume: float,
) -> tuple[float, float]:  # fmt: skip
    """Form a bridge at a wall, which carries no liquid; return 0 and its volume [m^3]."""
    quantum = parameters[1]
    cube = 8.0 * radius * radius * radius / quantum
    first, _ = limited(given(offer, WALL_SHARE, quantum), 0.0, parameters[0][pair] * cube)
    return 0.0, (DRY if first < max(LEAST * cube, 2.0) else first * quantum)
