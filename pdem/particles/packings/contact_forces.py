"""Forces of contacts of packings under a pressure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ContactForces:
    """Contact forces of a packing under pressure: k R^q d^p, with the effective radius R and the overlap d.

    Attributes
    ----------
    pressure : float
        Target of the pressure [Pa], in 2D [N/m].
    power, size_power : float
        The exponents p, 1 or 1.5, and q, 0 or 0.5.
    stiffness : float
        The coefficient k of two particles.
    walls : tuple of float
        The coefficient k of a particle and each wall.
    """

    pressure: float
    power: float
    size_power: float
    stiffness: float
    walls: tuple[float, ...] = ()
